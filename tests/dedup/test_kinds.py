"""Kinds of corpora: each sets its options, options of the caller win, and the summary says what was set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nearkin as nk
from command import check_message, succeed, write_jsonl
from nearkin.dedup.config import DedupConfig, engine_config
from nearkin.dedup.kinds import KINDS, Kind
from nearkin.errors import ParameterError

FOLLOW = "春眠不覺曉處處聞啼鳥夜來風雨聲花落知多少為誰"
VARIANT = FOLLOW.replace("為", "爲")
SHIRT = "cotton shirt for men with long sleeves and two pockets, {}, machine washable, model {}"
LINES = "connection from 10.0.0.{} closed by the remote host after {} seconds of waiting for an answer"


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_kind_equals_its_options(kind: Kind) -> None:
    """The same clusters and parameters as with each option given; the summary lists the options."""
    texts = [SHIRT.format("blue", "a1"), SHIRT.format("red", "a1"), SHIRT.format("blue", "a1!"), FOLLOW, VARIANT]
    texts += [LINES.format(1, 2), LINES.format(1, 3), "def f(x):\n    return x + 1\n" * 3]
    result, same = nk.dedup(texts, kind=kind), nk.dedup(texts, **KINDS[kind])
    assert list(same.clusters.rows()) == list(result.clusters.rows())
    assert (kind, dict(KINDS[kind])) == (result.summary["kind"], result.summary["kind_set"])
    assert KINDS[kind]["threshold"] == result.summary["threshold"]
    assert "kind" not in same.summary


def test_products_of_another_colour_or_model_are_kept() -> None:
    """A copy with the same words is removed; the default removes all."""
    texts = [SHIRT.format(*pair) for pair in (("blue", "lds4821ww"), ("red", "lds4821ww"), ("blue", "lds4821wh"))]
    texts.append(texts[0] + "!")
    assert [0, 1, 2] == nk.dedup(texts, kind="products").kept
    assert len(nk.dedup(texts, threshold=0.7).kept) < 3


def test_poems_with_variant_characters_are_copies() -> None:
    """The kind folds them; the default does not."""
    assert [0] == nk.dedup([FOLLOW, VARIANT], kind="poems").kept
    assert [0, 1] == nk.dedup([FOLLOW.replace("覺曉", "觉晓"), VARIANT]).kept


@pytest.mark.parametrize("shape", ["{}", "a long title of the report on the safety of {} in ships and trains"])
@pytest.mark.parametrize(
    "pair",
    [
        ("SR-2023-052", "SR-2023-053"),
        ("Amendment 16", "Amendment 17"),
        ("256GB", "512 GB"),
        ("volume I", "volume II"),
        ("Part 11", "Part 111"),
        ("introduction to algebra", "introduction to topology"),
        ("the north gate", "the south gate"),
        ("第三册的内容", "第四册的内容"),
    ],
)
def test_titles_with_another_number_or_word_are_kept(pair: tuple[str, str], shape: str) -> None:
    """Whatever their length, and in a store too."""
    titles = [shape.format(part) for part in pair]
    assert [0, 1] == nk.dedup(titles, kind="titles").kept


@pytest.mark.parametrize(
    "pair",
    [
        ("dark mode in the editor", "dark mode in their editor"),
        ("dark mode in the editor", "Editor: dark mode"),
        ("introduction to topology", "introducton to topolgoy"),
        ("a disk of 256GB", "a disk of 256 GB"),
        ("在圖書館的同學", "在圖書館的童學"),
        ("在圖書館的同學", "在圖書館的學同"),
    ],
)
def test_titles_with_the_same_words_are_copies(pair: tuple[str, str], tmp_path: Path) -> None:
    """In a job, in a store, and by the function of pairs."""
    assert [0] == nk.dedup(pair, kind="titles").kept
    assert nk.similarity(pair, [0], [1], measure="words")[0] >= KINDS["titles"]["threshold"]
    with nk.Store.create(tmp_path / "s", **KINDS["titles"]) as store:
        store.add([pair[0]])
        assert ["near"] == store.check(pair[1:]).status


def test_a_measure_replaces_the_verification_of_a_kind() -> None:
    """The kind sets the other options."""
    config = DedupConfig.from_args(kind="titles", measure="jaccard")
    assert ("jaccard", 0.85) == (config.verify, config.threshold)
    assert "verify" not in dict(config.kind_set)


@pytest.mark.parametrize(("text", "named"), [("{} is a short title", True), ("{} is " + "a long text " * 9, False)])
def test_the_command_names_the_kind_of_short_texts(tmp_path: Path, text: str, named: bool) -> None:
    """Unless a kind or a measure was chosen."""
    source = write_jsonl(tmp_path / "in.jsonl", {str(i): text.format(name) for i, name in enumerate("abc")})
    for number, extra in enumerate([(), ("--kind", "titles"), ("--measure", "indel")]):
        done = succeed("dedup", source, "-o", tmp_path / str(number), *extra)
        assert (named and not extra) == ("--kind titles" in " ".join(done.err.split()))


@pytest.mark.parametrize(
    "options", [{"threshold": 0.95}, {"differ": "none"}, {"recipe": "char:5|binary|xxh3|minhash:64"}]
)
def test_options_of_the_caller_win(options: dict[str, Any]) -> None:
    """The others are still those of the kind, and the summary lists only these."""
    config = DedupConfig.from_args(kind="products", **options)
    expected = DedupConfig.from_args(**{**KINDS["products"], **options})
    assert str(expected.recipe).split("|minhash")[0] == str(config.recipe).split("|minhash")[0]
    assert expected.threshold == config.threshold
    assert expected.differ == config.differ
    assert KINDS["products"].keys() - options.keys() == dict(config.kind_set).keys()


def test_bands_of_a_kind_follow_from_the_documents() -> None:
    """As with the default recipe, the number of values is not fixed; on an engine it is."""
    assert DedupConfig.from_args(kind="poems").candidate_source._adaptive  # type: ignore[attr-defined]
    config = engine_config(None, kind="poems")
    assert not config.candidate_source._adaptive  # type: ignore[attr-defined]
    assert ("fold:hans|char:4", 0.7) == (str(config.recipe).split("|binary")[0], config.threshold)


def test_the_command_applies_a_kind(tmp_path: Path) -> None:
    """It says what the kind set; --family changes the family alone."""
    source = write_jsonl(tmp_path / "in.jsonl", {"0": FOLLOW, "1": VARIANT})
    for number, extra in enumerate([(), ("--family", "simhash")]):
        done = succeed("dedup", source, "-o", tmp_path / str(number), "--kind", "poems", *extra)
        summary = json.loads((tmp_path / str(number) / "summary.json").read_text())
        assert ("poems", 0.7, 1) == (summary["kind"], summary["threshold"], summary["kept"])
        assert "fold:hans|char:4" in summary["recipe"]
        assert "kind poems set " in " ".join(done.err.split())


def test_a_kind_is_refused_where_it_sets_nothing(tmp_path: Path) -> None:
    """With a store, passages and files; and an unknown kind."""
    with pytest.raises(ParameterError, match="articles, products, logs, poems, titles, code"):
        nk.dedup([FOLLOW], kind="songs")  # type: ignore[arg-type]
    with nk.Store.create(tmp_path / "s") as store, pytest.raises(ParameterError, match="None with a store"):
        nk.dedup([FOLLOW], kind="poems", store=store)
    source = write_jsonl(tmp_path / "in.jsonl", {"0": FOLLOW})
    for extra in (("--store", tmp_path / "new"), ("--unit", "line"), ("--family", "ssdeep")):
        check_message(2, "--kind", "dedup", source, "-o", tmp_path / "out", "--kind", "poems", *extra)
    assert not (tmp_path / "new").exists()
