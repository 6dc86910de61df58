r"""Inverse document frequencies: fitted in one pass over a corpus, saved, and identified in a recipe by their digest.

If df(f) of N documents contain feature f (smoothed as if one more document contained every feature):

    idf(f) = ln((1 + N) / (1 + df(f))) + 1

Features of fewer than `min_df` documents are dropped and, like unseen features, have df = 0. With `max_features` the
rarest features are dropped while documents are counted, so that memory is bounded and df(f) is too low by at most
`max_error`.

`Idf.read` imports a table of weights from another program: `word weight` per line, and a weight for all other words.

The file format is text: one line of JSON, then a line `df TAB feature` or `weight TAB feature` for each feature, sorted
by the bytes of the features. A backslash is written as `\\` and a line feed as `\n`. `docs/format-idf.md` describes it.
The digest is the first 16 hexadecimal digits of the SHA-256 of the data that determine the weights.

Cost: one hash-table entry per distinct feature; kernel `crates/nearkin-base/src/text/idf.rs`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence, Sized
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearkin._core import IdfCore, IdfCounter, idf_values
from nearkin.errors import (
    InputError,
    bad_parameter,
    check_count,
    check_regular,
    damaged,
    input_error,
    mismatch,
    newer_format,
)
from nearkin.io import replace_file
from nearkin.io.saved import check_saved
from nearkin.progress import ShowProgress, ignore_progress, reporting
from nearkin.recipe import Recipe
from nearkin.recipe.grammar import DEFAULTS, OMITTED_SLOTS
from nearkin.text.batches import Texts, iterate_batches, slice_texts

if TYPE_CHECKING:
    from nearkin.io import Corpus

_MAX_TEXTS = 1 << 16
"""Texts counted by one call, after which progress is reported."""
VERSION = 1
"""Format version of fitted tables."""
WEIGHTS_VERSION = 2
"""Format version of imported tables, which older readers refuse."""
BOUNDED_VERSION = 3
"""Format version of fitted tables whose frequencies may be too low, which older readers refuse."""
MAX_FEATURES = 1 << 20
"""Number of features that `fit_recipe` counts at most: about 110 MB."""
Unknown: TypeAlias = Literal["mean", "median", "largest"]
"""Rule for the weight of words that an imported table does not contain."""

_TEXT_SLOTS = (
    "norm", "case", "letters", "cut", "user_words", "stop", "stop_words", "min_length", "tags", "features", "n",
)  # fmt: skip


class Idf:
    """Inverse document frequencies of the features of a recipe; created by `fit`, `read` or `load`.

    Attributes
    ----------
    documents : int
        Number of documents; 0 for an imported table.
    features : list of bytes
        Features in UTF-8, sorted.
    frequencies : (n,) uint32
        Number of documents that contain each feature; empty for an imported table.
    max_error : int
        By how much a frequency may be too low, because `max_features` bounded the count; 0 without a bound.
    weights : (n,) float64
        Weight of each feature.
    unknown : float
        Weight of all other features.
    min_df : int
        Minimum frequency of the features; 0 for an imported table.
    rules : dict
        Slots of the recipe that define features.

    Examples
    --------
    >>> import nearkin as nk
    >>> idf = nk.Idf.fit(["red wine", "red cheese", "blue cheese"], "word:1")
    >>> [round(idf.value(word), 3) for word in ("red", "wine", "beer")]
    [1.288, 1.693, 2.386]
    >>> recipe = nk.Recipe(f"word:1|idf:{idf.digest}|top:2|xxh3|simhash:64", idf=idf)
    >>> [word for word, _ in nk.keywords(["red wine and beer"], recipe)[0]]
    ['and', 'beer']
    """

    def __init__(
        self,
        documents: int,
        features: Sequence[bytes],
        frequencies: NDArray[np.uint32],
        *,
        min_df: int = 1,
        rules: dict[str, object],
        imported: tuple[NDArray[np.float64], float] | None = None,
        max_error: int = 0,
    ) -> None:
        self.documents = documents
        self.max_error = max_error
        self.features = list(features)
        self.frequencies = np.ascontiguousarray(frequencies, np.uint32)
        self.min_df = min_df
        self.rules = rules
        self.is_imported = imported is not None
        if imported is not None:
            self.weights, self.unknown = imported
        else:
            self.weights = idf_values(documents, self.frequencies)
            self.unknown = float(idf_values(documents, np.zeros(1, np.uint32))[0])

    @classmethod
    def fit(
        cls,
        texts: Texts | Corpus,
        recipe: Recipe | str | None = None,
        *,
        min_df: int = 1,
        max_features: int | None = None,
        progress: ShowProgress = None,
    ) -> Idf:
        """Count the texts that contain each feature, in one pass.

        Parameters
        ----------
        texts : iterable of str or None, an Arrow string array, or a `nearkin.io` corpus
            Texts. None is not counted as a document.
        recipe : Recipe, str or None, default "zh-keywords"
            Defines features; its weight and the slots after it are ignored.
        min_df : int, default 1
            Minimum number of documents of a feature.
        max_features : int, optional
            Maximum number of features, 2 or more: after every 8,192 texts, if there are more, the rarest are dropped,
            so that at most half as many remain. One that comes again is counted from 0, and `max_error` says how much
            can be missing.
            A word takes about 110 bytes while it is counted. Default: no limit.
        progress : bool or function, optional
            True shows a bar in a terminal or a notebook; a function is called with "count", the number of texts so
            far, and the total, None until the last text of an iterator or a corpus is counted.

        Raises
        ------
        ParameterError
            `min_df` is below 1, `max_features` below 2, or the recipe has given features.
        """
        recipe = Recipe.of("zh-keywords" if recipe is None else recipe)
        min_df = check_count("min_df", min_df, 1, (1 << 32) - 1, "1 to 4294967295")
        if max_features is not None:
            max_features = check_count("max_features", max_features, 2, (1 << 32) - 1, "2 to 4294967295")
        counter = IdfCounter(recipe.core, max_features)
        with reporting(progress) as report:
            done, total = 0, len(texts) if isinstance(texts, Sized) else None
            for batch in _iterate_texts(texts):
                # Slices are for reports alone: a bad text is named by its number in the batch.
                for part in [batch] if report is ignore_progress else slice_texts(batch, _MAX_TEXTS):
                    try:
                        counter.add(part)
                    except Exception:
                        if part is not batch:
                            counter.add(batch)
                        raise
                    done += len(part) if isinstance(part, Sized) else 0
                    report("count", done, total)
            documents, features, frequencies, max_error = counter.finish(min_df)
            # A stream of Arrow has no length.
            done = max(done, documents)
            report("count", done, done)
        rules = _get_rules(recipe)
        return cls(documents, features, frequencies, min_df=min_df, rules=rules, max_error=max_error)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        recipe: Recipe | str | None = None,
        *,
        unknown: Unknown | float = "median",
    ) -> Idf:
        r"""Import a table of weights: `word weight` per line, separated by the last blank.

        Parameters
        ----------
        path : str or os.PathLike
            UTF-8 file, such as jieba's `idf.txt` and cppjieba's `idf.utf8`. Empty lines are skipped.
        recipe : Recipe, str or None, default "zh-keywords"
            Defines features and normalises words. If two words become equal, the last one is used, as in jieba.
        unknown : {"median", "mean", "largest"} or float, default "median"
            Weight of words that the table does not contain. jieba uses the median (for an even number of weights, the
            upper one), cppjieba the mean of the lines.

        Raises
        ------
        InputError
            A line has no weight, or its weight is not a finite number of at least 0; the file has no words, or is not
            UTF-8. The message contains the line.
        ParameterError
            `unknown` is invalid, or the recipe has given features.
        OSError
            The file cannot be read.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import nearkin as nk
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "idf.txt"
        >>> _ = path.write_text("red 2.5\nwine 7.25\n")
        >>> idf = nk.Idf.read(path, "word:1", unknown="mean")
        >>> idf.value("wine"), idf.value("beer")
        (7.25, 4.875)
        """
        recipe = Recipe.of("zh-keywords" if recipe is None else recipe)
        if recipe.features == "given":
            raise bad_parameter("recipe", "one of given features", "a recipe of char or word features")
        check_regular(path)
        rules = _get_rules(recipe)
        is_raw = (rules["norm"], rules["case"], rules.get("fold")) == ("none", "keep", None)
        table: dict[bytes, float] = {}
        lines: list[float] = []
        for number, line in enumerate(Path(path).read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            word, weight = _parse_line(line, f"{os.fspath(path)} line {number}")
            lines.append(weight)
            table[(word if is_raw else recipe.core.reading(word)[0]).encode()] = weight
        if not table:
            raise InputError(
                f"{path}: has no words; give a line `word weight` for each", place=str(path), reason="empty"
            )
        features = sorted(table)
        weights = np.array([table[feature] for feature in features])
        imported = (weights, _weight_of_unknown(unknown, np.array(lines)))
        return cls(0, features, np.zeros(0, np.uint32), min_df=0, rules=rules, imported=imported)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name not in ("core", "_lines")}

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        source = "given weights" if self.is_imported else f"{self.documents} documents"
        return f"Idf({source}, {len(self)} features, digest {self.digest})"

    @cached_property
    def core(self) -> IdfCore:
        """The compiled table."""
        return IdfCore(self.features, self.weights, self.unknown)

    @cached_property
    def _lines(self) -> bytes:
        # `repr` gives the shortest digits that round-trip a float.
        numbers = map(repr, self.weights.tolist() if self.is_imported else self.frequencies.tolist())
        rows = zip(numbers, self.features, strict=True)
        return b"".join(
            b"%s\t%s\n" % (number.encode(), feature.replace(b"\\", b"\\\\").replace(b"\n", b"\\n"))
            for number, feature in rows
        )

    @cached_property
    def digest(self) -> str:
        """Digest that identifies the table in a recipe: 16 hexadecimal digits."""
        first = f"unknown {self.unknown!r}\n" if self.is_imported else f"{self.documents}\n"
        return hashlib.sha256(first.encode() + self._lines).hexdigest()[:16]

    def value(self, feature: str) -> float:
        """Return the weight of a feature.

        Parameters
        ----------
        feature : str
            Normalised feature. Unseen features have the weight `unknown`.
        """
        return float(self.core.values([feature.encode()])[0])

    def check(self, recipe: Recipe) -> None:
        """Raise MismatchError if a recipe defines features differently from the table.

        Parameters
        ----------
        recipe : Recipe
            Recipe that uses the table.

        Raises
        ------
        MismatchError
            Contains the first slot that differs.
        """
        rules = _get_rules(recipe)
        for name in (*_TEXT_SLOTS, *OMITTED_SLOTS):
            # Both omit slots at their default.
            if rules.get(name) != self.rules.get(name):
                default = DEFAULTS[name]
                left, right = self.rules.get(name, default), rules.get(name, default)
                raise mismatch(f"recipe slot {name} of the IDF table", left, right)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table atomically.

        Parameters
        ----------
        path : str or os.PathLike
            The file, which is replaced if it exists.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        with replace_file(path) as file:
            self.write(file)

    def write(self, file: IO[bytes]) -> None:
        """Write the table to a binary file."""
        head: dict[str, object] = {
            "format": "nearkin-idf",
            "version": WEIGHTS_VERSION if self.is_imported else BOUNDED_VERSION if self.max_error else VERSION,
            "documents": self.documents,
            "features": len(self),
            "min_df": self.min_df,
            "recipe": self.rules,
            "sha256": hashlib.sha256(self._lines).hexdigest(),
        }
        if self.is_imported:
            head["unknown"] = self.unknown
        if self.max_error:
            head["max_error"] = self.max_error
        head["head_sha256"] = _head_checksum(head)
        file.write(json.dumps(head, ensure_ascii=False, sort_keys=True).encode() + b"\n" + self._lines)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Idf:
        """Load a table that `save` wrote.

        Parameters
        ----------
        path : str or os.PathLike
            A regular file.

        Raises
        ------
        CorruptStoreError
            The file is not an IDF table, or was changed.
        InputError
            The file is of another kind.
        FormatVersionError
            A newer version of nearkin wrote the file.
        MissingFileError
            The file does not exist.
        """
        check_saved(path, None, written=_WRITTEN)
        data = Path(path).read_bytes()
        if not data:
            raise damaged(path, f"it is empty; give {_WRITTEN}")
        line, _, body = data.partition(b"\n")
        try:
            head = json.loads(line)
            if head["format"] != "nearkin-idf":
                raise ValueError(f"format {head['format']!r}")
            version, total = head["version"], head["features"]
            if isinstance(version, int) and version > BOUNDED_VERSION:
                raise newer_format(version, BOUNDED_VERSION)
            is_imported = version == WEIGHTS_VERSION
            unknown = _check_weight(head.pop("unknown")) if is_imported else None
            max_error = int(head.pop("max_error")) if version == BOUNDED_VERSION else 0
            # Fitted tables of the first release have no checksum of the first line.
            checksum = head.pop("head_sha256", None)
            complete = (
                head | ({"unknown": unknown} if is_imported else {}) | ({"max_error": max_error} if max_error else {})
            )
            valid = checksum == _head_checksum(complete) or (checksum is None and version == VERSION)
            if set(head) != _HEAD or not valid:
                raise ValueError("its first line does not fit its checksum")
            if hashlib.sha256(body).hexdigest() != head["sha256"]:
                raise ValueError("its checksum does not fit its lines")
            rows = [row.split(b"\t", 1) for row in body.split(b"\n")[:-1]]
            weights = np.array([_check_weight(float(row[0])) for row in rows]) if unknown is not None else None
            frequencies = np.array([] if is_imported else [int(row[0]) for row in rows], np.uint32)
            features = [_unescape(row[1]) for row in rows]
            if len(features) != total:
                raise ValueError(f"{len(features)} features where {total} are announced")
            rules = _select_rules(head["recipe"])
            imported = None if weights is None or unknown is None else (weights, unknown)
            documents, min_df = int(head["documents"]), int(head["min_df"])
            options: dict[str, Any] = {"min_df": min_df, "rules": rules, "imported": imported, "max_error": max_error}
            return cls(documents, features, frequencies, **options)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
            raise damaged(path, f"not an IDF table of nearkin ({error})") from error


def is_unfitted(recipe: object) -> bool:
    """Return True for a recipe in text form whose weight is `idf` without a table."""
    return isinstance(recipe, str) and _UNFITTED in (part.strip() for part in recipe.split("|"))


def fit_recipe(recipe: str, texts: Texts | Corpus, progress: ShowProgress = None) -> tuple[Recipe, Idf]:
    """Return a recipe whose weight is `idf` with the table of these texts, of at most `MAX_FEATURES` features.

    Parameters
    ----------
    recipe : str
        Text form with the segment `idf`, such as "word:1|idf|xxh3|minhash:128:weighted".
    texts : iterable of str or None, an Arrow string array, or a `nearkin.io` corpus
        Read once, and once more by the caller.
    progress : bool or function, optional
        As that of `Idf.fit`.

    Raises
    ------
    ParameterError
        The rest of the recipe is no recipe.
    """
    parts = [part.strip() for part in recipe.split("|")]
    plain = Recipe("|".join(part for part in parts if part != _UNFITTED))
    table = Idf.fit(texts, plain, max_features=MAX_FEATURES, progress=progress)
    named = (f"{_UNFITTED}:{table.digest}" if part == _UNFITTED else part for part in parts)
    return Recipe("|".join(named), idf=table), table


_UNFITTED = "idf"
"""The segment of a recipe whose table is fitted to the texts of a job."""
_WRITTEN = "a table, as Idf.save and `nearkin recipe idf` write it"
_HEAD = {"documents", "features", "format", "min_df", "recipe", "sha256", "version"}


def _check_weight(value: float) -> float:
    """Return a weight if it is a finite number of at least 0."""
    number = float(value)
    if not 0 <= number < math.inf:
        raise ValueError(f"the weight {value!r}")
    return number


def _parse_line(line: bytes, place: str) -> tuple[str, float]:
    """Parse a line of an imported table."""
    parts = line.strip().rsplit(None, 1)
    try:
        return parts[0].decode(), _check_weight(float(parts[1]))
    except (IndexError, ValueError):
        text = line.strip().decode(errors="replace")
        reason = f"{text[:40]!r} is no word and its weight"
        raise input_error(place, reason, "give `word weight` in UTF-8, a finite number of 0 or more") from None


def _weight_of_unknown(unknown: Unknown | float, weights: NDArray[np.float64]) -> float:
    """Return the weight of words that an imported table does not contain."""
    if unknown == "median":
        return float(np.sort(weights)[len(weights) // 2])
    if unknown == "mean":
        # Sequential summation, as in a loop over the lines.
        return float(np.add.accumulate(weights)[-1]) / len(weights)
    if unknown == "largest":
        return float(weights.max())
    try:
        return _check_weight(unknown)
    except (TypeError, ValueError):
        allowed = '"median", "mean", "largest" or a number of 0 or more'
        raise bad_parameter("unknown", repr(unknown), allowed) from None


def _head_checksum(head: Mapping[str, object]) -> str:
    """Return the SHA-256 of the first line without its checksum."""
    return hashlib.sha256(json.dumps(head, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def _iterate_texts(texts: Texts | Corpus) -> Iterable[Texts]:
    """Iterate over batches of texts or of a corpus."""
    if hasattr(texts, "batches"):
        return (batch.texts for batch in texts.batches())
    return iterate_batches(texts)


def _unescape(feature: bytes) -> bytes:
    return re.sub(rb"\\(.)", lambda match: b"\n" if match[1] == b"n" else match[1], feature)


def _get_rules(recipe: Recipe) -> dict[str, object]:
    """Return the slots of a recipe that define features, as in JSON."""
    return _select_rules(json.loads(recipe.to_json()))


def _select_rules(slots: Mapping[str, object]) -> dict[str, object]:
    """Select the slots that define features from the JSON form of a recipe."""
    return {name: slots[name] for name in (*_TEXT_SLOTS, *OMITTED_SLOTS) if name in slots or name in _TEXT_SLOTS}
