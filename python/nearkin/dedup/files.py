"""Deduplication of files by their fuzzy digests: the same stages as for texts, with scores from 1 to 100.

1. *Hash*: every file becomes a digest, and its bytes a content hash.
2. *Collapse*: files with equal bytes become one.
3. *Search, cluster*: `nearkin.dedup.cluster` over the matches of a `DigestIndex`, whose score is the similarity.
4. *Keep*: the first of each cluster in keep order survives.

Files whose digest has no seven characters in a part (below about 100 bytes, or constant) match by equal bytes alone:
their digests are equal by chance. Empty files are always kept.

With `also="text"` short textual files match by features of their text, too (`candidates/files.py`), and both tables
name the evidence of each link.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin._core import script_features, ssdeep_hash_contents
from nearkin.dedup.candidates import DigestCandidates, FileCandidates, OlderIndex, TextBatch
from nearkin.dedup.candidates.files import Features, file_rows
from nearkin.dedup.candidates.ssdeep import digest_rows
from nearkin.dedup.cluster import MAX_COMPARISONS
from nearkin.dedup.constraints import checked_labels
from nearkin.dedup.distinguishers import Differing
from nearkin.dedup.documents import Cells, HashedDocuments, as_column, check_distinct_ids
from nearkin.dedup.inputs import Frame, files_of, paths_of
from nearkin.dedup.keep import VALUES, KeepKey, check_values, column_key, keep_columns, keep_keys
from nearkin.dedup.labels import GivenLabels
from nearkin.dedup.reference import HashedOlder, HoldsOlderDocuments, OlderDocuments
from nearkin.dedup.result import DedupResult
from nearkin.dedup.sink import HasSettings, RemembersDocuments, check_remembering, check_store, columns_of
from nearkin.dedup.stages import ClusterRule, Featureless, ListedLinks, StageTimer, check_older_index, run_stages
from nearkin.digests.ssdeep import DigestRecipe
from nearkin.errors import InputError, bad_parameter, check_count, impossible_name, mismatch, printable
from nearkin.index.digests import DigestIndex
from nearkin.io import Column, OutputDir
from nearkin.io.frames import is_frame
from nearkin.progress import Progress, ShowProgress, of_older, reporting, unreported
from nearkin.text.batches import ArrowStream

__all__ = ["dedup_files"]

THRESHOLD = 80
"""Score from which two files count as near-duplicates when the caller says nothing."""

TEXT_THRESHOLD = 0.6
"""Similarity of features of text from which two files count as near-duplicates when the caller says nothing."""

LONGEST_TEXT = 1 << 16
"""Bytes of the longest file that has features of text (core: `patterns/payloads/scripts.rs`)."""

SKIP_HUBS = 100_000
"""Digests that share a 7-gram, from which on it is not looked up when the caller says nothing."""

_CHANGED = "time of the last change"
_BY_TIME = {"oldest": KeepKey("min", _CHANGED), "newest": KeepKey("max", _CHANGED)}

# Files that are hashed by one parallel call; progress moves on after each.
_BATCH = 256

OnError = Callable[[str, Exception], None]


@dataclass(frozen=True)
class _Options:
    recipe: DigestRecipe
    threshold: int
    cluster: ClusterRule
    keep: str
    links: ListedLinks
    skip_hubs: int | None
    text_threshold: float | None = None
    max_comparisons: int = field(default=MAX_COMPARISONS, init=False)
    verify: str = field(default="score", init=False)
    comparison: None = field(default=None, init=False)
    differ: tuple[str, ...] = field(default=(), init=False)
    differing: Differing = field(default="keep", init=False)
    featureless: Featureless = field(default="keep", init=False)
    candidate_source: DigestCandidates = field(init=False)
    order: tuple[KeepKey, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", keep_keys(self.keep, _BY_TIME))
        rules = {"cluster": ClusterRule, "links": ListedLinks}
        for name, rule in rules.items():
            if getattr(self, name) not in get_args(rule):
                raise bad_parameter(name, repr(getattr(self, name)), ", ".join(get_args(rule)))
        source = DigestCandidates(self.recipe, self.threshold, self.skip_hubs)
        if self.text_threshold is not None:
            source = FileCandidates(self.recipe, self.threshold, self.text_threshold, self.skip_hubs)
        object.__setattr__(self, "candidate_source", source)

    def tell_skipped(self, skipped: int) -> str:
        """That look-ups were left out."""
        bound = f"more than skip_hubs={self.skip_hubs:,} digests"
        return (
            f"{skipped:,} look-ups were left out, of 7-grams that {bound} share; near-duplicates may be left. "
            "Raise skip_hubs, or pass None"
        )


def dedup_files(
    paths: Iterable[str | os.PathLike[str]] | ArrowStream | Frame,
    *,
    path: str | None = None,
    recipe: DigestRecipe | str | None = None,
    threshold: int | None = None,
    cluster: ClusterRule = "absorb",
    keep: str = "first",
    values: Cells | str | Mapping[str, Cells | str] | None = None,
    against: Iterable[str | os.PathLike[str]] | ArrowStream | Frame | DigestIndex | HoldsOlderDocuments | None = None,
    store: RemembersDocuments | None = None,
    columns: Mapping[str, Cells] | Iterable[str] | None = None,
    output: Callable[[DedupResult], OutputDir] | None = None,
    links: ListedLinks = "representatives",
    labels: GivenLabels | None = None,
    skip_hubs: int | None = SKIP_HUBS,
    also: Literal["text"] | None = None,
    text_threshold: float | None = None,
    on_error: OnError | None = None,
    progress: ShowProgress = None,
) -> DedupResult:
    r"""Find near-identical files and say which one of each cluster stays. No file is changed.

    Parameters
    ----------
    paths : iterable of str or os.PathLike, or a frame
        Regular files, each once; a frame of pandas, polars, pyarrow or Hugging Face, as for `nearkin.dedup`, has a
        column of them.
    path : str, optional
        Of a frame: the column of the paths, "path" if not given; of `against`, too.
    recipe : DigestRecipe or str, default "ssdeep"
        How a file becomes a digest.
    threshold : int, optional
        Smallest score of a match, inclusive, 1 to 100; 80 for None.
    cluster : {"absorb", "components"}, default "absorb"
        Keep-then-absorb, or connected components (where a chain of small changes is one cluster).
    keep : str, default "first"
        Which file of a cluster stays: first, last, longest, shortest, oldest, newest (by the time of its last
        change), `max:NAME`, `min:NAME`; `max` or `min` of `values`. Several, separated by commas, decide one after
        another. Ties by path.
    values : numbers or dates, one per path; or a mapping of names to such; optional
        For `max` and `min`. Of a frame names of columns, too; columns that `keep` names need no values. Missing values
        (None, NaN) come last, counted in a warning.
    against : iterable of paths, a frame, a DigestIndex, or a Store of files; optional
        Older files: what matches one of them is removed, and the result names it. Recipe and threshold that are not
        given are a store's.
    store : Store, optional
        A store of files: what matches one of its files is removed as with `against`, and those that stay are remembered
        under their paths, all of them in one durable step at the end, or none.
    columns : mapping of str to one value per path, or names of columns of a frame; optional
        What the store remembers of each file that stays.
    output : function, optional
        With `store`: called with the result, it returns the finished `nearkin.io.OutputDir` of this run, which takes
        its place if, and only if, the store remembers what stays. Called again if the store has changed meanwhile.
    links : {"representatives", "all"}, default "representatives"
        Whether `pairs` holds the links of removed files only, or all matches.
    labels : PairLabels, iterable of (path, path, bool or None), or the path of a table; optional
        What a person said of pairs of files, by their paths, as for `nearkin.dedup`: no file is removed for one that
        it is labelled different from, unless their bytes are equal. Not with a store or an index.
    skip_hubs : int, default 100,000
        7-grams that more digests share are not looked up, which bounds the work for very many files with a common part:
        among the new files, and among older ones (in a store those of each segment). The summary counts such look-ups
        under `skipped`. None looks up all.
    also : {"text"}, optional
        Short textual files (scripts and pages up to 64 KB) match by features of their text as well, whatever their
        digests say: names of variables, numbers, comments, white space, case and base64 don't matter. `clusters` and
        `pairs` have a column `evidence` then: "ssdeep 84", "text .91", both, or "bytes". Not with a store or an index,
        which have digests alone.
    text_threshold : float, default 0.6
        With `also="text"`: smallest Jaccard similarity of features of a match, inclusive, above 0 to 1.
    on_error : function, optional
        Called with the path and the exception of each file that can't be read; it is left out, and its entry of
        `values` with it. None raises the first one.
    progress : bool or function, optional
        True shows bars in a terminal or a notebook; a function is called with stage, done and total.

    Returns
    -------
    DedupResult
        Ids are the paths as str. `similarity` is the score of the digests, 100 for equal bytes; `distance` is 100 less
        the score.

    Raises
    ------
    InputError
        For anything but a regular file, or a file that changes while it is read. With a store for a name that is not
        UTF-8, and for a path that is there with another file; nothing is remembered then.
    OSError
        If a file can't be read.
    ParameterError
        For an unknown rule, a threshold out of range, a path given twice, columns that are not as long as the paths,
        or labels beside a store or an index.
    MismatchError
        If an index or a store was made by another recipe, or a store for another threshold.

    Warns
    -----
    RuntimeWarning
        If look-ups were skipped: near-duplicates may be left.

    Examples
    --------
    >>> import nearkin as nk, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> text = b"".join(b"line %d of a file that will change a little\n" % i for i in range(400))
    >>> edited = text.replace(b"line 200 ", b"LINE 200, ")
    >>> for name, data in (("a", text), ("b", edited), ("c", text[::-1]), ("d", text)):
    ...     _ = (folder / name).write_bytes(data)
    >>> result = nk.dedup_files(sorted(folder.iterdir()))
    >>> [pathlib.Path(path).name for path in result.kept]
    ['a', 'c']
    >>> for row in result.clusters.rows():
    ...     print(pathlib.Path(row["id"]).name, row["reason"], row["similarity"])
    a kept 100.0
    b near 99.0
    d exact 100.0
    """
    if skip_hubs is not None:
        skip_hubs = check_count("skip_hubs", skip_hubs, 1, (1 << 63) - 1, "1 or more, or None")
    held = against if store is None else store
    of_texts = _text_threshold(also, text_threshold, held)
    options = _Options(*_following(held, recipe, threshold), cluster, keep, links, skip_hubs, of_texts)
    check_remembering(store, columns, output)
    told = None if labels is None else checked_labels(labels, store, against)
    if store is not None:
        check_store(store, against, options)
    if path is not None and not is_frame(paths) and not is_frame(against):
        raise bad_parameter("path", repr(path), "None, or a frame with a column of paths")
    named = values if isinstance(values, Mapping) else {} if values is None else {VALUES: values}
    kept = [name for name in keep_columns(options.order) if name != _CHANGED]
    listed, given, columns = files_of(paths, path, kept, named, columns)
    names = path_names(listed, "paths")
    check_values(kept, given)
    cells = {column_key(name): as_column(one) for name, one in given.items()}
    for column in cells.values():
        if len(column) != len(names):
            raise bad_parameter("values", f"{len(column)} values", f"{len(names)} values, one per path")
    remembered = columns_of(columns or {}, len(names), "path")
    timer = StageTimer()
    with reporting(progress) as report:
        with timer("hash"):
            dated, is_id = _CHANGED in keep_columns(options.order), store is not None
            new = hash_paths(
                names,
                options.recipe,
                columns=cells,
                dated=dated,
                named=is_id,
                texts=of_texts is not None,
                on_error=on_error,
                report=report,
            )
            check_distinct_ids(new.ids, "ids")
            older, older_index = _against(paths_of(against, path), options, on_error, report)

        def decide(older: OlderDocuments | None) -> DedupResult:
            result = run_stages(new, older, older_index, options, timer, report, labels=told)
            if isinstance(options.candidate_source, FileCandidates):
                _name_evidence(result, options.candidate_source, new, older)
            return replace(result, summary={**result.summary, "unreadable": len(names) - len(new)})

        if store is None:
            return decide(older)
        remembered = _of_paths(remembered, names, new.ids)
        return store.remember(new, options.candidate_source, decide, numbered=False, columns=remembered, output=output)


def _against(
    against: Iterable[str | os.PathLike[str]] | DigestIndex | HoldsOlderDocuments | None,
    options: _Options,
    on_error: OnError | None,
    report: Progress,
) -> tuple[OlderDocuments | None, OlderIndex | None]:
    """What new files are compared with: older documents, or an index."""
    if against is None:
        return None, None
    if isinstance(against, DigestIndex):
        index = options.candidate_source.older_index(against)
        check_older_index(options)
        return None, index
    if isinstance(against, HoldsOlderDocuments):
        return against.older_documents(options.candidate_source), None
    texts, told = options.text_threshold is not None, of_older(report)
    old = hash_paths(path_names(against, "against"), options.recipe, texts=texts, on_error=on_error, report=told)
    check_distinct_ids(old.ids, "against_ids")
    return HashedOlder(old, options.candidate_source), None


def _text_threshold(also: object, text_threshold: float | None, held: object) -> float | None:
    """The threshold of features of text; None where they are not asked for.

    Raises
    ------
    ParameterError
        Anything but "text"; a threshold without it; a store.
    """
    if also is None:
        if text_threshold is not None:
            raise bad_parameter("text_threshold", text_threshold, "None, or also='text' with it")
        return None
    if also != "text":
        raise bad_parameter("also", repr(also), "'text', or None")
    if isinstance(held, HasSettings):
        raise bad_parameter("also", repr(also), "None with a store, which has digests of its files and no texts")
    return TEXT_THRESHOLD if text_threshold is None else text_threshold


def _name_evidence(
    result: DedupResult, source: FileCandidates, new: HashedDocuments, older: OlderDocuments | None
) -> None:
    """Put a column behind those of both tables: what says that the two files of a row are near."""
    rows = {name: row for row, name in enumerate(new.ids.to_list())}
    old = {} if older is None else {name: row for row, name in enumerate(older.ids(np.arange(len(older))))}

    def values(names: list[Any]) -> NDArray[Any]:
        found = np.empty((len(names), 2), object)
        for at, name in enumerate(names):
            held = name not in rows and older is not None
            found[at] = older.values(np.array([old[name]]))[0] if held and older else new.values[rows[name]]
        return found

    clusters, pairs = result.clusters, result.pairs
    named = source.evidence(values(clusters["id"]), values(clusters["representative"]))
    equal = {"kept": "", "exact": "bytes", "exact-old": "bytes"}
    named = [equal.get(reason, text) for reason, text in zip(clusters["reason"], named, strict=True)]
    clusters.with_column("evidence", named)
    if "left" in pairs.columns:
        named = source.evidence(values(pairs["left"]), values(pairs["right"]))
        named[len(named) - pairs.copies :] = ["bytes"] * pairs.copies
    else:
        named = [text for text, reason in zip(named, clusters["reason"], strict=True) if reason != "kept"]
    pairs.with_column("evidence", named)


def _of_paths(columns: dict[str, Column], names: list[str], read: Column) -> dict[str, Column]:
    """Columns of all paths, for those that were read; all paths differ."""
    rows: dict[object, int] = {name: row for row, name in enumerate(names)}
    places = [rows[name] for name in read.to_list()]
    return {name: Column.of(column.take(places)) for name, column in columns.items()}


def _following(against: object, recipe: DigestRecipe | str | None, threshold: int | None) -> tuple[DigestRecipe, int]:
    """Recipe and threshold; those that are not given are the defaults, or those of a store of files."""
    made, least = DigestRecipe(), THRESHOLD
    if isinstance(against, HasSettings):
        held = against.settings
        if not isinstance(held.recipe, DigestRecipe):
            raise mismatch("family", f"the store's {held.recipe}", "ssdeep")
        made, least = held.recipe, int(held.threshold)
    return made if recipe is None else DigestRecipe.of(recipe), least if threshold is None else threshold


def _unnamed(name: str) -> InputError | None:
    """The error for a name that can't be the id of a document; None for any other."""
    try:
        name.encode()
    except UnicodeEncodeError:
        place, reason = printable(name), "its name is not UTF-8, as ids of a store are; rename it"
        return InputError(f"{place}: {reason}", place=place, reason=reason)
    return None


class _Paths(Column):
    """Paths as ids, also those that are not UTF-8, which hold lone surrogates."""

    def __init__(self, names: list[str]) -> None:
        zeros = np.zeros(len(names), np.int64)
        super().__init__(np.zeros(len(names), np.uint8), zeros, np.append(zeros, 0), np.zeros(0, np.uint8))
        self.names = names

    def __getitem__(self, row: Any) -> Any:
        """The path of a row."""
        return self.names[row]

    def take(self, rows: Any) -> list[Any]:
        """The paths of these rows."""
        return [self.names[row] for row in np.asarray(rows, np.int64).tolist()]

    def to_list(self) -> list[Any]:
        """All paths."""
        return list(self.names)


def path_names(paths: Iterable[str | os.PathLike[str]], name: str) -> list[str]:
    """Paths as str; `name` is the argument's.

    Raises
    ------
    ParameterError
        Anything else.
    """
    if isinstance(paths, (str, bytes, os.PathLike)) or not isinstance(paths, Iterable):
        raise bad_parameter(name, repr(paths), "an iterable of paths, such as a list")
    listed = list(paths)
    for path in listed:
        if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
            raise bad_parameter(name, repr(path), "paths as str or os.PathLike; os.fsdecode makes one of bytes")
    return [os.fspath(path) for path in listed]


def hash_paths(
    names: list[str],
    recipe: DigestRecipe,
    *,
    columns: dict[str, Column] | None = None,
    dated: bool = False,
    named: bool = False,
    texts: bool = False,
    on_error: OnError | None = None,
    report: Progress = unreported,
) -> HashedDocuments:
    """Digests and contents of the files that can be read; their ids are the names.

    Parameters
    ----------
    names : list of str
        Paths.
    recipe : DigestRecipe
    columns : dict of str to Column, optional
        Values of the paths.
    dated : bool, default False
        Whether the order of their last changes is to be a column.
    named : bool, default False
        Whether the names are to be ids of a store: one that is not UTF-8 is then a file that can't be read.
    texts : bool, default False
        Whether values have features of text, too.
    on_error : function, optional
        Called with the path and the exception of each file that can't be read; it is left out. None raises the first.
    report : function, optional
        Called with stage, done and total.

    Raises
    ------
    InputError
        For anything but a regular file, or a file that changes while it is read.
    OSError
        If a file can't be read.
    """
    times: list[int] = []
    read: list[int] = []
    digests: list[str] = []
    contents: list[tuple[int, int]] = []
    lengths: list[int] = []
    features: list[Features | None] = []
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        files = ssdeep_hash_contents(batch, recipe.eliminate_runs, recipe.truncate)
        made: list[Any] = [None] * len(batch)
        if recipe.normalize:
            made = recipe.hash_files(batch, on_error="return")
        for place, (file, error), other in zip(range(start, len(names)), files, made, strict=False):
            fault: Exception | None = impossible_name(names[place]) or (_unnamed(names[place]) if named else None)
            fault = fault or (other if isinstance(other, Exception) else error)
            if dated and fault is None:
                try:
                    times.append(Path(names[place]).stat().st_mtime_ns)
                except OSError as gone:
                    fault = gone
            if texts and fault is None and file is not None:
                try:
                    features.append(_features(names[place], file[3]))
                except (OSError, InputError) as gone:
                    fault = gone
            if fault is not None:
                if on_error is None:
                    raise fault
                on_error(names[place], fault)
            if file is None or fault is not None:
                continue
            digest, upper, lower, length = file
            read.append(place)
            digests.append(other or digest)
            contents.append((upper, lower))
            lengths.append(length)
        report("hash", min(start + _BATCH, len(names)), len(names))
    if columns:
        columns = {name: Column.of(column.take(read)) for name, column in columns.items()}
    if dated:
        # Ranks, since the order compares floats, and nanoseconds of today need 61 bits.
        ranks = np.unique(np.array(times, np.int64), return_inverse=True)[1]
        columns = {**(columns or {}), column_key(_CHANGED): Column.integers(ranks.reshape(-1).astype(np.int64))}
    sizes = np.array(lengths, np.uint64)
    return HashedDocuments(
        file_rows(digests, features) if texts else digest_rows(digests),
        (sizes > 0).astype(np.uint64),
        np.array(contents, np.uint64).reshape(-1, 2),
        sizes,
        _Paths([names[place] for place in read]),
        columns or {},
        no_texts,
    )


def _features(name: str, length: int) -> Features | None:
    """Features of a file's text; None for one that has none.

    Raises
    ------
    InputError
        The file has another length than when it was hashed.
    """
    if length > LONGEST_TEXT:
        return None
    data = Path(name).read_bytes()
    if len(data) != length:
        place, reason = printable(name), "it changed while it was read"
        raise InputError(f"{place}: {reason}", place=place, reason=reason)
    return script_features((np.array([0, len(data)], np.int64), np.frombuffer(data, np.uint8)))[0]


def no_texts(rows: NDArray[np.int64]) -> TextBatch:
    """What is looked up of documents without texts.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError("files are compared by their digests")
