"""The job of `nearkin.ray` in this process, without Ray: its result is that of one machine, for every option."""

from __future__ import annotations

import pickle
import random
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from engines import (
    MINHASH,
    OPTIONS,
    SIMHASH,
    VOCABULARY,
    DocumentSet,
    chain_texts,
    check_result,
    mixed_texts,
    run_locally,
    site_pages,
    star_texts,
)
from pyarrow.feather import read_table, write_feather

from nearkin.dedup.config import engine_config
from nearkin.distributed import decision, links, plan, tables
from nearkin.distributed.frames import FileTasks, LocalTasks
from nearkin.distributed.pairs import choose_tables
from nearkin.distributed.tables import deduplicate
from nearkin.errors import InputError, OutputError
from nearkin.progress import Progress, ignore_progress


class PickledTasks(LocalTasks):
    """Calls functions on arguments that went through pickle, as they do in Ray."""

    def run(self, function: Any, *arguments: Any, returns: int | None = None) -> Any:
        """Call a function."""
        return super().run(*pickle.loads(pickle.dumps((function, *arguments))), returns=returns)  # noqa: S301

    fetched = 0

    def get(self, references: Any) -> Any:
        """Count the rows that the driver fetches."""
        values = super().get(references)
        PickledTasks.fetched += sum(each.num_rows for each in values if isinstance(each, pa.Table))
        return values


def check_equal(
    documents: DocumentSet,
    reference: DocumentSet | None = None,
    *,
    recipe: str | None = MINHASH,
    parts: int = 3,
    report: Progress = ignore_progress,
    **options: Any,
) -> dict[str, Any]:
    """Check that the result is that of one machine; return the summary, with the number of pairs verified there."""
    table = documents.shuffled()
    step = -(-max(table.num_rows, 1) // parts)
    blocks = [table.slice(start, step) for start in range(0, max(table.num_rows, 1), step)]
    others = None if reference is None else [reference.shuffled(2)]
    config = engine_config(recipe, **{"keep": "first", **options})
    integer = pa.types.is_integer(table.schema.field("id").type)
    result, removed = deduplicate(PickledTasks(), blocks, others, "text", "id", config, integer=integer, report=report)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        local = run_locally(documents, reference, recipe=recipe, **options)
    kept = set(documents.ids) - set(removed.to_pylist())
    check_result(documents, local, result.clusters.to_pylist(), list(kept), result.pairs, result.summary)
    return {**result.summary, "verified on one machine": local.summary["verified"]}


@pytest.mark.parametrize("recipe", [MINHASH, SIMHASH])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_of_ray(recipe: str, options: dict[str, Any]) -> None:
    """Clusters, kept rows, links and summary are equal, bit for bit."""
    assert check_equal(DocumentSet.of(mixed_texts(150)), recipe=recipe, **options)["removed"] > 0


@pytest.mark.parametrize("recipe", [MINHASH, SIMHASH])
@pytest.mark.parametrize("cluster", ["absorb", "components"])
@pytest.mark.usefixtures("rounds")
def test_shapes_that_need_rounds(recipe: str, cluster: str) -> None:
    """Chains, cliques and stars, for which the first pairs do not decide."""
    for texts in (chain_texts(40), star_texts(40, 2), chain_texts(20) + star_texts(30, 10)):
        check_equal(DocumentSet.of(texts), recipe=recipe, cluster=cluster)
        reference = DocumentSet.of(texts[20:])
        check_equal(DocumentSet.of(texts[:30]), reference, recipe=recipe, cluster=cluster, keep="last")


@pytest.mark.usefixtures("rounds")
@pytest.mark.parametrize("cache", [links._CACHE_BYTES, 1 << 14])
def test_rounds_that_change_the_decision(cache: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kept document is removed, so that those removed for it are compared with others again."""
    stages: list[str] = []
    monkeypatch.setattr(links, "_CACHE_BYTES", cache)
    check_equal(DocumentSet.of(star_texts(60, 4, 3)), report=lambda stage, *_: stages.append(stage))
    assert {"open-1", "links-1", "round-1-removals", "open-4"} <= set(stages)


def test_boilerplate_is_compared_as_often_as_on_one_machine() -> None:
    """Texts that share most words, but too few to match, and whose bits do not tell: each two of a bucket once."""
    rng, stages = random.Random(2), dict[str, int | None]()
    head = rng.choices(VOCABULARY, k=108)
    texts: list[str | None] = [" ".join([*head, *rng.choices(VOCABULARY, k=42)]) for _ in range(200)]
    texts += star_texts(40, 2)
    summary = check_equal(DocumentSet.of(texts), report=lambda stage, _, work: stages.update({stage: work}))
    assert 201 == summary["kept"]
    there = summary["verified on one machine"]
    assert 10_000 < there <= summary["verified"] < 1.3 * there
    # The number that is reported before a round is that of all pairs of its buckets.
    assert summary["verified"] <= sum(work or 0 for work in stages.values())
    # Few rounds compare documents.
    assert 1 <= sum(stage.startswith("open-") for stage in stages) <= 2


@pytest.mark.parametrize("recipe", [MINHASH, SIMHASH])
def test_strings_are_numbered_by_keys(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids of strings, and rules that read columns, have numbers from ranges of keys."""
    monkeypatch.setattr(plan, "TASK_ROWS", 20)
    texts = mixed_texts(120)
    names = [f"é{at % 7}{at}" for at in range(len(texts))]
    score = [float(at * 7919 % 101) for at in range(len(texts))]
    check_equal(DocumentSet.of(texts, names, score=score), recipe=recipe, keep="max:score")
    check_equal(DocumentSet.of(texts, names), DocumentSet.of(texts[:9], names[:9]), recipe=recipe, keep="longest,last")


@pytest.mark.parametrize(
    ("options", "most"),
    [({}, 99), ({"keep": "longest,last"}, 0), ({"cluster": "components", "links": "all"}, 99)],
    ids=str,
)
def test_pages_are_compared_without_the_lines_of_their_sites(
    options: dict[str, Any], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them by the lines of all, reference documents and another site with the same page included."""
    monkeypatch.setattr(plan, "_MAX_BROADCAST", most)
    pages, gone = site_pages()
    summary = check_equal(pages, recipe=None, kind="pages", **options)
    assert (gone, 36) == (summary["removed"], summary["left_out_lines"]["lines"])
    half = [DocumentSet.of(pages.texts[at::2], pages.ids[at::2]) for at in (0, 1)]
    check_equal(*half, recipe=None, kind="pages", **options)


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decide and number clusters by tasks alone."""
    monkeypatch.setattr(decision, "MAX_DRIVER_LINKS", 0)
    for limit in ("MAX_DRIVER_REMOVED", "MAX_DRIVER_CLUSTERS"):
        monkeypatch.setattr(tables, limit, 0)


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize(
    "options", [{}, {"cluster": "components"}, {"links": "all"}, {"verify": "none"}, {"empty": "drop"}], ids=str
)
def test_the_driver_fetches_no_pairs(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor links: nothing but samples and the tables of the result, which have a row for each document at most."""
    monkeypatch.setattr(PickledTasks, "fetched", 0)
    texts = chain_texts(20) + star_texts(100, 2) + mixed_texts(60)
    summary = check_equal(DocumentSet.of(texts), DocumentSet.of(texts[:9]), **options)
    assert summary["candidates"] > 4 * len(texts)
    assert "links" in options or PickledTasks.fetched < 2 * len(texts)
    check_equal(DocumentSet.of(texts, [f"page {at * 7919 % 1009}" for at in range(len(texts))]), **options)


@pytest.mark.parametrize("texts", [[], ["one text alone"], ["", None], ["some words are here", "and others"]], ids=repr)
def test_no_pair_in_any_block(texts: list[str | None]) -> None:
    """Stages without rows."""
    check_equal(DocumentSet.of(texts), parts=5)
    check_equal(DocumentSet.of(texts), DocumentSet.of(texts[:1]), recipe=SIMHASH, links="all")
    names = [f"id{at}" for at in range(len(texts))]
    check_equal(DocumentSet.of(texts, names), cluster="components")


def test_small_radii_have_tables_in_ray() -> None:
    """Fingerprints meet in tables of equal blocks."""
    assert choose_tables(64, 3, 260) is not None
    texts = mixed_texts(200) + star_texts(60, 1)
    recipe = "word:1|binary|xxh3|simhash:64"
    check_equal(DocumentSet.of(texts), DocumentSet.of(mixed_texts(100, 1)), recipe=recipe, radius=3, threshold=0.5)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 2, 2], "the id 2 in 2 rows; ids must differ"),
        ([1, None, 3], "have no id"),
        ([1, 2, 1 << 61], "is not between"),
    ],
)
def test_ids_are_checked(ids: list[int | None], message: str) -> None:
    """Repeated, missing and wide ids are errors that say what to do."""
    table = pa.table({"id": pa.array(ids, pa.int64()), "text": ["a text", "another text", "a third one"]})
    blocks = [table.slice(0, 2), table.slice(2)]
    config = engine_config(None, keep="first")
    with pytest.raises(InputError, match=message):
        deduplicate(PickledTasks(), blocks, None, "text", "id", config, integer=True, report=ignore_progress)


def test_options_of_one_machine_are_refused() -> None:
    """Containment has no distributed form."""
    with pytest.raises(ValueError, match=r"nearkin\.dedup has containment"):
        engine_config(None, keep="first", measure="containment")


LOSSES = {
    "gone": lambda path: path.unlink(),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-30]),
    "with fewer rows": lambda path: write_feather(read_table(path).slice(1), path),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_table_is_an_error(loss: str) -> None:
    """Wherever it is read."""
    table = DocumentSet.of(mixed_texts(60), [f"page {at}" for at in range(60)]).shuffled()
    blocks, config = [table.slice(0, 40), table.slice(40)], engine_config(None, keep="first")

    class Losing(FileTasks):
        def __init__(self, at: int) -> None:
            super().__init__()
            self.at, self.lost, self.written = at, False, 0

        def put(self, value: Any) -> Any:
            """Lose something of a table before it is read."""
            reference = super().put(value)
            self.written += isinstance(value, pa.Table) and value.num_rows > 0
            if self.written == self.at and not self.lost:
                self.lost = True
                LOSSES[loss](Path(reference.path))
            return reference

    def run(at: int) -> Losing:
        tasks = Losing(at)
        deduplicate(tasks, blocks, None, "text", "id", config, integer=False, report=ignore_progress)
        return tasks

    whole = run(0)
    assert not [*Path(whole._folder).iterdir()], "files of tables that nothing refers to"
    for at in range(1, whole.written, whole.written // 5):
        with pytest.raises(OutputError, match=r"the file .* run again"):
            run(at)
