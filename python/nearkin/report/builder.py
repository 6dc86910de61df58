"""The report of a deduplication: figures and pictures of the whole run, and of some documents the texts."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nearkin.digests.ssdeep import DigestRecipe
from nearkin.quality.labels import PairLabels, read_labels
from nearkin.recipe import Recipe
from nearkin.report import charts, sampling
from nearkin.report.files import NEAR, Shown, agreeing, shown_files
from nearkin.report.model import Contents, Section, Table
from nearkin.report.page import packed
from nearkin.report.run import Run

if TYPE_CHECKING:
    from nearkin.quality.evaluation import Evaluation

LIMIT = 20_000_000
"""Bytes of a report, unless another number is asked for."""
TEXT_CUT = 20_000
"""Characters of a text that are shown."""
_BLOCK = 1 << 20
"""Characters of texts that are unpacked at once."""
_PAGE = 200_000
"""Bytes of a report without data: style, script, pictures."""
_COMPARED = 100
"""Pairs to judge whose features are compared: half a millisecond each."""
_EXAMPLES = 12
"""Features of a pair that are listed, of each kind."""
_PIECES_BYTES = 16 << 20
"""Bytes of pairs of files whose pieces are compared: two seconds."""
_MEMBERS_READ = 3
"""Documents of a cluster whose texts are shown, besides the one kept."""
_MEASURES = {
    "jaccard": "Jaccard similarity",
    "containment": "containment",
    "indel": "indel similarity",
    "signature": "share of equal values",
    "none": "similarity",
    "score": "score",
}
_REASONS = {
    "exact": "exact copies",
    "same-letters": "same letters, other characters",
    "near": "near-duplicates",
    "exact-old": "exact copies of older documents",
    "same-letters-old": "same letters as older documents",
    "near-old": "near-duplicates of older documents",
}


def contents_of(run: Run, labels: PairLabels | None = None, limit: int = LIMIT, folder: Path | None = None) -> Contents:
    """What the report of a run shows.

    Parameters
    ----------
    run : Run
    labels : PairLabels, optional
        Pairs that people have judged: the page begins with them.
    limit : int
        Bytes of the report at most; texts that would go beyond are left out, and the report says so.
    folder : Path, optional
        The run's folder, to score it by the labels.
    """
    scores = None
    if labels is not None and folder is not None:
        from nearkin.quality.evaluation import evaluate

        scores = evaluate(read_labels(folder), labels)
    return _Making(run, labels, limit, scores).contents()


NO_NEAR_MISSES = (
    "The run did not look for near misses: nearkin dedup --report does, where texts are compared (jaccard, indel) and "
    "clusters have no chains. Recall can't be told."
)


def _by_reason(counts: Mapping[str, int]) -> str:
    """How many were removed for what, in few words."""
    words = {"exact": "exact", "same-letters": "same letters", "near": "near"}
    totals = {word: counts.get(name, 0) + counts.get(f"{name}-old", 0) for name, word in words.items()}
    told = ", ".join(f"{total:,} {word}" for word, total in totals.items() if total)
    return f": {told}" if told else ""


class _Making:
    """The parts of a report, made from one choice of pairs and clusters."""

    def __init__(self, run: Run, labels: PairLabels | None, limit: int, scores: Evaluation | None) -> None:
        self.run, self.labels, self.limit, self.scores = run, labels, limit, scores
        self.pairs = pairs = sampling.pairs_of(run)
        self.scale = scale = 100.0 if run.of_files else 1.0
        self.summary = run.summary
        self.threshold = float(self.summary["threshold"])
        self.strata = sampling.strata(pairs, scale)
        self.queue = sampling.queue(self.strata, self.threshold, scale)
        self.above = sampling.border(pairs, self.threshold, removed=True)
        self.below = sampling.border(pairs, self.threshold, removed=False)
        self.random = sampling.at_random(pairs)
        judged = [row for row, _, _ in self.queue]
        self.first = list(dict.fromkeys([*judged, *self.above.tolist(), *self.below.tolist(), *self.random.tolist()]))
        self.rows = sampling.shown(pairs, self.first)
        self.clusters = sorted(_clusters(run.clusters["cluster"]), key=len, reverse=True)
        self.cuts: list[str] = []

    def contents(self) -> Contents:
        """All of it."""
        summary = self.summary
        blocks, told = self._data()
        share = summary["removed"] / summary["documents"] if summary["documents"] else 0.0
        seconds = sum(stage["wall"] for stage in summary["timings"].values())
        what = "files" if self.run.of_files else "documents"
        largest = f"the largest of {summary['largest_cluster']:,}" if summary["clusters"] else ""
        figures = (
            (what, f"{summary['documents']:,}", f"read in {seconds:.1f} s"),
            ("kept", f"{summary['kept']:,}", f"{1 - share:.1%}" if summary["documents"] else ""),
            ("removed", f"{summary['removed']:,}", f"{share:.1%}{_by_reason(summary['removed_by_reason'])}"),
            ("clusters", f"{summary['clusters']:,}", largest),
        )
        title = f"{self.run.name}: {summary['kept']:,} of {summary['documents']:,} {what} kept"
        warnings = [*summary.get("warnings", ()), *self.run.notes]
        if summary["verify"] == "none":
            warnings.append("No similarities were computed (--verify none): there are no pairs to look at or to judge.")
        return Contents(
            title,
            figures,
            tuple(sentences(summary)),
            tuple(warnings),
            tuple(self._sections()),
            tuple(self.cuts),
            told,
            blocks,
        )

    # Seen without JavaScript

    def _sections(self) -> Iterable[Section]:
        matched = self.pairs.similarity[self.pairs.match]
        missed = self.pairs.similarity[~self.pairs.match]
        weight = float(self.pairs.weight[~self.pairs.match].mean()) if len(missed) else 1.0
        curve = charts.promise(self.summary)
        pictures = []
        if len(matched) or len(missed):
            pictures.append(charts.similarities(matched, missed, weight, self.threshold, curve, self.scale))
        if self.clusters:
            pictures.append(charts.sizes(Counter(map(len, self.clusters))))
        yield Section("What was removed for what", charts=tuple(pictures), tables=tuple(self._tables()))
        if self.scores is not None and self.labels is not None:
            from nearkin.report.evaluation import by_similarity, contents_of_evaluation

            steps = by_similarity(self.run, self.labels)
            told = contents_of_evaluation(self.scores, self.run.name, "labels", steps)
            figures = Table("Figures by the labels", ("figure", "value", "interval"), list(told.figures))
            yield Section("By the labels given", told.sentences, tables=(figures,))
            yield from told.sections

    def _tables(self) -> Iterable[Table]:
        reasons = self.summary["removed_by_reason"]
        rows = [(words, f"{reasons[name]:,}") for name, words in _REASONS.items() if reasons.get(name)]
        if rows:
            yield Table("Removed, by reason", ("reason", "documents"), rows)
        if self.summary.get("sources"):
            told = [
                (str(row["source"]) or "(none)", f"{row['documents']:,}", f"{row['removed']:,}", f"{row['share']:.1%}")
                for row in self.summary["sources"]
            ]
            most = 50
            if len(told) > most:
                self.cuts.append(f"{most} of {len(told):,} sources: those that lose the largest share")
            yield Table("Removed, by source", ("source", "documents", "removed", "share"), told[:most])
        times = [
            (name, f"{stage['wall']:.2f}", f"{stage['cpu']:.2f}" if "cpu" in stage else "")
            for name, stage in self.summary["timings"].items()
        ]
        yield Table("Time, by stage", ("stage", "seconds", "CPU seconds"), times)

    # What the script shows

    def _data(self) -> tuple[dict[str, str], dict[str, object]]:
        place = {row: at for at, row in enumerate(self.rows.tolist())}
        largest = self.clusters[: sampling.CLUSTERS]
        table, rows = self.run.clusters, self.rows.tolist()
        lefts, rights = ([side[row] for row in rows] for side in (self.pairs.left, self.pairs.right))
        listed = [
            table[column][row]
            for cluster in largest
            for row in cluster[: sampling.MEMBERS + 1]
            for column in ("id", "representative")
        ]
        ids = {name: number for number, name in enumerate(dict.fromkeys([*lefts, *rights, *listed]))}
        left, right = (np.array([ids[name] for name in side], np.uint32) for side in (lefts, rights))
        clusters = [self._cluster(cluster, ids) for cluster in largest]
        wanted = self._wanted(list(ids), clusters)
        shown = self._shown(wanted)
        blocks = {
            "clusters": packed(_json(clusters)),
            "pairs": packed(self._packed_pairs(left, right)),
            "common": packed(_json(self._common(shown, place))),
            **({"pieces": packed(_json(self._pieces(shown, place)))} if self.run.of_files else {}),
        }
        # Documents whose texts are all there take the most room; mostly they are.
        readable = [name for name in wanted if name in shown and shown[name].text is not None]
        everywhere = {name: number for number, name in enumerate(readable)}
        documents = packed(_json(self._documents(list(ids), everywhere, shown)))
        room = self.limit - _PAGE - len(documents) - sum(map(len, blocks.values()))
        firsts, texts, number_of = self._texts(readable, shown, room)
        if number_of != everywhere:
            documents = packed(_json(self._documents(list(ids), number_of, shown)))
        blocks.update(texts, documents=documents)
        self._tell_cuts(
            len(number_of), len(wanted), shortened=any(len(each.text or "") > TEXT_CUT for each in shown.values())
        )
        told: dict[str, object] = {
            "kind": "files" if self.run.of_files else "texts",
            "key": self._key(),
            "threshold": self.threshold,
            "scale": self.scale,
            "measure": _MEASURES[self.summary["verify"]],
            "distance": "" if self.run.of_files or not _has_bits(self.summary) else "bits",
            "documents": len(ids),
            "pairs": len(self.rows),
            "texts": len(texts),
            "firsts": firsts,
            "text_cut": TEXT_CUT,
            "strata": [
                {
                    "name": stratum.name,
                    "low": stratum.low,
                    "high": stratum.high,
                    "removed": stratum.removed,
                    "pairs": round(stratum.pairs, 6),
                }
                for stratum in self.strata
            ],
            "queue": [[place[row], stratum, round(weight, 6)] for row, stratum, weight in self.queue],
            "above": [place[row] for row in self.above.tolist()],
            "below": [place[row] for row in self.below.tolist()],
            "random": [place[row] for row in self.random.tolist()],
            "near_misses": self._near_misses(),
            "labels": [] if self.labels is None else [[*pair, match] for pair, match in self.labels.labels.items()],
        }
        return blocks, told

    def _near_misses(self) -> str:
        """How near misses were found, or why there are none, in a sentence."""
        if (files := self.run.near_files) is not None:
            return (
                f"Near misses are pairs with a score of up to {NEAR} below the threshold, of {files.sampled:,} of the "
                f"{files.of:,} kept files, drawn at random. Pairs of a lower score are in no figure."
            )
        about = self.summary.get("near_misses")
        if about is None:
            return NO_NEAR_MISSES
        return (
            f"Near misses are candidates below the threshold, of {about['sampled']:,} of the {about['of']:,} kept "
            "documents, drawn at random. Pairs that were no candidates are in no figure."
        )

    def _cluster(self, rows: Sequence[int], ids: Mapping[str, int]) -> list[Any]:
        table = self.run.clusters
        members = [row for row in rows if table["reason"][row] != "kept"]
        kept = table["representative"][rows[0]]
        listed = members[: sampling.MEMBERS]
        cells = [
            [ids[table["id"][row]], table["similarity"][row], table["distance"][row], table["reason"][row]]
            for row in listed
        ]
        return [len(rows), ids[kept], cells]

    def _wanted(self, ids: Sequence[str], clusters: Sequence[Sequence[Any]]) -> list[str]:
        """Ids of documents whose texts are shown, the most important first."""
        wanted: dict[str, None] = {}
        for row in self.first:
            wanted[self.pairs.left[row]] = wanted[self.pairs.right[row]] = None
        for _, kept, members in clusters:
            wanted[ids[kept]] = None
            wanted.update(dict.fromkeys(ids[member[0]] for member in members[:_MEMBERS_READ]))
        return list(wanted)

    def _shown(self, wanted: Sequence[str]) -> dict[str, Shown]:
        found = self.run.texts(dict.fromkeys(wanted).keys())
        if self.run.of_files:
            return shown_files(found, DigestRecipe(self.summary["recipe"]))
        texts = ((name, found.get(name)) for name in wanted)
        return {name: Shown(text, len(text)) for name, text in texts if isinstance(text, str)}

    def _texts(
        self, readable: Sequence[str], shown: Mapping[str, Shown], room: int
    ) -> tuple[list[int], dict[str, str], dict[str, int]]:
        """Blocks of texts, until there is no room: number of the first text of each, the blocks, numbers by id."""
        firsts: list[int] = []
        blocks: dict[str, str] = {}
        number_of: dict[str, int] = {}
        block: list[str] = []
        size = 0
        for at, name in enumerate(readable):
            block.append((shown[name].text or "")[:TEXT_CUT])
            size += len(block[-1])
            if size >= _BLOCK or at == len(readable) - 1:
                data = packed(_json(block))
                room -= len(data)
                if room < 0:
                    break
                first = at + 1 - len(block)
                firsts.append(first)
                blocks[f"texts-{len(blocks)}"] = data
                number_of.update((readable[number], number) for number in range(first, at + 1))
                block, size = [], 0
        return firsts, blocks, number_of

    def _documents(self, ids: list[str], number_of: Mapping[str, int], shown: Mapping[str, Shown]) -> dict[str, Any]:
        told: dict[str, Any] = {
            "ids": ids,
            "text": [number_of.get(name, -1) for name in ids],
            "length": [shown[name].length if name in shown else -1 for name in ids],
        }
        if self.run.of_files:
            told["type"] = [shown[name].type if name in shown else "" for name in ids]
            told["digest"] = [shown[name].digest if name in shown else "" for name in ids]
        return told

    def _packed_pairs(self, left: npt.NDArray[np.uint32], right: npt.NDArray[np.uint32]) -> bytes:
        distance = self.pairs.distance[self.rows]
        columns = [
            left.astype("<u4"),
            right.astype("<u4"),
            self.pairs.similarity[self.rows].astype("<f4"),
            np.where((distance < 0) | (distance > 65534), 65535, distance).astype("<u2"),
            self.pairs.match[self.rows].astype("u1"),
        ]
        return b"".join(column.tobytes() for column in columns)

    def _common(self, shown: Mapping[str, Shown], place: Mapping[int, int]) -> dict[int, dict[str, Any]]:
        """Features that pairs have in common, and that one has alone: of the first ones to judge."""
        if self.run.of_files:
            return {}
        recipe = Recipe.of(self.summary["recipe"])
        features: dict[str, dict[str, int]] = {}
        found = {}
        for row, _, _ in self.queue[:_COMPARED]:
            ends = self.pairs.left[row], self.pairs.right[row]
            texts = [shown[name].text if name in shown else None for name in ends]
            if any(text is None or len(text) > TEXT_CUT for text in texts):
                continue
            for name, text in zip(ends, texts, strict=True):
                if name not in features and text is not None:
                    features[name] = recipe.features_of(text)
            one, two = (features[name].keys() for name in ends)
            both = one & two
            found[place[row]] = {
                "both": len(both),
                "left": len(one) - len(both),
                "right": len(two) - len(both),
                "some_both": _first(features[ends[0]], both, inside=True),
                "some_left": _first(features[ends[0]], both, inside=False),
                "some_right": _first(features[ends[1]], both, inside=False),
            }
        return found

    def _pieces(self, shown: Mapping[str, Shown], place: Mapping[int, int]) -> dict[int, list[list[int]]]:
        """Where the bytes of files agree; pairs in the order of `first`, as long as there is time for their bytes."""
        recipe = DigestRecipe(self.summary["recipe"])
        found: dict[int, list[list[int]]] = {}
        left = 0 if recipe.normalize else _PIECES_BYTES
        for row in self.first:
            one, two = shown.get(self.pairs.left[row]), shown.get(self.pairs.right[row])
            if one is not None and two is not None and (left := left - one.length - two.length) >= 0:
                found[place[row]] = agreeing(one.data, two.data, recipe)
        return found

    def _tell_cuts(self, texts: int, wanted: int, *, shortened: bool) -> None:
        if len(self.clusters) > sampling.CLUSTERS:
            self.cuts.append(f"{sampling.CLUSTERS} of {len(self.clusters):,} clusters: the largest")
        if self.clusters and len(self.clusters[0]) > sampling.MEMBERS + 1:
            self.cuts.append(f"the first {sampling.MEMBERS} members of a cluster, as the run lists them")
        if len(self.rows) < len(self.pairs):
            self.cuts.append(
                f"{len(self.rows):,} of {len(self.pairs):,} pairs: those with texts, and others drawn at random"
            )
        if len(self.pairs) > len(self.first):
            rules = f"up to {sampling.JUDGED} to judge, {sampling.BORDER} nearest to the threshold on each side"
            self.cuts.append(
                f"texts of {len(self.first):,} pairs: {rules}, {sampling.RANDOM} drawn at random of those removed"
            )
        if texts < wanted:
            reason = "the others are older documents, could not be read, or would make this file too large"
            self.cuts.append(f"texts of {texts:,} of {wanted:,} documents that were chosen: {reason}")
        if shortened:
            self.cuts.append(f"the first {TEXT_CUT:,} characters of a text")
        if not self.run.of_files and len(self.first) > _COMPARED:
            self.cuts.append(f"features in common: of the first {_COMPARED} pairs to judge")

    def _key(self) -> str:
        """What names this run in a browser: what it found, not when or how fast."""
        named = [self.summary[name] for name in ("recipe", "threshold", "documents", "kept")]
        digest = hashlib.sha256(_json([named, self.run.clusters["id"], self.run.clusters["representative"]]))
        return digest.hexdigest()[:16]


def sentences(summary: Mapping[str, Any]) -> Iterable[str]:
    """How a run decided, in words."""
    threshold, verify = summary["threshold"], summary["verify"]
    measure = _MEASURES[verify]
    if verify == "none":
        yield f"Documents that are {_reach(summary)} count as near-duplicates; their texts were not compared."
    elif verify == "score":
        yield f"Files whose ssdeep digests have a score of at least {threshold:g} of 100 count as near-duplicates."
    else:
        of = {"indel": "their texts", "signature": "their signatures"}.get(verify, "their features")
        yield f"Documents count as near-duplicates if the {measure} of {of} is at least {threshold:g}."
        seen = f"{_many(summary['candidates'], 'candidate')}, of which {summary['verified']:,} were compared"
        yield f"Pairs that are {_reach(summary)} are candidates: {seen}."
    if summary.get("pairs_that_differ"):
        fate = "kept apart" if summary["differing"] == "keep" else "one of each goes"
        names = ", ".join(summary["differ"])
        yield f"{_many(summary['pairs_that_differ'], 'pair')} that would count differ in {names}: {fate}."
    if summary.get("labels"):
        yield f"Labels of people kept {_many(summary['labels']['kept_apart'], 'pair')} apart."
    if older := sum(count for reason, count in summary["removed_by_reason"].items() if reason.endswith("-old")):
        yield (
            f"{_many(older, 'document')} went for older ones: they are among the clusters, and in no pair to judge, "
            "since the older texts are not read again."
        )
    if (recall := summary.get("expected_recall")) is not None:
        yield (
            f"By these parameters a pair with a similarity of {threshold:g} is looked at with a probability of "
            f"{recall:.1%}, one that is more similar with a greater one."
        )
    if summary["cluster"] == "components":
        yield "Chains of near-duplicates are one cluster, of which one document stays."
    else:
        yield "Each document that goes is a near-duplicate of the one that stays for it: there are no chains."
    yield f"Which document of a cluster stays: {summary['keep']} (--keep)."
    yield f"Recipe {summary['recipe']}" + (
        "." if verify == "score" else f": {_in_words(Recipe.of(summary['recipe']))}."
    )


_WEIGHTS = {
    "binary": "each counted once",
    "count": "counted",
    "log": "weighed by the logarithm of their count",
    "idf": "weighed by how rare they are (IDF)",
    "textrank": "weighed by TextRank",
}


def _in_words(recipe: Recipe) -> str:
    """How a recipe makes a fingerprint of a text."""
    unit = "characters" if recipe.features == "char" else "words"
    lengths = f"{recipe.min_n} to {recipe.n}" if recipe.min_n else recipe.n
    features = f"runs of {lengths} {unit}" if recipe.n > 1 else unit
    top = f", of which the {recipe.top} of greatest weight stay" if recipe.top != "all" else ""
    made = f"a SimHash of {recipe.bits} bits" if recipe.family == "simhash" else f"{recipe.num_perm} values of MinHash"
    return f"{features}, {_WEIGHTS[recipe.weight]}{top}, hashed by {recipe.hash}, make {made}"


def _many(count: int, noun: str) -> str:
    """A number of things."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _reach(summary: Mapping[str, Any]) -> str:
    if "radius" in summary:
        return f"within {summary['radius']} bits of each other"
    if "sketch_size" in summary:
        return "near by sketches of their features"
    if "num_bands" in summary:
        return f"equal in one of {summary['num_bands']} bands of {summary['num_rows']} values"
    return "alike by their digests"


def _has_bits(summary: Mapping[str, Any]) -> bool:
    return "radius" in summary


def _clusters(names: Sequence[object]) -> list[Sequence[int]]:
    """Rows of the table of clusters, by cluster, in its order; those of a cluster follow one another."""
    starts = [row for row, name in enumerate(names) if row == 0 or name != names[row - 1]]
    return [range(start, end) for start, end in pairwise([*starts, len(names)])]


def _first(features: Mapping[str, int], both: Iterable[str], *, inside: bool) -> list[str]:
    held = set(both)
    found = []
    for feature in features:
        if (feature in held) == inside:
            found.append(feature)
            if len(found) == _EXAMPLES:
                break
    return found


def _json(value: object) -> bytes:
    """Compact JSON; half of a surrogate pair has no UTF-8 form, and is escaped."""
    told = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return told.encode("utf-8", "backslashreplace")


__all__ = ["LIMIT", "contents_of", "sentences"]
