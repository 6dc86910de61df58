"""Deduplication of texts in memory, frames and corpora on disk: hash, search, verify, cluster, keep.

1. *Hash*: every text becomes a fingerprint or signature. Texts without features are flagged.
2. *Collapse*: texts with equal content become one (XXH3 of 128 bits: two of n texts collide with probability below
   n² / 2^129).
3. *Search, verify, cluster*: `nearkin.dedup.cluster`.
4. *Keep*: the first document of each cluster in keep order is kept. The result names for each removed text the kept
   one, the distance, the verified similarity and the reason.

The keep rule and the ids determine the order of visits, never threads. Memory per document: one fingerprint, about 100
bytes of arrays, an id, and the search index of the kept ones; large arrays are spilled to files
(`nearkin.dedup.spill`). `docs/dedup.md` has measurements.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from nearkin.dedup.boilerplate import LineCounts, count_sound, leave_out_lines, read_pages
from nearkin.dedup.candidates import MinHashCandidates
from nearkin.dedup.checkpoint import HashLog, JobCheckpoint, describe_job, open_checkpoint
from nearkin.dedup.config import DedupConfig, DedupOptions, parse_shrink_to
from nearkin.dedup.constraints import read_constraints
from nearkin.dedup.documents import Cells, HashedDocuments, as_column, check_distinct_ids, hash_texts, name_columns
from nearkin.dedup.groups import GROUP, Groups, UnhashedRows
from nearkin.dedup.inputs import ColumnNames, DedupInputs, FrameLike, Paths, open_inputs
from nearkin.dedup.keep import BEST, column_key, values_by_column
from nearkin.dedup.kinds import Kind
from nearkin.dedup.labels import LabelsInput, PairLabels
from nearkin.dedup.reference import PrecedingReference, ReferenceCorpus, ReferenceProvider, SearchableReference
from nearkin.dedup.result import DedupResult
from nearkin.dedup.shrink import check_rereadable, shrink
from nearkin.dedup.sink import ConfiguredCollection, DedupSink, check_columns, check_sink
from nearkin.dedup.stages import run_stages
from nearkin.dedup.summary import StageTimer
from nearkin.dedup.verify import Measure
from nearkin.errors import bad_parameter, check_options, excerpt
from nearkin.index.ids import Ids
from nearkin.io import Column, Corpus
from nearkin.io.arrow import is_arrow, to_values
from nearkin.progress import Progress, ShowProgress, ignore_progress, mark_reference, reporting
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts
from nearkin.text.idf import Idf, fit_recipe, is_unfitted

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from nearkin.dedup.candidates import TextBatch, TextCandidateSource


_SAMPLE, _SAMPLE_CHARACTERS = 1000, 1 << 22
"""Maximum number of the first texts, and of their characters, by which a kind is named."""
_SYMBOLS = re.compile(r"[(){}\[\];=<>_]")
_SYMBOL_SHARE = 0.04
_TAG = re.compile(r"<(?:!doctype html|html|head|body|div|p|td|a href)\b[^<]*>", re.IGNORECASE)
_TITLE = 80
"""Characters of a long title."""
_MIN_TEXTS = 20
"""Number of texts from which on a kind is guessed."""
_DEFAULT_FEATURES = ("char", 4, "word", (), "minhash")


def dedup(
    texts: Texts | Corpus | FrameLike | Paths | NDArray[Any],
    ids: Ids | None = None,
    *,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    threshold: float | None = None,
    keep: str = "first",
    values: Cells | str | Mapping[str, Cells] | None = None,
    recipe: Recipe | str | None = None,
    measure: Measure | None = None,
    against: Texts | Corpus | FrameLike | Paths | ReferenceProvider | None = None,
    against_ids: Ids | None = None,
    store: DedupSink | None = None,
    labels: LabelsInput | None = None,
    progress: ShowProgress = None,
    **options: Unpack[DedupOptions],
) -> DedupResult:
    """Find near-duplicates among texts or vectors, and keep one of each cluster.

    Parameters
    ----------
    texts : iterable of str or None, a column, a frame, paths, an open Corpus, or an (n, d) array of numbers
        A column of pyarrow, pandas or polars, or any Arrow string array. A frame is a DataFrame of pandas or polars, a
        LazyFrame, a Table, RecordBatch or RecordBatchReader of pyarrow, a Dataset of Hugging Face, a list of dicts, or
        another object with named columns and `__arrow_c_stream__`. Paths are a str or Path that names files, a glob or
        a folder, or a list with Paths in it, as `nearkin.io.open_corpus` takes them. A list of strings is a list of
        texts; with `text` or `id` it is a list of paths, unless `against` is a frame or paths. Rows of an array are
        vectors whose cosine the threshold bounds (`nearkin.dedup.vectors`), with the options `ids`, `threshold`
        (default 0.95), `keep`, `values`, `progress`, `recall` (default 0.99), `cluster` and `links`.
    ids : integers or strings, one per text, all different; optional
        None means row numbers. A Corpus has its own.
    text : str or sequence of str, default "text"
        For a frame or files: the column of the texts, which are strings, or bytes in UTF-8. Several columns are joined
        by line feeds, without nulls: `["question", "answer"]`, or "question,answer" if no column has that name.
    id : str, optional
        For a frame or files: the column of the ids, integers or strings; default row numbers.
    threshold : float, default 0.8
        Smallest similarity of a match, inclusive, above 0 and up to 1. If `against` or `store` is a store, its settings
        are the defaults of this parameter and of `recipe`, `radius`, `recall`, `verify`, `differ` and `empty`.
    keep : str, default "first"
        The document to keep of each cluster: first, last, longest, shortest, best, `max:COLUMN`, `min:COLUMN`; `max` or
        `min` of `values`. "best" has the most words that are neither damaged nor noisy, repeated or of a menu; as the
        first rule it adds to `clusters` the column `reason_kept`: what the kept document has over each other one. Later
        rules of a list separated by commas decide ties: "max:score,longest". The last tie-break is the id. "none"
        removes all documents of a cluster of two or more, exact copies as well; the reason of its representative, the
        first, is "representative". It goes with neither `store` nor `near_misses`.
    values : numbers or dates, one per text; a mapping of names to such; or the name of a column; optional
        For `max` and `min`. A frame, files and a Corpus have the columns that `keep` names. Strings are parsed as dates
        and times (ISO 8601; without a zone in UTC). Missing values (None, NaN) come last, and a warning counts them.
    recipe : Recipe, str or None
        Defines the features of a text and its hashes; None for the document recipe, MinHash of distinct 4-grams with
        as many values as the bands need. The weight `idf` without a table, as in
        "word:1|idf|xxh3|minhash:128:weighted", counts the document frequencies of `texts` in a pass before
        (`nearkin.Idf.fit`), in at most 2^20 features; the result has the table as `idf`, which other jobs take.
    measure : {"jaccard", "containment", "indel", "words"}, default "jaccard"
        The similarity that the threshold bounds, which also verifies candidates. "containment" is
        the share of the smaller text's features that the larger one has. It has candidates of its own, independent of
        the recipe's family, so `radius` must be None.
    against : texts, a frame, paths, an open Corpus, or a collection; optional
        Reference documents: texts that match one of them are removed, and the result names it. A frame and files have
        the columns that `text` and `id` name. A store, or another collection, implements
        `nearkin.dedup.reference.ReferenceProvider`.
    against_ids : integers or strings; optional
        Ids of reference texts; None means row numbers.
    store : Store, optional
        Compare texts with this store as with `against`, and add the kept ones in one durable transaction at the end.
        Without ids they get its row numbers.
    labels : PairLabels, iterable of (id, id, bool or None), or a path; optional
        Labelled pairs, or a table of them such as the report page exports. No document is removed for one that it is
        labelled different from, nor is it in a component with one. The clusters of documents labelled same are merged,
        whatever their similarity, unless that would merge a pair labelled different. Documents with equal contents are
        copies nevertheless, and a warning counts them. The summary counts under `labels` what the labels changed. Works
        with reference texts in `against`, whose ids count as well, but not with a store.
    progress : bool or function, optional
        True shows bars in a terminal or a notebook; a function is called with stage, done and total.
    **options
        The options below.

    Other Parameters
    ----------------
    kind : {"articles", "products", "logs", "poems", "titles", "code", "pages", "functions"}, optional
        A kind of corpus, which sets recipe, threshold, verification and `differ` together, as `nearkin.dedup.kinds`
        lists them; those that the call passes win. The summary says under `kind_set` what it set. A store must have the
        settings of the kind. With "functions", each function of a source file is a document. "pages" reads the main
        text of HTML, leaves out the frequent lines of each source, which the summary lists under `left_out_lines`, and
        goes with neither a store, `groups` nor hashes of a checkpoint. Without a kind, recipe and rules the summary
        may name one under `kind_hint`, with what it removes of the first 1,000 texts.
    radius : int, optional
        Largest Hamming distance of a candidate, inclusive. Without a recipe it selects SimHash fingerprints; with a
        recipe of that family it follows from threshold and recall by default (`nearkin.theory.simhash_radius`).
    recall : float, default 0.995
        Requested probability of finding a pair at the threshold, above 0 and below 1. The bands
        of minhash follow from it (`nearkin.theory.choose_bands`), as does the radius of simhash. With
        `measure="containment"` the default is 0.95 (`nearkin.theory.containment_recall`). The law of both families
        is that of the Jaccard similarity of binary features: the summary's `expected_recall` is None for other weights,
        and for "indel" and "words".
    bands : str or (int, int), optional
        With minhash: the numbers of bands and of rows, such as "29x8". By default they follow from threshold, recall,
        the number of documents, and the similarity of unrelated ones among the first 2,000 documents: more rows leave
        fewer unrelated candidates. The same bands give the same result wherever the job runs.
    verify : {"jaccard", "containment", "indel", "words", "signature", "none"}, default "jaccard"
        The names of `measure` have the same meaning here. With a `radius` or a store, candidates for
        "containment" are those of the fingerprints, and no recall is promised. "signature", with minhash, takes the
        share of equal values of signatures as the similarity; "none" takes every candidate as a match.
    differ : str or iterable of str, optional
        Rules by which similar texts differ: "numbers", "days", "signs", "symbols", separated by commas, or
        "pattern:REGEX" (see `dedup.distinguishers`). Two texts differ if each has such an item that the other does not
        have: "1.5 percent" and "15 percent", whose letters are the same. Texts that differ are no matches,
        so both are kept, and the summary counts such pairs. "none" ignores the rules of a store.
    empty : {"keep", "drop"}, default "keep"
        Treatment of documents without features (None, the empty text, "!!!"): they are never copies of anything.
        "keep" keeps all of them; "drop" removes them. The summary counts them as `without_features`.
    cluster : {"absorb", "components"}, default "absorb"
        Keep-then-absorb, or connected components (where a chain of small changes is one cluster).
    links : {"representatives", "all"}, default "representatives"
        The links in `pairs`: those of removed documents, or all verified links.
    lossless : bool, default False
        Remove a document only if the kept one has all its features and is not shorter. A match without them stays, and
        the summary counts such documents as `kept_for_text`; `keep="longest"` removes most. Needs `cluster="absorb"`
        and a verification by texts, and goes with neither `labels` nor `keep="none"`.
    shrink_to : int, float or str, optional
        Choose the threshold: the highest one, in thousandths, that keeps at most this number of documents (of groups,
        with `groups`), or this share of them: a float up to 1.0. The result is that of a run with this threshold, and
        the summary has it under `shrink_to` with the next higher one (`nearkin.dedup.shrink`). `threshold` is then the
        lowest one to try, 0.5 by default. The inputs are read twice. It goes with neither a store, labels, a
        checkpoint, nor a verification without a promise of recall: "indel", "words", "none".
    max_comparisons : int, default 10,000
        Maximum number of candidates that one document is compared with by text, which bounds the work for many
        different texts with nearly equal fingerprints; with `verify="indel"` also at most 2**39 pairs of characters.
        Candidates beyond the limit are no matches; the summary counts them under `skipped`.
    near_misses : int or "auto", default 0
        Size of the random sample of kept documents to search for near misses: the result's `near_misses` lists their
        candidates with similarities below the threshold, for people to judge, and the summary estimates from them under
        `thresholds` what other thresholds remove and miss. Needs `cluster="absorb"`, a verification by texts, and
        candidates by fingerprints or signatures; "auto" is 4,000 with these, and 0 without.
    checkpoint : str or path, optional
        A folder for the results of stages. A failed run continues from it if it is called again with the same arguments
        and documents, and gives the result of a run that did not fail. The folder stays; delete it when the result is
        saved. The summary counts under `resumed` what was taken over. With a store, whose documents may change, these
        are hashes only.
    sources : strings or integers, one per text, or the name of a column of a frame, files or a Corpus; optional
        The source of each text: the summary counts removals by source, and a warning names a source that loses far
        more than the rest. Under `sources_shared` it counts the clusters that each two sources share.
    min_sources : int, default 1
        Keep only documents that at least this number of sources have, as a copy or a near-duplicate, such as pages that
        two crawls found. A missing source is none. The summary counts the others under "few-sources". Not with a store.
    groups : strings or integers, one per text, or the name of a column of a frame, files or a Corpus; optional
        The group of each text, such as its repository, book or site. Groups are compared instead of texts, by the union
        of the features of their texts, and kept or removed as a whole (`nearkin.dedup.groups`). Tables, labels and
        counts are of groups; `kept_rows` and `kept` have all texts of the kept ones. Goes with neither `against` nor
        `store`.
    columns : mapping of str to one value per text, or names of columns of a frame, files or a Corpus; optional
        Columns that the store keeps with each document.
    output : function, optional
        With `store`: called with the result, it returns the finished `nearkin.io.OutputDir` of this run, which is
        published if, and only if, the store adds the kept documents. Called again if another process changed the store
        in between.
    ledger : bool, default False
        With `store`: also record each removed document with its match, as `Store.check_and_add` does, so that the store
        counts how many documents each kept one stands for, and of how many `sources`, which become its column `source`
        (`Store.get`). An id counts once, so a repeated job with ids changes no count.

    Returns
    -------
    DedupResult

    Raises
    ------
    ParameterError
        For an unknown rule, a threshold or radius out of range, columns that are not as long as the texts, or that a
        frame does not have (the message lists its columns), a recall that signatures of this many values can't reach,
        or labels with a store.
    MismatchError
        If a store has other settings, or `checkpoint` is that of another job.
    StoreLockedError
        If another process is using `checkpoint`.
    OutputError
        If `checkpoint` can't be written.
    InputError
        For ids that are not distinct, or a record that can't be read; with a store for an existing id with another
        text. Nothing is added then.

    Warns
    -----
    RuntimeWarning
        If candidates were skipped: near-duplicates may be left. If labels name ids of no document, or call equal
        contents different. If a file of the checkpoint is damaged: what it had is computed again.

    Examples
    --------
    >>> import nearkin as nk
    >>> texts = ["The quick brown fox jumps over the lazy dog.", "A completely different sentence, about cats.",
    ...          "The quick brown fox jumps over the lazy dog!!", "The quick brown fox jumped over the lazy dog."]
    >>> result = nk.dedup(texts, ids=["a", "b", "c", "d"], threshold=0.7)
    >>> result.kept
    ['a', 'b']
    >>> for row in result.clusters.rows():
    ...     print(row["id"], row["representative"], row["reason"], round(row["similarity"], 2))
    a a kept 1.0
    c a same-letters 1.0
    d a near 0.76

    A frame with named columns, and its kept rows:

    >>> import polars as pl
    >>> pages = pl.DataFrame({"url": ["x", "y"], "body": ["Twice the same text.", "Twice the same text!"]})
    >>> nk.dedup(pages, text="body", id="url").filter(pages).rows()
    [('x', 'Twice the same text.')]
    """
    check_options(dedup, DedupOptions, options)
    if _is_vectors(texts):
        # Texts need no index of vectors.
        from nearkin.dedup.vectors import dedup_vectors

        named: dict[str, object] = {"text": text, "id": id, "recipe": recipe, "measure": measure, "against": against}
        named |= {"against_ids": against_ids, "store": store, "labels": labels}
        passed = {name: value for name, value in {**named, **options}.items() if value is not None}
        return dedup_vectors(
            cast("NDArray[Any]", texts),
            ids,
            threshold=threshold,
            keep=keep,
            values=values,
            progress=progress,
            options=passed,
        )
    texts = cast("Texts | Corpus | FrameLike | Paths", texts)
    sources, columns, output = options.pop("sources", None), options.pop("columns", None), options.pop("output", None)
    groups, ledger = options.pop("groups", None), options.pop("ledger", False)
    names = ColumnNames.from_args(text, id, texts, against)
    collection = against if store is None else store
    settings = collection.settings if isinstance(collection, ConfiguredCollection) else None
    timer, idf = StageTimer(), None
    if isinstance(recipe, str) and is_unfitted(recipe):
        if settings is not None:
            raise bad_parameter("recipe", repr(recipe), "idf:TABLE here: documents of both sides have one table")
        with timer("idf"):
            recipe, idf = _fit_weights(recipe, texts, names, options.get("kind"), progress)
    fixed: dict[str, Any] = {"recipe": recipe, "measure": measure, "keep": keep, **options}
    config = DedupConfig.from_args(settings, threshold=threshold, **fixed)
    if store is None and (columns is not None or output is not None or ledger):
        raise bad_parameter("store", "None", "a store, with columns, a ledger or an output")
    if config.min_sources > 1 and (sources is None or store is not None):
        allowed = "1 without sources=, and with a store, which would not recognise the copies of what it leaves out"
        raise bad_parameter("min_sources", config.min_sources, allowed)
    if config.lossless and labels is not None:
        raise bad_parameter("lossless", "True", "it without labels, which merge documents of any text")
    if config.shrink_to is not None and (labels is not None or settings is not None):
        raise bad_parameter("shrink_to", config.shrink_to, "None with labels or a store, which has a threshold")
    if groups is not None and (store is not None or against is not None):
        raise bad_parameter("groups", excerpt(repr(groups), 80), "None with older documents, which have no groups")
    if groups is not None and config.kind == "pages":
        raise bad_parameter("groups", excerpt(repr(groups), 80), "None with kind='pages', whose lines count by page")
    constraints = None if labels is None else read_constraints(labels, store, against)
    inputs = DedupInputs(texts, ids, values_by_column(config.order, values), sources, columns, groups)  # type: ignore[arg-type]
    inputs = replace(inputs, sound=BEST["best"] in config.order)
    with ExitStack() as stack:
        report = stack.enter_context(reporting(progress))
        deferred = may_read_twice(config)
        inputs = stack.enter_context(open_inputs(inputs, names, kind=config.kind, defer_ids=deferred))
        reference = DedupInputs(against, against_ids)  # type: ignore[arg-type]
        reference = stack.enter_context(open_inputs(reference, names, "against", config.kind, defer_ids=deferred))
        if config.kind == "pages":
            inputs, reference = _read_pages(inputs), _read_pages(reference)
        saved = None
        if config.checkpoint is not None:
            read = [path for each in (inputs, reference) for path in getattr(each.texts, "inputs", ())]
            job = describe_job(config, inputs.texts, reference.texts if store is None else store)
            if groups is not None:
                job["groups"] = groups if isinstance(groups, str) else "values"
            saved = stack.enter_context(open_checkpoint(config.checkpoint, job, read, report))
        if (shrink_to := parse_shrink_to(config.shrink_to)) is not None:
            check_rereadable(inputs.texts, "texts")
            check_rereadable(reference.texts, "against")
            fixed["shrink_to"] = None
            if fixed.get("differ") is not None:
                # An iterator of rules is read once.
                fixed["differ"] = config.differ
            result = shrink(
                shrink_to,
                threshold,
                lambda **changes: DedupConfig.from_args(**{**fixed, **changes}),
                lambda config: _run(inputs, reference, None, {}, config, report, None, None),
            )
        else:
            added = {"output": output, "ledger": ledger}
            result = _run(inputs, reference, store, added, config, report, constraints, saved)
        if saved is not None:
            _summarize_checkpoint(saved, result)
        if idf is not None:
            result = replace(result, idf=idf)
            result.summary["idf"] = {
                "documents": idf.documents, "features": len(idf), "digest": idf.digest, "max_error": idf.max_error
            }  # fmt: skip
            result.summary["timings"] |= timer.seconds
        return result


def _fit_weights(
    recipe: str, texts: Any, names: ColumnNames, kind: str | None, progress: ShowProgress
) -> tuple[Recipe, Idf]:
    """Return a recipe whose weight is `idf` with the table of the texts of a job, and the table."""
    if not isinstance(texts, os.PathLike):
        # A stream of Arrow would be empty the second time.
        check_rereadable(texts, "texts", "the weight idf")
    with open_inputs(DedupInputs(texts), names, kind=kind, defer_ids=True) as inputs:
        check_rereadable(inputs.texts, "texts", "the weight idf")
        return fit_recipe(recipe, (_read_pages(inputs) if kind == "pages" else inputs).texts, progress)


def _read_pages(inputs: DedupInputs) -> DedupInputs:
    """Return inputs whose pages are read by their main text."""
    if isinstance(inputs.texts, Corpus):
        inputs.texts.html = "main"
    elif inputs.texts is not None and not isinstance(inputs.texts, ReferenceProvider):
        return replace(inputs, texts=read_pages(inputs.texts))
    return inputs


def _is_vectors(texts: object) -> bool:
    """Return True for an array of shape (n, d) of numbers, which has no texts."""
    return isinstance(texts, np.ndarray) and texts.ndim == 2 and texts.dtype.kind in "fiub"


def _summarize_checkpoint(checkpoint: JobCheckpoint, result: DedupResult) -> None:
    """Add to the summary what was taken over, and warnings."""
    if checkpoint.resumed:
        result.summary["resumed"] = checkpoint.resumed
    if checkpoint.warnings:
        result.summary["warnings"] = [*result.summary.get("warnings", []), *checkpoint.warnings]


def may_read_twice(config: DedupConfig) -> bool:
    """Return True if documents can be hashed again from the start: no lines are counted and no hashes are saved."""
    return config.kind != "pages" and config.checkpoint is None


def hash_inputs(
    inputs: DedupInputs, source: object, report: Progress, timer: StageTimer | None = None, log: HashLog | None = None
) -> tuple[HashedDocuments, dict[str, Column]]:
    """Hash open inputs; return them, and the columns that a store keeps with them.

    `source` hashes texts: a `TextCandidateSource`, or another object with its method `hash`.
    """
    uses = {column_key(name): cells for name, cells in inputs.values.items()}
    if inputs.sources is not None:
        uses["source"] = inputs.sources
    if inputs.groups is not None:
        uses[GROUP] = inputs.groups
    columns = {use: as_column(cells) for use, cells in uses.items() if not isinstance(cells, str)}
    new = hash_texts(inputs.texts, inputs.ids, source, report, columns, timer, log)  # type: ignore[arg-type]
    stored = {} if inputs.columns is None else _stored_columns(inputs, new)
    name_columns(inputs.texts, new, {use: cells if isinstance(cells, str) else None for use, cells in uses.items()})
    check_distinct_ids(new.ids, "ids")
    return new, stored


def _stored_columns(inputs: DedupInputs, new: HashedDocuments) -> dict[str, Column]:
    """Return the columns that a store keeps with the documents, by name."""
    columns = inputs.columns
    if not isinstance(columns, Mapping):
        names = list(columns or ())
        missing = set(names) - set(getattr(inputs.texts, "extra_columns", ()))
        if missing or isinstance(columns, str):
            raise bad_parameter("columns", repr(columns), "values by name, or names of extra columns of a corpus")
        columns = {name: new.columns.get(name, Column.of([])) for name in names}
    return check_columns(columns, len(new), "text")


def _run(
    inputs: DedupInputs,
    against: DedupInputs,
    store: DedupSink | None,
    added: Mapping[str, Any],
    config: DedupConfig,
    report: Progress,
    labels: PairLabels | None,
    checkpoint: JobCheckpoint | None,
    *,
    hint: bool = True,
) -> DedupResult:
    """Deduplicate open inputs; with `hint` the summary names a kind that the texts look like.

    `added` has the options of a store that takes the kept documents.
    """
    timer = StageTimer()
    logs = [None if checkpoint is None else HashLog(checkpoint, kind) for kind in ("documents", "older")]
    if inputs.groups is not None:
        with timer("hash"):
            documents = hash_inputs(inputs, UnhashedRows(), report, timer)[0]
            if inputs.sound:
                count_sound(documents, np.arange(len(documents)))
            grouped = Groups.of(documents)
            new = grouped.hash(config, report, logs[0])
        result = run_stages(new, None, config, timer, report, labels, checkpoint)
        return grouped.expand(result, inputs.groups if isinstance(inputs.groups, str) else None)
    # Pages are hashed once the frequent lines of all of them are known.
    counts = [LineCounts(), LineCounts()] if config.kind == "pages" else []
    with timer("hash"):
        source = counts[0] if counts else config.candidate_source
        new, columns = hash_inputs(inputs, source, report, timer, None if counts else logs[0])
        older = None if store is not None else _read_older(against, config, report, logs[1], counts[1:])
    sample = _sample_texts(new, config) if hint else []
    lines = None
    if counts:
        parts = [new, older] if isinstance(older, HashedDocuments) else [new]
        with timer("boilerplate"):
            lines = leave_out_lines(parts, counts[: len(parts)], config.candidate_source)
    if inputs.sound:
        with timer("hash"):
            family, rows = config.candidate_source, np.arange(len(new))
            if isinstance(family, MinHashCandidates) and labels is None:
                # Others are kept, in whichever order they are visited.
                rows = np.flatnonzero(family.share_bands(new.values) & (new.counts > 0))
            count_sound(new, rows)
    reference: ReferenceCorpus | None
    if not isinstance(older, HashedDocuments):
        reference = older
    elif config.candidates == "containment":
        reference = PrecedingReference(older)
    else:
        reference = SearchableReference(older, config.candidate_source)
    if store is None:
        result = run_stages(new, reference, config, timer, report, labels, checkpoint)
        if lines is not None:
            result.summary["left_out_lines"] = lines
        if (guess := guess_kind(sample)) is not None:
            with timer("hint"):
                _add_hint(result, sample, *guess)
        return result
    check_sink(store, against.texts, config)
    texts = inputs.texts
    if added["ledger"] and "source" in new.columns:
        columns = {"source": new.columns["source"], **columns}
    has_ids = inputs.ids is not None or (isinstance(texts, Corpus) and (texts.id_column or texts.format == "files"))
    return store.append(
        new,
        config.candidate_source,
        lambda reference, known: run_stages(new, reference, config, timer, report, known=known),
        numbered=not has_ids,
        columns=columns,
        **added,
    )


def guess_kind(texts: Sequence[str]) -> tuple[Kind, str] | None:
    r"""Return the kind that more than half of the texts look like, and what they have; None if there is none.

    Examples
    --------
    >>> from nearkin.dedup.texts import guess_kind
    >>> guess_kind(["def f(x):\n    return g(x)"] * 20)
    ('code', 'the symbols of source code')
    """
    signs: tuple[tuple[Kind, str, Callable[[str], bool]], ...] = (
        ("pages", "tags of HTML", lambda text: _TAG.search(text) is not None),
        ("code", "the symbols of source code", lambda text: len(_SYMBOLS.findall(text)) >= _SYMBOL_SHARE * len(text)),
        ("titles", f"at most {_TITLE} characters", lambda text: len(text) <= _TITLE),
    )
    given = [text for text in texts if text.strip()]
    for kind, sign, has in signs:
        if len(given) >= _MIN_TEXTS and 2 * sum(map(has, given)) > len(given):
            return kind, sign
    return None


def _sample_texts(documents: HashedDocuments, config: DedupConfig) -> list[str]:
    """Return the first texts; none with a recipe or rules of the caller, who has chosen."""
    recipe = config.recipe
    features = (recipe.features, recipe.n, recipe.letters, recipe.fold, recipe.family)
    if config.verify != "jaccard" or config.differ or features != _DEFAULT_FEATURES:
        return []
    ends = np.cumsum(documents.lengths[:_SAMPLE].astype(np.int64))
    texts: TextBatch = documents.look_up(np.arange(np.searchsorted(ends, _SAMPLE_CHARACTERS, "right")))
    if not isinstance(texts, list):
        texts = to_values(texts, "texts") if is_arrow(texts) else texts
    return [text or "" for text in texts]


def _add_hint(result: DedupResult, sample: list[str], kind: Kind, sign: str) -> None:
    """Add to the summary the kind that a sample looks like, with what it loses by default and with the kind."""
    removed: list[int] = []
    for each in (None, kind):
        inputs, older = DedupInputs(sample), DedupInputs(None)  # type: ignore[arg-type]
        inputs = _read_pages(inputs) if each == "pages" else inputs
        config = DedupConfig.from_args(kind=each)
        removed.append(
            _run(inputs, older, None, {}, config, ignore_progress, None, None, hint=False).summary["removed"]
        )
    result.summary["kind_hint"] = {
        "kind": kind,
        "sign": sign,
        "sample": len(sample),
        "removed": removed[0],
        "removed_by_kind": removed[1],
    }


def _read_older(
    inputs: DedupInputs, config: DedupConfig, report: Progress, log: HashLog | None, counts: Sequence[LineCounts]
) -> HashedDocuments | ReferenceCorpus | None:
    """Return the reference documents: hashed texts, with `counts` by their lines alone, or those of a collection."""
    source = config.candidate_source
    against: Any = inputs.texts
    if inputs.ids is not None and (against is None or isinstance(against, ReferenceProvider)):
        raise bad_parameter("against_ids", "ids without texts", "ids of the texts in against")
    if against is None:
        return None
    if isinstance(against, ReferenceProvider):
        return against.reference_corpus(source)
    from nearkin.index.bands import BandIndex
    from nearkin.index.digests import DigestIndex
    from nearkin.index.hamming import HammingIndex

    if isinstance(against, (HammingIndex, BandIndex, DigestIndex)):
        raise bad_parameter("against", repr(against), "texts or a store: an index has no texts to verify matches by")
    reader, log = (counts[0], None) if counts else (source, log)
    documents = hash_texts(
        against, inputs.ids, cast("TextCandidateSource", reader), mark_reference(report), {}, log=log
    )
    check_distinct_ids(documents.ids, "against_ids")
    return documents
