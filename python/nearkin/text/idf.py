r"""Inverse document frequencies: fitted in one pass over a corpus, saved, and carried by a recipe through their digest.

With N documents of which df(f) have feature f (smoothed as if one more document had every feature):

    idf(f) = ln((1 + N) / (1 + df(f))) + 1

Features of fewer than `min_df` documents are dropped and, like features never seen, have df = 0.

A table of weights that others have made is read as it is (`Idf.read`): `word weight` per line, and a weight for words
that it lacks.

The file is text: one line of JSON, then a line `df TAB feature`, or `weight TAB feature`, for each feature, sorted by
the bytes of the features, in which a backslash is `\\` and a line feed `\n`. `docs/format-idf.md` describes it. The
digest is the first 16 hexadecimal digits of SHA-256 of what the weights follow from.

Cost: one hash-table entry per distinct feature; kernel `crates/nearkin-core/src/text/idf.rs`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearkin._core import IdfCore, IdfCounter, idf_values
from nearkin.errors import CorruptStoreError, FormatVersionError, InputError, bad_parameter, check_regular, mismatch
from nearkin.io import replace_file
from nearkin.recipe import Recipe
from nearkin.recipe.grammar import DEFAULTS, UNWRITTEN
from nearkin.text.batches import Texts, iterate_batches

if TYPE_CHECKING:
    from nearkin.io import Corpus

VERSION = 1
"""Version of the file's format, of tables that were fitted."""
WEIGHTS_VERSION = 2
"""Version of tables of given weights, which older readers refuse."""
Unknown: TypeAlias = Literal["mean", "median", "largest"]
"""What the weight of words that a table lacks is made of."""

_TEXT_SLOTS = (
    "norm", "case", "letters", "cut", "user_words", "stop", "stop_words", "min_length", "tags", "features", "n",
)  # fmt: skip


class Idf:
    """Inverse document frequencies of a recipe's features; made by `fit`, `read` or `load`.

    Attributes
    ----------
    documents : int
        How many documents were counted; 0 of a table of given weights.
    features : list of bytes
        Features in UTF-8, sorted.
    frequencies : (n,) uint32
        In how many documents each occurs; without values for given weights.
    weights : (n,) float64
        What each feature weighs.
    unknown : float
        What other features weigh.
    min_df : int
        Smallest frequency that was kept; 0 for given weights.
    rules : dict
        The slots of the recipe that say what a feature is.

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
        given: tuple[NDArray[np.float64], float] | None = None,
    ) -> None:
        self.documents = documents
        self.features = list(features)
        self.frequencies = np.ascontiguousarray(frequencies, np.uint32)
        self.min_df = min_df
        self.rules = rules
        self.is_given = given is not None
        if given is not None:
            self.weights, self.unknown = given
        else:
            self.weights = idf_values(documents, self.frequencies)
            self.unknown = float(idf_values(documents, np.zeros(1, np.uint32))[0])

    @classmethod
    def fit(cls, texts: Texts | Corpus, recipe: Recipe | str | None = None, *, min_df: int = 1) -> Idf:
        """Count in how many texts each feature occurs, in one pass, batch by batch.

        Parameters
        ----------
        texts : iterable of str or None, an Arrow string array, or a `nearkin.io` corpus
            None does not count as a document.
        recipe : Recipe, str or None, default "zh-keywords"
            Says what a feature is; its weight and the slots after it are ignored.
        min_df : int, default 1
            Features of fewer documents are dropped.

        Raises
        ------
        ParameterError
            For a `min_df` below 1 or a recipe of given features.
        """
        made = Recipe.of("zh-keywords" if recipe is None else recipe)
        if isinstance(min_df, bool) or not isinstance(min_df, int) or not 1 <= min_df < 1 << 32:
            raise bad_parameter("min_df", min_df, "1 to 4294967295")
        counter = IdfCounter(made.core)
        for batch in _batches(texts):
            counter.add(batch)
        documents, features, frequencies = counter.finish(min_df)
        return cls(documents, features, frequencies, min_df=min_df, rules=_rules(made))

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        recipe: Recipe | str | None = None,
        *,
        unknown: Unknown | float = "median",
    ) -> Idf:
        r"""Read a table of weights that others have made: `word weight` per line, the last blank between them.

        Parameters
        ----------
        path : str or os.PathLike
            UTF-8; empty lines are skipped. jieba's `idf.txt` and cppjieba's `idf.utf8` are such tables.
        recipe : Recipe, str or None, default "zh-keywords"
            Says what a feature is. Words are normalised by it; of two that become the same the last one counts, as in
            jieba.
        unknown : {"median", "mean", "largest"} or float, default "median"
            What words weigh that the table lacks. jieba takes the median (of an even number of weights the upper one),
            cppjieba the mean of the lines.

        Raises
        ------
        InputError
            A line without a weight, or with one that is no finite number of 0 or more; a file without words; bytes that
            are no UTF-8. It names the line.
        ParameterError
            Another `unknown`; a recipe of given features.
        OSError
            The file can't be read.

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
        made = Recipe.of("zh-keywords" if recipe is None else recipe)
        if made.features == "given":
            raise bad_parameter("recipe", "one of given features", "a recipe of char or word features")
        check_regular(path)
        rules = _rules(made)
        as_is = (rules["norm"], rules["case"], rules.get("fold")) == ("none", "keep", None)
        found: dict[bytes, float] = {}
        lines: list[float] = []
        for number, line in enumerate(Path(path).read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            word, weight = _line(line, f"{os.fspath(path)} line {number}")
            lines.append(weight)
            found[(word if as_is else made.core.reading(word)[0]).encode()] = weight
        if not found:
            raise InputError(
                f"{path}: has no words; give a line `word weight` for each", place=str(path), reason="empty"
            )
        features = sorted(found)
        weights = np.array([found[feature] for feature in features])
        given = (weights, _unknown(unknown, np.array(lines)))
        return cls(0, features, np.zeros(0, np.uint32), min_df=0, rules=rules, given=given)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name not in ("core", "_lines")}

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        made = "given weights" if self.is_given else f"{self.documents} documents"
        return f"Idf({made}, {len(self)} features, digest {self.digest})"

    @cached_property
    def core(self) -> IdfCore:
        """The compiled table."""
        return IdfCore(self.features, self.weights, self.unknown)

    @cached_property
    def _lines(self) -> bytes:
        # Of a float the shortest digits that give it back.
        numbers = map(repr, self.weights.tolist() if self.is_given else self.frequencies.tolist())
        rows = zip(numbers, self.features, strict=True)
        return b"".join(
            b"%s\t%s\n" % (number.encode(), feature.replace(b"\\", b"\\\\").replace(b"\n", b"\\n"))
            for number, feature in rows
        )

    @cached_property
    def digest(self) -> str:
        """What a recipe holds in place of the table: 16 hexadecimal digits."""
        first = f"unknown {self.unknown!r}\n" if self.is_given else f"{self.documents}\n"
        return hashlib.sha256(first.encode() + self._lines).hexdigest()[:16]

    def value(self, feature: str) -> float:
        """The inverse document frequency of a feature, given as it is after normalisation.

        Parameters
        ----------
        feature : str
            Features that were not counted have df = 0, or weigh `unknown`.
        """
        return float(self.core.values([feature.encode()])[0])

    def check(self, recipe: Recipe) -> None:
        """Raise MismatchError if `recipe` makes other features than those that were counted.

        Parameters
        ----------
        recipe : Recipe
            The recipe that is to use the table.

        Raises
        ------
        MismatchError
            Names the first slot that differs.
        """
        wanted = _rules(recipe)
        for name in (*_TEXT_SLOTS, *UNWRITTEN):
            # Both leave a slot out at its default.
            if wanted.get(name) != self.rules.get(name):
                default = DEFAULTS[name]  # type: ignore[literal-required]
                left, right = self.rules.get(name, default), wanted.get(name, default)
                raise mismatch(f"recipe slot {name} of the IDF table", left, right)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table: whole, or after an error not at all.

        Parameters
        ----------
        path : str or os.PathLike
            The file; one of that name is replaced.

        Raises
        ------
        OSError
            If it can't be written.
        """
        head: dict[str, object] = {
            "format": "nearkin-idf",
            "version": WEIGHTS_VERSION if self.is_given else VERSION,
            "documents": self.documents,
            "features": len(self),
            "min_df": self.min_df,
            "recipe": self.rules,
            "sha256": hashlib.sha256(self._lines).hexdigest(),
        }
        if self.is_given:
            head["unknown"] = self.unknown
        head["head_sha256"] = _head_sum(head)
        with replace_file(path) as file:
            file.write(json.dumps(head, ensure_ascii=False, sort_keys=True).encode() + b"\n" + self._lines)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Idf:
        """Read a table that `save` wrote.

        Parameters
        ----------
        path : str or os.PathLike
            A regular file.

        Raises
        ------
        CorruptStoreError
            If the file is not such a table, or was changed.
        FormatVersionError
            If a newer nearkin wrote it.
        """
        check_regular(path)
        data = Path(path).read_bytes()
        line, _, body = data.partition(b"\n")
        try:
            head = json.loads(line)
            if head["format"] != "nearkin-idf":
                raise ValueError(f"format {head['format']!r}")
            version, total = head["version"], head["features"]
            if isinstance(version, int) and version > WEIGHTS_VERSION:
                message = (
                    f"format version {version} is newer than {WEIGHTS_VERSION}, the newest that this nearkin reads; "
                    "upgrade it"
                )
                raise FormatVersionError(message, found=version, newest=WEIGHTS_VERSION)
            is_given = version == WEIGHTS_VERSION
            unknown = _weight(head.pop("unknown")) if is_given else None
            # Tables written before the sum of the first line have all keys but that one.
            stated = head.pop("head_sha256", None)
            whole = head | ({"unknown": unknown} if is_given else {})
            if set(head) != _HEAD or (is_given and stated is None) or stated not in (None, _head_sum(whole)):
                raise ValueError("its first line does not fit its checksum")
            if hashlib.sha256(body).hexdigest() != head["sha256"]:
                raise ValueError("its checksum does not fit its lines")
            rows = [row.split(b"\t", 1) for row in body.split(b"\n")[:-1]]
            weights = np.array([_weight(float(row[0])) for row in rows]) if unknown is not None else None
            frequencies = np.array([] if is_given else [int(row[0]) for row in rows], np.uint32)
            features = [_unescape(row[1]) for row in rows]
            if len(features) != total:
                raise ValueError(f"{len(features)} features where {total} are announced")
            rules = _rules_in(head["recipe"])
            given = None if weights is None or unknown is None else (weights, unknown)
            counts = (int(head["documents"]), int(head["min_df"]))
            return cls(counts[0], features, frequencies, min_df=counts[1], rules=rules, given=given)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
            reason = f"not an IDF table of nearkin ({error})"
            raise CorruptStoreError(f"{path} is damaged: {reason}", place=str(path), reason=reason) from error


_HEAD = {"documents", "features", "format", "min_df", "recipe", "sha256", "version"}


def _weight(value: float) -> float:
    """A weight of a table: a finite number of 0 or more."""
    number = float(value)
    if not 0 <= number < math.inf:
        raise ValueError(f"the weight {value!r}")
    return number


def _line(line: bytes, place: str) -> tuple[str, float]:
    """The word and the weight of a line of a table that others have made."""
    parts = line.strip().rsplit(None, 1)
    try:
        return parts[0].decode(), _weight(float(parts[1]))
    except (IndexError, ValueError):
        text = line.strip().decode(errors="replace")
        reason = f"{text[:40]!r} is no word and its weight"
        message = f"{place}: {reason}; give `word weight` in UTF-8, a finite number of 0 or more"
        raise InputError(message, place=place, reason=reason) from None


def _unknown(unknown: Unknown | float, weights: NDArray[np.float64]) -> float:
    """What a word weighs that a table lacks."""
    if unknown == "median":
        return float(np.sort(weights)[len(weights) // 2])
    if unknown == "mean":
        # One after the other, as a loop over the lines sums them.
        return float(np.add.accumulate(weights)[-1]) / len(weights)
    if unknown == "largest":
        return float(weights.max())
    try:
        return _weight(unknown)
    except (TypeError, ValueError):
        allowed = '"median", "mean", "largest" or a number of 0 or more'
        raise bad_parameter("unknown", repr(unknown), allowed) from None


def _head_sum(head: Mapping[str, object]) -> str:
    """SHA-256 of the first line as it is without this sum."""
    return hashlib.sha256(json.dumps(head, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def _batches(texts: Texts | Corpus) -> Iterable[Texts]:
    """Texts in batches, those of a corpus as it reads them."""
    if hasattr(texts, "batches"):
        return (batch.texts for batch in texts.batches())
    return iterate_batches(texts)


def _unescape(feature: bytes) -> bytes:
    return re.sub(rb"\\(.)", lambda found: b"\n" if found[1] == b"n" else found[1], feature)


def _rules(recipe: Recipe) -> dict[str, object]:
    """The slots that say what a feature is, as JSON has them."""
    return _rules_in(json.loads(recipe.to_json()))


def _rules_in(slots: Mapping[str, object]) -> dict[str, object]:
    """Those of a recipe's slots, as JSON has them, that say what a feature is."""
    return {name: slots[name] for name in (*_TEXT_SLOTS, *UNWRITTEN) if name in slots or name in _TEXT_SLOTS}


__all__ = ["Idf"]
