"""Deduplication of files by their fuzzy digests: the stages of `nearkin.dedup.texts`, with scores from 1 to 100.

1. *Hash*: every file becomes a digest, and its bytes a content hash.
2. *Collapse*: files with equal bytes become one.
3. *Search, cluster*: `nearkin.dedup.cluster` over the matches of a `DigestIndex`, whose score is the similarity.
4. *Keep*: the first file of each cluster in keep order is kept. A removed file joins the most similar one of the kept
   files before it; those of `against` come first, and ties go to the first in keep order.

Files whose ssdeep digest has no seven characters in a part (below about 100 bytes, or constant) match by equal bytes
alone, because their digests are equal by chance, and so do files without a TLSH digest. Empty files are always kept.

With `family="fuzzy"` files match by either digest, ssdeep or TLSH, and with `also="text"` short textual files also
match by features of their text (`nearkin.dedup.candidates.digests`). Both tables then name the evidence of each link,
as they do for TLSH.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearkin._core import script_features, ssdeep_hash_contents, tlsh_hash_contents
from nearkin.dedup.candidates import Ordinals, TextBatch
from nearkin.dedup.candidates.digests import DigestCandidates, Features, FileCandidates, digest_values
from nearkin.dedup.config import MODIFIED, FileDedupConfig, FileDedupOptions, FileFamily
from nearkin.dedup.constraints import read_constraints
from nearkin.dedup.documents import Cells, HashedDocuments, as_column, check_distinct_ids
from nearkin.dedup.keep import VALUES, check_values, column_key, keep_columns
from nearkin.dedup.labels import LabelsInput
from nearkin.dedup.reference import ReferenceCorpus, ReferenceProvider, SearchableReference
from nearkin.dedup.result import DedupResult
from nearkin.dedup.scripts import undo_wrappers
from nearkin.dedup.sink import ConfiguredCollection, DedupSink, check_columns, check_sink
from nearkin.dedup.stages import run_stages
from nearkin.dedup.summary import StageTimer
from nearkin.digests.inputs import name_missing
from nearkin.digests.recipes import AnyDigestRecipe
from nearkin.digests.ssdeep import DigestRecipe
from nearkin.digests.tlsh import TlshRecipe
from nearkin.errors import InputError, bad_parameter, check_options, input_error, invalid_name_error, printable
from nearkin.io import Column
from nearkin.io.frames import is_frame
from nearkin.progress import Progress, ShowProgress, ignore_progress, mark_reference, reporting

if TYPE_CHECKING:
    from typing_extensions import Unpack

MAX_TEXT_BYTES = 1 << 16
"""Size of the largest file with features of text (core: `patterns/payloads/scripts.rs`)."""
_BATCH = 256
"""Files hashed by one parallel call, after which progress is reported."""

OnError = Callable[[str, Exception], None]


def dedup_files(
    paths: Iterable[str | os.PathLike[str]],
    *,
    family: FileFamily | None = None,
    threshold: int | None = None,
    keep: str = "first",
    values: Cells | Mapping[str, Cells] | None = None,
    also: Literal["text"] | None = None,
    recipe: DigestRecipe | str | None = None,
    against: Iterable[str | os.PathLike[str]] | ReferenceProvider | None = None,
    store: DedupSink | None = None,
    labels: LabelsInput | None = None,
    on_error: OnError | None = None,
    progress: ShowProgress = None,
    **options: Unpack[FileDedupOptions],
) -> DedupResult:
    r"""Find near-identical files, and keep one of each cluster. No file is changed.

    Parameters
    ----------
    paths : iterable of str or os.PathLike
        Regular files, each once: a list, or a column of a frame.
    family : {"ssdeep", "tlsh", "fuzzy"}, optional
        Digest to compare (default: that of the recipe). "fuzzy" takes both, and a match by either is a match.
    threshold : int, default 80
        Smallest ssdeep score of a match, inclusive, 1 to 100.
    keep : str, default "first"
        The file to keep of each cluster: first, last, longest, shortest, oldest, newest (by modification time),
        `max:NAME`, `min:NAME`; `max` or `min` of `values`. Later rules of a list separated by commas decide ties. The
        last tie-break is the path.
    values : numbers or dates, one per path; or a mapping of names to such; optional
        For `max` and `min`. Missing values (None, NaN) come last, and a warning counts them.
    also : {"text"}, optional
        Let short textual files (scripts and pages up to 64 KB) also match by features of their text, whatever their
        digests are: names of variables, numbers, comments, white space, case and base64 have no effect, nor have
        wrappers whose arguments are literals, such as `eval(gzinflate(base64_decode('…')))`, `str_rot13`, `strrev`,
        `chr(..).chr(..)` and `pack('H*', '…')`, also nested (`nearkin.dedup.scripts`). Not with
        a store, which has digests alone. `clusters` and `pairs` then have a column `evidence`, as with TLSH:
        "ssdeep 84", "tlsh 23" (a distance), "text .91", several of them, or "bytes".
    recipe : DigestRecipe, TlshRecipe or str, default "ssdeep"
        Defines the digest of a file: "tlsh" and "tlsh:256" are recipes of TLSH.
    against : iterable of paths, or a Store of files; optional
        Reference files: files that match one of them are removed, and the result names it. The settings of a store are
        the defaults of recipe and threshold.
    store : Store, optional
        Compare files with this store of files as with `against`, and add the kept ones under their paths in one durable
        transaction at the end.
    labels : PairLabels, iterable of (path, path, bool or None), or the path of a table; optional
        Labelled pairs of files, by their paths, as for `nearkin.dedup`: no file is removed for one that it is labelled
        different from, unless their bytes are equal. Not with a store.
    on_error : function, optional
        Called with the path and the exception of each file that can't be read; the run leaves it and its entry of
        `values` out. With None the first exception is raised.
    progress : bool or function, optional
        True shows bars in a terminal or a notebook; a function is called with stage, done and total.
    **options
        The options below.

    Other Parameters
    ----------------
    cluster : {"absorb", "components"}, default "absorb"
        Keep-then-absorb, where a removed file joins its best match among the kept ones before it, or connected
        components (where a chain of small changes is one cluster).
    radius : int, default 40
        With TLSH: largest distance of a match, inclusive, 0 to 100.
    links : {"representatives", "all"}, default "representatives"
        The links in `pairs`: those of removed files, or all matches.
    skip_hubs : int, default 100,000
        Skip 7-grams shared by more digests than this, which bounds the work for very many files with a common part:
        among the new files, and among reference files (in a store those of each segment). The summary counts such
        look-ups under `skipped`. None skips none.
    text_threshold : float, default 0.6
        With `also="text"`: smallest Jaccard similarity of features of a match, inclusive, above 0 and up to 1.
    columns : mapping of str to one value per path; optional
        Columns that the store keeps with each file.
    output : function, optional
        With `store`: called with the result, it returns the finished `nearkin.io.OutputDir` of this run, which is
        published if, and only if, the store adds the kept files. Called again if another process changed the store in
        between.
    ledger : bool, default False
        With `store`: also record each removed file with its match, once under its path, as `nearkin.dedup` does.

    Returns
    -------
    DedupResult
        Ids are the paths as str. `similarity` is the score of the digests, 100 for equal bytes; `distance` is 100 minus
        the score. Of TLSH `distance` is the distance of the digests, and `similarity` is 100 minus it, or 0. With
        several kinds of evidence `similarity` is the largest, and `distance` is 100 minus it.

    Raises
    ------
    InputError
        For anything but a regular file, or a file that changes while it is read. With a store for a name that is not
        UTF-8, and for an existing path with another file; nothing is added then.
    OSError
        If a file can't be read.
    ParameterError
        For an unknown rule, a threshold out of range, a repeated path, columns that are not as long as the paths, or
        labels with a store.
    MismatchError
        If a store has another recipe or threshold.

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
    check_options(dedup_files, FileDedupOptions, options)
    columns, output = options.pop("columns", None), options.pop("output", None)
    ledger = options.pop("ledger", False)
    collection = against if store is None else store
    settings = collection.settings if isinstance(collection, ConfiguredCollection) else None
    arguments = {"recipe": recipe, "threshold": threshold, "keep": keep, "also": also, **options}
    if family is not None:
        arguments["family"] = family
    config = FileDedupConfig.from_args(settings, **arguments)
    if store is None and (columns is not None or output is not None or ledger):
        raise bad_parameter("store", "None", "a store, with columns, a ledger or an output")
    constraints = None if labels is None else read_constraints(labels, store, against)
    if store is not None:
        check_sink(store, against, config)
    cells: Mapping[str, Cells] = values if isinstance(values, Mapping) else {} if values is None else {VALUES: values}
    names = path_names(paths, "paths")
    check_values([name for name in keep_columns(config.order) if name != MODIFIED], cells)
    keep_values = {column_key(name): as_column(value) for name, value in cells.items()}
    for column in keep_values.values():
        if len(column) != len(names):
            raise bad_parameter("values", f"{len(column)} values", f"{len(names)} values, one per path")
    stored = check_columns(columns or {}, len(names), "path")
    timer = StageTimer()
    with reporting(progress) as report:
        with timer("hash"):
            new = hash_paths(
                names,
                config.recipes,
                columns=keep_values,
                modified=MODIFIED in keep_columns(config.order),
                utf8=store is not None,
                texts=config.also == "text",
                on_error=on_error,
                report=report,
            )
            check_distinct_ids(new.ids, "ids")
            reference = _read_reference(against, config, on_error, report)

        def decide(reference: ReferenceCorpus | None, known: Ordinals | None = None) -> DedupResult:
            result = run_stages(new, reference, config, timer, report, constraints, known=known)
            if len(config.recipes) > 1 or config.also is not None or config.family == "tlsh":
                _add_evidence(result, config.candidate_source, new, reference)
            return replace(result, summary={**result.summary, "unreadable": len(names) - len(new)})

        if store is None:
            return decide(reference)
        rows = {name: row for row, name in enumerate(names)}
        read = [rows[str(name)] for name in new.ids.to_list()]
        stored = {name: Column.of(column.take(read)) for name, column in stored.items()}
        return store.append(
            new, config.candidate_source, decide, numbered=False, columns=stored, output=output, ledger=ledger
        )


def _read_reference(
    against: Iterable[str | os.PathLike[str]] | ReferenceProvider | None,
    config: FileDedupConfig,
    on_error: OnError | None,
    report: Progress,
) -> ReferenceCorpus | None:
    """Return the reference documents: hashed files, or those of a store."""
    if against is None:
        return None
    if isinstance(against, ReferenceProvider):
        return against.reference_corpus(config.candidate_source)
    documents = hash_paths(
        path_names(against, "against"),
        config.recipes,
        texts=config.also == "text",
        on_error=on_error,
        report=mark_reference(report),
    )
    check_distinct_ids(documents.ids, "against_ids")
    return SearchableReference(documents, config.candidate_source)


def _add_evidence(
    result: DedupResult,
    source: DigestCandidates | FileCandidates,
    new: HashedDocuments,
    reference: ReferenceCorpus | None,
) -> None:
    """Append a column to both tables: the evidence that the two files of a row are near."""
    rows = {name: row for row, name in enumerate(new.ids.to_list())}
    old = {} if reference is None else {name: row for row, name in enumerate(reference.ids(np.arange(len(reference))))}

    def values(names: list[Any]) -> NDArray[Any]:
        result = np.empty((len(names), new.values.shape[1]), object)
        for at, name in enumerate(names):
            external = name not in rows and reference is not None
            result[at] = reference.values(np.array([old[name]]))[0] if external else new.values[rows[name]]  # type: ignore[union-attr]
        return result

    clusters, pairs = result.clusters, result.pairs
    evidence = source.evidence(values(clusters["id"]), values(clusters["representative"]))
    equal = {
        "kept": "",
        "representative": "",
        "exact": "bytes",
        "exact-old": "bytes",
        "label": "label",
        "label-old": "label",
    }
    evidence = [equal.get(reason, text) for reason, text in zip(clusters["reason"], evidence, strict=True)]
    clusters.with_column("evidence", evidence)
    if "left" in pairs.columns:
        evidence = source.evidence(values(pairs["left"]), values(pairs["right"]))
        evidence[len(evidence) - pairs.copies :] = ["bytes"] * pairs.copies
    else:
        reasons = clusters["reason"]
        evidence = [text for text, why in zip(evidence, reasons, strict=True) if why not in ("kept", "representative")]
    pairs.with_column("evidence", evidence)


class _PathColumn(Column):
    """Paths as ids, including those that are not UTF-8, which have lone surrogates."""

    def __init__(self, names: list[str]) -> None:
        zeros = np.zeros(len(names), np.int64)
        super().__init__(np.zeros(len(names), np.uint8), zeros, np.append(zeros, 0), np.zeros(0, np.uint8))
        self.names = names

    def __getitem__(self, row: Any) -> Any:
        """Return the path of a row."""
        return self.names[row]

    def take(self, rows: Any) -> list[Any]:
        """Return paths by row."""
        return [self.names[row] for row in np.asarray(rows, np.int64).tolist()]

    def to_list(self) -> list[Any]:
        """Return all paths."""
        return list(self.names)


def path_names(paths: Iterable[str | os.PathLike[str]], name: str) -> list[str]:
    """Convert paths to str; `name` is the argument.

    Raises
    ------
    ParameterError
        Another kind of value.
    """
    if isinstance(paths, (str, bytes, os.PathLike)) or not isinstance(paths, Iterable) or is_frame(paths):
        raise bad_parameter(name, repr(paths), "an iterable of paths, such as a list or a column of a frame")
    listed = list(paths)
    for path in listed:
        if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
            raise bad_parameter(name, repr(path), "paths as str or os.PathLike; os.fsdecode makes one of bytes")
    return [os.fspath(path) for path in listed]


def hash_paths(
    names: list[str],
    recipes: Sequence[AnyDigestRecipe],
    *,
    columns: dict[str, Column] | None = None,
    modified: bool = False,
    utf8: bool = False,
    texts: bool = False,
    on_error: OnError | None = None,
    report: Progress = ignore_progress,
) -> HashedDocuments:
    """Hash the digests and contents of files; their ids are the names.

    Parameters
    ----------
    names : list of str
        Paths.
    recipes : sequence of DigestRecipe and TlshRecipe
        One for each column of digests.
    columns : dict of str to Column, optional
        Values of the paths.
    modified : bool, default False
        Add a column with the order of the modification times.
    utf8 : bool, default False
        Reject names that are not UTF-8, because they are to be ids of a store.
    texts : bool, default False
        Add features of text to the values.
    on_error : function, optional
        Called with the path and the exception of each file that can't be read, which is left out. With None the first
        exception is raised.
    report : function, optional
        Called with stage, done and total.

    Raises
    ------
    InputError
        For anything but a regular file, or a file that changes while it is read.
    OSError
        If a file can't be read.
    """
    rows: list[tuple[int, list[Any], tuple[int, int], int, int]] = []
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        hashed = [_hash_batch(batch, recipe) for recipe in recipes]
        for row, *files in zip(range(start, start + len(batch)), *hashed, strict=True):
            name = names[row]
            try:
                _raise_first(invalid_name_error(name), _utf8_error(name) if utf8 else None, *files)
                modification = Path(name).stat().st_mtime_ns if modified else 0
                digests = [digest for digest, _ in files]
                content = files[0][1]
                if any(other != content for _, other in files):
                    raise _changed_error(name)
                if texts:
                    digests.append(_read_features(name, content[2]))
            except (OSError, ValueError) as error:
                if on_error is None:
                    raise name_missing(name, error) from None
                on_error(name, name_missing(name, error))
                continue
            rows.append((row, digests, content[:2], content[2], modification))
        report("hash", min(start + _BATCH, len(names)), len(names))
    read, values, contents, lengths, times = map(list, zip(*rows, strict=True)) if rows else ([],) * 5
    if columns:
        columns = {name: Column.of(column.take(read)) for name, column in columns.items()}
    if modified:
        # Ranks, because the order compares floats, and today's nanoseconds need 61 bits.
        ranks = np.unique(np.array(times, np.int64), return_inverse=True)[1]
        columns = {**(columns or {}), column_key(MODIFIED): Column.integers(ranks.reshape(-1).astype(np.int64))}
    sizes = np.array(lengths, np.uint64)
    return HashedDocuments(
        digest_values(*(list(map(list, zip(*values, strict=True))) or [[]] * (len(recipes) + texts))),
        (sizes > 0).astype(np.uint64),
        np.array(contents, np.uint64).reshape(-1, 2),
        sizes,
        _PathColumn([names[row] for row in read]),
        columns or {},
        no_texts,
    )


def _hash_batch(names: list[str], recipe: AnyDigestRecipe) -> list[Any]:
    """Return of each file its digest and the content hash and length, `(digest, (upper, lower, length))`, or the error.

    The digest of a file without one is the empty text.
    """
    if isinstance(recipe, TlshRecipe):
        files = tlsh_hash_contents(names, (recipe.buckets, recipe.checksum, recipe.conservative))
    else:
        files = ssdeep_hash_contents(names, (recipe.eliminate_runs, recipe.truncate))
    results: list[Any] = [error if file is None else (file[0], file[1:]) for file, error in files]
    if isinstance(recipe, DigestRecipe) and recipe.normalize:
        for row, digest in enumerate(recipe.hash_files(names, on_error="return")):
            if not isinstance(results[row], Exception):
                results[row] = digest if isinstance(digest, Exception) else (digest, results[row][1])
    return results


def _changed_error(name: str) -> InputError:
    return input_error(printable(name), "it changed while it was read")


def _raise_first(*faults: object) -> None:
    """Raise the first argument that is an exception."""
    for fault in faults:
        if isinstance(fault, Exception):
            raise fault


def _utf8_error(name: str) -> InputError | None:
    """Return the error for a name that can't be the id of a document; None for any other."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return input_error(printable(name), "its name is not UTF-8, as ids of a store are; rename it")
    return None


def _read_features(name: str, length: int) -> Features | None:
    """Read a file and return the features of its text; None for one without features.

    Raises
    ------
    InputError
        The file has another length than when it was hashed.
    """
    if length > MAX_TEXT_BYTES:
        return None
    data = Path(name).read_bytes()
    if len(data) != length:
        raise _changed_error(name)
    data = undo_wrappers(data, MAX_TEXT_BYTES)
    return script_features((np.array([0, len(data)], np.int64), np.frombuffer(data, np.uint8)))[0]


def no_texts(rows: NDArray[np.int64]) -> TextBatch:
    """Refuse to look up texts of documents without texts.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError("files are compared by their digests")
