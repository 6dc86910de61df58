"""Options of a deduplication, each declared once with its default, its range and its help.

| class | options of |
|---|---|
| `DedupConfig` | `nearkin.dedup`, `nearkin.spark.dedup`, `nearkin dedup`: texts |
| `FileDedupConfig` | `nearkin.dedup_files`, `nearkin dedup --family ssdeep`: files |
| `CodeDedupConfig` | `nearkin.dedup.codes.dedup_codes`, `nearkin dedup --hex-column`: codes of other programs |
| `PassagesConfig` | `nearkin.passages`, `nearkin dedup --unit`: parts of texts, with a `DedupConfig` |

Each function has the options that most calls need as parameters, and the rest as `**options`, whose types are a
`TypedDict`: `DedupOptions`, `FileDedupOptions`, `PassagesOptions`, and `EngineDedupOptions` of `nearkin.spark.dedup`.

An instance is checked when it is built and never changes. `from_args` builds one from the arguments of a caller, in
which None stands for the value of a store, or for the default. The metadata of each field are those of `option`, from
which the command line generates its options.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias, TypedDict, get_args

import numpy as np

from nearkin.dedup.candidates.minhash import MinHashCandidates, feature_threshold
from nearkin.dedup.cluster import MAX_COMPARISONS
from nearkin.dedup.distinguishers import parse_differ
from nearkin.dedup.keep import BEST, KeepKey, parse_keep, removes_clusters
from nearkin.dedup.kinds import KIND_HELP, Kind, check_kind, with_kind
from nearkin.dedup.options import keeping_option, matching_option, output_option, parts_option
from nearkin.dedup.verify import Measure, TextMeasure
from nearkin.errors import bad_parameter, check_count, check_share, mismatch
from nearkin.families.base import Family
from nearkin.recipe import CONTAINMENT, Recipe
from nearkin.recipe.base import FrozenRecipe
from nearkin.text.chunking import Unit, parse_units

if TYPE_CHECKING:
    from nearkin.dedup.candidates import TextCandidateSource
    from nearkin.dedup.candidates.codes import CodeCandidates, CodeRecipe
    from nearkin.dedup.candidates.digests import DigestCandidates, FeatureCandidates, FileCandidates
    from nearkin.dedup.documents import Cells
    from nearkin.dedup.result import DedupResult
    from nearkin.digests.recipes import AnyDigestRecipe
    from nearkin.io import OutputDir

Verify = Literal["jaccard", "containment", "indel", "words", "signature", "none"]
ClusterRule = Literal["absorb", "components"]
ListedLinks = Literal["representatives", "all"]
Empty = Literal["keep", "drop"]
"""Documents without features, which are copies of nothing: all are kept, or all are removed."""
Candidates = Literal["family", "containment"]
"""Candidates by the hashes of the recipe's family, or by sketches made for containment."""
Removal = Literal["parts", "documents", "nothing"]
UseOfBoilerplate = Literal["drop", "keep"]

THRESHOLD = 0.8
"""Default similarity from which two texts are near-duplicates."""
FILE_THRESHOLD = 80
"""Default ssdeep score from which two files are near-duplicates."""
FILE_RADIUS = 40
"""Default TLSH distance up to which two files are near-duplicates (docs/tlsh.md has its false-positive rate)."""
FileFamily = Literal["ssdeep", "tlsh", "fuzzy"]
"""Digests that a deduplication of files compares; fuzzy is both."""
TEXT_THRESHOLD = 0.6
"""Default similarity of features of text from which two files are near-duplicates, with `also="text"`."""
SKIP_HUBS = 100_000
"""Default number of digests from which on a 7-gram that they share is not looked up."""
NEAR_MISSES = 4000
"""Number of kept documents that are searched for near misses with `near_misses="auto"`."""
MIN_LENGTH = 40
"""Default length, in characters, of the shortest part that is compared."""

BOILERPLATE_DOCUMENTS = 10
"""Default smallest number of documents with a frequent line."""
BOILERPLATE_SHARE = 0.05
"""Default smallest share of documents with a frequent line, among all or among those of one source."""
_MAX_COUNT = (1 << 63) - 1
_FOLLOWING = frozenset(("recipe", "threshold", "radius", "recall", "bands", "measure", "verify", "differ", "empty"))
"""Options that follow a store, or have their default, if they are None."""

MODIFIED = "modification time"
_BY_TIME = {"oldest": KeepKey("min", MODIFIED), "newest": KeepKey("max", MODIFIED)}


@cache
def _default_recipe() -> Recipe:
    return Recipe.of(None).with_family("minhash")


def parse_bands(bands: str | Sequence[int]) -> tuple[int, int]:
    """Return the numbers of bands and of rows of "29x8" or (29, 8)."""
    try:
        num_bands, num_rows = (int(part) for part in (bands.lower().split("x") if isinstance(bands, str) else bands))
        if min(num_bands, num_rows) < 1:
            raise ValueError
    except (TypeError, ValueError):
        raise bad_parameter("bands", repr(bands), "bands and rows such as 29x8, from 1 on") from None
    return num_bands, num_rows


def parse_shrink_to(value: object) -> int | float | None:
    """Return a number of documents as an int, a share as a float; a string with a point is a share.

    Raises
    ------
    ParameterError
        Neither a number from 1 on nor a share above 0 and up to 1.0.
    """
    if value is None:
        return None
    number: Any = value
    if isinstance(value, str):
        try:
            number = float(value) if "." in value else int(value)
        except ValueError:
            number = 0
    is_count = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
    is_share = isinstance(number, (float, np.floating)) and 0 < number <= 1
    if not is_share and not (is_count and number >= 1):
        allowed = "a number of documents from 1 on, or a share of them above 0 and up to 1.0, such as 0.6"
        raise bad_parameter("shrink_to", repr(value), allowed)
    return int(number) if is_count else float(number)


def _is_share(value: float) -> bool:
    return 0 < value <= 1


class _MatchingOptions(TypedDict, total=False):
    radius: int | None
    recall: float | None
    bands: str | tuple[int, int] | None
    verify: Verify | None


class EngineDedupOptions(_MatchingOptions, total=False):
    """Further options of `nearkin.spark.dedup`, documented by `nearkin.dedup`."""

    kind: Kind | None
    differ: str | Iterable[str] | None
    empty: Empty | None
    cluster: ClusterRule
    links: ListedLinks


class DedupOptions(EngineDedupOptions, total=False):
    """Further options of `nearkin.dedup`, which documents each of them."""

    lossless: bool
    shrink_to: int | float | str | None
    min_sources: int
    max_comparisons: int
    near_misses: int | Literal["auto"]
    checkpoint: str | os.PathLike[str] | None
    sources: Cells | str | None
    groups: Cells | str | None
    columns: Mapping[str, Cells] | Iterable[str] | None
    output: Callable[[DedupResult], OutputDir] | None
    ledger: bool


class FileDedupOptions(TypedDict, total=False):
    """Further options of `nearkin.dedup_files`, which documents each of them."""

    radius: int | None
    cluster: ClusterRule
    links: ListedLinks
    skip_hubs: int | None
    text_threshold: float | None
    columns: Mapping[str, Cells] | None
    output: Callable[[DedupResult], OutputDir] | None
    ledger: bool


class PassagesOptions(_MatchingOptions, total=False):
    """Further options of `nearkin.passages`, which documents each of them."""

    max_comparisons: int
    share: float | None
    boilerplate: UseOfBoilerplate | None
    boilerplate_documents: int
    boilerplate_share: float
    sources: Cells | str | None


class CollectionSettings(Protocol):
    """Settings of a store, which a deduplication follows where its caller gives no value."""

    @property
    def recipe(self) -> FrozenRecipe | Family:
        """The recipe of its documents."""

    @property
    def threshold(self) -> float:
        """Smallest similarity of a match, inclusive."""

    @property
    def radius(self) -> int | None:
        """Largest Hamming distance of a candidate."""

    @property
    def recall(self) -> float | None:
        """Requested probability of finding a pair at the threshold."""

    @property
    def verify(self) -> str:
        """The measure by which candidates are verified."""

    @property
    def differ(self) -> tuple[str, ...]:
        """Rules by which similar documents differ, so that they are no matches."""

    @property
    def empty(self) -> Empty:
        """Treatment of documents without features."""

    def check_verify(self, verify: str, rules: tuple[str, ...]) -> None:
        """Raise MismatchError if the store keeps too little of its texts for this measure or these rules."""


@dataclass(frozen=True, kw_only=True)
class _ClusterOptions:
    """Options that texts and files share."""

    cluster: ClusterRule = keeping_option(
        "absorb",
        help="Rule of clusters: absorb (no chains) or components (a chain of small changes is one cluster).",
        choices=get_args(ClusterRule),
    )
    keep: str = keeping_option(
        "first",
        help="Document to keep of each cluster: first, last, longest, shortest, max:COLUMN, min:COLUMN; for texts "
        "also best (most undamaged words), for files also oldest and newest. "
        "Later rules of a list separated by commas decide ties. none removes all documents of a cluster of two or "
        "more.",
        choices=("first", "last", "longest", "shortest", "best", "max:", "min:", "oldest", "newest", "none"),
    )
    links: ListedLinks = output_option(
        "representatives",
        help="Pairs to write: representatives (each removed document with the kept one) or all verified pairs.",
        choices=get_args(ListedLinks),
    )
    order: tuple[KeepKey, ...] = field(init=False, repr=False)

    def _check_choices(self, **rules: Any) -> None:
        """Raise ParameterError for the first option that is none of the values of its `Literal`."""
        for name, rule in rules.items():
            if getattr(self, name) not in get_args(rule):
                raise bad_parameter(name, repr(getattr(self, name)), ", ".join(get_args(rule)))

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True)
class DedupConfig(_ClusterOptions):
    """Options of a deduplication of texts; `nearkin.dedup` documents each of them.

    Attributes
    ----------
    order : tuple of KeepKey
        The keys of the keep rule.
    kind_set : tuple of (str, value)
        The options that `kind` set.
    comparison : TextMeasure or None
        Verifies candidates by their texts; None if every candidate is a match.
    candidate_source : TextCandidateSource
        Hashes texts and proposes candidates.
    signatures : bool
        Keep MinHash signatures, which a store takes, instead of the keys of their bands.

    Raises
    ------
    ParameterError
        For an unknown value, a number out of range, or options that exclude one another.

    Examples
    --------
    >>> from nearkin.dedup.config import DedupConfig
    >>> config = DedupConfig.from_args(threshold=0.7, keep="longest")
    >>> config.verify, str(config.recipe), round(config.candidate_source.recall, 4)
    ('jaccard', 'char:4|binary|xxh3|minhash:128:fast', 0.9958)
    """

    recipe: Recipe = matching_option(
        None, help="Recipe or preset: how a text becomes features and a fingerprint.", metavar="RECIPE"
    )
    kind: Kind | None = matching_option(None, help=KIND_HELP, choices=get_args(Kind))
    threshold: float = matching_option(
        THRESHOLD,
        help="Smallest similarity of a match, inclusive.",
        flag="-t",
        show_default="0.8; a score of 80 with ssdeep; the store's",
    )
    radius: int | None = matching_option(
        None,
        help="Largest Hamming distance of a candidate, inclusive: fingerprints instead of minhash.",
        min=0,
        show_default="no radius: minhash; with --family simhash it follows from the threshold and the recall",
    )
    recall: float | None = matching_option(
        None, help="Probability of finding a pair at the threshold.", show_default="0.995, or 0.95 with containment"
    )
    bands: tuple[int, int] | None = matching_option(
        None,
        help="For minhash: bands and rows of signatures, such as 29x8.",
        metavar="BANDSxROWS",
        show_default="follow from threshold, recall, number and similarity of the documents",
    )
    measure: Measure | None = matching_option(
        None,
        help="Similarity that the threshold bounds: jaccard, containment (of the smaller text), indel, words.",
        choices=get_args(Measure),
        show_default="jaccard",
    )
    verify: Verify = matching_option(
        None,
        help="Verification of candidates: jaccard, containment, indel, words, signature (minhash) or none.",
        choices=get_args(Verify),
        show_default="jaccard",
    )
    differ: tuple[str, ...] = matching_option(
        None,
        help="Treat similar texts as different if they differ in numbers, days, signs, symbols (separated by commas) "
        "or pattern:REGEX.",
        metavar="RULES",
        choices=("numbers", "days", "signs", "symbols", "pattern:", "none"),
    )
    empty: Empty = keeping_option(
        "keep",
        help="Documents without text (missing, empty, or without a letter or digit): keep or drop all of them.",
        choices=get_args(Empty),
    )
    lossless: bool = keeping_option(
        False,
        help="Remove a document only if the kept one has all its features and is not shorter; --keep longest removes "
        "most.",
    )
    shrink_to: int | float | str | None = keeping_option(
        None,
        help="Choose the threshold: the highest that keeps at most this number of documents, or this share such as "
        "0.6. --threshold is then the lowest one to try.",
        metavar="N|SHARE",
    )
    min_sources: int = keeping_option(
        1, help="With --source-column: keep only documents that at least this number of sources have.", min=1
    )
    max_comparisons: int = matching_option(
        MAX_COMPARISONS,
        help="Maximum number of candidates compared with one document; the summary counts the rest.",
        min=1,
    )
    near_misses: int = output_option(
        0, help="Number of kept documents to search for pairs just below the threshold, or auto.", min=0, max=1 << 31
    )
    checkpoint: str | None = output_option(
        None,
        help="Folder for the results of stages, from which a failed run continues; with an engine a folder or URL that "
        "all machines share.",
        metavar="FOLDER",
    )
    kind_set: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
    candidates: Candidates | None = field(default=None, repr=False)
    signatures: bool = field(default=False, repr=False)
    comparison: TextMeasure | None = field(init=False, repr=False, compare=False)
    candidate_source: TextCandidateSource = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._set(max_comparisons=check_count("max_comparisons", self.max_comparisons, 1, _MAX_COUNT, "1 or more"))
        self._resolve_measure()
        self._set(differ=() if self.differ is None else parse_differ(self.differ))
        recipe: Recipe | None = self.recipe
        # A radius is one of fingerprints.
        adaptive = recipe is None and self.radius is None
        if "recipe" in dict(self.kind_set):
            adaptive = self.radius is None and not self.signatures
        if recipe is None and self.candidates == "containment":
            recipe = Recipe.of(CONTAINMENT)
        self._set(recipe=_default_recipe() if recipe is None and adaptive else Recipe.of(recipe))
        self._set(bands=None if self.bands is None else parse_bands(self.bands))
        self._check_choices(verify=Verify, empty=Empty, cluster=ClusterRule, links=ListedLinks)
        self._set(order=parse_keep(self.keep, BEST))
        check_share("threshold", self.threshold, "a similarity above 0 and up to 1", _is_share)
        if self.verify == "signature" and self.recipe.family != "minhash":
            raise bad_parameter("verify", "signature", "jaccard, containment, indel, words or none with simhash")
        self._set(candidate_source=self._build_source(adaptive), comparison=None)
        if isinstance(self.candidate_source, MinHashCandidates):
            self._set(recipe=self.candidate_source.recipe)
        if self.verify != "signature" and self.verify != "none":
            self._set(comparison=TextMeasure(self.recipe, self.verify, self.differ))
        elif self.differ:
            value = f"{', '.join(self.differ)} with verify={self.verify}"
            raise bad_parameter(
                "differ", value, "rules with a verification by texts: jaccard, containment, indel or words"
            )
        if self.recipe.features == "given":
            raise bad_parameter("recipe", self.recipe, "a recipe with char:N or word:N features, which reads texts")
        self._set(near_misses=self._count_near_misses())
        self._check_lossless()
        self._check_shrink_to()
        self._set(min_sources=check_count("min_sources", self.min_sources, 1, _MAX_COUNT, "1 or more"))
        if self.min_sources > 1 and removes_clusters(self.order):
            raise bad_parameter(
                "min_sources", self.min_sources, "1 with a keep rule that keeps no document of a cluster"
            )
        if self.checkpoint is not None:
            if not isinstance(self.checkpoint, str | os.PathLike) or not str(self.checkpoint):
                raise bad_parameter("checkpoint", repr(self.checkpoint), "the path of a folder, or None")
            self._set(checkpoint=os.fspath(self.checkpoint))

    @classmethod
    def from_args(cls, settings: CollectionSettings | None = None, /, **args: Any) -> DedupConfig:
        """Build a config from the arguments of a caller.

        Parameters
        ----------
        settings : CollectionSettings, optional
            Settings of a store, for options that are None.
        **args
            Options by name; None stands for the store's value, or for the default.

        Raises
        ------
        ParameterError
            As for the class; for containment, or a kind, with a store; an unknown kind.
        MismatchError
            A store of another kind of documents, or one that keeps too little of its texts.
        """
        if args.get("kind") is not None:
            if settings is not None:
                check_kind(args["kind"], settings, args)
            args = with_kind(args)
        if settings is not None and getattr(settings, "pages", False):
            allowed = "another kind: a store of pages counts lines as they are added, by check_and_add or store add"
            raise bad_parameter("kind", "'pages' with a store", allowed)
        args = {name: value for name, value in args.items() if value is not None or name not in _FOLLOWING}
        if settings is None:
            return cls(**args)
        if not isinstance(settings.recipe, Recipe):
            raise mismatch("family", f"the store's {settings.recipe}", "a family of texts")
        if args.get("measure") == "containment":
            allowed = "texts in against: a store finds documents by hashes that have no recall for containment"
            raise bad_parameter("measure", "'containment'", allowed)
        if not {"radius", "recall", "bands"} & args.keys():
            args |= {"radius": settings.radius, "recall": settings.recall}
        args.setdefault("verify", args.get("measure", settings.verify))
        for name in ("recipe", "threshold", "differ", "empty"):
            args.setdefault(name, getattr(settings, name))
        settings.check_verify(args["verify"], parse_differ(args["differ"]))
        return cls(candidates="family", signatures=True, **args)

    def skipped_warning(self, skipped: int) -> str:
        """Return the warning of a run that left comparisons out, with what to change."""
        limit = f"more than max_comparisons={self.max_comparisons:,} candidates"
        if self.verify == "indel":
            limit += ", or more than 2**39 pairs of characters for Indel"
        mend = "Raise max_comparisons"
        if self.candidates != "containment":
            mend += ", lower the radius, or verify by jaccard"
        return (
            f"{skipped:,} comparisons were left out: some documents have {limit}; near-duplicates may be left. {mend}"
        )

    def _resolve_measure(self) -> None:
        """Set `verify` and `candidates` from `measure`, or from one another."""
        if self.measure is None:
            # A store has hashes of its own; a radius chooses candidates.
            sketches = self.verify == "containment" and self.radius is None
            self._set(verify="jaccard" if self.verify is None else self.verify)
        else:
            self._check_choices(measure=Measure)
            if self.verify not in (None, self.measure):
                raise bad_parameter("verify", repr(self.verify), f"None with measure={self.measure!r}, which sets it")
            sketches = self.measure == "containment"
            if sketches and self.radius is not None:
                allowed = "None with measure='containment', which has candidates of its own"
                raise bad_parameter("radius", repr(self.radius), allowed)
            self._set(verify=self.measure)
        if self.candidates is None:
            self._set(candidates="containment" if sketches else "family")

    def _build_source(self, adaptive: bool) -> TextCandidateSource:
        """Build the source of candidates; `adaptive` lets the number of MinHash values follow the documents."""
        if self.candidates == "containment":
            if self.recipe.is_weighted:
                allowed = "a recipe of sets, such as minhash:NUM_PERM:fast: sketches of containment have no weights"
                raise bad_parameter("recipe", self.recipe, allowed)
            from nearkin.dedup.candidates.containment import ContainmentCandidates

            return ContainmentCandidates(self.recipe, self.threshold, self.recall)
        if self.recipe.family == "simhash":
            if self.bands is not None:
                raise bad_parameter("bands", "{}x{}".format(*self.bands), "None with simhash, which has a radius")
            from nearkin.dedup.candidates.simhash import SimHashCandidates

            return SimHashCandidates(self.recipe, self.threshold, self.radius, self.recall)
        if self.radius is not None:
            allowed = "None with minhash, which has no radius: set a recall, or a recipe of the family simhash"
            raise bad_parameter("radius", self.radius, allowed)
        if self.bands is not None and self.recall is not None:
            raise bad_parameter("recall", self.recall, "either a recall or bands, which determine it")
        by_share = self.verify == "signature"
        return MinHashCandidates(
            self.recipe,
            feature_threshold(self.verify, self.threshold),
            self.recall,
            bands=self.bands,
            by_share=by_share,
            filtered=self.verify == "jaccard",
            keys=not (by_share or self.signatures),
            adaptive=adaptive,
        )

    def _check_lossless(self) -> None:
        if not isinstance(self.lossless, bool):
            raise bad_parameter("lossless", repr(self.lossless), "True or False")
        allowed = ""
        if self.recipe.is_weighted:
            allowed = "it with a recipe of sets, such as minhash:NUM_PERM:fast: it counts distinct features"
        if self.comparison is None:
            allowed = "it with a verification by texts: jaccard, containment, indel or words"
        elif self.cluster != "absorb":
            allowed = "it with the cluster rule absorb, where each removed document matches the kept one"
        elif removes_clusters(self.order):
            allowed = "it with a keep rule other than none, which keeps no document of a cluster"
        if self.lossless and allowed:
            raise bad_parameter("lossless", "True", allowed)

    def _check_shrink_to(self) -> None:
        self._set(shrink_to=parse_shrink_to(self.shrink_to))
        allowed = ""
        if self.verify in ("indel", "words", "none"):
            allowed = "it with jaccard, containment or signature, whose candidates have a promise of recall"
        if self.checkpoint is not None:
            allowed = "it without a checkpoint, which is of one threshold"
        if self.min_sources != 1:
            allowed = "it without min_sources, which removes documents of any similarity"
        if self.shrink_to is not None and allowed:
            raise bad_parameter("shrink_to", self.shrink_to, allowed)

    def _count_near_misses(self) -> int:
        """Return the number of kept documents to search for near misses; "auto" becomes a number."""
        possible = self.comparison is not None and self.cluster == "absorb" and self.candidates == "family"
        possible = possible and not removes_clusters(self.order)
        requested: object = self.near_misses
        if requested == "auto":
            return NEAR_MISSES if possible else 0
        count = check_count("near_misses", requested, 0, 1 << 31, "0 to 2147483648, or auto")
        if count and not possible:
            raise bad_parameter(
                "near_misses", count, "0, or cluster=absorb with verify=jaccard or indel, and keep other than none"
            )
        return count


@dataclass(frozen=True, kw_only=True)
class _TextlessOptions(_ClusterOptions):
    """Options of the deduplications that compare no texts: of files and codes."""

    kind: ClassVar[None] = None
    kind_set: ClassVar[tuple[tuple[str, Any], ...]] = ()
    comparison: ClassVar[None] = None
    differ: ClassVar[tuple[str, ...]] = ()
    empty: ClassVar[Empty] = "keep"
    lossless: ClassVar[bool] = False
    min_sources: ClassVar[int] = 1
    max_comparisons: ClassVar[int] = MAX_COMPARISONS
    near_misses: ClassVar[int] = 0


def _parse_digest_recipe(recipe: AnyDigestRecipe | str | None = None) -> AnyDigestRecipe:
    from nearkin.digests.recipes import parse_recipe

    return parse_recipe(recipe)


@dataclass(frozen=True, kw_only=True)
class FileDedupConfig(_TextlessOptions):
    """Options of a deduplication of files; `nearkin.dedup_files` documents each of them.

    Attributes
    ----------
    order, candidate_source
        As for `DedupConfig`.

    Raises
    ------
    ParameterError
        For an unknown value, or a number out of range.
    """

    recipe: AnyDigestRecipe = field(default_factory=_parse_digest_recipe)
    family: FileFamily | None = None
    threshold: int = FILE_THRESHOLD
    radius: int | None = None
    skip_hubs: int | None = matching_option(
        SKIP_HUBS, help="For ssdeep: skip 7-grams shared by more digests than this (counted in the summary).", min=1
    )
    also: Literal["text"] | None = matching_option(
        None,
        help="For ssdeep: text, to match short textual files by features of their text as well.",
        choices=("text",),
    )
    text_threshold: float | None = matching_option(
        None,
        help="With --also text: smallest similarity of features, above 0 and up to 1.",
        show_default=str(TEXT_THRESHOLD),
    )
    candidate_source: DigestCandidates | FileCandidates = field(init=False, repr=False, compare=False)
    verify: ClassVar[str] = "score"

    def __post_init__(self) -> None:
        from nearkin.dedup.candidates import digests
        from nearkin.digests.tlsh import TlshRecipe

        if self.skip_hubs is not None:
            self._set(skip_hubs=check_count("skip_hubs", self.skip_hubs, 1, _MAX_COUNT, "1 or more, or None"))
        self._set(recipe=_parse_digest_recipe(self.recipe), order=parse_keep(self.keep, _BY_TIME))
        self._check_choices(cluster=ClusterRule, links=ListedLinks)
        if self.family is None:
            self._set(family=self.recipe.family)
        self._check_choices(family=FileFamily)
        kinds: list[DigestCandidates | FeatureCandidates] = []
        for recipe in self.recipes:
            if isinstance(recipe, TlshRecipe):
                kinds.append(digests.TlshCandidates(recipe, FILE_RADIUS if self.radius is None else self.radius))
            else:
                kinds.append(digests.DigestCandidates(recipe, self.threshold, self.skip_hubs))
        if self.family == "ssdeep" and self.radius is not None:
            raise bad_parameter("radius", self.radius, "a threshold with ssdeep, which has scores")
        if isinstance(kinds[0], digests.DigestCandidates):
            self._set(threshold=kinds[0].threshold)
        if self.also == "text":
            text_threshold = TEXT_THRESHOLD if self.text_threshold is None else self.text_threshold
            self._set(text_threshold=text_threshold)
            kinds.append(digests.FeatureCandidates(text_threshold))
        elif self.also is not None:
            raise bad_parameter("also", repr(self.also), "'text', or None")
        elif self.text_threshold is not None:
            raise bad_parameter("text_threshold", self.text_threshold, "None, or also='text' with it")
        one = kinds[0] if len(kinds) == 1 else None
        self._set(candidate_source=one if isinstance(one, digests.DigestCandidates) else digests.FileCandidates(kinds))

    @property
    def recipes(self) -> tuple[AnyDigestRecipe, ...]:
        """The recipes of a file's digests.

        Raises
        ------
        ParameterError
            A recipe of another family.
        """
        from nearkin.digests.ssdeep import DigestRecipe
        from nearkin.digests.tlsh import TlshRecipe

        if self.family == "fuzzy":
            if not isinstance(self.recipe, DigestRecipe):
                raise bad_parameter("recipe", str(self.recipe), "one of ssdeep with fuzzy, whose other digest is tlsh")
            return self.recipe, TlshRecipe()
        if self.recipe.family != self.family:
            raise bad_parameter("recipe", str(self.recipe), f"one of {self.family}, the family")
        return (self.recipe,)

    @classmethod
    def from_args(cls, settings: CollectionSettings | None = None, /, **args: Any) -> FileDedupConfig:
        """Build a config from the arguments of a caller.

        Parameters
        ----------
        settings : CollectionSettings, optional
            Settings of a store of files, for a recipe and a threshold that are None.
        **args
            Options by name.

        Raises
        ------
        ParameterError
            As for the class; for features of text with a store.
        MismatchError
            A store of another kind of documents.
        """
        from nearkin.digests.base import FuzzyRecipe

        args = {name: value for name, value in args.items() if value is not None or name not in _FOLLOWING}
        if settings is not None:
            if args.get("also") == "text":
                allowed = "None with a store, which has digests of its files and no texts"
                raise bad_parameter("also", "'text'", allowed)
            if not isinstance(settings.recipe, FuzzyRecipe):
                raise mismatch("family", f"the store's {settings.recipe}", args.get("family", "ssdeep"))
            if args.get("family", settings.recipe.family) != settings.recipe.family:
                raise mismatch("family", f"the store's {settings.recipe}", args["family"])
            args.setdefault("recipe", settings.recipe)
            if settings.radius is not None:
                args.setdefault("radius", settings.radius)
            else:
                args.setdefault("threshold", int(settings.threshold))
        if args.get("family") == "tlsh":
            args.setdefault("recipe", "tlsh")
        config = cls(**args)
        if config.family == "tlsh" and args.get("threshold", config.threshold) != config.threshold:
            raise bad_parameter("threshold", args["threshold"], "a radius with tlsh, which has distances")
        return config

    def skipped_warning(self, skipped: int) -> str:
        """Return the warning of a run that left look-ups out, with what to change."""
        limit = f"more than skip_hubs={self.skip_hubs:,} digests"
        return (
            f"{skipped:,} look-ups were left out, of 7-grams that {limit} share; near-duplicates may be left. "
            "Raise skip_hubs, or pass None"
        )


def engine_config(recipe: Recipe | str | None, **args: Any) -> DedupConfig:
    """Build the config of a job on many machines, by default with the document recipe."""
    containment = [name for name in ("measure", "verify") if args.get(name) == "containment"]
    if containment and args.get("radius") is None:
        allowed = "jaccard, indel or words on an engine; nearkin.dedup has containment"
        raise bad_parameter(containment[0], "'containment'", allowed)
    if args.get("keep") == "none":
        raise bad_parameter("keep", "'none'", "a rule that keeps one document on an engine; nearkin.dedup has none")
    if recipe is not None or args.get("kind") is None:
        recipe = Recipe.of(None).with_family("minhash") if recipe is None else Recipe.of(recipe)
    return DedupConfig.from_args(recipe=recipe, signatures=True, **args)


@dataclass(frozen=True, kw_only=True)
class CodeDedupConfig(_TextlessOptions):
    """Options of a deduplication of codes; `nearkin.dedup.codes.dedup_codes` documents each of them.

    Raises
    ------
    ParameterError
        For an unknown value, or a number out of range.
    """

    radius: int | None
    bits: int | None = None
    candidate_source: CodeCandidates = field(init=False, repr=False, compare=False)
    verify: ClassVar[str] = "hamming"

    def __post_init__(self) -> None:
        from nearkin.dedup.candidates.codes import CodeCandidates

        self._set(order=parse_keep(self.keep), candidate_source=CodeCandidates(self.radius, self.bits))
        self._check_choices(cluster=ClusterRule, links=ListedLinks)

    @property
    def recipe(self) -> CodeRecipe:
        """The form of the codes; its width is known when the first code has been read."""
        return self.candidate_source.recipe

    @property
    def threshold(self) -> float:
        """Smallest share of equal bits of a match."""
        return self.candidate_source.threshold

    def skipped_warning(self, skipped: int) -> str:
        """Return the warning of a run that left comparisons out."""
        return f"{skipped:,} comparisons were left out; near-duplicates may be left. Lower the radius"


AnyDedupConfig: TypeAlias = DedupConfig | FileDedupConfig | CodeDedupConfig
"""The options that the stages of `nearkin.dedup.stages` read."""


@dataclass(frozen=True, kw_only=True)
class PassagesConfig:
    """Options of `nearkin.passages`, which documents each of them, in addition to a `DedupConfig`.

    Attributes
    ----------
    units : tuple of Unit
        The units of `unit`.

    Raises
    ------
    ParameterError
        For an unknown value, a number out of range, or options that exclude one another.
    """

    unit: str | Sequence[str] = parts_option(
        "paragraph",
        help="Compare parts: document, paragraph, line, function, window:WORDS (several separated by commas), or exact "
        "repeats: repeat:BYTES, repeat:WORDS:words.",
        metavar="UNIT",
        choices=("document", "paragraph", "line", "function", "window:", "repeat:"),
    )
    min_length: int = parts_option(
        MIN_LENGTH, help="Length, in characters, of the shortest part that is compared.", min=1
    )
    within: bool = parts_option(False, help="Look for parts in their own document as well.")
    remove: Removal = parts_option(
        "parts",
        help="What to remove: parts (cut out of the documents), documents (from --share on) or nothing.",
        choices=get_args(Removal),
    )
    share: float | None = parts_option(
        None,
        help="With --remove documents: share of a document in passages from which it is removed.",
        show_default="0.5",
    )
    boilerplate: UseOfBoilerplate | None = parts_option(
        None,
        help="Frequent lines: drop (compare parts without them) or keep (only list them).",
        choices=get_args(UseOfBoilerplate),
    )
    boilerplate_documents: int = parts_option(
        BOILERPLATE_DOCUMENTS, help="Smallest number of documents with a frequent line.", min=2
    )
    boilerplate_share: float = parts_option(
        BOILERPLATE_SHARE,
        help="Smallest share of documents with a frequent line, among all or among those of one source.",
    )
    units: tuple[Unit, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_count("boilerplate_documents", self.boilerplate_documents, 2, _MAX_COUNT, "2 or more")
        check_share("boilerplate_share", self.boilerplate_share, "a share from 0 to 1", lambda value: 0 <= value <= 1)
        object.__setattr__(self, "units", parse_units(self.unit))
        check_count("min_length", self.min_length, 1, (1 << 31) - 1, "1 or more characters")
        if self.remove not in get_args(Removal):
            raise bad_parameter("remove", repr(self.remove), ", ".join(get_args(Removal)))
        if self.boilerplate not in (None, *get_args(UseOfBoilerplate)):
            raise bad_parameter("boilerplate", repr(self.boilerplate), "drop, keep or None")
        if self.boilerplate is not None and self.units[0].kind == "repeat":
            raise bad_parameter("boilerplate", repr(self.boilerplate), "None with repeats, which are exact")
        if self.share is not None:
            check_share("share", self.share, "a share above 0 and up to 1", _is_share)
            if self.remove != "documents":
                raise bad_parameter("share", self.share, 'None without remove="documents"')

    def min_documents(self, documents: int) -> int:
        """Return the smallest number of documents, out of this many, with a frequent line."""
        return max(self.boilerplate_documents, math.ceil(self.boilerplate_share * documents))
