"""Fingerprints of a corpus: texts hashed by a recipe, or existing fingerprints.

A `FingerprintSource` is iterated once, in batches of names (ids, or row numbers) and fingerprints. Texts are read
through `nearkin.io`; a text without features has no fingerprint. Existing fingerprints are numbers in a column; or in
plain text one per line, optionally after an id and a tab, where `-` and an empty line mean none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError, bad_parameter
from nearkin.families.simhash import as_fingerprints
from nearkin.index.fingerprints import from_integers
from nearkin.io import BadRecord, Batch, Corpus, open_corpus
from nearkin.io.corpus import DefaultColumn
from nearkin.recipe import Recipe

_BASES = {"hex": (16, "hexadecimal"), "int": (10, "decimal")}
"""The base of existing fingerprints by kind, and its name."""


@dataclass(frozen=True)
class FingerprintBatch:
    """A batch of fingerprints.

    Attributes
    ----------
    names : sequence
        Ids, or row numbers, one per row.
    codes : uint64 array of shape (n,) up to 64 bits, (n, words) above
        Zero for a row without a fingerprint.
    present : bool array of shape (n,)
        True for rows with a fingerprint.
    """

    names: Sequence[Any]
    codes: NDArray[np.uint64]
    present: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.codes)


class FingerprintSource:
    """Batches of fingerprints; `open_fingerprints` creates them.

    Attributes
    ----------
    bits : int
        Width of the fingerprints.
    recipe : Recipe or None
        The recipe of texts; None for existing fingerprints.
    corpus : Corpus
        The open corpus.
    kind : {None, "hex", "int"}
        The form of existing fingerprints; None for texts.
    numbered : bool
        True if names are row numbers; valid after the first batch.
    ids_are_text : bool
        True if names are strings only because the format has no integers.
    read, absent : int
        Number of rows so far, and of rows without a fingerprint.
    """

    def __init__(self, bits: int, recipe: Recipe | None, corpus: Corpus, kind: str | None) -> None:
        self.bits, self.recipe, self.corpus, self.kind = bits, recipe, corpus, kind
        self.numbered = corpus.id_column is None and corpus.format != "files"
        self.ids_are_text = corpus.format in ("csv", "tsv", "txt")
        self.read = 0
        self.absent = 0

    def __enter__(self) -> FingerprintSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.corpus.close()

    def __iter__(self) -> Iterator[FingerprintBatch]:
        for texts in self.corpus.batches():
            batch = self._parse(texts) if self.recipe is None else self._hash(texts, self.recipe)
            self.read += len(batch)
            self.absent += len(batch) - int(np.count_nonzero(batch.present))
            yield batch
        if self.kind is not None and self.read == self.absent and self.malformed:
            # A wrong width or base must not result in an empty output.
            first = self.corpus.malformed.first[0]
            reason = f"none of {self.read} records has a fingerprint; the first: {first}"
            raise InputError(reason, place=first.file, file=first.file, line=first.line, reason=reason)

    def refuse(self, row: int, reason: str) -> None:
        """Count a row of the corpus, from 0, as a malformed record; raise an error in strict mode."""
        place = str(self.corpus.paths[0]) if len(self.corpus.paths) == 1 else "the inputs"
        self.corpus.malformed.add_row(BadRecord(place, row + 1, reason, unit="row"))

    @property
    def malformed(self) -> int:
        """Number of malformed records so far."""
        return self.corpus.malformed.count

    def _hash(self, batch: Batch, recipe: Recipe) -> FingerprintBatch:
        values, counts = recipe.core.fingerprints(batch.texts)
        return FingerprintBatch(batch.ids.to_list(), as_fingerprints(values, recipe), counts > 0)

    def _parse(self, batch: Batch) -> FingerprintBatch:
        names = batch.ids.to_list()
        values = list(batch.texts)
        if self.corpus.format == "txt":
            fields = [value.rpartition("\t") for value in values]
            if self.read == 0:
                # The first line that is not empty determines whether lines have ids.
                tabs = (tab for value, (_, tab, _) in zip(values, fields, strict=True) if value.strip())
                self.numbered = not next(tabs, "")
            for row, (name, tab, _) in enumerate(fields):
                if bool(tab) == self.numbered and values[row].strip():
                    reason = "an id, but the first line has none" if tab else "no id, but the first line has one"
                    self.refuse(batch.first_row + row, reason)
                    values[row] = ""
                if not self.numbered:
                    names[row] = name
            values = [value and last for value, (_, _, last) in zip(values, fields, strict=True)]
        numbers = [self._parse_number(value.strip(), row) for row, value in enumerate(values, batch.first_row)]
        codes = from_integers((number or 0 for number in numbers), self.bits)
        return FingerprintBatch(names, codes, np.array([number is not None for number in numbers], bool))

    def _parse_number(self, text: str, row: int) -> int | None:
        if text in ("", "-"):
            return None
        base, name = _BASES[str(self.kind)]
        # int() accepts signs, underscores and digits of other scripts.
        if text.isascii() and text.isalnum():
            try:
                number = int(text, base)
            except ValueError:
                number = -1
            if 0 <= number < 1 << self.bits:
                return number
        shown = text if len(text) <= 40 else text[:40] + "..."
        self.refuse(row, f"{shown!r} is no {name} number below 2**{self.bits}")
        return None


def open_fingerprints(
    inputs: Sequence[str],
    recipe: Recipe | None,
    fingerprints: str | None = None,
    bits: int | None = None,
    *,
    format: str | None = None,
    column: str | None = None,
    **reading: Any,
) -> FingerprintSource:
    r"""Open a corpus as fingerprints.

    Parameters
    ----------
    inputs : sequence of str
        As `nearkin.io.open_corpus` takes them.
    recipe : Recipe or None
        The recipe of texts; not needed for existing fingerprints.
    fingerprints : {None, "hex", "int"}
        None for texts.
    bits : int, optional
        Width of existing fingerprints; default 64.
    format : str, optional
        As for `nearkin.io.open_corpus`; numbers from standard input are lines of text by default.
    column : str, optional
        Column of the text (default `text`) or of the fingerprint (default `fingerprint`).
    **reading
        Other options of `nearkin.io.open_corpus`: id_column, strict, max_malformed, encoding, delimiter, html.

    Raises
    ------
    ParameterError
        An option out of range.
    InputError
        A file that can't be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nearkin.index.fingerprint_source import open_fingerprints
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "codes.txt"
    >>> _ = path.write_text("a\tff\nb\t-\n")
    >>> with open_fingerprints([str(path)], None, "hex") as source:
    ...     [(batch.names, batch.codes.tolist(), batch.present.tolist()) for batch in source]
    [(['a', 'b'], [255, 0], [True, False])]
    """
    if fingerprints not in (None, *_BASES):
        raise bad_parameter("fingerprints", fingerprints, "hex or int")
    if fingerprints is None and recipe is None:
        raise bad_parameter("recipe", None, "a recipe to hash texts by")
    if fingerprints is not None and format is None and any(name == "-" for name in inputs):
        format = "txt"
    text_column = column or (None if fingerprints is None else DefaultColumn("fingerprint"))
    corpus = open_corpus(inputs, format=format, text_column=text_column, **reading)
    if fingerprints is not None and corpus.format in ("files", "warc"):
        corpus.close()
        raise bad_parameter("format", corpus.format, "jsonl, parquet, csv, tsv or txt for fingerprints")
    width = recipe.bits if recipe is not None else bits if bits is not None else 64
    if bits is not None and bits != width:
        corpus.close()
        raise bad_parameter("bits", bits, f"the width of the recipe, {width}")
    return FingerprintSource(width, recipe if fingerprints is None else None, corpus, fingerprints)
