"""Deduplication of DataFrames: the parameters and results of `nearkin.dedup`, on an engine of many machines.

The result is that of `nearkin.dedup` over the same documents in the order of their ids, bit for bit, whatever the
partitions, executors and retries, provided that `nearkin.dedup` reports `skipped` 0: an engine skips no candidates,
however many a document has.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

from nearkin.dedup.config import ClusterRule, DedupConfig, Featureless, ListedLinks, Verify
from nearkin.dedup.verify import Measure
from nearkin.errors import bad_parameter, check_count
from nearkin.progress import ShowProgress, reporting
from nearkin.recipe import Recipe
from nearkin.spark.engine import DataFrame, raise_engine_errors, spark_session
from nearkin.spark.job import SparkJob
from nearkin.spark.plans import explain_plan
from nearkin.spark.results import SparkResult, collect_result


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
    """Find near-duplicates among the rows of a DataFrame, and keep one of each cluster.

    Parameters
    ----------
    df : DataFrame
        Of Spark 4.0 or newer, classic or Spark Connect, or of Sail.
    text : str
        The column of the texts, strings; null counts as the empty text, and a warning counts nulls.
    id : str
        The column of the ids, integers between -2**61 and 2**61, or strings; all different, none null. Rows of a
        DataFrame have no order, so they are ordered by their ids.
    checkpoint : str or path, optional
        A folder that driver and workers share, for the results of stages. A failed job resumes if it is called again
        with the same arguments and documents. None creates a temporary folder on this machine, which works with local
        engines only.
    recipe : Recipe, str or None
        None for the features of the default recipe with MinHash, whose work grows with the number of documents, not
        with their pairs (`explain`).
    threshold, radius, recall, measure, verify, differ, featureless, cluster, links
        As for `nearkin.dedup`; `measure="containment"` is for one machine.
    keep : str, default "first"
        As for `nearkin.dedup`: "first" has the smallest id, "last" the largest.
    source : str, optional
        The column with the source of each text: the summary counts removals by source.
    against : DataFrame, optional
        Reference documents, with the columns `text` and `id`: documents that match one of them are removed.
    progress : bool or function, optional
        As for `nearkin.dedup`, with one call for each stage.

    Returns
    -------
    SparkResult
        Its DataFrames read the files under `checkpoint`, and `kept` also `df`.

    Raises
    ------
    ParameterError
        A column that is missing or of another type; arguments out of range.
    InputError
        Null ids, ids that are not distinct.
    MismatchError
        Workers with another version of nearkin; a checkpoint of another job.
    OutputError
        A checkpoint that can't be read or written.
    EngineError
        An engine that is too old, workers without nearkin or without the folder, a job that failed in the engine.
    """
    config = _build_config(
        recipe,
        threshold=threshold,
        radius=radius,
        recall=recall,
        measure=measure,
        verify=verify,
        differ=differ,
        featureless=featureless,
        cluster=cluster,
        keep=keep,
        links=links,
    )
    with raise_engine_errors(), reporting(progress) as report:
        return collect_result(SparkJob(df, text, id, config, against, source, checkpoint, report))


_PAIR_OPTIONS = (
    *("recipe", "threshold", "radius", "recall", "measure", "verify", "differ", "featureless"),
    *("against", "progress"),
)
"""Parameters of `dedup` that `pairs` also has."""


def pairs(
    df: DataFrame, text: str = "text", id: str = "id", *, checkpoint: str | PathLike[str] | None = None, **options: Any
) -> DataFrame:
    """Return all pairs of rows whose texts match: left, right, distance, similarity.

    Parameters
    ----------
    df, text, id, checkpoint
        As for `dedup`.
    **options
        recipe, threshold, radius, recall, measure, verify, differ, featureless, against, progress of `dedup`.

    Returns
    -------
    DataFrame
        The smaller id is left. Copies of one content are only linked with the first of them.
    """
    if unknown := [name for name in options if name not in _PAIR_OPTIONS]:
        raise TypeError(f"pairs() got an unexpected argument {unknown[0]!r}; it takes {', '.join(_PAIR_OPTIONS)}")
    return dedup(df, text, id, checkpoint=checkpoint, links="all", **options).pairs


def explain(
    df: DataFrame | int,
    recipe: Recipe | str | None = None,
    *,
    threshold: float | None = None,
    radius: int | None = None,
) -> dict[str, Any]:
    """Describe how a job would find candidates, and its cost.

    Parameters
    ----------
    df : DataFrame or int
        The documents, or their number.
    recipe, threshold, radius
        As for `dedup`.

    Returns
    -------
    dict
        documents; recipe; method ("bands", "tables" or "slices"); per document `shuffled_bytes` before verification and
        `comparisons` of fingerprints; tasks; core_seconds; why.

    Raises
    ------
    ParameterError
        Neither a DataFrame nor a count; arguments out of range.
    """
    config = _build_config(recipe, threshold=threshold, radius=radius)
    if not hasattr(df, "mapInArrow"):
        allowed = "a DataFrame of Spark, or the number of documents"
        return explain_plan(config, check_count("df", df, 0, 1 << 60, allowed))
    frame: DataFrame = df
    spark_session(frame)
    with raise_engine_errors():
        return explain_plan(config, frame.count())


def _build_config(recipe: Recipe | str | None, **args: Any) -> DedupConfig:
    """Build the config of a job; the default recipe has MinHash."""
    containment = [name for name in ("measure", "verify") if args.get(name) == "containment"]
    if containment and args.get("radius") is None:
        allowed = "jaccard or indel on an engine; nearkin.dedup has containment"
        raise bad_parameter(containment[0], "'containment'", allowed)
    recipe = Recipe.of(None).with_family("minhash") if recipe is None else Recipe.of(recipe)
    return DedupConfig.from_args(recipe=recipe, **args)
