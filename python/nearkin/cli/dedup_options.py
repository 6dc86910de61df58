"""Options of `nearkin dedup`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from nearkin.cli.commands import Options, OptionsOf, Threads
from nearkin.cli.corpus import CorpusOptions
from nearkin.cli.options import (
    Bits,
    HexColumn,
    Inputs,
    Json,
    Overwrite,
    Quiet,
    RecipeOption,
    matching_opt,
    opt,
    parse_recipe,
)
from nearkin.dedup.config import DedupConfig, FileDedupConfig, PassagesConfig
from nearkin.dedup.options import keeping_option, matching_option, option, output_option
from nearkin.errors import ParameterError, bad_parameter
from nearkin.io.base import KeptLayout
from nearkin.text.idf import is_unfitted

if TYPE_CHECKING:
    from nearkin.recipe import Recipe

REFERENCE = "Older documents"
_engine_option = partial(option, group="Many machines")

PASSAGE_OPTIONS = (
    *("min_length", "remove", "share", "within", "boilerplate", "boilerplate_documents", "boilerplate_share"),
)


@dataclass(frozen=True)
class OutputOptions:
    """Options for the output folder."""

    out: str = output_option(
        MISSING,
        help="New folder for kept documents, clusters and summary; - prints kept documents.",
        flag="--out -o",
        metavar="DIR",
    )
    out_layout: KeptLayout = output_option(
        "single", help="Write kept documents to one file, or to one per input with the same compression and row groups."
    )
    weights: str | None = output_option(
        None,
        help="Append a column of this name, such as cluster_size, to the kept documents: the size of each one's "
        "cluster (1 without one).",
        metavar="COLUMN",
    )
    overwrite: Overwrite = False
    report: bool = output_option(
        False,
        help="Write report.html as well: a page that shows removed documents and collects labels (nearkin report -h).",
    )


@dataclass(frozen=True)
class ReferenceOptions:
    """Options for older documents, labels and columns."""

    source_column: str | None = keeping_option(
        None, help="Count removed documents by this column, and warn of outliers."
    )
    group_column: str | None = matching_option(
        None,
        help="Compare and remove whole groups of documents, such as repositories, books or sites: those with the same "
        "value in this column.",
        metavar="COLUMN",
    )
    labels: Path | None = keeping_option(
        None,
        help="CSV or TSV of labelled pairs (exported by report.html); pairs labelled 'same' merge, 'different' never.",
        metavar="FILE",
    )
    against: list[str] | None = option(
        None,
        help="Remove matches of an older corpus as well (may be repeated), or of a store.",
        group=REFERENCE,
        metavar="INPUT",
    )
    store: Path | None = option(
        None,
        help="Like --against with a store, and add kept documents to it, in one step with the output. A store that "
        "does not exist is created with the options of this run.",
        group=REFERENCE,
        metavar="STORE",
    )
    ledger: bool = option(
        False,
        help="Also record removed documents in the store, so that it counts the copies of each kept one.",
        group=REFERENCE,
    )
    image_column: str | None = option(
        None,
        help="With --hex-column: column of paths or URLs of images. The report shows thumbnails of paths (with pillow) "
        "and links to URLs.",
    )
    columns: list[str] | None = option(
        None, help="Column to store with each document; may be repeated.", flag="--column"
    )


@dataclass(frozen=True)
class EngineOptions:
    """Options for a run on Spark or Sail."""

    engine: str | None = _engine_option(
        None,
        help="Run on spark, or on sail, which does not need Java; requires --id-column.",
        metavar="spark|sail",
        choices=("spark", "sail"),
    )
    master: str | None = _engine_option(
        None,
        help="Master of Spark: local[CORES], spark://HOST:PORT, k8s://URL or yarn.",
        metavar="URL",
        choices=("local[", "spark://", "k8s://", "yarn"),
        show_default="local[*]",
    )
    remote: str | None = _engine_option(
        None, help="Server of Spark Connect, instead of --engine: sc://HOST:PORT.", metavar="URL"
    )
    explain: bool = _engine_option(
        False, help="Only count the documents, and print what the job would cost: rows, bytes, core-hours and memory."
    )


@dataclass(frozen=True, kw_only=True)
class Job:
    """Options of `nearkin dedup`.

    `matching`, `files`, `unit` and `passages` contain only options that the user gave.
    """

    inputs: Inputs
    output: OutputOptions
    reading: CorpusOptions
    recipe: RecipeOption = None
    family: Annotated[
        str | None,
        matching_opt(
            "minhash (the default) or simhash, whose time grows with the square of the documents; minhash:NUM_PERM or "
            "simhash:BITS. It replaces the family of the recipe. ssdeep, tlsh or fuzzy (both) for files.",
            choices=("simhash", "minhash", "ssdeep", "tlsh", "fuzzy"),
        ),
    ] = None
    bits: Bits = None
    hex_column: HexColumn = None
    matching: Annotated[
        Options,
        OptionsOf(
            DedupConfig,
            *("kind", "threshold", "radius", "recall", "bands", "measure", "verify", "differ", "max_comparisons"),
            *("empty", "cluster", "keep", "lossless", "shrink_to", "min_sources", "links", "checkpoint"),
        ),
    ]
    files: Annotated[Options, OptionsOf(FileDedupConfig, "skip_hubs", "also", "text_threshold")]
    reference: ReferenceOptions
    unit: Annotated[Options, OptionsOf(PassagesConfig, "unit", show_defaults=False)]
    passages: Annotated[Options, OptionsOf(PassagesConfig, *PASSAGE_OPTIONS)]
    engine: EngineOptions
    dry_run: Annotated[
        bool,
        opt("Write nothing; print what would be read, and the time and memory that a sample suggests.", "--dry-run"),
    ] = False
    threads: Threads = None
    as_json: Json = False
    quiet: Quiet = False

    @property
    def of_files(self) -> bool:
        """True if the family compares files by their digests."""
        return self.family in ("ssdeep", "tlsh", "fuzzy")

    def explicit_options(self) -> dict[str, object]:
        """Return the options that differ from their defaults."""
        values = {**self.matching, **self.files, **self.unit, **self.passages, "threads": self.threads}
        for group in (self.output, self.reading, self.reference, self.engine):
            values |= {
                each.name: value for each in fields(group) if (value := getattr(group, each.name)) != each.default
            }
        values |= {"recipe": self.recipe, "family": self.family, "bits": self.bits}
        values["hex_column"] = self.hex_column
        return {name: value for name, value in values.items() if value is not None}

    def check_unset(self, names: Iterable[str], allowed: str) -> None:
        """Raise ParameterError for the first option in `names` that the user gave."""
        values = self.explicit_options()
        for name in names:
            if name in values:
                raise bad_parameter(name, values[name], allowed)

    def recipe_of_texts(self) -> Recipe | str | None:
        """Return the recipe of the options, as text if its weight `idf` is fitted to the texts.

        Raises
        ------
        ParameterError
            --family or --bits beside such a text.
        """
        if not is_unfitted(self.recipe):
            return self.parse_recipe()
        for name in ("family", "bits"):
            if getattr(self, name) is not None:
                raise bad_parameter(name, getattr(self, name), "a recipe that says it, with the weight idf")
        return self.recipe

    def parse_recipe(self) -> Recipe | None:
        """Return the recipe of the options; None without any, which stands for that of a store or the default."""
        if (self.recipe, self.bits) == (None, None) and self.family in (None, "minhash"):
            return None
        recipe = self.recipe
        if recipe is None and "kind" in self.matching:
            from nearkin.dedup.kinds import kind_options

            recipe = kind_options(self.matching["kind"])["recipe"]
        try:
            return parse_recipe(recipe, self.bits, self.family)
        except ParameterError as error:
            wrong = error.context.get("found") in (self.family, repr(self.family))
            if self.family is None or "|" in self.family or not wrong:
                raise
            allowed = "simhash or minhash, simhash:BITS or minhash:NUM_PERM, or ssdeep, tlsh or fuzzy for files"
            raise bad_parameter("family", repr(self.family), allowed) from None

    def keep_columns(self) -> list[str]:
        """Return the columns of the keep rule."""
        from nearkin.dedup.keep import BEST, keep_columns, parse_keep

        keep = self.matching.get("keep", "first")
        keys = parse_keep(keep, BEST, values="")
        if any(key.by in ("max", "min") and not key.column for key in keys):
            raise bad_parameter("keep", keep, "max:COLUMN or min:COLUMN")
        return keep_columns(keys)

    def extra_columns(self) -> list[str]:
        """Return the columns to read in addition to text and id."""
        reference = self.reference
        columns = (*self.keep_columns(), reference.source_column, reference.group_column, reference.image_column)
        names = (*columns, *(reference.columns or ()))
        return list(dict.fromkeys(name for name in names if name is not None))
