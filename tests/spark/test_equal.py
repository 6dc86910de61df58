"""An engine gives the result of one machine, for every option that both have."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from engines import MINHASH, OPTIONS, SIMHASH, DocumentSet, Engine, chain_texts, mixed_texts, site_pages, star_texts

from nearkin.distributed import pairs as unit_pairs
from nearkin.distributed import plan as plans
from nearkin.distributed.pairs import choose_tables
from nearkin.errors import InputError, MismatchError, ParameterError
from nearkin.spark import SparkResult, dedup, hashes


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_pages(engine: Engine, keep: str, tmp_path: Path) -> None:
    """Also by the sources of a column, with integer ids and reference documents, and from a checkpoint."""
    pages, gone = site_pages()
    point = tmp_path / "point"
    summary = engine.check_equal(pages, recipe=None, kind="pages", keep=keep, checkpoint=point)
    assert (gone, 36) == (summary["removed"], summary["left_out_lines"]["lines"])
    resumed = engine.check_equal(pages, recipe=None, kind="pages", keep=keep, checkpoint=point)
    assert summary["left_out_lines"] == resumed["left_out_lines"]
    pages.texts[0] = "<p>another text"
    with pytest.raises(MismatchError, match="not the same"):
        engine.check_equal(pages, recipe=None, kind="pages", keep=keep, checkpoint=point)
    numbered = DocumentSet.of(pages.texts[::2], site=pages.ids[::2])
    engine.check_equal(numbered, DocumentSet.of(pages.texts[1::2]), recipe=None, kind="pages", keep=keep, source="site")


WORDS = "word:1|count|xxh3|simhash:64"


@pytest.mark.parametrize("recipe", [MINHASH, SIMHASH])
@pytest.mark.parametrize("options", [options for options in OPTIONS if not {"cluster", "keep"} & {*options}], ids=str)
def test_options(engine: Engine, recipe: str, options: dict[str, Any]) -> None:
    """All but those of `test_shapes`."""
    engine.check_equal(DocumentSet.of(mixed_texts(300)), recipe=recipe, **options)


def test_weighted_words_in_few_bits(engine: Engine) -> None:
    engine.check_equal(
        DocumentSet.of(mixed_texts(300)), DocumentSet.of(mixed_texts(90, 1)), recipe=WORDS, keep="longest,last"
    )


@pytest.mark.parametrize("recipe", [MINHASH, SIMHASH])
@pytest.mark.parametrize("cluster", ["absorb", "components"])
@pytest.mark.usefixtures("rounds")
def test_shapes(engine: Engine, recipe: str, cluster: str) -> None:
    """Chains, cliques and stars, for which the first pairs do not decide, and none meets another."""
    texts = [
        *chain_texts(60),
        *star_texts(60, 2, 1),
        *star_texts(60, 5, 2),
        *star_texts(60, 10, 3),
        *mixed_texts(60, 4),
    ]
    random.Random(5).shuffle(texts)
    engine.check_equal(DocumentSet.of(texts), recipe=recipe, cluster=cluster)
    engine.check_equal(
        DocumentSet.of(texts[:200]), DocumentSet.of(texts[150:]), recipe=recipe, cluster=cluster, keep="last"
    )


@pytest.mark.parametrize("recipe", [MINHASH, SIMHASH])
@pytest.mark.parametrize(
    "texts", [[], ["one text alone"], ["", None], ["some words are here", "and quite other ones"]], ids=repr
)
def test_no_pair_at_all(engine: Engine, recipe: str, texts: list[str | None]) -> None:
    """Stages without rows."""
    engine.check_equal(DocumentSet.of(texts), recipe=recipe)
    named = [DocumentSet.of(part, [f"id{at}" for at in range(len(part))]) for part in (texts, texts[:1])]
    engine.check_equal(*named, recipe=recipe, links="all", cluster="components")


@pytest.mark.parametrize(
    "options", [{}, {"cluster": "components", "keep": "best"}, {"links": "all", "keep": "last"}], ids=str
)
def test_small_radii_have_tables(engine: Engine, options: dict[str, Any]) -> None:
    recipe = "word:1|binary|xxh3|simhash:64"
    assert choose_tables(64, 3, 360) is not None
    texts = mixed_texts(200) + star_texts(60, 1)
    engine.check_equal(
        DocumentSet.of(texts), DocumentSet.of(mixed_texts(100, 1)), recipe=recipe, radius=3, threshold=0.5, **options
    )


@pytest.mark.parametrize("recipe", [MINHASH, SIMHASH, "word:1|count|xxh3|simhash:64"])
@pytest.mark.filterwarnings("ignore:.*texts are null")
def test_hashes_of_an_earlier_run(engine: Engine, recipe: str, tmp_path: Path) -> None:
    """A table of hashes gives the result of its texts, and the texts of such a table are not hashed again."""
    texts = mixed_texts(300)
    new, old = (DocumentSet.of(part, [f"id{at}" for at in range(len(part))]) for part in (texts[:200], texts[150:]))
    hashes(engine.frame(old), recipe=recipe, column="h").write.parquet(str(tmp_path / "month"))
    against = engine.session.read.parquet(str(tmp_path / "month"))
    expected = cluster_rows(dedup(engine.frame(new), against=engine.frame(old), recipe=recipe))
    for frame in (engine.frame(new), hashes(engine.frame(new), recipe=recipe, column="h")):
        assert expected == cluster_rows(dedup(frame, against=against, recipe=recipe, hashes="h"))
    assert any(row["reason"].endswith("-old") for row in expected)


@pytest.mark.filterwarnings("ignore:.*texts are null")
def test_other_hashes_are_refused(engine: Engine) -> None:
    """Hashes of another recipe, columns that have none, and a name that no frame has."""
    frame = engine.frame(DocumentSet.of(mixed_texts(20)))
    other = hashes(frame, recipe="word:2|binary|xxh3|minhash:128:fast")
    with pytest.raises(InputError, match="did not compute by"):
        dedup(other, recipe=MINHASH, hashes="hashes")
    with pytest.raises(ParameterError, match="binary"):
        dedup(frame, recipe=MINHASH, hashes="text")
    with pytest.raises(ParameterError, match="hashes"):
        dedup(frame, recipe=MINHASH, hashes="nothing")
    with pytest.raises(ParameterError, match="lines of all pages"):
        dedup(hashes(frame, recipe=MINHASH), kind="pages", hashes="hashes")
    with pytest.raises(InputError, match="did not compute"):
        dedup(frame.selectExpr("*", "cast(text as binary) as b"), recipe=MINHASH, hashes="b")


@pytest.mark.usefixtures("rounds")
def test_a_resumed_job_has_the_same_slices(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Members of units are stored under the names of slices, so other slices would not find them."""
    frame = engine.frame(DocumentSet.of(star_texts(90, 5) + chain_texts(40)))
    expected = cluster_rows(dedup(frame, recipe=SIMHASH))
    verify = plans.Plan.verified

    def fail_later(self: plans.Plan, *arguments: Any, **named: Any) -> Any:
        if "links" in self.checkpoint.done:
            raise RuntimeError("the second round")
        return verify(self, *arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(plans.Plan, "verified", fail_later)
        with pytest.raises(RuntimeError, match="the second round"):
            dedup(frame, recipe=SIMHASH, checkpoint=tmp_path / "job")
    monkeypatch.setattr(unit_pairs, "SLICE", 9)
    assert expected == cluster_rows(dedup(frame, recipe=SIMHASH, checkpoint=tmp_path / "job"))


def cluster_rows(result: SparkResult) -> list[dict[str, Any]]:
    """Return the clusters of a result, in one order."""
    return sorted(result.clusters.toArrow().to_pylist(), key=str)
