"""Kinds of corpora: each sets its options, options of the caller win, and the summary says what was set."""

from __future__ import annotations

import base64
import gzip
import json
import re
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


RENAMED = {
    "a/one.py": "import os\n\n\ndef total(rows, rate=0.2):\n    '''Sum.'''\n    result = []\n    for row in rows:\n"
    "        if row.is_open and row.amount > 100:\n            result.append(round(row.amount * rate, 2))\n"
    "        else:\n            result.append(row.amount - row.paid)\n    return sum(result)\n\n\nVALUE = 1\n",
    "b/two.py": "class Box:\n    async def f(self, xs, q):\n        ys = []  # no doc\n        for x in xs:\n"
    "            if x.is_open and x.amount > 7:\n                ys.append(round(x.amount * q, 3))\n"
    "            else:\n                ys.append(x.amount - x.paid)\n        return sum(ys)\n\n"
    "    def name(self):\n        return self.a\n\n    def size(self):\n        return self.b\n",
    "c/data.txt": "No function at all.\n",
}


def test_functions_with_other_names_are_copies(tmp_path: Path) -> None:
    """A document is a function with its lines; getters of other attributes are kept, the default keeps all."""
    for name, text in RENAMED.items():
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(text, encoding="utf-8")
    result = nk.dedup(tmp_path / "src", kind="functions")
    assert ["a/one.py:4-12", "b/two.py:11-12", "b/two.py:14-15"] == result.kept
    assert "b/two.py:2-9" in result.clusters["id"]
    done = succeed("dedup", tmp_path / "src", "-o", tmp_path / "out", "--kind", "functions", "--report")
    assert "files without functions (1)" in done.err
    assert list(result.kept) == (tmp_path / "out" / "kept.txt").read_text().split()
    succeed("report", tmp_path / "out", "--out", tmp_path / "again.html")
    for page in (tmp_path / "out" / "report.html", tmp_path / "again.html"):
        blocks = re.findall(r'id="block-[^"]*"[^>]*>([^<]*)<', page.read_text(encoding="utf-8"))
        assert any(b"ys.append" in gzip.decompress(base64.b64decode(block)) for block in blocks)
    done = succeed("dedup", tmp_path / "src", "-o", tmp_path / "default", "--format", "functions")
    assert "look like source code" in " ".join(done.err.split())


def test_a_kind_is_refused_where_it_sets_nothing(tmp_path: Path) -> None:
    """With a store, passages and files; and an unknown kind."""
    with pytest.raises(ParameterError, match="articles, products, logs, poems, code, functions"):
        nk.dedup([FOLLOW], kind="songs")  # type: ignore[arg-type]
    with nk.Store.create(tmp_path / "s") as store, pytest.raises(ParameterError, match="None with a store"):
        nk.dedup([FOLLOW], kind="poems", store=store)
    source = write_jsonl(tmp_path / "in.jsonl", {"0": FOLLOW})
    for extra in (("--store", tmp_path / "new"), ("--unit", "line"), ("--family", "ssdeep")):
        check_message(2, "--kind", "dedup", source, "-o", tmp_path / "out", "--kind", "poems", *extra)
    assert not (tmp_path / "new").exists()
