"""nearkin.dedup.constraints: documents labelled different are never removed for each other, by the definition."""

from __future__ import annotations

import warnings
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import reference
import strategies
from definitions import Reference, dedup, near_duplicates, removed
from nearkin import errors
from nearkin.dedup import cluster
from nearkin.dedup.constraints import CannotLink
from nearkin.dedup.labels import PairLabels

Pair = tuple[int, int]


def draw_pairs(data: st.DataObject, count: int) -> list[Pair]:
    """Draw some pairs of rows."""
    pairs = list(combinations(range(count), 2))
    return data.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=8)) if pairs else []


class Model:
    """Documents by the definition, with rejected pairs of contents; reference documents come first and are kept."""

    def __init__(
        self, texts: list[str | None], reference: int, threshold: float, verify: str, rejected: list[Pair]
    ) -> None:
        self.reference = Reference(texts, threshold, verify)
        self.contents, self.older = self.reference.contents, reference
        self.rejected = {
            frozenset((self.contents[a], self.contents[b])) for a, b in rejected if self.contents[a] != self.contents[b]
        }

    def reject(self, i: int, j: int) -> bool:
        """Return True if labels separate the contents of two documents."""
        return frozenset((self.contents[i], self.contents[j])) in self.rejected

    def match(self, i: int, j: int) -> bool:
        """Return True if two documents match, at least one of them is new, and no label rejects them."""
        return max(i, j) >= self.older and not self.reject(i, j) and self.reference.match(i, j)

    def absorbed(self) -> dict[int, int]:
        """Keep, then absorb: return the representative of each removed document."""
        copies = self.copies()
        by = reference.absorb([row for row in self.reference.rows if row not in copies], self.match)
        return {row: head for row, head in (by | copies).items() if row != head}

    def copies(self) -> dict[int, int]:
        """Return the new documents with the content of a reference document."""
        before = self.contents[: self.older]
        return {
            row: before.index(text) for row, text in enumerate(self.contents) if row >= self.older and text in before
        }

    def joined(self) -> dict[int, int]:
        """Return components; those with a rejected pair are rebuilt from their links, the most similar first."""
        first = {text: row for row, text in reversed(list(enumerate(self.contents)))}
        distinct = sorted(first.values())
        plain = reference.components(distinct, lambda i, j: max(i, j) >= self.older and self.reference.match(i, j))
        clusters = [{row for row in distinct if plain[row] == head} for head in sorted(set(plain.values()))]
        done: list[set[int]] = []
        for members in clusters:
            if not any(self.reject(i, j) for i, j in combinations(members, 2)):
                done.append(members)
                continue
            parts = [{row} for row in sorted(members)]
            links = [(i, j) for i, j in combinations(sorted(members), 2) if self.match(i, j)]
            for i, j in sorted(links, key=lambda pair: (-self.reference.similarity(*pair), pair)):
                item, other = (next(part for part in parts if row in part) for row in (i, j))
                if item is not other and not any(self.reject(a, b) for a in item for b in other):
                    parts.remove(other)
                    item |= other
            done += parts
        head = {row: min(part) for part in done for row in part}
        of = {row: head[first[text]] for row, text in enumerate(self.contents)} | self.copies()
        return {row: of[row] for row in self.reference.rows if of[row] != row and row >= self.older}


@settings(max_examples=80, deadline=None)
@given(
    data=st.data(),
    texts=strategies.corpora(max_size=24),
    batch=st.integers(1, 9),
    verify=st.sampled_from(["jaccard", "indel", "none"]),
    threshold=st.sampled_from([0.3, 0.5, 0.8]),
)
def test_a_rejected_pair_is_no_match(
    data: st.DataObject, texts: list[str | None], batch: int, verify: str, threshold: float
) -> None:
    """Keep-then-absorb, for batches of any size; a label of a copy is a label of its content."""
    pairs = draw_pairs(data, len(texts))
    with mock.patch.object(cluster, "_BATCH", batch), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = dedup(texts, verify=verify, threshold=threshold, labels=[(a, b, False) for a, b in pairs])
    model = Model(texts, 0, threshold, verify, pairs)
    expected = model.absorbed()
    assert expected == removed(result)
    equal = sum(model.contents[a] == model.contents[b] for a, b in pairs)
    constraints = {
        frozenset((row, head))
        for row, head in combinations(sorted({model.contents.index(content) for content in model.contents}), 2)
        for row, head in ((row, head), (head, row))
        if model.reject(row, head) and model.reference.match(row, head) and row > head
        if head not in expected and (row not in expected or expected[row] > head)
    }
    reported = result.summary["labels"]
    assert (len(pairs), equal, len(constraints)) == (reported["different"], reported["equal"], reported["kept_apart"])


@settings(max_examples=80, deadline=None)
@given(
    data=st.data(),
    texts=strategies.corpora(max_size=20),
    batch=st.integers(1, 9),
    verify=st.sampled_from(["jaccard", "indel"]),
    threshold=st.sampled_from([0.3, 0.5]),
)
def test_no_component_has_a_rejected_pair(
    data: st.DataObject, texts: list[str | None], batch: int, verify: str, threshold: float
) -> None:
    """Components that would are rebuilt from their links, the most similar first."""
    pairs = draw_pairs(data, len(texts))
    with mock.patch.object(cluster, "_BATCH", batch), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = dedup(
            texts, verify=verify, threshold=threshold, cluster="components", labels=[(a, b, False) for a, b in pairs]
        )
    model = Model(texts, 0, threshold, verify, pairs)
    assert model.joined() == removed(result)
    members: dict[int, list[int]] = {}
    for row in result.clusters.rows():
        members.setdefault(row["cluster"], []).append(row["id"])
    assert not any(model.reject(a, b) for group in members.values() for a, b in combinations(group, 2))


@settings(max_examples=80, deadline=None)
@given(
    data=st.data(),
    old=strategies.corpora(max_size=8),
    new=strategies.corpora(max_size=12),
    rule=st.sampled_from(["absorb", "components"]),
    batch=st.integers(1, 5),
)
def test_reference_documents_are_separated_from_new_ones(
    data: st.DataObject, old: list[str | None], new: list[str | None], rule: Any, batch: int
) -> None:
    """A component may have two rejected reference documents, because both are kept in any case."""
    everything = old + new
    pairs = draw_pairs(data, len(everything))
    ids = [f"d{row}" for row in range(len(everything))]
    labels = [(ids[a], ids[b], False) for a, b in pairs]
    with mock.patch.object(cluster, "_BATCH", batch), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = dedup(
            new,
            ids=ids[len(old) :],
            against=old,
            against_ids=ids[: len(old)],
            threshold=0.5,
            cluster=rule,
            labels=labels,
        )
    model = Model(everything, len(old), 0.5, "jaccard", pairs)
    expected = model.absorbed() if rule == "absorb" else model.joined()
    actual = {ids.index(row): ids.index(head) for row, head in removed(result).items()}
    # Only the first of several reference documents with one content is named.
    assert {row: head for row, head in expected.items() if row >= len(old)} == actual


@pytest.mark.parametrize("older", [0, 100])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"recipe": "word:1|binary|xxh3|minhash:64:fast", "radius": None},
        {"recipe": "word:1|binary|xxh3|minhash:64:fast", "radius": None, "verify": "signature"},
        {"measure": "containment", "radius": None},
        {"measure": "containment", "radius": None, "cluster": "components"},
        {"cluster": "components"},
        {"cluster": "components", "verify": "none", "radius": 6},
        {"differ": "numbers"},
        {"keep": "longest", "links": "all"},
    ],
)
def test_a_rejected_removal_is_never_repeated(options: dict[str, Any], older: int) -> None:
    """After each of four runs a person rejects every removed near-duplicate; some may be reference documents."""
    texts = near_duplicates(300)
    ids = [f"d{row}" for row in range(300)]
    if older:
        options = {**options, "against": texts[:older], "against_ids": ids[:older]}
    labels: list[tuple[str, str, bool]] = []
    for _ in range(4):
        result = dedup(texts[older:], **{"ids": ids[older:], "threshold": 0.5, **options}, labels=list(labels) or None)
        near = [
            (row["id"], row["representative"])
            for row in result.clusters.rows()
            if row["reason"].removesuffix("-old") in ("near", "same-letters")
        ]
        said = {frozenset(pair[:2]) for pair in labels}
        columns = result.pairs.columns
        linked = zip(columns["left"], columns["right"], strict=True) if "left" in columns else ()
        assert not said & {frozenset(pair) for pair in [*near, *linked]}
        assert near or labels
        labels += [(*pair, False) for pair in near]
    assert result.summary["labels"]["kept_apart"] > 0


def test_without_decided_pairs_nothing_changes() -> None:
    """Labels that say unsure have no effect; the summary counts them."""
    texts = near_duplicates(200)
    plain = dedup(texts, threshold=0.5)
    with pytest.warns(RuntimeWarning, match="no pair is labelled same or different, so the labels change nothing"):
        result = dedup(texts, threshold=0.5, labels=[(2, 3, None)])
    assert list(plain.clusters.rows()) == list(result.clusters.rows())
    assert {
        "same": 0, "different": 0, "unsure": 1, "contradictory": 0, "kept_apart": 0, "joined": 0, "not_joined": 0,
        "equal": 0, "unknown_ids": 0,
    } == result.summary["labels"]  # fmt: skip
    assert "labels" not in plain.summary


TEXTS = ["one two three four five six seven", "one two three four five six seven!", "something else entirely"]


def test_labels_count_the_worse_copies_that_were_kept(tmp_path: Path) -> None:
    """A label "worse" is one of the same; the share is of removed pairs, by their weights."""
    rows = "left right match weight removed|0 1 worse 1 1|2 3 1 3 1|4 5 1 9 0|6 7 0 9 1"
    file = tmp_path / "labels.tsv"
    file.write_text(rows.replace(" ", "\t").replace("|", "\n"))
    labels = nk.dedup([f"text {number} of its own {number * 7}" for number in range(8)], labels=file).summary["labels"]
    worse = labels["kept_worse"]
    assert (3, 1, 1, 0.25) == (labels["same"], labels["different"], worse["labels"], worse["value"])
    assert worse["low"] < 0.25 < worse["high"]
    file.write_text(file.read_text().replace("worse", "1"))
    assert "kept_worse" not in nk.dedup(["a text", "another"] * 4, labels=file).summary["labels"]


def test_labels_are_read_from_the_table_of_a_report(tmp_path: Path) -> None:
    """From the file as it is."""
    path = tmp_path / "labels.tsv"
    path.write_text("left\tright\tmatch\tsimilarity\tstratum\tweight\tremoved\na\tb\t0\t1\t1.00\t3\t1\n")
    assert ["a", "c"] == nk.dedup(TEXTS, ids=list("abc")).kept
    for labels in (path, str(path), nk.PairLabels(["b"], ["a"], [False])):
        assert ["a", "b", "c"] == nk.dedup(TEXTS, ids=list("abc"), labels=labels).kept


def test_labels_without_effect_give_warnings() -> None:
    """Ids of no document, equal contents, and contradictory labels."""
    texts = ["red wine and cheese", "red wine and cheese", "old cheese on a table"]
    labels = PairLabels([0, 0, "x", 2, 2], [1, 2, "y", 1, 1], [False, False, False, True, False])
    reported = [
        "labels: 2 of 5 labelled ids belong to no document, such as 'x'; their pairs have no effect",
        "labels: 1 pairs that are labelled different have equal contents, such as '0' and '1': one is a copy of the "
        "other, and is removed",
        "labels: 1 pairs have both labels, which have no effect",
    ]
    with pytest.warns(RuntimeWarning) as caught:
        result = nk.dedup(texts, labels=labels)
    assert reported == [str(item.message) for item in caught] == result.summary["warnings"]
    assert [0, 2] == result.kept
    assert (2, 1, 1) == tuple(result.summary["labels"][name] for name in ("unknown_ids", "equal", "contradictory"))


def test_an_id_names_every_document_that_has_it() -> None:
    """A row number names a new and a reference document, so a label may separate too many, never too few."""
    old, new = ["x y z", "one two three four five six seven"], ["one two three four five six seven!", "a b c"]
    assert [1] == nk.dedup(new, against=old).kept
    assert [0, 1] == nk.dedup(new, against=old, labels=[(0, 1, False)]).kept


def test_labels_need_documents_in_memory(tmp_path: Path) -> None:
    """A store and invalid labels are refused; the message has what is allowed."""
    with nk.Store.create(tmp_path / "s") as store:
        refused: list[dict[str, Any]] = [{"store": store}, {"against": store}]
        for options in refused:
            with pytest.raises(errors.ParameterError, match="no store with labels; older texts or"):
                nk.dedup(TEXTS, labels=[("a", "b", False)], **options)
    with pytest.raises(
        errors.ParameterError, match="PairLabels, tuples of two ids and a label, or the path of a table"
    ):
        nk.dedup(TEXTS, labels={"a": "b"})  # type: ignore[dict-item]
    with pytest.raises(errors.InputError, match="is a folder; give a table of labelled pairs"):
        nk.dedup(TEXTS, labels=tmp_path)
    (tmp_path / "clusters.csv").write_text("id,cluster\n1,2\n")
    with pytest.raises(
        errors.InputError, match=r"no columns of pairs among id, cluster; name pair columns \(left,right\)"
    ):
        nk.dedup(TEXTS, labels=tmp_path / "clusters.csv")


def test_files_are_separated_by_their_paths(tmp_path: Path) -> None:
    """A rejected file is removed for a third one, or kept."""
    text = b"".join(b"line %d of a file that will change a little\n" % i for i in range(400))
    for name, data in (("a", text), ("b", text.replace(b"line 200 ", b"LINE 200, ")), ("d", text)):
        (tmp_path / name).write_bytes(data)
    paths = [str(tmp_path / name) for name in "abd"]
    assert paths[:1] == nk.dedup_files(paths).kept
    result = nk.dedup_files(paths, labels=[(paths[2], paths[1], False)])
    assert (paths[:2], 1) == (result.kept, result.summary["labels"]["kept_apart"])
    with pytest.warns(RuntimeWarning, match="equal contents"):
        assert paths[:1] == nk.dedup_files(paths, labels=[(paths[2], paths[0], False)]).kept


def test_a_rejected_pair_is_a_near_miss() -> None:
    """A report can show it again."""
    texts = near_duplicates(200)
    first = dedup(texts, threshold=0.5)
    pair = next((row["id"], row["representative"]) for row in first.clusters.rows() if row["reason"] == "near")
    result = dedup(texts, threshold=0.5, labels=[(*pair, False)], near_misses=200)
    assert result.near_misses is not None
    missed = {frozenset((row["left"], row["right"])): row["similarity"] for row in result.near_misses.rows()}
    if pair[0] in result.kept:
        assert missed[frozenset(pair)] >= 0.5


# Ordinals


@given(st.sets(st.tuples(st.integers(0, 30), st.integers(0, 30)).filter(lambda pair: pair[0] < pair[1]), max_size=40))
@settings(deadline=None)
def test_batches_end_before_a_rejected_pair(pairs: set[Pair]) -> None:
    """Each batch is as long as possible, and batches are contiguous."""
    constraints = CannotLink.of(pairs)
    for start in range(30):
        for end in range(start + 1, 32):
            full = [stop for stop in range(start + 1, end + 1) if not any(start <= a and b < stop for a, b in pairs)]
            assert max(full) == constraints.batch_end(start, end)


@given(
    st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] < pair[1]), max_size=20),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20),
)
def test_rejected_pairs_have_no_order(pairs: set[Pair], asked: list[Pair]) -> None:
    """By both places."""
    sides = np.array(asked, np.int64).reshape(-1, 2)
    expected = [(min(pair), max(pair)) in pairs for pair in asked]
    assert expected == CannotLink.of(pairs).contains(sides[:, 0], sides[:, 1]).tolist()
    assert len(pairs) == len(CannotLink.of(pairs))


def groups(result: nk.DedupResult, ids: list[Any]) -> set[frozenset[Any]]:
    """Return the documents of each cluster, documents alone included."""
    heads = {name: name for name in ids} | removed(result)
    return {frozenset(name for name in heads if heads[name] == head) for head in set(heads.values())}


@settings(max_examples=80, deadline=None)
@given(data=st.data(), texts=strategies.corpora(max_size=20), rule=st.sampled_from(["absorb", "components"]))
def test_pairs_labelled_same_are_merged(data: st.DataObject, texts: list[str | None], rule: str) -> None:
    """The clusters are those without labels, joined by the labels; the first document in keep order stays."""
    pairs = draw_pairs(data, len(texts))
    plain = dedup(texts, threshold=0.5, cluster=rule)
    with warnings.catch_warnings():
        # Without pairs, a warning says that the labels change nothing.
        warnings.simplefilter("ignore")
        result = dedup(texts, threshold=0.5, cluster=rule, labels=[(a, b, True) for a, b in pairs])
    model = Reference(texts, 0.5, "jaccard")
    featured = set(model.rows) - model.featureless
    expected = groups(plain, list(range(len(texts))))
    for a, b in pairs:
        if {a, b} <= featured:
            one, other = (next(group for group in expected if row in group) for row in (a, b))
            expected = expected - {one, other} | {one | other}
    assert expected == groups(result, list(range(len(texts))))
    assert {min(group) for group in expected} == set(result.kept)
    assert 0 == result.summary["labels"]["not_joined"]
    # Chains alone have other rows below the threshold.
    rows = zip(result.clusters["reason"], result.clusters["similarity"], strict=True)
    below = [(reason == "label", similarity < 0.5) for reason, similarity in rows]
    assert all(is_below for is_label, is_below in below if is_label)
    assert rule == "components" or all(is_label for is_label, is_below in below if is_below)
    assert sum(is_label for is_label, _ in below) == result.summary["removed_by_reason"]["label"]


def test_a_label_different_prevents_a_merge() -> None:
    """What is labelled same is merged with its clusters, unless a pair labelled different would be."""
    texts = ["one two three four", "five six seven eight", "nine ten eleven twelve"]
    joined = nk.dedup(texts, labels=[(0, 2, True)])
    assert ([0, 1], {2: 0}) == (joined.kept, removed(joined))
    assert (1, 0) == tuple(joined.summary["labels"][name] for name in ("joined", "not_joined"))
    assert joined.clusters["similarity"][1] < 0.5
    assert ["kept", "label"] == joined.clusters["reason"]
    assert (1, 0) == tuple(joined.summary["removed_by_reason"][reason] for reason in ("label", "near"))
    copies = nk.dedup([*texts, texts[2], texts[0]], labels=[(0, 2, True)])
    assert ["kept", "label", "label", "exact"] == copies.clusters["reason"]
    apart = nk.dedup(texts, labels=[(0, 1, True), (1, 2, True), (0, 2, False)])
    assert [0, 2] == apart.kept
    assert (1, 1) == tuple(apart.summary["labels"][name] for name in ("joined", "not_joined"))


def test_a_label_same_removes_a_document_for_a_reference_document() -> None:
    """Reference documents stay apart, and an id of both corpora names neither."""
    old, new = ["one two three four", "five six seven eight"], ["nine ten eleven twelve", "red wine and cheese"]
    result = nk.dedup(new, ["c", "d"], against=old, against_ids=["a", "b"], labels=[("a", "c", True), ("b", "c", True)])
    assert (["d"], {"c": "a"}) == (result.kept, removed(result))
    assert ["label-old"] == result.clusters["reason"]
    assert (1, 1) == tuple(result.summary["labels"][name] for name in ("joined", "not_joined"))
    with pytest.warns(RuntimeWarning, match="1 pairs that are labelled same have an id of both corpora"):
        assert [0, 1] == nk.dedup(new, against=old, labels=[(0, 1, True)]).kept
