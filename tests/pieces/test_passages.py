"""nearkin.passages: chunks that occur in earlier documents, against the definition in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from definitions import RECIPE
from nearkin.io import PackedTexts, open_corpus
from nearkin.text.chunking import split

NEWS = "Prices rose again in March, the statistics office said on Tuesday; rents rose most of all."
RAIN = "There was a lot of rain in the north, and the rivers rose by a metre within two days."
ZH = (
    "统计局星期二公布，三月份物价继续上涨，其中房租涨幅最大，食品价格略有下降，能源价格保持稳定，专家认为趋势还将持续。"
)


def passage_spans(result: Any) -> list[tuple[Any, ...]]:
    """Return passages without similarity and unit."""
    names = ("id", "start", "end", "other", "other_start", "other_end")
    return [tuple(row[name] for name in names) for row in result.passages.rows()]


def expected_passages(
    texts: list[str | None], unit: str, threshold: float, order: list[int], *, within: bool
) -> list[tuple[Any, ...]]:
    """Return copies of documents; keep, then absorb, over all chunks of the others; and adjacent equal chunks."""
    seen = [row for row in order if (texts[row] or "").strip()]
    copies = {
        row: other for position, row in enumerate(seen) for other in seen[:position][::-1] if texts[row] == texts[other]
    }
    actual = [(row, 0, len(texts[row] or ""), other, 0, len(texts[row] or ""), 1.0) for row, other in copies.items()]
    parts = split(texts, unit, 1)
    owners = np.repeat(np.arange(len(texts)), np.diff(parts.ends)).tolist()
    pieces, positions = list(parts.texts), parts.spans.tolist()
    counts = nk.fingerprint(pieces, RECIPE, return_counts=True)[1]
    compared = [
        count > 0 and (unit == "document" or len(piece) >= 3) for piece, count in zip(pieces, counts, strict=True)
    ]
    rows = [part for row in order for part in range(len(pieces)) if owners[part] == row and row not in copies]
    kept: list[int] = []
    by: dict[int, tuple[int, float]] = {}
    for position, part in enumerate(rows):
        if not compared[part]:
            continue
        copy = next((other for other in rows[:position] if pieces[other] == pieces[part]), None)
        if copy is not None:
            by[part] = (copy, 1.0) if copy in kept else by[copy]
            continue
        for other in kept:
            similarity = float(nk.similarity(pieces, [other], [part], recipe=RECIPE)[0])
            if similarity >= threshold:
                by[part] = (other, similarity)
                break
        else:
            kept.append(part)
    by = {part: other for part, other in by.items() if within or owners[other[0]] != owners[part]}
    for part, (other, _) in sorted(by.items()):
        for step in (1, -1):
            mine, its = part + step, other + step
            while (
                0 <= min(mine, its) and max(mine, its) < len(pieces) and mine not in by and not compared[mine]
                and owners[mine] == owners[part] and owners[its] == owners[other] and pieces[mine] == pieces[its]
            ):  # fmt: skip
                by[mine] = (its, 1.0)
                mine, its = mine + step, its + step
    actual += [
        (owners[part], *positions[part], owners[other], *positions[other], round(similarity, 9))
        for part, (other, similarity) in by.items()
    ]
    return sorted(actual, key=lambda row: (order.index(row[0]), row[1]))


@st.composite
def make_documents(draw: st.DrawFn) -> list[str | None]:
    """Return texts of few lines; some are copies and some small changes of others."""
    words = st.sampled_from(["red", "green", "blue", "wine", "東京", "x"])
    lines = draw(st.lists(st.lists(words, min_size=1, max_size=8).map(" ".join), min_size=1, max_size=6))
    signs = st.sampled_from(["\n", "\n\n", "\r\n", "\r\n\r\n", "\n \n"])
    texts: list[str | None] = []
    for _ in range(draw(st.integers(0, 6))):
        picked = draw(st.lists(st.sampled_from([*lines, "", "!"]), max_size=6))
        texts.append("".join(line + draw(signs) for line in picked))
    return [*texts, *draw(st.lists(st.none(), max_size=1))]


@settings(deadline=None)
@given(
    make_documents(),
    st.sampled_from(["paragraph", "line", "document"]),
    st.sampled_from([0.5, 0.8, 1.0]),
    st.sampled_from(["first", "last"]),
    st.booleans(),
)
def test_passages_are_those_of_the_definition(
    texts: list[str | None], unit: str, threshold: float, keep: str, within: bool
) -> None:
    result = nk.passages(
        texts, unit=unit, threshold=threshold, recipe=RECIPE, radius=64, min_length=3, keep=keep, within=within
    )
    order = list(range(len(texts)))[:: 1 if keep == "first" else -1]
    expected = expected_passages(texts, unit, threshold, order, within=within)
    similarity = [round(value, 9) for value in result.passages["similarity"]]
    assert expected == [(*row, value) for row, value in zip(passage_spans(result), similarity, strict=True)]
    # Removed passages occur in kept documents, and a second run finds nothing.
    if not within:
        left = result.remaining(texts)
        again = nk.passages(
            left, unit=unit, threshold=threshold, recipe=RECIPE, radius=64, min_length=3, remove="nothing",
            keep=keep,
        )  # fmt: skip
        assert (unit if unit != "document" else "") not in again.passages["unit"]


@settings(deadline=None)
@given(make_documents(), st.sampled_from(["line", "paragraph,line"]), st.sampled_from([0.3, 0.5, 1.0]))
def test_every_removed_passage_occurs_in_a_kept_document(texts: list[str | None], unit: str, share: float) -> None:
    result = nk.passages(
        texts, unit=unit, threshold=1.0, recipe=RECIPE, radius=64, min_length=1, remove="documents", share=share
    )
    kept = {line for row in result.kept for line in split([texts[row]], "line", 1).texts}
    for row in set(range(len(texts))) - set(result.kept):
        lines = split([texts[row]], "line", 1)
        total = sum(lines.visible.tolist())
        # Lines with equal features may differ in punctuation, so compare their words.
        standing = {nk.fingerprint([line], RECIPE)[0].tolist() for line in kept}
        counted = [
            count
            for line, count in zip(lines.texts, lines.visible.tolist(), strict=True)
            if nk.fingerprint([line], RECIPE)[0].tolist() in standing
        ]
        assert sum(counted) >= share * total - 1e-9


def test_a_passage_is_found_in_the_earlier_document() -> None:
    digest = f"The week in short.\n\n{NEWS}\n\nAnd this."
    result = nk.passages([NEWS, digest, f"{RAIN}\n\n{NEWS.upper()}"], ids=["a", "b", "c"])
    assert [("b", 20, 110, "a", 0, 90), ("c", 87, 177, "a", 0, 90)] == passage_spans(result)
    assert [1.0, 1.0] == result.passages["similarity"]
    shares = list(result.documents.rows())
    assert [("b", 98, 75), ("c", 142, 75)] == [(row["id"], row["characters"], row["found"]) for row in shares]
    assert [NEWS, "The week in short.\n\nAnd this.", RAIN] == result.remaining(
        [NEWS, digest, f"{RAIN}\n\n{NEWS.upper()}"]
    )
    assert (["a", "b", "c"], 2, 1, 2) == (
        result.kept,
        result.summary["passages"],
        result.summary["units"][0]["equal"],
        result.summary["cut"],
    )


def test_keep_order_decides_which_one_is_earlier() -> None:
    texts = [f"{NEWS}\n\n{RAIN}", NEWS]
    assert [(1, 0, 90, 0, 0, 90)] == passage_spans(nk.passages(texts))
    assert [(0, 0, 90, 1, 0, 90)] == passage_spans(nk.passages(texts, keep="shortest"))
    assert [(0, 0, 90, 1, 0, 90)] == passage_spans(nk.passages(texts, keep="max", values=[1, 2]))
    assert [1] == nk.passages([NEWS, NEWS], keep="last").kept


@pytest.mark.parametrize("unit", ["paragraph", "line", "document", "window:8", "repeat:60", "repeat:20:words"])
def test_chinese_crlf_empty_and_equal_documents(unit: str) -> None:
    texts = [ZH, "", None, ZH, "前言：以下内容转载。\r\n\r\n" + ZH + "\r\n\r\n（完）"]
    result = nk.passages(texts, unit=unit, min_length=8)
    assert ([0, 1, 2] if unit == "document" else [0, 1, 2, 4]) == result.kept
    for row in result.passages.rows():
        mine = (texts[row["id"]] or "")[row["start"] : row["end"]]
        its = (texts[row["other"]] or "")[row["other_start"] : row["other_end"]]
        assert len(mine) == row["end"] - row["start"]
        assert row["similarity"] < 1 or mine == its
    if unit != "document":
        assert "".join(result.remaining(texts)[3].split()).startswith("前言：以下内容转载。")
        assert len(result.remaining(texts)[3]) < 40


def test_one_giant_line_has_windows() -> None:
    generator = np.random.default_rng(3)
    words = [f"w{number}" for number in generator.integers(0, 10**6, 60_000)]
    giant, passage = " ".join(words), " ".join(words[20_000:20_500])
    result = nk.passages([passage, giant], unit="window:50", min_length=1)
    assert 0.8 * 500 < sum(len(giant[start:end].split()) for _, start, end, *_ in passage_spans(result)) <= 500
    equal = [row for row in result.passages.rows() if row["similarity"] == 1]
    assert len(equal) >= 6
    assert all(
        nk.similarity([passage[row["other_start"] : row["other_end"]], giant[row["start"] : row["end"]]], [0], [1])[0]
        == 1
        for row in equal
    )
    assert len(giant) - sum(end - start for _, start, end, *_ in passage_spans(result)) >= len(
        result.remaining(["", giant])[1]
    )


def test_a_paragraph_of_all_documents_is_kept_once() -> None:
    texts = [f"Text {number} has words of its own, {'x' * number}.\n\n{NEWS}" for number in range(50)]
    result = nk.passages(texts)
    assert 49 == len(result.passages)
    assert {0} == set(result.passages["other"])
    assert 1 == "\n".join(result.remaining(texts)).count(NEWS)


def test_a_chunk_is_searched_in_its_own_document_on_request() -> None:
    text = f"{NEWS}\n\n{RAIN}\n\n{NEWS}"
    assert [] == passage_spans(nk.passages([text]))
    result = nk.passages([text], within=True)
    assert [(0, 179, 269, 0, 0, 90)] == passage_spans(result)
    assert [f"{NEWS}\n\n{RAIN}"] == result.remaining([text])
    # A document that repeats itself matches no other one.
    assert [0] == nk.passages([text], within=True, remove="documents", share=0.1).kept


def test_later_units_search_outside_of_earlier_passages() -> None:
    mixed = f"Something else.\n{RAIN}\nSomething new."
    result = nk.passages([f"{NEWS}\n\n{RAIN}", f"{NEWS}\n\n{mixed}"], unit="paragraph,line")
    assert [("paragraph", 0, 90), ("line", 108, 193)] == [
        (row["unit"], row["start"], row["end"]) for row in result.passages.rows()
    ]
    assert [1, 1] == [unit["passages"] for unit in result.summary["units"]]


def test_documents_are_removed_by_their_share() -> None:
    texts = [NEWS, f"{NEWS}\n\n{RAIN}", RAIN, f"{RAIN}\n\nA few words."]
    result = nk.passages(texts, remove="documents")
    # Half of the second is in the first, so it is removed; so the third keeps the rain, and the fourth is its copy.
    assert [0, 2] == result.kept
    assert [0, 1] == nk.passages(texts, remove="documents", share=0.6).kept
    shares = dict(zip(result.documents["id"], result.documents["removed"], strict=True))
    assert {1: True, 2: False, 3: True} == shares
    assert [0, 1, 2, 3] == nk.passages(texts, remove="nothing").kept
    assert texts == nk.passages(texts, remove="nothing").remaining(texts)
    assert 0 == nk.passages(texts, remove="documents").summary["cut"]


def test_short_chunks_are_not_compared() -> None:
    texts = ["Read more\n\n" + NEWS, "Read more\n\n" + RAIN]
    assert [] == passage_spans(nk.passages(texts))
    assert [(1, 0, 9, 0, 0, 9)] == passage_spans(nk.passages(texts, min_length=9))


def test_results_do_not_depend_on_batches_threads_or_the_kind_of_texts(
    set_threads: Callable[[int], None], tmp_path: Any
) -> None:
    generator = np.random.default_rng(5)
    pool = [" ".join(f"w{n}" for n in generator.integers(0, 300, 25)) for _ in range(60)]
    texts = ["\n\n".join(pool[n] for n in generator.integers(0, 60, 4)) for _ in range(300)]
    expected = nk.passages(texts, unit="paragraph,window:10")
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"text": texts}), path) if hasattr(pa, "parquet") else None
    lines = tmp_path / "a.jsonl"
    pd.DataFrame({"text": texts}).to_json(lines, orient="records", lines=True, force_ascii=False)
    set_threads(1)
    with open_corpus(lines) as corpus:
        of_corpus = nk.passages(corpus, unit="paragraph,window:10")
    for other in (
        of_corpus,
        nk.passages(pa.array(texts), unit="paragraph,window:10"),
        nk.passages(PackedTexts.of(texts), unit="paragraph,window:10"),
        nk.passages(pd.DataFrame({"text": texts}), unit="paragraph,window:10"),
    ):
        assert expected.passages.columns == other.passages.columns
        assert expected.documents.columns == other.documents.columns


def test_tables_have_their_types_without_rows() -> None:
    result = nk.passages([NEWS], ids=["a"])
    assert ["string", "int64", "int64", "string"] == [str(kind) for kind in result.passages.to_arrow().schema.types][:4]
    assert ["string", "int64", "int64", "double", "int64", "bool"] == [
        str(kind) for kind in result.documents.to_arrow().schema.types
    ]
    empty = nk.passages([])
    assert ([], 0, 0) == (empty.kept, len(empty.passages), empty.summary["characters"])


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"unit": "paragraphs"}, "unit"),
        ({"unit": "window:0"}, "unit"),
        ({"min_length": 0}, "min_length"),
        ({"remove": "part"}, "remove"),
        ({"share": 2, "remove": "documents"}, "share"),
        ({"share": 0, "remove": "documents"}, "share"),
        ({"share": True, "remove": "documents"}, "share"),
        ({"share": 0.5}, "share"),
        ({"boilerplate": "delete"}, "boilerplate"),
        ({"boilerplate": "keep", "unit": "repeat:50"}, "boilerplate"),
        ({"boilerplate_documents": 1}, "boilerplate_documents"),
        ({"boilerplate_share": 1.5}, "boilerplate_share"),
        ({"threshold": 0}, "threshold"),
        ({"keep": "finest"}, "keep"),
        ({"max_comparisons": 0}, "max_comparisons"),
    ],
)
def test_wrong_arguments_are_errors(options: dict[str, Any], name: str) -> None:
    with pytest.raises(nk.errors.ParameterError) as caught:
        nk.passages([NEWS], **options)
    assert name == caught.value.name


def test_ids_that_are_not_distinct_are_an_error() -> None:
    with pytest.raises(nk.errors.InputError, match="occurs in rows 0 and 1"):
        nk.passages([NEWS, RAIN], ids=["a", "a"])


def test_skipped_comparisons_give_a_warning() -> None:
    generator = np.random.default_rng(2)
    texts = [f"{'word ' * 30}{generator.integers(0, 10**9)}" for _ in range(40)]
    with pytest.warns(RuntimeWarning, match="some parts have more than max_comparisons=1"):
        result = nk.passages(texts, threshold=0.99, radius=60, max_comparisons=1)
    assert result.summary["skipped"] > 0
    assert result.summary["warnings"]
