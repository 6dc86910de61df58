"""nearkin.dedup.distinguishers: differences of similar texts, in a deduplication and in a store."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin import errors
from nearkin.dedup.distinguishers import NAMES, differences, parse_differ

WIRE = "The board of the company declared a quarterly dividend of {} percent per share on its common stock"


def reference_removals(texts: list[str], threshold: float, numbers: bool) -> list[int]:
    """Keep, then absorb by the definitions: Jaccard similarity of the default features, multisets of digit runs."""

    def features(text: str) -> set[str]:
        return set(nk.Recipe().features_of(text))

    def differ(item: str, other: str) -> bool:
        a, b = (Counter(re.findall("[0-9]+", text)) for text in (item, other))
        return bool(a - b) and bool(b - a)

    kept: list[int] = []
    for row, text in enumerate(texts):
        mine = features(text)
        alike = (
            text == texts[other]
            or (mine and len(mine & features(texts[other])) >= threshold * len(mine | features(texts[other])))
            for other in kept
            if not (numbers and text != texts[other] and differ(text, texts[other]))
        )
        if not any(alike):
            kept.append(row)
    return kept


texts_with_numbers = st.lists(
    st.builds(
        lambda words, number, tail: f"{' '.join(words)} {number} {tail}",
        st.sampled_from([["red", "wine", "and", "cheese", "for", "dinner"], ["a", "walk", "in", "the", "park", "now"]]),
        st.sampled_from(["", "1", "2", "1 2", "2 1", "10"]),
        st.sampled_from(["today", "today!", "tonight"]),
    ),
    max_size=12,
)


@settings(max_examples=80, deadline=None)
@given(texts=texts_with_numbers, cluster=st.sampled_from(["absorb"]), numbers=st.booleans())
def test_pairs_that_differ_are_no_matches(texts: list[str], cluster: Any, numbers: bool) -> None:
    """Every pair is a candidate and is compared by the definition."""
    result = nk.dedup(texts, threshold=0.6, radius=128, differ="numbers" if numbers else None, cluster=cluster)
    assert reference_removals(texts, 0.6, numbers) == result.kept


@settings(max_examples=40, deadline=None)
@given(texts=texts_with_numbers, splits=st.lists(st.integers(0, 12), max_size=3))
def test_a_store_with_rules_decides_as_a_deduplication(
    texts: list[str], splits: list[int], tmp_path_factory: Any
) -> None:
    """For any batches, with each text checked alone before it is added."""
    expected = nk.dedup(texts, threshold=0.6, differ="numbers")
    path = tmp_path_factory.mktemp("differ") / "a.store"
    cuts = [0, *sorted(min(at, len(texts)) for at in splits), len(texts)]
    with nk.Store.create(path, threshold=0.6, differ="numbers") as store:
        fresh = []
        for start, end in pairwise(cuts):
            singles = [store.check([text]).status[0] for text in texts[start:end][:1]]
            answers = store.check_and_add(texts[start:end], list(range(start, end)))
            fresh += [start + at for at, new in enumerate(answers.is_new) if new]
            assert singles == answers.status[:1]
        assert expected.kept == fresh
        assert ["numbers"] == store.settings.to_dict()["differ"]
    with nk.Store.open(path, "r") as store:
        assert store.check(texts[:1]).is_new.tolist() == [False] * len(texts[:1])
        assert "numbers" in store.check(texts[:1]).verified


@pytest.mark.parametrize("cluster", ["absorb", "components"])
@pytest.mark.parametrize("verify", ["jaccard", "containment", "indel"])
@pytest.mark.parametrize("recipe", ["char:4|binary|xxh3|simhash:128", "char:4|binary|xxh3|minhash:128"])
@pytest.mark.filterwarnings("ignore:no recall")
def test_differing_texts_are_kept_by_every_verification(cluster: Any, verify: Any, recipe: str) -> None:
    """1.5 and 15 percent have the same letters; a copy with other punctuation is removed; pairs omit them."""
    texts = [WIRE.format("1.5"), WIRE.format("15"), WIRE.format("1.5") + "!"]
    how: Any = {"cluster": cluster, "verify": verify, "recipe": recipe}
    assert [0] == nk.dedup(texts, **how).kept
    result = nk.dedup(texts, differ="numbers", links="all", **how)
    assert [0, 1] == result.kept
    assert [(0, 2)] == [(row["left"], row["right"]) for row in result.pairs.rows()]
    assert result.summary["pairs_that_differ"] >= 1
    assert ["numbers"] == result.summary["differ"]
    assert [0] == nk.dedup(texts, differ="none", **how).kept


def test_the_reason_of_equal_features_is_named() -> None:
    """Only with Jaccard similarity: a containment or an estimate of 1 does not mean equal features."""
    texts = ["one text of some words", "One text, of some words", "one text of some words and a tail that it has more"]
    assert ["kept", "same-letters", "near"] == nk.dedup(texts, threshold=0.3, radius=60).clusters["reason"]
    result = nk.dedup(texts, verify="containment", radius=60)
    assert ["kept", "near", "near"] == result.clusters["reason"]
    shares = nk.dedup(texts[:2], recipe="minhash", verify="signature")
    assert ["kept", "near"] == shares.clusters["reason"]
    assert {"exact": 0, "near": 1, "exact-old": 0, "near-old": 0} == shares.summary["removed_by_reason"]


@pytest.mark.parametrize(
    ("rule", "one", "other", "difference"),
    [
        ("numbers", "up 1.5 percent", "up 15 percent", "1.5 → 15"),
        ("numbers", "at -5 degrees", "at 5 degrees", "-5 → 5"),
        ("numbers", "½ cup", "12 cup", "1, 2 → 12"),
        ("numbers", "1,000 people", "1000 people", None),
        ("numbers", "1 2 3 4 5 6", "7 8 9 10 11 12", "1, 2, 3, 4, 5, … → 7, 8, 9, 10, 11, …"),
        ("numbers", "page 1 of 2, and 3", "page 1 of 2", None),
        ("days", "shut on Monday", "shut on Tuesday", "Mon → Tue"),
        ("days", "星期一 in May", "Monday in 五月", None),
        ("signs", "5 €", "5 $", "€ → $"),
        ("symbols", "C++ in a week", "C# in a week", "++ → #"),
        (r"pattern:v\d+", "tool v1", "tool v2", "v1 → v2"),
        ("pattern:(?i)err|warn", "ERR now", "warn now", "err → warn"),
    ],
)
def test_differences_list_both_sides(rule: str, one: str, other: str, difference: str | None) -> None:
    """There is no difference if one side only has additional distinguishers."""
    assert [difference] == differences([rule], [one], [other])
    swapped = None if difference is None else " → ".join(reversed(difference.split(" → ")))
    assert [swapped, None] == differences([rule], [other, one], [one, one])


def test_rules_are_read_from_names() -> None:
    """Lists, commas, patterns with commas, and no rules."""
    assert () == parse_differ(None) == parse_differ("none")
    assert NAMES == parse_differ(",".join(NAMES)) == parse_differ([*NAMES[:2], " signs , symbols"])
    assert ("pattern:a{1,2}", "days") == parse_differ(["pattern:a{1,2}", "days"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("number", "numbers, days, signs, symbols, pattern:REGEX"),
        ("numbers,none", "numbers, days"),
        ("", "numbers, days"),
        ("numbers,numbers", "each rule once"),
        ("pattern:(", "regular expression"),
        (r"pattern:(a)\1", "back-references"),
        ("pattern:", "regular expression"),
        ([1], "names of rules"),
    ],
)
def test_unknown_rules_are_errors(wrong: Any, message: str) -> None:
    """The message has the allowed ones."""
    with pytest.raises(errors.ParameterError, match=re.escape(message)):
        nk.dedup(["a text"], differ=wrong)


def test_rules_need_texts_to_compare(tmp_path: Path) -> None:
    """Rules need a verification by texts; stores have their own."""
    for verify, recipe in (("none", None), ("signature", "minhash")):
        with pytest.raises(errors.ParameterError, match="verification by texts"):
            nk.dedup(["a"], differ="numbers", verify=verify, recipe=recipe)  # type: ignore[arg-type]
    for how in ({"text": "features"}, {"text": "none"}, {"verify": "none"}):
        with pytest.raises(errors.ParameterError, match="differ"):
            nk.Store.create(tmp_path / "no.store", differ="numbers", **how)  # type: ignore[arg-type]
    with pytest.raises(errors.ParameterError, match="files or vectors"):
        nk.Store.create(tmp_path / "no.store", "ssdeep", differ="numbers")
    with nk.Store.create(tmp_path / "features.store", text="features") as store:
        with pytest.raises(errors.MismatchError, match="features"):
            nk.dedup(["a"], against=store, differ="numbers")
        with pytest.raises(errors.MismatchError, match="differ"):
            nk.dedup(["a"], store=store, differ="numbers", verify="indel")
    with nk.Store.create(tmp_path / "plain.store") as store, pytest.raises(errors.MismatchError, match="differ"):
        nk.dedup(["a"], store=store, differ="numbers")


def test_a_deduplication_follows_the_rules_of_a_store(tmp_path: Path) -> None:
    """With store= always; with against= unless the caller passes rules or "none"."""
    texts = [WIRE.format(number) for number in ("1.5", "15", "7")]
    with nk.Store.create(tmp_path / "a.store", differ="numbers", empty="drop") as store:
        assert [0, 1] == nk.dedup(texts[:2], store=store).kept
        assert [0] == nk.dedup(texts[2:], against=store).kept
        assert [] == nk.dedup(texts[2:], against=store, differ="none").kept
        assert [] == nk.dedup(["!", "!"], against=store).kept
        assert [0, 1] == nk.dedup(["!", "!"], against=store, empty="keep").kept
