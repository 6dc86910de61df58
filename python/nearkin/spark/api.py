"""Deduplication of DataFrames: the parameters and results of `nearkin.dedup`, on an engine of many machines.

The result is that of `nearkin.dedup` over the same documents in the order of their ids, bit for bit, whatever the
partitions, executors and retries, provided that `nearkin.dedup` reports `skipped` 0: an engine skips no candidates,
however many a document has.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from nearkin.dedup.config import EngineDedupOptions, engine_config
from nearkin.dedup.verify import Measure
from nearkin.errors import check_options
from nearkin.progress import ShowProgress, reporting
from nearkin.recipe import Recipe
from nearkin.spark.engine import DataFrame, raise_engine_errors
from nearkin.spark.job import SparkJob
from nearkin.spark.results import SparkResult, collect_result

if TYPE_CHECKING:
    from typing_extensions import Unpack


def dedup(
    df: DataFrame,
    text: str = "text",
    id: str = "id",
    *,
    threshold: float | None = None,
    keep: str = "first",
    recipe: Recipe | str | None = None,
    measure: Measure | None = None,
    source: str | None = None,
    against: DataFrame | None = None,
    hashes: str | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: ShowProgress = None,
    **options: Unpack[EngineDedupOptions],
) -> SparkResult:
    """Find near-duplicates among the rows of a DataFrame, and keep one of each cluster.

    Parameters
    ----------
    df : DataFrame
        Of Spark 4.0 or newer, classic or Spark Connect, or of Sail. It is read several times: for the hashes, for the
        texts of candidates (again in each later round) and for `kept`. If it is slow to compute, write it to a table
        first.
    text : str
        The column of the texts, strings; null counts as the empty text, and a warning counts nulls.
    id : str
        The column of the ids, integers between -2**61 and 2**61, or strings; all different, none null. Rows of a
        DataFrame have no order, so they are ordered by their ids.
    threshold, measure
        As for `nearkin.dedup`; `measure="containment"` is for one machine.
    keep : str, default "first"
        As for `nearkin.dedup`: "first" has the smallest id, "last" the largest.
    recipe : Recipe, str or None
        None for the document recipe, MinHash, whose work grows with the number of documents, not with their pairs.
    source : str, optional
        The column with the source of each text: the summary counts removals by source.
    against : DataFrame, optional
        Reference documents, with the columns `text` and `id`: documents that match one of them are removed.
    hashes : str, optional
        The column of `nearkin.spark.hashes` in `df`, in `against` or in both, computed with the same recipe: documents
        that have it are not hashed again.
    checkpoint : str or path, optional
        A folder that driver and workers share, for the results of stages. A failed job resumes if it is called again
        with the same arguments and documents. None creates a temporary folder on this machine, which works with local
        engines only.
    progress : bool or function, optional
        As for `nearkin.dedup`, with one call for each stage; the total of those that verify is their number of pairs.
    **options
        The options below.

    Other Parameters
    ----------------
    kind, radius, recall, bands, verify, differ, empty, cluster, links
        As for `nearkin.dedup`.

    Returns
    -------
    SparkResult
        Its DataFrames read the files under `checkpoint`, and `kept` also `df`.

    Raises
    ------
    ParameterError
        A column that is missing or of another type; arguments out of range.
    InputError
        Null ids, ids that are not distinct; ids or texts that change when they are read again; hashes of another
        recipe.
    MismatchError
        Workers with another version of nearkin; a checkpoint of another job.
    OutputError
        A checkpoint that can't be read or written, or a file of it that is gone or has changed. The DataFrames of the
        result raise it too if `checkpoint` has lost rows when they are read.
    EngineError
        An engine that is too old, workers without nearkin or without the folder, a job that failed in the engine.
    """
    check_options(dedup, EngineDedupOptions, options)
    config = engine_config(recipe, threshold=threshold, measure=measure, keep=keep, **options)
    with raise_engine_errors(), reporting(progress) as report:
        job = SparkJob(df, text, id, config, against, source, hashes, checkpoint, report)
        with job.checkpoint.watch():
            return collect_result(job)
