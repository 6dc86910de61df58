"""Deduplication of DataFrames: the arguments and answers of `nearkin.dedup`, on an engine of many machines.

The answer is that of `nearkin.dedup` over the same documents in the order of their ids, bit for bit, whatever the
partitions, executors and retries, as long as one machine says that it left nothing out (`skipped`): here nothing is
left out, however many candidates a document has.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

from nearkin.dedup.stages import ClusterRule, Featureless, ListedLinks, RunOptions
from nearkin.dedup.texts import Verify, checked_options
from nearkin.dedup.verify import Measure
from nearkin.errors import bad_parameter, check_count
from nearkin.progress import ShowProgress, reporting
from nearkin.recipe import Recipe
from nearkin.spark.answers import answers_of, result_of
from nearkin.spark.cost import plan_of
from nearkin.spark.engine import DataFrame, session_of, told_by_workers
from nearkin.spark.job import Job
from nearkin.spark.results import SparkResult


def dedup(
    df: DataFrame,
    text: str = "text",
    id: str = "id",
    *,
    checkpoint: str | PathLike[str] | None = None,
    recipe: Recipe | str | None = None,
    threshold: float | None = None,
    radius: int | None = None,
    recall: float | None = None,
    confirm: Recipe | str | None = None,
    measure: Measure | None = None,
    verify: Verify | None = None,
    differ: str | Iterable[str] | None = None,
    featureless: Featureless | None = None,
    cluster: ClusterRule = "absorb",
    keep: str = "first",
    source: str | None = None,
    against: DataFrame | None = None,
    links: ListedLinks = "representatives",
    progress: ShowProgress = None,
) -> SparkResult:
    """Find near-duplicates among the rows of a DataFrame and say which one of each cluster stays.

    Parameters
    ----------
    df : DataFrame
        Of Spark 4.0 or newer, classic or Spark Connect, or of Sail.
    text : str
        The column of the texts, strings; null counts as the empty text, and a warning says how many are.
    id : str
        The column of the ids, integers between -2**61 and 2**61, or strings; all different, none null. Rows have no
        order here: they stand in the order of their ids.
    checkpoint : str or path, optional
        A folder that driver and workers share, for what the stages write; a job that failed goes on where it was if it
        is called again with the same arguments and documents. None makes a temporary folder on this machine, which
        serves local engines alone.
    recipe : Recipe, str or None
        None for the features of the default recipe with MinHash, whose work grows with the documents, not with their
        pairs (`explain`).
    threshold, radius, recall, confirm, measure, verify, differ, featureless, cluster, links
        As for `nearkin.dedup`; `measure="containment"` is for one machine.
    keep : str, default "first"
        As for `nearkin.dedup`: "first" has the smallest id, "last" the largest.
    source : str, optional
        A column that says where each text comes from: the summary counts removals by it.
    against : DataFrame, optional
        Older documents, with the columns `text` and `id`: documents that match one of them are removed.
    progress : bool or function, optional
        As for `nearkin.dedup`; stages are counted.

    Returns
    -------
    SparkResult
        Its DataFrames read what lies under `checkpoint`, and `kept` the DataFrame given.

    Raises
    ------
    ParameterError
        A column that is missing or of another type; arguments out of range.
    InputError
        Null ids, ids that are not distinct.
    MismatchError
        Workers with another nearkin; a checkpoint of another job.
    OutputError
        A checkpoint that can't be read or written.
    EngineError
        An engine that is too old, workers without nearkin or without the folder, a job that the engine ended.
    """
    options = _options(
        recipe,
        threshold=threshold,
        radius=radius,
        recall=recall,
        confirm=confirm,
        measure=measure,
        verify=verify,
        differ=differ,
        featureless=featureless,
        cluster=cluster,
        keep=keep,
        links=links,
    )
    with told_by_workers(), reporting(progress) as report:
        return result_of(Job(df, text, id, options, against, source, checkpoint, report))


_OF_PAIRS = (
    *("recipe", "threshold", "radius", "recall", "confirm", "measure", "verify", "differ", "featureless"),
    *("against", "progress"),
)
"""Options of `dedup` that `pairs` takes."""


def pairs(
    df: DataFrame, text: str = "text", id: str = "id", *, checkpoint: str | PathLike[str] | None = None, **options: Any
) -> DataFrame:
    """All pairs of rows whose texts match: left, right, distance, similarity.

    Parameters
    ----------
    df, text, id, checkpoint
        As for `dedup`.
    **options
        recipe, threshold, radius, recall, confirm, measure, verify, differ, featureless, against, progress of `dedup`.

    Returns
    -------
    DataFrame
        The smaller id left. Copies of one content are linked with the first of them alone.
    """
    if unknown := [name for name in options if name not in _OF_PAIRS]:
        raise TypeError(f"pairs() got an unexpected argument {unknown[0]!r}; it takes {', '.join(_OF_PAIRS)}")
    return dedup(df, text, id, checkpoint=checkpoint, links="all", **options).pairs


def check(
    df: DataFrame,
    against: DataFrame,
    text: str = "text",
    id: str = "id",
    *,
    checkpoint: str | PathLike[str] | None = None,
    recipe: Recipe | str | None = None,
    threshold: float | None = None,
    radius: int | None = None,
    recall: float | None = None,
    confirm: Recipe | str | None = None,
    verify: Verify | None = None,
    differ: str | Iterable[str] | None = None,
    featureless: Featureless | None = None,
    progress: ShowProgress = None,
) -> DataFrame:
    """What is new: each row against older documents, and not against other rows.

    Parameters
    ----------
    df : DataFrame
        New documents.
    against : DataFrame
        Older ones, with the same columns of text and id.
    text, id, checkpoint, recipe, threshold, radius, recall, confirm, verify, differ, featureless, progress
        As for `dedup`.

    Returns
    -------
    DataFrame
        id; status ("new"; "exact", a copy of an older document; "near"); match, the id of the first older document
        that matches, null for a new one; distance; similarity.
    """
    options = _options(
        recipe,
        threshold=threshold,
        radius=radius,
        recall=recall,
        confirm=confirm,
        verify=verify,
        differ=differ,
        featureless=featureless,
    )
    with told_by_workers(), reporting(progress) as report:
        return answers_of(Job(df, text, id, options, against, None, checkpoint, report, older_only=True))


def explain(
    df: DataFrame | int,
    recipe: Recipe | str | None = None,
    *,
    threshold: float | None = None,
    radius: int | None = None,
) -> dict[str, Any]:
    """How a job would find candidates, and what that costs.

    Parameters
    ----------
    df : DataFrame or int
        The documents, or how many there are.
    recipe, threshold, radius
        As for `dedup`.

    Returns
    -------
    dict
        documents; recipe; method ("bands", "tables" or "slices"); per document `shuffled_bytes` before verification and
        `comparisons` of fingerprints; tasks; why.

    Raises
    ------
    ParameterError
        Neither a DataFrame nor a count; arguments out of range.
    """
    options = _options(recipe, threshold=threshold, radius=radius)
    if not hasattr(df, "mapInArrow"):
        allowed = "a DataFrame of Spark, or how many documents there are"
        return plan_of(options, check_count("df", df, 0, 1 << 60, allowed))
    frame: DataFrame = df
    session_of(frame)
    with told_by_workers():
        return plan_of(options, frame.count())


def _options(recipe: Recipe | str | None, **given: Any) -> RunOptions:
    """Checked options, as `nearkin.dedup` has them; the default recipe is that of many machines."""
    wanted = [name for name in ("measure", "verify") if given.get(name) == "containment"]
    if wanted and given.get("radius") is None and given.get("confirm") is None:
        raise bad_parameter(wanted[0], "'containment'", "jaccard or indel on an engine; nearkin.dedup has containment")
    made = Recipe.of(None).with_family("minhash") if recipe is None else Recipe.of(recipe)
    return checked_options(recipe=made, **given)
