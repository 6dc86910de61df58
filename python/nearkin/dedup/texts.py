"""Deduplication: hash, search, verify, cluster, keep; for texts in memory, frames and corpora on disk.

1. *Hash*: every text becomes a fingerprint; texts without features are flagged and always kept.
2. *Collapse*: texts with equal content (XXH3 of 128 bits: n texts collide with probability below n²/2^129) become one.
3. *Search, verify, cluster*: `nearkin.dedup.cluster`.
4. *Keep*: the first of each cluster in keep order survives. A result names, for each removed text, the one kept, the
   distance, the verified similarity and the reason.

The order of visits is fixed by the keep rule and ids, never by threads. Memory: per document one fingerprint, about 100
bytes of arrays and an id, the search index of the kept ones, and what `nearkin.dedup.cluster` holds of texts; what
was hashed lies in files where it is too large (`nearkin.dedup.spill`). `docs/dedup.md` has measurements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from nearkin.dedup.candidates import (
    RECALL,
    ConfirmedCandidates,
    MinHashCandidates,
    OlderIndex,
    SimHashCandidates,
    TextCandidateSource,
)
from nearkin.dedup.cluster import MAX_COMPARISONS
from nearkin.dedup.constraints import checked_labels
from nearkin.dedup.distinguishers import Differing, differ_rules
from nearkin.dedup.documents import (
    Cells,
    HashedDocuments,
    as_column,
    check_distinct_ids,
    hash_texts,
    name_columns,
)
from nearkin.dedup.inputs import Columns, Documents, Frame, Paths, opened
from nearkin.dedup.keep import KeepKey, column_key, keep_keys, values_by_column
from nearkin.dedup.labels import GivenLabels, PairLabels
from nearkin.dedup.reference import HashedOlder, HoldsOlderDocuments, OlderDocuments, PrecedingOlder
from nearkin.dedup.result import DedupResult
from nearkin.dedup.sink import (
    HasSettings,
    HeldSettings,
    RemembersDocuments,
    check_remembering,
    check_store,
    columns_of,
)
from nearkin.dedup.stages import (
    ClusterRule,
    Featureless,
    ListedLinks,
    RunOptions,
    StageTimer,
    check_older_index,
    run_stages,
)
from nearkin.dedup.verify import Measure, TextComparison
from nearkin.errors import bad_parameter, check_count, mismatch
from nearkin.index.bands import BandIndex
from nearkin.index.digests import DigestIndex
from nearkin.index.hamming import HammingIndex
from nearkin.index.ids import Ids
from nearkin.io import Column, Corpus, OutputDir
from nearkin.progress import Progress, ShowProgress, of_older, reporting
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts

Verify = Literal["jaccard", "containment", "indel", "signature", "none"]

THRESHOLD = 0.8
"""Similarity from which two texts count as near-duplicates when the caller says nothing."""

NEAR_MISSES = 4000
"""Kept documents that are looked at for near misses where a caller leaves the number open."""


def dedup(
    texts: Texts | Corpus | Frame | Paths,
    ids: Ids | None = None,
    *,
    text: str | None = None,
    id: str | None = None,
    recipe: Recipe | str | None = None,
    threshold: float | None = None,
    radius: int | None = None,
    recall: float | None = None,
    confirm: Recipe | str | None = None,
    measure: Measure | None = None,
    verify: Verify | None = None,
    differ: str | Iterable[str] | None = None,
    differing: Differing = "keep",
    featureless: Featureless | None = None,
    cluster: ClusterRule = "absorb",
    keep: str = "first",
    values: Cells | str | Mapping[str, Cells] | None = None,
    sources: Cells | str | None = None,
    against: Texts | Corpus | Frame | Paths | HoldsOlderDocuments | HammingIndex | BandIndex | None = None,
    against_ids: Ids | None = None,
    store: RemembersDocuments | None = None,
    columns: Mapping[str, Cells] | Iterable[str] | None = None,
    output: Callable[[DedupResult], OutputDir] | None = None,
    links: ListedLinks = "representatives",
    max_comparisons: int = MAX_COMPARISONS,
    labels: GivenLabels | None = None,
    near_misses: int | Literal["auto"] = 0,
    progress: ShowProgress = None,
) -> DedupResult:
    """Find near-duplicates among texts and say which one of each cluster stays.

    Parameters
    ----------
    texts : iterable of str or None, a column, a frame, paths, or an open Corpus
        A column of pyarrow, pandas or polars, or any Arrow string array. A frame is a DataFrame of pandas or polars, a
        LazyFrame, a Table, RecordBatch or RecordBatchReader of pyarrow, a Dataset of Hugging Face, or another object
        with named columns and `__arrow_c_stream__`. Paths are a str or Path that names files, a glob or a folder, or a
        list with Paths in it, as `nearkin.io.open_corpus` takes them. A list of strings is texts; beside `text` or `id`
        it is paths, unless `against` is a frame or paths.
    ids : integers or strings, one per text, all different; optional
        None means row numbers. A Corpus has its own.
    text : str, optional
        Of a frame or files: the column of the texts, which are strings, or bytes in UTF-8; "text" if not given.
    id : str, optional
        Of a frame or files: the column of the ids, integers or strings; row numbers if not given.
    recipe : Recipe, str or None
        How a text becomes a fingerprint and what its features are; None for the default.
    threshold : float, optional
        Smallest similarity of a match, inclusive, above 0 and up to 1. 0.8 if not given; this and `recipe`, `radius`,
        `recall`, `verify`, `differ` and `featureless` then follow a store in `against` or `store`.
    radius : int, optional
        Largest Hamming distance of a candidate, inclusive. None derives it from recipe, threshold and recall
        (`nearkin.theory.simhash_radius`). With simhash.
    recall : float, optional
        Wanted probability that a pair at the threshold is found, above 0 and below 1. None stands for 0.995 with
        simhash, whose radius follows from it unless it is given, and for 0.95 with minhash, whose bands do
        (`nearkin.theory.choose_bands`), with `confirm`, where both families have to find a pair, and with
        `measure="containment"` (`nearkin.theory.containment_recall`). The law of fingerprints and signatures is that of
        the Jaccard similarity of binary features: the summary's `expected_recall` is None for other weights, and for
        "indel".
    confirm : Recipe or str, optional
        A second recipe whose fingerprints or signatures must be similar, too, before a candidate is verified; slots
        that its text form leaves out are those of `recipe`, so that "simhash:128" is enough.
    measure : {"jaccard", "containment", "indel"}, optional
        What the threshold is a similarity of, "jaccard" if not given; candidates are verified by it. "containment" is
        the share of the smaller text's features that the larger one has, and has candidates of its own: the family of
        the recipe is not asked, and there is no `radius` and no `confirm`.
    verify : {"jaccard", "containment", "indel", "signature", "none"}, optional
        The names of `measure` mean the same here; beside a `radius`, a `confirm` or a store, candidates for
        "containment" are those of the fingerprints, and no recall is promised. "signature" takes the share of equal
        values of signatures, with minhash, as the similarity; "none" takes every candidate as a match.
    differ : str or iterable of str, optional
        Rules by which texts that are similar differ: "numbers", "days", "signs", "symbols", separated by commas, or
        "pattern:REGEX" (see `dedup.distinguishers`). Two texts differ if each has such a particular that the other has
        not: "1.5 percent" and "15 percent", whose letters are the same. "none" where a store has rules that are not
        to be followed.
    differing : {"keep", "flag"}, default "keep"
        With `differ`: texts that differ are no matches, so that both stay, and the summary counts such pairs; or one
        goes as without rules, and `clusters` has a column `differs`.
    featureless : {"collapse", "keep"}, optional
        Whether equal texts without features ("!!!", the empty text; None counts as empty) are copies, of which one
        stays ("collapse" if not given), or all stay. They are never compared with other texts.
    cluster : {"absorb", "components"}, default "absorb"
        Keep-then-absorb, or connected components (where a chain of small changes is one cluster).
    keep : str, default "first"
        Which document of a cluster stays: first, last, longest, shortest, `max:COLUMN`, `min:COLUMN`; `max` or `min`
        of `values`. Several, separated by commas, decide one after another: "max:score,longest". Ties by id.
    values : numbers or dates, one per text; a mapping of names to such; or the name of a column; optional
        For `max` and `min`. A frame, files and a Corpus have the columns that `keep` names. Strings of dates and times
        (ISO 8601; without a zone in UTC) count as such. Missing values (None, NaN) come last, counted in a warning.
    sources : strings or integers, one per text, or the name of a column of a frame, files or a Corpus; optional
        Where each text comes from: the summary counts removals by source and warns of one that loses far more than the
        rest.
    against : texts, a frame, paths, an open Corpus, a HammingIndex or BandIndex, or a collection; optional
        Older documents: texts that match one of them are removed, and the result names it. A frame and files have the
        columns that `text` and `id` name. An index holds no texts, so
        it needs `verify="none"`, or "signature". A collection of older documents offers them by
        `nearkin.dedup.reference.HoldsOlderDocuments`.
    against_ids : integers or strings; optional
        Ids of older texts; None means row numbers.
    store : Store, optional
        A collection that texts are held against as with `against`, and that remembers those that stay: all of them, in
        one durable step at the end, or none. Without ids they get its own row numbers.
    columns : mapping of str to one value per text, or names of columns of a frame, files or a Corpus; optional
        What the store remembers of each text that stays.
    output : function, optional
        With `store`: called with the result, it returns the finished `nearkin.io.OutputDir` of this run, which takes
        its place if, and only if, the store remembers what stays. Called again if the store has changed meanwhile.
    links : {"representatives", "all"}, default "representatives"
        Whether `pairs` holds the links of removed documents only, or all verified links.
    max_comparisons : int, default 10,000
        Most candidates that one document is compared with by their texts, which bounds the work for many different
        texts with nearly equal fingerprints; with `verify="indel"` these have at most 2**39 pairs of characters, too.
        Candidates beyond are no matches; the summary counts them under `skipped`.
    labels : PairLabels, iterable of (id, id, bool or None), or a path; optional
        What a person said of pairs, also a table of them, such as the page of a report exports. No document is removed
        for one that it is labelled different from, nor in a component with one; equal contents excepted, which are
        copies and counted in a warning. Other labels change nothing. With older texts in `against`, whose ids count as
        well, but not with a store or an index.
    near_misses : int or "auto", default 0
        How many of the kept documents, chosen at random, are looked at for what nearly matched: the result's
        `near_misses` has their candidates with similarities below the threshold, for people to judge. With
        `cluster="absorb"`, a verification by texts, and candidates of fingerprints or signatures; "auto" is 4,000 with
        these, and none without.
    progress : bool or function, optional
        True shows bars in a terminal or a notebook; a function is called with stage, done and total.

    Returns
    -------
    DedupResult

    Raises
    ------
    ParameterError
        For an unknown rule, a threshold or radius out of range, columns that are not as long as the texts, or that a
        frame has not (the message lists those that it has), a recall that signatures of this many values cannot have,
        or labels beside a store or an index.
    MismatchError
        If an index was made for another number of bits than the recipe's, or a store for other parameters.
    InputError
        For ids that are not distinct, or a record that can't be read; with a store for an id that is there with another
        text. Nothing is remembered then.

    Warns
    -----
    RuntimeWarning
        If candidates were skipped: near-duplicates may be left. If labels name ids that no document has, or call equal
        contents different.

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

    A frame by the names of its columns, and the rows of it that stay:

    >>> import polars as pl
    >>> pages = pl.DataFrame({"url": ["x", "y"], "body": ["Twice the same text.", "Twice the same text!"]})
    >>> nk.dedup(pages, text="body", id="url").filter(pages).rows()
    [('x', 'Twice the same text.')]
    """
    most = check_count("max_comparisons", max_comparisons, 1, (1 << 63) - 1, "1 or more")
    named = Columns.of(text, id, texts, against)
    collection = against if store is None else store
    held = collection.settings if isinstance(collection, HasSettings) else None
    verify, sketched = _measured(measure, verify, held, radius, confirm)
    options = _Options.following(
        held,
        recipe,
        threshold,
        radius,
        recall,
        confirm,
        verify,
        differ,
        differing,
        featureless,
        cluster,
        keep,
        links,
        sketched,
    )
    options = replace(options, max_comparisons=most)
    near = _near_misses(near_misses, options)
    check_remembering(store, columns, output)
    told = None if labels is None else checked_labels(labels, store, against)
    by_column = values_by_column(options.order, values)
    given, older = Documents(texts, ids, by_column, sources, columns), Documents(against, against_ids)  # type: ignore[arg-type]
    with ExitStack() as stack:
        report = stack.enter_context(reporting(progress))
        given = stack.enter_context(opened(given, named))
        older = stack.enter_context(opened(older, named, "against"))
        return _dedup(given, older, store, output, options, report, near, told)


def _near_misses(asked: int | str, options: _Options) -> int:
    """How many kept documents are looked at for what nearly matched."""
    able = options.comparison is not None and options.cluster == "absorb" and not options.sketched
    if asked == "auto":
        return NEAR_MISSES if able else 0
    count = check_count("near_misses", asked, 0, 1 << 31, "0 to 2147483648, or auto")
    if count and not able:
        raise bad_parameter("near_misses", count, "0, or cluster=absorb with verify=jaccard or indel")
    return count


def _measured(
    measure: Measure | None,
    verify: Verify | None,
    held: HeldSettings | None,
    radius: int | None,
    confirm: Recipe | str | None,
) -> tuple[Verify | None, bool]:
    """How candidates are verified, and whether they are those of containment."""
    if measure is None:
        # A store has hashes of its own; a radius or a second family chooses candidates.
        return verify, verify == "containment" and held is None and radius is None and confirm is None
    if measure not in get_args(Measure):
        raise bad_parameter("measure", repr(measure), ", ".join(get_args(Measure)))
    if verify not in (None, measure):
        raise bad_parameter("verify", repr(verify), f"None beside measure={measure!r}, which says it")
    if measure != "containment":
        return measure, False
    if held is not None:
        allowed = "texts in against: a store finds documents by hashes that have no recall for containment"
        raise bad_parameter("measure", repr(measure), allowed)
    for name, value in (("radius", radius), ("confirm", confirm)):
        if value is not None:
            raise bad_parameter(name, repr(value), "None with measure='containment', which has candidates of its own")
    return measure, True


def _dedup(
    given: Documents,
    older: Documents,
    store: RemembersDocuments | None,
    output: Callable[[DedupResult], OutputDir] | None,
    options: _Options,
    report: Progress,
    near: int,
    labels: PairLabels | None,
) -> DedupResult:
    """What `dedup` does with documents that are open."""
    source, timer = options.candidate_source, StageTimer()
    texts, ids = given.texts, given.ids
    with timer("hash"):
        uses = {column_key(name): cells for name, cells in given.values.items()}
        if given.sources is not None:
            uses["source"] = given.sources
        cells = {use: as_column(found) for use, found in uses.items() if not isinstance(found, str)}
        new = hash_texts(texts, ids, source, report, cells)
        remembered = _remembered(texts, new, given.columns)
        name_columns(texts, new, {use: found if isinstance(found, str) else None for use, found in uses.items()})
        check_distinct_ids(new.ids, "ids")
        old, older_index = (None, None) if store is not None else _against(older.texts, older.ids, options, report)
    if store is None:
        return run_stages(new, old, older_index, options, timer, report, near, labels)
    check_store(store, older.texts, options)
    numbered = ids is None and not (isinstance(texts, Corpus) and (texts.id_column or texts.format == "files"))
    return store.remember(
        new,
        source,
        lambda older: run_stages(new, older, None, options, timer, report, near),
        numbered=numbered,
        columns=remembered,
        output=output,
    )


def _remembered(
    texts: Texts | Corpus, new: HashedDocuments, columns: Mapping[str, Cells] | Iterable[str] | None
) -> dict[str, Column]:
    """The columns that a store remembers, by name."""
    if isinstance(columns, Mapping):
        return columns_of(columns, len(new), "text")
    names = [] if columns is None else list(columns)
    missing = [name for name in names if name not in getattr(texts, "extra_columns", ())]
    if missing or isinstance(columns, str):
        raise bad_parameter("columns", repr(columns), "values by name, or names of extra columns of a corpus")
    return columns_of({name: new.columns.get(name, Column.of([])) for name in names}, len(new), "text")


def _against(
    against: Texts | Corpus | HoldsOlderDocuments | HammingIndex | BandIndex | None,
    ids: Ids | None,
    options: _Options,
    report: Progress,
) -> tuple[OlderDocuments | None, OlderIndex | None]:
    """What new texts are compared with: older documents with their texts, or an index without texts."""
    source = options.candidate_source
    if ids is not None and (against is None or isinstance(against, HoldsOlderDocuments)):
        raise bad_parameter("against_ids", "ids without texts", "ids of the texts in against")
    if against is None:
        return None, None
    if isinstance(against, HoldsOlderDocuments):
        return against.older_documents(source), None
    index = source.older_index(against)
    if index is not None:
        check_older_index(options)
        return None, index
    if isinstance(against, (HammingIndex, BandIndex, DigestIndex)):
        family = options.recipe.family
        if options.sketched:
            raise bad_parameter("against", repr(against), "texts: an index has no features, which containment compares")
        raise bad_parameter("against", repr(against), f"texts, or an index of the recipe's family, {family}")
    old = hash_texts(against, ids, source, of_older(report), {})
    check_distinct_ids(old.ids, "against_ids")
    return PrecedingOlder(old) if options.sketched else HashedOlder(old, source), None


@dataclass(frozen=True)
class _Options:
    """What a run is to do."""

    recipe: Recipe
    threshold: float
    radius: int | None
    recall: float | None
    confirm: Recipe | str | None
    verify: Verify
    differ: tuple[str, ...]
    differing: Differing
    featureless: Featureless
    cluster: ClusterRule
    keep: str
    links: ListedLinks
    max_comparisons: int = MAX_COMPARISONS
    #: Whether candidates are those of containment, whatever the recipe's family.
    sketched: bool = False
    order: tuple[KeepKey, ...] = field(init=False)
    comparison: TextComparison | None = field(init=False)
    candidate_source: TextCandidateSource = field(init=False)

    def __post_init__(self) -> None:
        rules = {
            "verify": Verify,
            "differing": Differing,
            "featureless": Featureless,
            "cluster": ClusterRule,
            "links": ListedLinks,
        }
        for name, rule in rules.items():
            if getattr(self, name) not in get_args(rule):
                raise bad_parameter(name, repr(getattr(self, name)), ", ".join(get_args(rule)))
        object.__setattr__(self, "order", keep_keys(self.keep))
        number = isinstance(self.threshold, (int, float)) and not isinstance(self.threshold, bool)
        if not number or not 0 < self.threshold <= 1:
            raise bad_parameter("threshold", repr(self.threshold), "a similarity above 0 and up to 1")
        by_share = self.verify == "signature"
        if by_share and self.recipe.family != "minhash":
            raise bad_parameter("verify", "signature", "jaccard, containment, indel or none with simhash")
        object.__setattr__(self, "candidate_source", self._propose(by_share=by_share))
        comparison = None
        if self.verify != "signature" and self.verify != "none":
            comparison = TextComparison(self.recipe, self.verify, self.rules)
        elif self.differ:
            found = f"{', '.join(self.differ)} with verify={self.verify}"
            raise bad_parameter("differ", found, "rules with a verification by texts: jaccard, containment or indel")
        object.__setattr__(self, "comparison", comparison)
        if self.recipe.features == "given":
            raise bad_parameter("recipe", self.recipe, "a recipe with char:N or word:N features, which reads texts")

    @property
    def rules(self) -> tuple[str, ...]:
        """Rules by which texts that differ are no matches."""
        return self.differ if self.differing == "keep" else ()

    @classmethod
    def following(
        cls,
        held: HeldSettings | None,
        recipe: Recipe | str | None,
        threshold: float | None,
        radius: int | None,
        recall: float | None,
        confirm: Recipe | str | None,
        verify: Verify | None,
        differ: str | Iterable[str] | None,
        differing: Differing,
        featureless: Featureless | None,
        cluster: ClusterRule,
        keep: str,
        links: ListedLinks,
        sketched: bool,
    ) -> _Options:
        """Options of which those that are not given are a collection's, or the defaults."""
        rules = differ_rules(differ)
        if differing != "keep" and not rules:
            raise bad_parameter("differing", repr(differing), '"keep", or rules in differ=, such as "numbers"')
        if held is None:
            made, threshold = Recipe.of(recipe), THRESHOLD if threshold is None else threshold
            verify, bare = verify or "jaccard", featureless or "collapse"
            return cls(
                made,
                threshold,
                radius,
                recall,
                confirm,
                verify,
                rules,
                differing,
                bare,
                cluster,
                keep,
                links,
                sketched=sketched,
            )
        if not isinstance(held.recipe, Recipe):
            raise mismatch("family", f"the store's {held.recipe}", "a family of texts")
        made = held.recipe if recipe is None else Recipe.of(recipe)
        threshold = held.threshold if threshold is None else threshold
        if radius is None and recall is None:
            radius, recall = held.radius, held.recall
        verify = verify or held.verify  # type: ignore[assignment]  # The names are the same.
        rules = held.differ if differ is None else rules
        bare = featureless or held.featureless
        held.check_verify(verify or held.verify, rules)
        return cls(made, threshold, radius, recall, confirm, verify, rules, differing, bare, cluster, keep, links)  # type: ignore[arg-type]

    def tell_skipped(self, skipped: int) -> str:
        """That comparisons were left out."""
        bound = f"more than max_comparisons={self.max_comparisons:,} candidates"
        if self.verify == "indel":
            bound += ", or more than 2**39 pairs of characters for Indel"
        return f"{skipped:,} comparisons were left out: some documents have {bound}; near-duplicates may be left. " + (
            "Raise max_comparisons"
            if self.sketched
            else "Raise max_comparisons, lower the radius, or verify by jaccard"
        )

    def _propose(self, *, by_share: bool) -> TextCandidateSource:
        if self.sketched:
            from nearkin.dedup.candidates.containment import ContainmentCandidates

            return ContainmentCandidates(self.recipe, self.threshold, self.recall)
        if self.confirm is None:
            return self._family(self.recipe, self.recall, by_share=by_share)
        given = isinstance(self.confirm, Recipe)
        second = self.confirm if isinstance(self.confirm, Recipe) else self.recipe.with_family(self.confirm)
        if second.family == self.recipe.family and not given:
            allowed = "the other family than the recipe's, such as minhash:128 beside simhash, or a Recipe"
            raise bad_parameter("confirm", repr(self.confirm), allowed)
        # A pair is found if both families find it: each has its root of the recall, or all of it beside a given radius.
        wanted = RECALL if self.recall is None else self.recall
        shared = self.radius is None and isinstance(wanted, (int, float)) and 0 < wanted < 1
        each = math.sqrt(wanted) if shared else wanted
        return ConfirmedCandidates(
            self._family(self.recipe, each, by_share=by_share), self._family(second, each, by_share=False)
        )

    def _family(self, recipe: Recipe, recall: float | None, *, by_share: bool) -> SimHashCandidates | MinHashCandidates:
        if recipe.family == "simhash":
            # Of two families a given radius is that of the fingerprints, and the recall that of the signatures.
            beside = self.radius is not None and self.confirm is not None
            return SimHashCandidates(recipe, self.threshold, self.radius, None if beside else recall)
        if self.radius is not None and self.confirm is None:
            raise bad_parameter("radius", self.radius, "None with minhash, which has no radius; recall= instead")
        return MinHashCandidates(recipe, self.threshold, recall, by_share=by_share)


def checked_options(
    *,
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
    links: ListedLinks = "representatives",
) -> RunOptions:
    """The options of a run without a store, as `dedup` takes, checks and fills them in; texts that differ stay."""
    verify, sketched = _measured(measure, verify, None, radius, confirm)
    asked = (recipe, threshold, radius, recall, confirm, verify, differ, "keep", featureless, cluster, keep, links)
    return _Options.following(None, *asked, sketched=sketched)  # type: ignore[arg-type]  # "keep" is a literal.


def options_of(
    recipe: Recipe | str | None,
    threshold: float | None,
    radius: int | None,
    recall: float | None,
    confirm: Recipe | str | None,
    verify: Verify | None,
    keep: str,
    max_comparisons: int,
) -> RunOptions:
    """The options of a run of keep-then-absorb over texts or their parts, as `dedup` checks them and fills them in."""
    asked = (recipe, threshold, radius, recall, confirm, verify)
    made = _Options.following(None, *asked, None, "keep", None, "absorb", keep, "representatives", sketched=False)
    return replace(made, max_comparisons=max_comparisons)
