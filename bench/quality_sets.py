"""Corpora whose near-duplicates are known: labelled as the same thing, or listed as similar by the corpus itself.

Labels are a verse in six versions, a paper, a product, versions of a law, editions of a poem; lists are those of the
corpora's own exact joins (`ABOUT`). Corpora are whole but for four: the first records of three are taken, and every
third licence, since pairs grow with the square of its families.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common

Rows = NDArray[np.int64]


@dataclass
class Set:
    """Texts, and which pairs of rows are true, left before right; `match` where pairs that are none stand with them."""

    texts: list[str]
    left: Rows
    right: Rows
    match: NDArray[np.bool_] | None = None
    side: NDArray[np.int64] | None = None
    """Only pairs across sides are judged."""
    chinese: bool = False

    @property
    def true(self) -> int:
        """How many pairs are true."""
        return len(self.left) if self.match is None else int(self.match.sum())

    def judged(self, left: Rows, right: Rows) -> NDArray[np.bool_]:
        """Which pairs count."""
        return np.ones(len(left), bool) if self.side is None else self.side[left] != self.side[right]


def of_pairs(
    data: Path, file: str, pairs: str, least: float, first: int | None = None, step: int = 1, **options: Any
) -> Set:
    """A corpus, its first records or every `step`-th one, with the list of its similar pairs."""
    texts = common.texts(data, file)[:first]
    table = rows_of(data, pairs)
    if "row_a" in table:
        ends = [(int(a), int(b)) for a, b in zip(table["row_a"], table["row_b"], strict=True)]
    else:
        row_of = {str(record["id"]): row for row, record in enumerate(common.records(data, file))}
        ends = [(row_of[a], row_of[b]) for a, b in zip(table["id_a"], table["id_b"], strict=True)]
    kept = [sorted(pair) for pair, j in zip(ends, table["jaccard"], strict=True) if float(j) >= least]
    kept = [pair for pair in kept if pair[1] < len(texts) and pair[0] % step == pair[1] % step == 0]
    columns = np.array(kept, np.int64).reshape(-1, 2) // step
    return Set(texts[::step], columns[:, 0], columns[:, 1], **options)


def of_labels(records: list[dict[str, Any]], label: str, **options: Any) -> Set:
    """A corpus in which records of one label are the same thing."""
    members: dict[Any, list[int]] = {}
    for row, record in enumerate(records):
        members.setdefault(record[label], []).append(row)
    parts = [np.array(rows)[np.array(np.triu_indices(len(rows), 1))] for rows in members.values() if len(rows) > 1]
    left, right = np.concatenate(parts, axis=1)
    return Set([record["text"] for record in records], left, right, **options)


def of_listed(data: Path, file: str) -> Set:
    """Records of two sources with labelled pairs; pairs labelled both ways are left out."""
    records = list(common.records(data, file))
    row_of = {record["id"]: row for row, record in enumerate(records)}
    table = rows_of(data, f"{file}.pairs")
    labels: dict[tuple[int, int], set[str]] = {}
    for a, b, match in zip(table["id_a"], table["id_b"], table["match"], strict=True):
        labels.setdefault((row_of[a], row_of[b]), set()).add(match)
    kept = {pair: values == {"1"} for pair, values in labels.items() if len(values) == 1}
    ends = np.array(list(kept), np.int64)
    texts = [record["text"].replace("|", " ") for record in records]
    return Set(texts, ends[:, 0], ends[:, 1], np.array(list(kept.values())))


def bible(data: Path) -> Set:
    """The first 4,000 verses in each of the versions."""
    records = list(common.records(data, "en_bible_ot"))
    wanted = set(list(dict.fromkeys(record["ref"] for record in records))[:4000])
    return of_labels([record for record in records if record["ref"] in wanted], "ref")


def plagiarism(data: Path) -> Set:
    """Answers, each with its source: derived from it, or not."""
    records = list(common.records(data, "en_plagiarised_answers"))
    row_of = {record["id"]: row for row, record in enumerate(records)}
    table = rows_of(data, "en_plagiarised_answers.pairs")
    ends = np.array([(row_of[a], row_of[b]) for a, b in zip(table["id_answer"], table["id_source"], strict=True)])
    match = np.array([category != "non" for category in table["category"]])
    return Set([record["text"] for record in records], ends[:, 0], ends[:, 1], match)


def editions(data: Path) -> Set:
    """Tang poems: the first 12,000 of each edition; the same poem is a listed pair of J >= 0.3."""
    records = list(common.records(data, "zh_tang_two_editions"))
    first, second = ([row for row, r in enumerate(records) if r["edition"] == e][:12_000] for e in ("qts", "yd"))
    kept = first + second
    row_of = {records[row]["id"]: at for at, row in enumerate(kept)}
    table = rows_of(data, "zh_tang_two_editions.pairs_c3")
    columns = zip(table["id_qts"], table["id_yd"], table["jaccard"], strict=True)
    ends = np.array([(row_of[a], row_of[b]) for a, b, j in columns if float(j) >= 0.3 and a in row_of and b in row_of])
    side = np.repeat([0, 1], [len(first), len(second)])
    return Set([records[row]["text"] for row in kept], ends[:, 0], ends[:, 1], side=side, chinese=True)


def rows_of(data: Path, name: str) -> dict[str, list[str]]:
    from nearkin.io import read_table

    return read_table(data / f"{name}.tsv.gz")


SETS: dict[str, Callable[[Path], Set]] = {
    "news": lambda data: of_pairs(data, "en_20news", "en_20news.pairs_w3_j50", 0.8),
    "licences": lambda data: of_pairs(data, "en_licences", "en_licences.pairs_w3_j70", 0.8, step=3),
    "Bible verses": bible,
    "plagiarism": plagiarism,
    "products Abt-Buy": lambda data: of_listed(data, "er_abt_buy"),
    "products Amazon-Google": lambda data: of_listed(data, "er_amazon_google"),
    "citations DBLP-ACM": lambda data: of_listed(data, "er_dblp_acm"),
    "citations Cora": lambda data: of_labels(list(common.records(data, "er_cora")), "cluster"),
    "laws (zh)": lambda data: of_labels(list(common.records(data, "zh_laws")), "family", chinese=True),
    "news (zh)": lambda data: of_pairs(data, "zh_news_sogou", "zh_news_sogou.pairs_c4_j30", 0.5, chinese=True),
    "reviews (zh)": lambda data: of_pairs(data, "zh_reviews", "zh_reviews.pairs_c3_j50", 0.8, 25_000, chinese=True),
    "Song poems (zh)": lambda data: of_pairs(data, "zh_song_poems", "zh_song_poems.pairs_c3_j50", 0.5, chinese=True),
    "Tang editions (zh)": editions,
}
ABOUT = {
    "news": "J ≥ 0.8 of word 3-grams",
    "licences": "J ≥ 0.8 of word 3-grams; every third text",
    "Bible verses": "the same verse in six versions",
    "plagiarism": "answers derived from their source, of 95",
    "products Abt-Buy": "the same product, labelled pairs",
    "products Amazon-Google": "the same product, labelled pairs",
    "citations DBLP-ACM": "the same paper, labelled pairs",
    "citations Cora": "the same paper",
    "laws (zh)": "versions of one law",
    "news (zh)": "J ≥ 0.5 of character 4-grams: reprints",
    "reviews (zh)": "J ≥ 0.8 of character 3-grams",
    "Song poems (zh)": "J ≥ 0.5 of character 3-grams",
    "Tang editions (zh)": "the same poem in two editions",
}
