"""Deduplication: hash, search, verify, cluster, keep; for texts in memory and for corpora on disk.

1. *Hash*: every text becomes a fingerprint; texts without features are flagged and always kept.
2. *Collapse*: texts with equal content (XXH3 of 128 bits: n texts collide with probability below n²/2^129) become one.
3. *Search, verify, cluster*: `nearkin.pipeline.cluster`.
4. *Keep*: the first of each cluster in keep order survives. A result names, for each removed text, the one kept, the
   distance, the verified similarity and the reason.

The order of visits is fixed by the keep rule and ids, never by threads. Memory: about 40 bytes and one fingerprint a
document, an id, the search index of the kept ones, and what `nearkin.pipeline.cluster` holds of texts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from nearkin.errors import bad_parameter
from nearkin.io import Column
from nearkin.pipeline.candidates import (
    CandidateSource,
    ConfirmedCandidates,
    MinHashCandidates,
    SimHashCandidates,
    check_recall,
)
from nearkin.pipeline.documents import (
    Progress,
    as_column,
    hash_texts,
    name_columns,
)
from nearkin.pipeline.results import DedupResult
from nearkin.pipeline.stages import Cluster, Links, Stages, check_older_index, run_stages
from nearkin.pipeline.verify import Measure
from nearkin.recipe import Recipe

Verify = Literal["jaccard", "containment", "indel", "signature", "none"]

THRESHOLD = 0.8
"""Similarity from which two texts count as near-duplicates when the caller says nothing."""


def dedup(
    texts: Any,
    ids: Any = None,
    *,
    recipe: Recipe | str | None = None,
    threshold: float = THRESHOLD,
    radius: int | None = None,
    recall: float | None = None,
    confirm: Recipe | str | None = None,
    verify: Verify = "jaccard",
    cluster: Cluster = "absorb",
    keep: str = "first",
    values: Any = None,
    sources: Any = None,
    against: Any = None,
    against_ids: Any = None,
    links: Links = "representatives",
    progress: Progress | None = None,
) -> DedupResult:
    """Find near-duplicates among texts and say which one of each cluster stays.

    Parameters
    ----------
    texts : iterable of str or None, an Arrow string array, a pandas, polars or pyarrow column, or an open Corpus
    ids : integers or strings, one per text, all different; optional
        None means row numbers. A Corpus has its own.
    recipe : Recipe, str or None
        How a text becomes a fingerprint and what its features are; None for the default.
    threshold : float, default 0.8
        Smallest similarity of a match, inclusive, above 0 and up to 1.
    radius : int, optional
        Largest Hamming distance of a candidate, inclusive. None derives it from recipe and threshold
        (`nearkin.theory.simhash_radius`). With simhash.
    recall : float, optional
        Wanted probability that a pair at the threshold is found, above 0 and below 1; 0.95 for None. With minhash: its
        bands follow from threshold and recall (`nearkin.theory.choose_bands`).
    confirm : Recipe or str, optional
        A second recipe whose fingerprints or signatures must be alike as well, before a candidate is verified; slots
        that its text form leaves out are those of `recipe`, so that "simhash:128" is enough.
    verify : {"jaccard", "containment", "indel", "signature", "none"}, default "jaccard"
        Similarity by which candidates are verified. "signature" takes the share of equal values of signatures, with
        minhash; "none" takes every candidate as a match.
    cluster : {"absorb", "components"}, default "absorb"
        Keep-then-absorb, or connected components (where a chain of small changes is one cluster).
    keep : str, default "first"
        Which document of a cluster stays: first, last, longest, shortest; `max` or `min` of `values`. Ties by id.
    values : numbers, one per text, or the name of an extra column of a Corpus; optional
        For `keep="max"` and `keep="min"`; missing values (None, NaN) come last.
    sources : strings or integers, one per text, or the name of an extra column of a Corpus; optional
        Where each text comes from: the summary counts removals by source and warns of one that loses far more than the
        rest.
    against : texts, an open Corpus, or a HammingIndex; optional
        Older documents: texts that match one of them are removed, and the result names it. An index holds no texts, so
        it needs `verify="none"`.
    against_ids : integers or strings; optional
        Ids of older texts; None means row numbers.
    links : {"representatives", "all"}, default "representatives"
        Whether `pairs` holds the links of removed documents only, or all verified links.
    progress : function, optional
        Called with stage, done and total.

    Returns
    -------
    DedupResult

    Raises
    ------
    ParameterError
        For an unknown rule, a threshold or radius out of range, columns of another length than the texts, or a recall
        that signatures of this many values cannot have.
    MismatchError
        If an index was made for another number of bits than the recipe's.
    InputError
        For ids that are not different, or a record that can't be read.

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
    c a near 1.0
    d a near 0.76
    """
    recipe = Recipe.of(recipe)
    options = _Options(recipe, threshold, radius, recall, confirm, verify, cluster, keep, links)
    stages = Stages()
    report = progress or (lambda stage, done, total: None)
    with stages("hash"):
        new = hash_texts(texts, ids, options.candidate_source, report, _columns(values, sources, options))
        name_columns(texts, new, values, sources)
    old_index, old = None, None
    if against is not None:
        with stages("hash"):
            if isinstance(against, options.candidate_source.index_type):
                old_index = check_older_index(against, options)
            else:
                old = hash_texts(against, against_ids, options.candidate_source, report, {})
    elif against_ids is not None:
        raise bad_parameter("against_ids", "ids without texts", "ids of the texts in against")
    return run_stages(new, old, old_index, options, stages, report)


@dataclass(frozen=True)
class _Options:
    recipe: Recipe
    threshold: float
    radius: int | None
    recall: float | None
    confirm: Recipe | str | None
    verify: Verify
    cluster: Cluster
    keep: str
    links: Links
    measure: Measure | None = field(init=False)
    candidate_source: CandidateSource = field(init=False)

    def __post_init__(self) -> None:
        for name, allowed in (("verify", get_args(Verify)), ("cluster", get_args(Cluster)), ("links", get_args(Links))):
            if getattr(self, name) not in allowed:
                raise bad_parameter(name, repr(getattr(self, name)), ", ".join(allowed))
        if self.keep not in ("first", "last", "longest", "shortest", "max", "min"):
            raise bad_parameter("keep", repr(self.keep), "first, last, longest, shortest, max or min")
        number = isinstance(self.threshold, (int, float)) and not isinstance(self.threshold, bool)
        if not number or not 0 < self.threshold <= 1:
            raise bad_parameter("threshold", repr(self.threshold), "a similarity above 0 and up to 1")
        by_share = self.verify == "signature"
        if by_share and self.recipe.family != "minhash":
            raise bad_parameter("verify", "signature", "jaccard, containment, indel or none with simhash")
        object.__setattr__(self, "candidate_source", self._propose(by_share=by_share))
        object.__setattr__(self, "measure", None if by_share or self.verify == "none" else self.verify)
        if self.recipe.features == "given":
            raise bad_parameter("recipe", self.recipe, "a recipe with char:N or word:N features, which reads texts")

    def _propose(self, *, by_share: bool) -> CandidateSource:
        if self.confirm is None:
            first = self._family(self.recipe, self.radius, by_share=by_share)
            check_recall(self.recall, self.recipe)
            return first
        given = isinstance(self.confirm, Recipe)
        second = self.confirm if isinstance(self.confirm, Recipe) else self.recipe.with_text(self.confirm)
        if second.family == self.recipe.family and not given:
            allowed = "the other family than the recipe's, such as minhash:128 beside simhash, or a Recipe"
            raise bad_parameter("confirm", repr(self.confirm), allowed)
        check_recall(self.recall, self.recipe if self.recipe.family == "minhash" else second)
        return ConfirmedCandidates(
            self._family(self.recipe, self.radius, by_share=by_share),
            self._family(second, self.radius if self.recipe.family != "simhash" else None, by_share=False),
        )

    def _family(self, recipe: Recipe, radius: int | None, *, by_share: bool) -> SimHashCandidates | MinHashCandidates:
        if recipe.family == "simhash":
            return SimHashCandidates(recipe, self.threshold, radius)
        if radius is not None and self.confirm is None:
            raise bad_parameter("radius", radius, "None with minhash, which has no radius; recall= instead")
        return MinHashCandidates(recipe, self.threshold, self.recall, by_share=by_share)


def _columns(values: Any, sources: Any, options: _Options) -> dict[str, Column]:
    if (values is None) != (options.keep not in ("max", "min")):
        found = "none" if values is None else "given"
        raise bad_parameter("values", found, 'numbers with keep="max" or keep="min", None otherwise')
    columns = {"keep": values, "source": sources}
    return {
        name: as_column(column)
        for name, column in columns.items()
        if column is not None and not isinstance(column, str)
    }
