"""Comparison of an engine's result with that of one machine."""

from __future__ import annotations

import random
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import nearkin as nk
from nearkin.spark import dedup

MINHASH = str(nk.Recipe.of(None).with_family("minhash"))
SIMHASH = str(nk.Recipe.of(None))
OPTIONS: list[dict[str, Any]] = [
    {},
    {"threshold": 0.5},
    {"keep": "last"},
    {"cluster": "components"},
    {"links": "all"},
    {"verify": "none"},
    {"verify": "indel", "threshold": 0.7},
    {"empty": "drop"},
    {"differ": "numbers", "threshold": 0.5},
]
_COUNTED = "candidates", "verified", "pairs_that_differ", "match_rate", "timings", "peak_memory_bytes", "warnings"
"""What an engine looks at, and what only one machine knows."""


@dataclass
class DocumentSet:
    """Documents, in the order in which the engine gets them.

    Attributes
    ----------
    texts, ids : lists
    columns : dict of lists
    """

    texts: list[str | None]
    ids: list[Any]
    columns: dict[str, list[Any]]

    @classmethod
    def of(cls, texts: Sequence[str | None], ids: Sequence[Any] | None = None, **columns: list[Any]) -> DocumentSet:
        """Build documents; default ids are row numbers."""
        return cls(list(texts), list(range(len(texts)) if ids is None else ids), columns)

    def shuffled(self, seed: int = 1) -> pa.Table:
        """Return a table in another order."""
        order = list(range(len(self.texts)))
        random.Random(seed).shuffle(order)
        kind = pa.string() if self.ids and isinstance(self.ids[0], str) else pa.int64()
        columns = {"id": pa.array(self.ids, kind), "text": pa.array(self.texts, pa.string())}
        return pa.table({**columns, **{name: pa.array(cells) for name, cells in self.columns.items()}}).take(
            pa.array(order, pa.int64())
        )

    def by_id(self) -> DocumentSet:
        """Return the documents in the order of ids."""
        order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
        columns = {name: [cells[at] for at in order] for name, cells in self.columns.items()}
        return DocumentSet([self.texts[at] for at in order], [self.ids[at] for at in order], columns)


class Engine:
    """A session, and the comparison of its results with those of one machine."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def frame(self, documents: DocumentSet, parts: int = 1) -> Any:
        """Return a DataFrame of documents."""
        table = documents.shuffled()
        kinds = {"int64": "bigint", "string": "string", "double": "double"}
        schema = ", ".join(f"{field.name} {kinds[str(field.type)]}" for field in table.schema)
        frame = self.session.createDataFrame(table) if table.num_rows else self.session.createDataFrame([], schema)
        return frame.repartition(parts) if parts > 1 else frame

    def check_equal(
        self,
        documents: DocumentSet,
        reference: DocumentSet | None = None,
        *,
        recipe: str | None = MINHASH,
        parts: int = 1,
        **options: Any,
    ) -> dict[str, Any]:
        """Check that both results are equal, row for row and bit for bit; return the engine's summary."""
        against = None if reference is None else self.frame(reference)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            result = dedup(self.frame(documents, parts), against=against, recipe=recipe, **options)
            local = run_locally(documents, reference, recipe=recipe, **options)
        clusters = result.clusters.toArrow().to_pylist()
        kept = result.kept.select("id").toArrow().column("id").to_pylist()
        check_result(documents, local, clusters, kept, result.pairs.toArrow(), result.summary)
        return dict(result.summary)


def run_locally(documents: DocumentSet, reference: DocumentSet | None, **options: Any) -> nk.DedupResult:
    """Deduplicate on one machine, in the order of ids."""
    here = documents.by_id()
    options.pop("checkpoint", None)
    values = {name: cells for name, cells in here.columns.items() if name in options.get("keep", "")}
    return nk.dedup(
        here.texts,
        here.ids,
        values=values or None,
        sources=here.columns.get(options.pop("source", "")),
        against=None if reference is None else reference.by_id().texts,
        against_ids=None if reference is None else reference.by_id().ids,
        **options,
    )


def check_result(
    documents: DocumentSet,
    local: nk.DedupResult,
    clusters: list[dict[str, Any]],
    kept: Sequence[Any],
    pairs: pa.Table,
    summary: Mapping[str, Any],
) -> None:
    """Check that a result is that of one machine, row for row and bit for bit."""
    assert 0 == local.summary["skipped"], "one machine left something out"
    position = {id: at for at, id in enumerate(documents.by_id().ids)}
    clusters.sort(key=lambda row: (row["cluster"], row["reason"] != "kept", position.get(row["id"], 0)))
    # Only one machine gives the reasons of `best`.
    columns = [name for name in local.clusters.compact if name != "reason_kept"]
    assert local.clusters.to_arrow().select(columns).to_pylist() == clusters
    assert sorted(local.kept) == sorted(kept)
    assert _sorted_links(local.pairs.to_arrow()) == _sorted_links(pairs)
    same = {name: value for name, value in summary.items() if name not in _COUNTED}
    if "pairs_that_differ" in local.summary:
        # An engine compares what one machine does, and more.
        assert local.summary["pairs_that_differ"] <= summary["pairs_that_differ"] <= summary["verified"]
    if "order" in same:
        # Documents come in the order of ids, so that both mean the same.
        assert local.summary["order"] in (same["order"].replace("id", "row"), f"{same['order']}, row")
        del same["order"]
    assert {name: local.summary.get(name) for name in same} == same


def _sorted_links(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return links in one order; with two ends the smaller id comes first."""
    rows = []
    for row in table.to_pylist():
        ends = (row["left"], row["right"]) if "left" in row else (row["id"], row["representative"])
        ordered = sorted(ends, key=str) if "left" in row else ends
        rows.append((*ordered, row["distance"], row["similarity"]))
    return sorted(rows, key=str)


def edit_words(words: Sequence[str], count: int, rng: random.Random, vocabulary: Sequence[str]) -> list[str]:
    """Return a text with some words replaced."""
    new = list(words)
    for _ in range(count):
        new[rng.randrange(len(new))] = rng.choice(vocabulary)
    return new


VOCABULARY = [f"w{number}" for number in range(3000)]


def mixed_texts(count: int, seed: int = 0) -> list[str | None]:
    """Return texts: two thirds are edits of others, and there are copies and texts without features."""
    rng = random.Random(seed)
    base = [rng.choices(VOCABULARY[:500], k=60) for _ in range(count // 3)]
    texts: list[str | None] = [" ".join(words) for words in base]
    while len(texts) < count - 6:
        texts.append(" ".join(edit_words(rng.choice(base[: max(count // 30, 3)]), rng.randint(0, 12), rng, VOCABULARY)))
    texts += ["", "!!!", "", None, "...", texts[0]]
    rng.shuffle(texts)
    return texts


def chain_texts(count: int, seed: int = 0) -> list[str | None]:
    """Return edits of each previous text, shuffled."""
    rng = random.Random(seed)
    texts = [rng.choices(VOCABULARY, k=80)]
    while len(texts) < count:
        texts.append(edit_words(texts[-1], rng.choice([1, 3, 6, 9]), rng, VOCABULARY))
    rng.shuffle(texts)
    return [" ".join(words) for words in texts]


def star_texts(count: int, edits: int, seed: int = 0) -> list[str | None]:
    """Return edits of one text: few edits give a clique, more a star with dissimilar ends."""
    rng = random.Random(seed)
    centre = rng.choices(VOCABULARY, k=80)
    texts = [centre, *(edit_words(centre, edits, rng, VOCABULARY) for _ in range(count - 1))]
    rng.shuffle(texts)
    return [" ".join(words) for words in texts]


def site_pages() -> tuple[DocumentSet, int]:
    """Return pages of sites, and the number of those that go: texts of another page, in whatever menu."""
    rng = random.Random(3)
    menus = ["\n".join(" ".join(rng.choices(VOCABULARY, k=12)) for _ in range(9)) for _ in range(3)]
    bodies = [" ".join(rng.choices(VOCABULARY, k=40)) for _ in range(28)]
    # Two sites with one menu, and one with another, whose articles all differ.
    sites = {f"https://{'aabbcc'[at // 7 * 2]}.org/{at}": f"{menus[at // 14]}\n{bodies[at]}" for at in range(21)}
    items = "".join(f"<li>{line}" for line in menus[2].split("\n"))
    sites |= {f"HTTPS://D.org/{at}": f"<!doctype html><ul>{items}</ul><p>{bodies[at]}" for at in range(21, 27)}
    # Sites of one page, whose menus count.
    sites |= {"https://e.org/27": f"{menus[0]}\n{bodies[27]}", "https://f.org/0": f"{menus[1]}\n{bodies[0]}"}
    gone = {"https://d.org/2": f"<p>{bodies[2]} again", "https://c.org/8": f"{menus[1]}\n{bodies[8]} again"}
    # Copies count once, so five pages of a.org are left.
    gone |= {f"https://0.org/{at}": sites[f"https://a.org/{at}"] for at in (3, 4)} | {"https://g.org/1": bodies[1]}
    texts = {**sites, **gone, "https://h.org/": None, "https://i.org/": ""}
    return DocumentSet.of([*texts.values()], [*texts]), len(gone)
