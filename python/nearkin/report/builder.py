"""The report of a deduplication: figures and charts of the run, and the texts of selected documents."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.dedup.summary import REASON_WORDS, count_reasons, count_reference, removed_share, total_seconds
from nearkin.dedup.thresholds import candidate_probability
from nearkin.digests.recipes import AnyDigestRecipe, parse_recipe
from nearkin.digests.ssdeep import DigestRecipe
from nearkin.errors import NoDigestError
from nearkin.notebook import count_of, short
from nearkin.quality.judgements import PairLabels, read_judgements
from nearkin.recipe import Recipe
from nearkin.report import sampling
from nearkin.report.charts import draw_overlap, draw_similarities, draw_sizes
from nearkin.report.model import Contents, Section, Table
from nearkin.report.page import pack
from nearkin.report.review import (
    MAX_BYTES,
    MAX_CHARACTERS,
    PAGE_BYTES,
    ReviewPairs,
    pack_texts,
    to_json,
)
from nearkin.report.run import NEAR_MARGIN, Run

if TYPE_CHECKING:
    from nearkin.quality.evaluation import Evaluation

_MAX_COMPARED = 100
"""Maximum number of pairs to judge whose features are compared: half a millisecond each."""
_MAX_FEATURES = 12
"""Maximum number of listed features of a pair, of each kind."""
_MAX_PIECES_BYTES = 16 << 20
"""Maximum size of pairs of files whose pieces are compared: two seconds."""
_MAX_MEMBER_TEXTS = 3
"""Maximum number of documents of a cluster with texts, besides the kept one."""
_MAX_SHARED = 16
"""Number of sources whose overlap is drawn."""
_MAX_SOURCES = 50
_NUMBERS = ("none", "one", "two", "three", "four", "five")
"""Numbers of examples, in words."""
_MEASURES = {
    "cosine": "cosine",
    "jaccard": "Jaccard similarity",
    "containment": "containment",
    "indel": "indel similarity",
    "words": "share of equal words",
    "signature": "share of equal values",
    "none": "similarity",
    "hamming": "share of equal bits",
    "score": "score",
}
_MAGIC = (
    (b"\x7fELF", "ELF program"),
    (b"MZ", "Windows program"),
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x89PNG\r\n", "PNG picture"),
    (b"\xff\xd8\xff", "JPEG picture"),
    (b"GIF8", "GIF picture"),
    (b"\x1f\x8b", "gzip"),
    (b"\xd0\xcf\x11\xe0", "old Office document"),
    (b"SQLite format 3\0", "SQLite database"),
)
NO_NEAR_MISSES = (
    "The run did not look for near misses. nearkin dedup --report does, if texts are compared (jaccard, indel) and "
    "clusters have no chains. Recall is not known."
)
NO_NEAR_CODES = "Pairs beyond the radius are not listed; a run with a larger radius finds them."


def build_report(
    run: Run, labels: PairLabels | None = None, limit: int = MAX_BYTES, folder: Path | None = None
) -> Contents:
    """Return the content of the report of a run.

    Parameters
    ----------
    run : Run
    labels : PairLabels, optional
        Judged pairs, with which the page starts.
    limit : int
        Maximum size of the report in bytes; further texts are omitted, and the report says so.
    folder : Path, optional
        The run's folder, to evaluate it by the labels.
    """
    scores = None
    if labels is not None and folder is not None:
        from nearkin.quality.evaluation import evaluate

        scores = evaluate(read_judgements(folder), labels)
    return _Builder(run, labels, limit, scores).build()


@dataclass(frozen=True)
class _ShownDocument:
    """The content of a document: its text, its length in characters or bytes; for files type, digest and data."""

    text: str | None
    length: int
    type: str = ""
    digest: str = ""
    data: bytes = b""

    @classmethod
    def of(cls, content: bytes | str, recipe: AnyDigestRecipe | None) -> _ShownDocument:
        """Return a text or a file; the text of a file is None unless it is UTF-8 without NUL."""
        if isinstance(content, str):
            return cls(content, len(content))
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            text = "\0"
        is_text = "\0" not in text
        default = "empty" if not content else "text" if is_text else "bytes"
        type_ = next((name for magic, name in _MAGIC if content.startswith(magic)), default)
        try:
            digest = "" if recipe is None else recipe.hash(content)
        except NoDigestError:
            digest = ""
        return cls(text if is_text else None, len(content), type_, digest, content)


class _Builder:
    """The parts of a report, from one selection of pairs and clusters."""

    def __init__(self, run: Run, labels: PairLabels | None, limit: int, scores: Evaluation | None) -> None:
        self.run, self.labels, self.limit, self.scores = run, labels, limit, scores
        self.summary, self.scale = run.summary, run.scale
        self.threshold = float(self.summary["threshold"])
        self.selection = ReviewPairs.of(sampling.near_pairs(run), self.threshold, self.scale)
        self.pairs = self.selection.pairs
        # Rows of a cluster are consecutive in the table.
        names = run.clusters["cluster"]
        starts = [row for row, name in enumerate(names) if row == 0 or name != names[row - 1]]
        clusters = [range(start, end) for start, end in pairwise([*starts, len(names)])]
        self.clusters = sorted(clusters, key=len, reverse=True)
        self.digest_recipe = parse_recipe(self.summary["recipe"]) if run.on_files else None
        self.cuts: list[str] = []
        self.images: Mapping[str, str] = {}

    def build(self) -> Contents:
        """Return all parts."""
        summary = self.summary
        blocks, data = self._build_data()
        removed, seconds = removed_share(summary), total_seconds(summary)
        groups = summary.get("groups")
        what = "files" if self.run.on_files else "groups" if groups else "documents"
        largest = f"the largest of {summary['largest_cluster']:,}" if summary["clusters"] else ""
        reasons = ", ".join(
            f"{count:,} {REASON_WORDS[reason].short}" for reason, count in count_reasons(summary).items() if count
        )
        read = f"of {count_of(groups['documents'], 'document')}, read" if groups else "read"
        figures = (
            (what, f"{summary['documents']:,}", f"{read} in {seconds:.1f} s"),
            ("kept", f"{summary['kept']:,}", f"{1 - removed:.1%}" if summary["documents"] else ""),
            ("removed", f"{summary['removed']:,}", f"{removed:.1%}" + (f": {reasons}" if reasons else "")),
            ("clusters", f"{summary['clusters']:,}", largest),
        )
        title = f"{self.run.name}: {summary['kept']:,} of {summary['documents']:,} {what} kept"
        warnings = [*summary.get("warnings", ()), *self.run.notes]
        if summary["verify"] == "none":
            warnings.append("No similarities were computed (--verify none), so there are no pairs to show or to judge.")
        examples = list(self._list_examples())
        here = f"; here {'is' if len(examples) == 1 else 'are'} {_NUMBERS[len(examples)]}" if examples else ""
        sentences = (f"{removed:.1%} were duplicates{here}.", *describe_run(summary))
        table = Table("Duplicates, for example", ("removed", "kept", "similarity", "reason"), examples)
        sections = (*([Section("Examples", tables=(table,))] if examples else []), *self._build_sections())
        return Contents(title, figures, sentences, tuple(warnings), sections, tuple(self.cuts), data, blocks)

    def _list_examples(self) -> Iterable[tuple[str, str, str, str]]:
        """Yield a removed document of each of the largest clusters: id, that of the kept one, similarity, reason."""
        table = self.run.clusters
        for cluster in self.clusters[: len(_NUMBERS) - 1]:
            for row in cluster:
                reason, similarity = table["reason"][row], table["similarity"][row]
                if reason not in ("kept", "representative"):
                    number = "" if similarity is None or similarity != similarity else short(similarity)
                    yield str(table["id"][row]), str(table["representative"][row]), number, reason
                    break

    # Visible without JavaScript

    def _build_sections(self) -> Iterable[Section]:
        removed = self.pairs.similarity[self.pairs.match]
        missed = self.pairs.similarity[~self.pairs.match]
        weight = float(self.pairs.weight[~self.pairs.match].mean()) if len(missed) else 1.0
        charts = []
        if len(removed) or len(missed):
            curve = recall_curve(self.summary)
            charts.append(draw_similarities(removed, missed, weight, self.threshold, curve, self.scale))
        if self.clusters:
            charts.append(draw_sizes(Counter(map(len, self.clusters))))
        if (shared := self.summary.get("sources_shared")) and len(shared["sources"]) > 1:
            names = [name or "(none)" for name in shared["sources"][:_MAX_SHARED]]
            charts.append(draw_overlap(names, [counts[:_MAX_SHARED] for counts in shared["clusters"][:_MAX_SHARED]]))
            if len(names) < (total := len(shared["sources"]) + shared["left_out"]):
                self.cuts.append(f"the overlap of {len(names)} of {total:,} sources: those with the most documents")
        yield Section("Removed documents", charts=tuple(charts), tables=tuple(self._build_tables()))
        if self.scores is not None and self.labels is not None:
            from nearkin.report.evaluation import build_evaluation, group_by_similarity

            steps = group_by_similarity(self.run, self.labels)
            contents = build_evaluation(self.scores, self.run.name, "labels", steps)
            figures = Table("Figures by the labels", ("figure", "value", "interval"), list(contents.figures))
            yield Section("Evaluation by the labels", contents.sentences, tables=(figures,))
            yield from contents.sections

    def _build_tables(self) -> Iterable[Table]:
        counts = self.summary["removed_by_reason"]
        named: list[tuple[str, str]] = [(reason, words.name) for reason, words in REASON_WORDS.items()]
        named += [(f"{reason}-old", words.older) for reason, words in REASON_WORDS.items()]
        named.sort(key=lambda row: row[0] != "empty")
        rows = [(words, f"{counts[reason]:,}") for reason, words in named if counts.get(reason)]
        if rows:
            what = "groups" if "groups" in self.summary else "documents"
            yield Table("Removed, by reason", ("reason", what), rows)
        if sources := self.summary.get("sources"):
            if len(sources) > _MAX_SOURCES:
                self.cuts.append(f"{_MAX_SOURCES} of {len(sources):,} sources: those that lose the largest share")
            yield Table.of(
                "Removed, by source",
                sources[:_MAX_SOURCES],
                {
                    "source": lambda row: str(row["source"]) or "(none)",
                    "documents": "{documents:,}",
                    "removed": "{removed:,}",
                    "share": "{share:.1%}",
                },
            )
        if lines := self.summary.get("left_out_lines", {}).get("first"):
            yield Table.of(
                "Frequent lines, left out of the comparison",
                lines,
                {"line": "{line}", "source": lambda row: row["source"] or "(none)", "pages": "{documents:,}"},
            )
        if thresholds := self.summary.get("thresholds"):
            yield Table.of(
                "At other thresholds, estimated without labels",
                thresholds,
                {
                    "threshold": "{threshold:g}",
                    "removed": lambda row: "" if row["removed"] is None else f"{row['removed']:,}",
                    "further pairs": "{further_pairs:,}",
                    "missed pairs": "{missed_pairs:,}",
                    "interval": "{low:,} to {high:,}",
                },
            )
        times = [
            (name, *(f"{stage[clock]:.2f}" if clock in stage else "" for clock in ("wall", "cpu")))
            for name, stage in self.summary["timings"].items()
        ]
        yield Table("Time, by stage", ("stage", "seconds", "CPU seconds"), times)

    # Data for the script

    def _build_data(self) -> tuple[dict[str, str], dict[str, object]]:
        largest, table = self.clusters[: sampling.MAX_CLUSTERS], self.run.clusters
        ends = [[side[row] for row in self.selection.rows] for side in (self.pairs.left, self.pairs.right)]
        listed = [
            table[column][row]
            for cluster in largest
            for row in cluster[: sampling.MAX_MEMBERS + 1]
            for column in ("id", "representative")
        ]
        number_of = {name: i for i, name in enumerate(dict.fromkeys([*ends[0], *ends[1], *listed]))}
        ids = list(number_of)
        left, right = (np.array([number_of[name] for name in side], np.uint32) for side in ends)
        clusters = [self._build_cluster(cluster, number_of) for cluster in largest]
        selected = self._select_documents(ids, clusters)
        contents = self.run.texts(dict.fromkeys(selected).keys())
        if self.run.images is not None:
            self.images = self.run.images(dict.fromkeys(selected).keys())
        documents = {
            name: _ShownDocument.of(content, self.digest_recipe)
            for name in selected
            if (content := contents.get(name)) is not None and isinstance(content, bytes if self.run.on_files else str)
        }
        blocks = {
            "clusters": pack(to_json(clusters)),
            "pairs": self.selection.pack(left, right),
            "common": pack(to_json(self._compare_features(documents))),
            **({"pieces": pack(to_json(self._compare_pieces(documents)))} if self.run.on_files else {}),
        }
        # The table of documents is largest, and usually final, if all texts are included.
        readable = [name for name in selected if name in documents and documents[name].text is not None]
        text_number = {name: i for i, name in enumerate(readable)}
        table_of_all = pack(to_json(self._build_documents(ids, text_number, documents)))
        remaining = self.limit - PAGE_BYTES - len(table_of_all) - sum(map(len, blocks.values()))
        firsts, texts, included = pack_texts([documents[name].text or "" for name in readable], remaining)
        if included < len(readable):
            text_number = dict(islice(text_number.items(), included))
            table_of_all = pack(to_json(self._build_documents(ids, text_number, documents)))
        blocks.update(texts, documents=table_of_all)
        is_cut = any(len(document.text or "") > MAX_CHARACTERS for document in documents.values())
        self._add_cuts(included, len(selected), is_cut=is_cut)
        data: dict[str, object] = {
            "kind": "files" if self.run.on_files else "texts",
            "key": self._key(),
            "scale": self.scale,
            "measure": _MEASURES[self.summary["verify"]],
            "distance": "bits" if not self.run.on_files and "radius" in self.summary else "",
            "documents": len(ids),
            "near_misses": self._describe_near_misses(),
            **self.selection.describe(self.threshold, firsts, self.labels),
        }
        return blocks, data

    def _describe_near_misses(self) -> str:
        """Return a sentence on the source of near misses, or on their absence."""
        if (files := self.run.near_files) is not None:
            return (
                f"Near misses are pairs with a score of up to {NEAR_MARGIN} below the threshold, among a random sample "
                f"of {files.sampled:,} of the {files.total:,} kept files. Pairs with a lower score are not counted."
            )
        about = self.summary.get("near_misses")
        if self.run.on_codes:
            return NO_NEAR_CODES
        if about is None:
            return NO_NEAR_MISSES
        text = (
            f"Near misses are candidates below the threshold, among a random sample of {about['sampled']:,} of the "
            f"{about['of']:,} kept documents. Pairs that were not candidates are not counted."
        )
        contained = self.summary.get("contained", {})
        if contained.get("found"):
            interval = f"{contained['low']:,} to {contained['high']:,}"
            text += (
                f" About {contained['estimate']:,} kept documents ({interval}) are contained in another kept one; "
                "nearkin dedup --measure containment finds them."
            )
        return text

    def _build_cluster(self, rows: Sequence[int], number_of: Mapping[str, int]) -> list[Any]:
        table = self.run.clusters
        members = [row for row in rows if table["reason"][row] != "kept"][: sampling.MAX_MEMBERS]
        cells = [
            [number_of[table["id"][row]], *(table[name][row] for name in ("similarity", "distance", "reason"))]
            for row in members
        ]
        return [len(rows), number_of[table["representative"][rows[0]]], cells]

    def _select_documents(self, ids: Sequence[str], clusters: Sequence[Sequence[Any]]) -> list[str]:
        """Return the ids of documents whose texts are included, the most important first."""
        selected: dict[str, None] = {}
        for row in self.selection.first:
            selected[self.pairs.left[row]] = selected[self.pairs.right[row]] = None
        for _, kept, members in clusters:
            selected[ids[kept]] = None
            selected.update(dict.fromkeys(ids[member[0]] for member in members[:_MAX_MEMBER_TEXTS]))
        return list(selected)

    def _build_documents(
        self, ids: Sequence[str], text_number: Mapping[str, int], documents: Mapping[str, _ShownDocument]
    ) -> dict[str, Any]:
        missing = _ShownDocument(None, -1)
        rows = [documents.get(name, missing) for name in ids]
        columns: dict[str, Any] = {
            "ids": ids,
            "text": [text_number.get(name, -1) for name in ids],
            "length": [row.length for row in rows],
        }
        if self.run.on_files:
            columns |= {"type": [row.type for row in rows], "digest": [row.digest for row in rows]}
        if self.images:
            columns["image"] = [self.images.get(name, "") for name in ids]
        return columns

    def _compare_features(self, documents: Mapping[str, _ShownDocument]) -> dict[int, dict[str, Any]]:
        """Return common features, and those of one document, for the first pairs to judge."""
        if self.run.on_files or self.run.on_codes or self.run.on_vectors:
            return {}
        recipe = Recipe.of(self.summary["recipe"])

        @cache
        def features(name: str) -> dict[str, int]:
            return recipe.features_of(documents[name].text or "")

        def first(names: Iterable[str], common: set[str], *, inside: bool) -> list[str]:
            return list(islice((name for name in names if (name in common) == inside), _MAX_FEATURES))

        comparisons = {}
        for row, _, _ in self.selection.queue[:_MAX_COMPARED]:
            ends = self.pairs.left[row], self.pairs.right[row]
            if any(name not in documents or documents[name].length > MAX_CHARACTERS for name in ends):
                continue
            left, right = (features(name) for name in ends)
            common = left.keys() & right.keys()
            comparisons[self.selection.position[row]] = {
                "both": len(common),
                "left": len(left) - len(common),
                "right": len(right) - len(common),
                "some_both": first(left, common, inside=True),
                "some_left": first(left, common, inside=False),
                "some_right": first(right, common, inside=False),
            }
        return comparisons

    def _compare_pieces(self, documents: Mapping[str, _ShownDocument]) -> dict[int, list[list[int]]]:
        """Return the ranges of equal bytes of pairs of files, in the order of `first`, up to a total size."""
        ranges: dict[int, list[list[int]]] = {}
        recipe = self.digest_recipe
        if not isinstance(recipe, DigestRecipe) or recipe.normalize:
            return ranges
        remaining = _MAX_PIECES_BYTES
        for row in self.selection.first:
            a, b = documents.get(self.pairs.left[row]), documents.get(self.pairs.right[row])
            if a is not None and b is not None and (remaining := remaining - a.length - b.length) >= 0:
                ranges[self.selection.position[row]] = equal_ranges(a.data, b.data, recipe)
        return ranges

    def _add_cuts(self, num_texts: int, num_selected: int, *, is_cut: bool) -> None:
        """Add the sentences on omissions of this file."""
        if len(self.clusters) > sampling.MAX_CLUSTERS:
            self.cuts.append(f"{sampling.MAX_CLUSTERS} of {len(self.clusters):,} clusters: the largest")
        if self.clusters and len(self.clusters[0]) > sampling.MAX_MEMBERS + 1:
            self.cuts.append(f"the first {sampling.MAX_MEMBERS} members of a cluster, as listed by the run")
        if len(self.selection.rows) < len(self.pairs):
            numbers = f"{len(self.selection.rows):,} of {len(self.pairs):,} pairs"
            self.cuts.append(f"{numbers}: those with texts, and others at random")
        if len(self.pairs) > len(self.selection.first):
            rules = f"up to {sampling.MAX_QUEUE} to judge, {sampling.MAX_BORDER} nearest to the threshold on each side"
            self.cuts.append(
                f"texts of {len(self.selection.first):,} pairs: {rules}, {sampling.MAX_RANDOM} random removed ones"
            )
        if num_texts < num_selected:
            reason = "the others are in the reference corpus, could not be read, or would make this file too large"
            self.cuts.append(f"texts of {num_texts:,} of {num_selected:,} selected documents: {reason}")
        if is_cut:
            self.cuts.append(f"the first {MAX_CHARACTERS:,} characters of a text")
        if not (self.run.on_files or self.run.on_codes) and len(self.selection.first) > _MAX_COMPARED:
            self.cuts.append(f"common features: of the first {_MAX_COMPARED} pairs to judge")

    def _key(self) -> str:
        """Return the key of this run in the browser's storage, which depends on its result only."""
        settings = [self.summary.get(name) for name in ("recipe", "threshold", "documents", "kept")]
        digest = hashlib.sha256(to_json([settings, self.run.clusters["id"], self.run.clusters["representative"]]))
        return digest.hexdigest()[:16]


def equal_ranges(a: bytes, b: bytes, recipe: DigestRecipe) -> list[list[int]]:
    """Return ranges of equal bytes: common pieces at the smallest block size that both digests have.

    Returns
    -------
    list of [start, end, start, end]
        Ranges of the first and of the second file, in order.
    """
    from nearkin.explain.digests import compare_digests

    runs = compare_digests(a, b, recipe).common_runs
    return [[*run.a, *run.b] for run in runs if run.parts == runs[0].parts and run.equal and run.a[0] < run.a[1]]


def recall_curve(summary: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return the probability of a candidate by similarity, from the parameters of a run; empty if unknown."""
    law = candidate_probability(summary)
    points = np.round(np.arange(0.01, 1.0001, 0.01), 2).tolist()
    return [] if law is None else [(s, law(s)) for s in points]


def describe_run(summary: Mapping[str, Any]) -> Iterable[str]:
    """Yield sentences on the decisions of a run."""
    threshold, verify = summary["threshold"], summary["verify"]
    if verify == "none":
        yield f"Documents that {_describe_candidates(summary)} are near-duplicates; their texts were not compared."
    elif verify == "score":
        if not str(summary["recipe"]).startswith("tlsh"):
            yield f"Files whose ssdeep digests have a score of at least {threshold:g} of 100 are near-duplicates."
        if "radius" in summary:
            yield f"Files whose TLSH digests are at most {summary['radius']} apart are near-duplicates."
    elif verify == "cosine":
        yield f"Documents are near-duplicates if the cosine of their vectors is at least {threshold:g}."
    elif verify == "hamming":
        yield (
            f"Documents whose codes differ in at most {summary['radius']} of {summary['bits']} bits are "
            f"near-duplicates: at least {threshold:.1%} of the bits are equal. Another program computed the codes."
        )
    else:
        of = {"indel": "texts", "words": "texts", "signature": "signatures"}.get(verify, "features")
        yield f"Documents are near-duplicates if the {_MEASURES[verify]} of their {of} is at least {threshold:g}."
        counts = f"{count_of(summary['candidates'], 'candidate')}, {summary['verified']:,} of them compared"
        yield f"Pairs that {_describe_candidates(summary)} are candidates: {counts}."
    if groups := summary.get("groups"):
        kept = f"{groups['kept']:,} of {count_of(groups['documents'], 'document')}"
        yield f"Documents were compared and removed by group: {summary['kept']:,} groups with {kept} were kept."
    if summary.get("pairs_that_differ"):
        number, names = count_of(summary["pairs_that_differ"], "near-duplicate pair"), ", ".join(summary["differ"])
        yield f"{number} differ in {names}: both are kept."
    if summary.get("lossless"):
        number = count_of(summary["kept_for_text"], "near-duplicate")
        yield f"{number} of a kept document stayed because it is shorter, or lacks some of their text (--lossless)."
    if (count := summary.get("without_features")) and verify == "cosine":
        yield f"{count_of(count, 'vector')} of zeros were kept: they have no direction."
    elif count and verify == "hamming":
        yield f"{count_of(count, 'document')} without a code were kept: they are copies of nothing."
    elif count and verify != "score":
        fate = "removed (--empty drop)" if summary["empty"] == "drop" else "kept: they are copies of nothing"
        yield f"{count_of(count, 'document')} without text, or without a letter or digit, were {fate}."
    if summary.get("labels"):
        labels = summary["labels"]
        yield (
            f"Labels kept both documents of {count_of(labels['kept_apart'], 'pair')}, and merged "
            f"{count_of(labels.get('joined', 0), 'pair')} that the threshold keeps apart."
        )
    if older := count_reference(summary):
        yield (
            f"{count_of(older, 'document')} matched the reference corpus: they are among the clusters, and in no pair "
            "to judge, because the texts of the reference corpus are not read again."
        )
    if (recall := summary.get("expected_recall")) is not None:
        role = "found" if verify == "cosine" else "a candidate"
        yield (
            f"With these parameters a pair with a similarity of {threshold:g} is {role} with probability "
            f"{recall:.1%}, and a more similar pair with a higher probability."
        )
    if summary.get("thresholds"):
        yield (
            "The table of other thresholds counts the removed documents that are similar enough to the kept one, pairs "
            "of kept documents from the threshold on, and pairs that were no candidates. It assumes that pairs are "
            "found independently of each other; pairs of one cluster are not, so intervals are somewhat wider."
        )
    if summary["cluster"] == "components":
        yield "Chains of near-duplicates form one cluster, and one document of each cluster is kept."
    else:
        yield "Each removed document is a near-duplicate of the kept one: there are no chains."
    yield f"Kept document of a cluster: {summary['keep']} (--keep)."
    if verify == "cosine":
        return
    recipe = "" if verify in ("score", "hamming") else f": {_describe_recipe(Recipe.of(summary['recipe']))}"
    yield f"Recipe {summary['recipe']}{recipe}."


_WEIGHTS = {
    "binary": "each counted once",
    "count": "counted",
    "log": "weighed by the logarithm of their count",
    "idf": "weighed by how rare they are (IDF)",
    "textrank": "weighed by TextRank",
}


def _describe_recipe(recipe: Recipe) -> str:
    unit = "characters" if recipe.features == "char" else "words"
    lengths = f"{recipe.min_n} to {recipe.n}" if recipe.min_n else recipe.n
    features = f"runs of {lengths} {unit}" if recipe.n > 1 else unit
    top = f", the {recipe.top} with the largest weight" if recipe.top != "all" else ""
    value = f"a SimHash of {recipe.bits} bits" if recipe.family == "simhash" else f"{recipe.num_perm} values of MinHash"
    return f"{features}, {_WEIGHTS[recipe.weight]}{top}, hashed by {recipe.hash} to {value}"


def _describe_candidates(summary: Mapping[str, Any]) -> str:
    if "radius" in summary:
        return f"are within {summary['radius']} bits of each other"
    if "sketch_size" in summary:
        return "have similar sketches of their features"
    if "num_bands" in summary:
        return f"are equal in one of {summary['num_bands']} bands of {summary['num_rows']} values"
    return "have similar digests"
