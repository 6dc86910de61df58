"""nearkin.tune: curves equal brute force, deduplication reaches the recommended recall, samples and intervals."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

import nearkin as nk
from corpora import write_rows
from nearkin import errors
from nearkin.dedup.result import ResultTable
from nearkin.io import open_corpus
from nearkin.quality.ground_truth import SampleFingerprints
from nearkin.quality.judgements import ClusterLabels, PairLabels
from nearkin.quality.tuning import Row, Tuning, check_options, estimate_notes
from nearkin.theory.intervals import wilson
from planted import WORDS, corpus, jaccard


def similarities(texts: list[str], recipe: nk.Recipe) -> dict[tuple[int, int], float]:
    """Return the Jaccard similarity of every pair of texts, from their sets of features."""
    sets = [set(recipe.features_of(text)) for text in texts]
    pairs = itertools.combinations(range(len(texts)), 2)
    return {(i, j): len(sets[i] & sets[j]) / max(len(sets[i] | sets[j]), 1) for i, j in pairs}


def brute(texts: list[str], recipe: nk.Recipe, threshold: float) -> dict[tuple[int, int], tuple[int, bool]]:
    """Return the distance of every pair of distinct texts, and whether it is similar."""
    values = nk.fingerprint(texts, recipe)
    jaccard_of = similarities(texts, recipe)
    left, right = np.array(list(jaccard_of)).T
    distances = np.asarray(nk.hamming(values[left], values[right])).tolist()
    return {pair: (far, near >= threshold) for (pair, near), far in zip(jaccard_of.items(), distances, strict=True)}


def measured(rows: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    """Return rows without measured times."""
    return [{name: value for name, value in row.items() if not name.endswith("_seconds")} for row in rows]


def test_curves_equal_brute_force() -> None:
    """Recall, precision, F1 and candidates per document at every radius, counted over all pairs."""
    texts = list(dict.fromkeys(corpus(120)))
    tuned = nk.tune(texts, threshold=0.6, bits=[64, 100])
    assert len(tuned.curve) > 0
    for bits in (64, 100):
        pairs = brute(texts, nk.Recipe().with_(bits=bits), 0.6)
        true = sum(match for _, match in pairs.values())
        assert tuned.truth["pairs"] == true
        rows = [row for row in tuned.curve.rows() if row["recipe"].endswith(f":{bits}")]
        assert [row["radius"] for row in rows] == list(range(len(rows)))
        for row in rows:
            near = [match for distance, match in pairs.values() if distance <= row["radius"]]
            assert sum(near) / true == row["recall"]
            assert (sum(near) / len(near) if near else None) == row["precision"]
            assert 2 * sum(near) / (len(near) + true) == pytest.approx(row["f1"])
            assert 2 * len(near) / len(texts) == pytest.approx(row["candidates_per_document"])
            assert row["recall_low"] <= row["recall"] <= row["recall_high"]
            if near:
                assert row["precision_low"] <= row["precision"] <= row["precision_high"]


def test_the_recommendation_reaches_its_recall() -> None:
    """Deduplication with the recommended recipe and radius reaches the target recall; with a radius smaller by one it
    would not.
    """
    texts = list(dict.fromkeys(corpus(300)))
    tuned = nk.tune(texts, threshold=0.6, recall=0.9)
    chosen = tuned.chosen
    assert chosen is not None
    radius = chosen["radius"]
    assert radius is not None
    recipe = nk.Recipe(chosen["recipe"])
    true = {pair for pair, (_, match) in brute(texts, recipe, 0.6).items() if match}
    found = nk.dedup(texts, recipe=recipe, threshold=0.6, radius=radius, links="all").pairs
    both = {tuple(sorted(pair)) for pair in zip(found["left"], found["right"], strict=True)}
    assert both <= true
    assert chosen["recall"] == len(both) / len(true) >= 0.9
    before = next(
        row for row in tuned.curve.rows() if row["recipe"] == chosen["recipe"] and row["radius"] == radius - 1
    )
    assert before["recall_low"] < 0.9


def test_the_same_arguments_give_the_same_result(set_threads: Callable[[int], None], tmp_path: Path) -> None:
    """The result is equal when repeated, with one thread, and for a corpus on disk; another seed differs."""
    texts = corpus(150)
    path = write_rows(tmp_path / "corpus.jsonl", ({"text": text} for text in texts))
    results = [nk.tune(texts, threshold=0.6, sample=100)]
    set_threads(1)
    results.append(nk.tune(texts, threshold=0.6, sample=100))
    with open_corpus(path) as opened:
        results.append(nk.tune(opened, threshold=0.6, sample=100))
    first = results[0]
    for other in results[1:]:
        assert measured(first.settings.rows()) == measured(other.settings.rows())
        assert (first.curve.columns, first.by_length.columns) == (other.curve.columns, other.by_length.columns)
        assert (first.command(), first.truth, first.notes) == (other.command(), other.truth, other.notes)
    assert first.curve.columns != nk.tune(texts, threshold=0.6, sample=100, seed=1).curve.columns


def test_pairs_of_one_cluster_widen_the_interval() -> None:
    """Sixty documents around a common one have 1,770 pairs, which are not independent observations."""
    rng = random.Random(3)
    base = [rng.choice(WORDS) for _ in range(60)]
    texts = []
    for _ in range(60):
        text = list(base)
        for _ in range(rng.randrange(1, 4)):
            text[rng.randrange(60)] = rng.choice(WORDS)
        texts.append(" ".join(text))
    tuned = nk.tune(texts, threshold=0.7, bits=[128])
    rows = [row for row in tuned.curve.rows() if 0.5 < row["recall"] < 0.9]
    assert rows
    for row in rows:
        low, high = wilson(round(row["recall"] * tuned.truth["pairs"]), tuned.truth["pairs"])
        assert row["recall_high"] - row["recall_low"] > 1.5 * (high - low)


@pytest.mark.parametrize("pairs", [1, 8, 13, 40])
def test_few_pairs_do_not_justify_less_than_theory(pairs: int) -> None:
    """Their distances are smaller than those of pairs at the threshold, which does not prove that others are."""
    rng = random.Random(pairs)
    texts = []
    for _ in range(pairs):
        words = [f"{rng.getrandbits(40):x}" for _ in range(80)]
        texts += [" ".join(words), " ".join([*words[:-1], "changed"])]
    tuned = nk.tune(texts, threshold=0.7, recall=0.95)
    for row in tuned.settings.rows():
        bits = nk.Recipe(row["recipe"]).bits
        assert 1.0 == row["recall"]
        assert nk.theory.simhash_radius(0.7, bits, 0.95) == row["radius"]
    assert any("at least that of theory" in note for note in tuned.notes)
    bands = nk.tune_bands(texts, threshold=0.7, recall=0.95)
    assert bands.chosen is not None
    assert bands.chosen["nominal_recall"] >= 0.95


def test_many_pairs_justify_less_than_theory() -> None:
    """400 clusters with small distances need a smaller radius than that of theory."""
    rng = random.Random(4)
    texts = []
    for _ in range(400):
        words = [f"{rng.getrandbits(40):x}" for _ in range(80)]
        texts += [" ".join(words), " ".join([*words[:-1], "changed"])]
    row = next(iter(nk.tune(texts, threshold=0.7, recall=0.95, bits=[128]).settings.rows()))
    assert row["recall_low"] >= 0.95
    assert row["radius"] < nk.theory.simhash_radius(0.7, 128, 0.95)


def test_the_interval_covers_the_truth_in_most_samples() -> None:
    """At least 14 of 20 samples of half of 600 documents have an interval that contains the recall of all.

    If each covered it with probability 0.9 only, fewer than 14 would have probability P[Bin(20, 0.9) <= 13] = 2.4e-3.
    The seeds are fixed, so the outcome does not vary between runs.
    """
    texts = corpus(600, seed=8)
    options = {"threshold": 0.6, "bits": [64]}
    at = 17
    whole = nk.tune(texts, **options).curve["recall"][at]  # type: ignore[arg-type]
    assert 0.5 < whole < 0.98
    held = 0
    for seed in range(20):
        curve = nk.tune(texts, sample=300, seed=seed, **options).curve  # type: ignore[arg-type]
        held += curve["recall_low"][at] <= whole <= curve["recall_high"][at]
    assert held >= 14


def test_candidates_are_scaled_to_the_corpus() -> None:
    """A fifth of the documents has a fifth of the candidates per document, and the estimate is scaled.

    Every pair within the radius 64 is a candidate, so the estimate is exact.
    """
    texts = corpus(500)
    tuned = nk.tune(texts, threshold=0.01, bits=[64], sample=100)
    assert (500, 100) == (tuned.truth["documents"], tuned.truth["sample"] + tuned.truth["copies"])
    row = list(tuned.curve.rows())[-1]
    n = tuned.truth["sample"]
    assert (n - 1) * 500 / 100 * row["recall"] <= row["candidates_per_document"] * 1.05


def test_labels_choose_features_and_threshold() -> None:
    """Labels that depend on word order choose words; every score of a threshold is that of the labelled pairs."""
    texts = corpus(200, seed=4)
    recipe = nk.Recipe("word:2|binary|xxh3|simhash:64")
    rng = random.Random(0)
    jaccard_of = similarities(texts, recipe)
    chosen = [tuple(sorted(rng.sample(range(200), 2))) for _ in range(1500)]
    chosen += [(i, j) for i in range(190) for j in range(i + 1, i + 10)]
    labels = {(i, j): jaccard_of[i, j] >= 0.33 for i, j in chosen}
    pairs = [(f"d{i}", f"d{j}", match) for (i, j), match in labels.items()]
    names = [f"d{i}" for i in range(200)]
    tuned = nk.tune(texts, names, truth=pairs, recipes=["char:4", "word:2"], recall=0.9)
    assert tuned.chosen is not None
    assert tuned.chosen["recipe"].startswith("word:2")
    assert 0.35 == tuned.chosen["threshold"]
    true = sum(labels.values())
    for row in tuned.thresholds.rows():
        if row["features"] != "word:2":
            continue
        accepted = [pair for pair in labels if jaccard_of[pair] >= row["threshold"]]
        hits = sum(labels[pair] for pair in accepted)
        assert hits / true == pytest.approx(row["recall"])
        assert (hits / len(accepted) if accepted else None) == pytest.approx(row["precision"])
    # The curve counts labelled pairs alone, candidates all.
    values = nk.fingerprint(texts, tuned.chosen["recipe"])
    left, right = np.array(list(labels)).T
    distances = np.asarray(nk.hamming(values[left], values[right])).tolist()
    rows = [row for row in tuned.curve.rows() if row["recipe"] == tuned.chosen["recipe"]]
    for row in rows[:: len(rows) // 5]:
        near = [match for match, far in zip(labels.values(), distances, strict=True) if far <= row["radius"]]
        assert (sum(near) / len(near) if near else None) == pytest.approx(row["precision"])
    assert "command" in tuned.to_dict()
    json.dumps(tuned.to_dict(), allow_nan=False)


def test_clusters_are_labels_of_all_pairs() -> None:
    """Pairs outside the clusters count against precision."""
    texts = ["red wine and old cheese on the table", "red wine and old cheese on a table", "old cheese on the table"]
    texts += ["nothing of the kind is said in here at all"]
    labels = ClusterLabels(range(4), [0, 0, 1, 2])
    tuned = nk.tune(texts, truth=labels, recipes=["word:1"], bits=[64], recall=1.0)
    best = max(tuned.thresholds.rows(), key=lambda row: row["f1"])
    assert (1.0, 1.0) == (best["precision"], best["recall"])
    similar = jaccard(nk.Recipe("word:1"), texts[0], texts[2])
    low = [row for row in tuned.thresholds.rows() if row["threshold"] <= similar]
    assert low
    assert all(
        row["precision"] == 0.5 for row in low if row["threshold"] > jaccard(nk.Recipe("word:1"), texts[1], texts[2])
    )
    assert "labels of all pairs" == tuned.truth["method"]


def test_a_threshold_may_be_fixed() -> None:
    """It is used whatever its F1."""
    texts = corpus(60)
    tuned = nk.tune(texts, truth=[(0, 1), (3, 4), (6, 7)], threshold=0.42, recipes=["char:4"], bits=[64], recall=0.5)
    assert {0.42} == set(tuned.settings["threshold"])
    assert 0.42 in tuned.thresholds["threshold"]


def test_texts_without_letters_have_no_neighbours() -> None:
    """They have no fingerprint, so they occur in no candidates and no pairs."""
    tuned = nk.tune(["...", "!!!", "one two three four", "one two three five"], threshold=0.3, bits=[64])
    assert 1 == tuned.truth["pairs"]
    assert max(tuned.curve["candidates_per_document"]) <= 1
    prints = SampleFingerprints.of(["...", "one two three"], nk.Recipe().with_(bits=64))
    assert 65 == prints.distances(np.array([0]), np.array([1]))[0]


def test_a_corpus_without_similar_pairs_gives_no_recommendation() -> None:
    """A note says so."""
    tuned = nk.tune(["one two three four five", "something else entirely", "a third text about cats"])
    assert tuned.chosen is None
    assert tuned.command() is None
    assert any("no true pair" in note for note in tuned.notes)
    json.dumps(tuned.to_dict(), allow_nan=False)


def test_a_recall_out_of_reach_gives_no_recommendation() -> None:
    """No measured radius includes these labelled pairs."""
    texts = corpus(30)
    tuned = nk.tune(texts, truth=[(0, 9), (3, 12), (6, 21)], recipes=["word:3"], bits=[64], recall=1.0, threshold=0.01)
    assert tuned.chosen is None
    assert any("no radius" in note or "no true pair" in note for note in tuned.notes)


def test_the_curve_becomes_a_data_frame() -> None:
    """With pandas, it has a row per radius."""
    frame = nk.tune(corpus(40), threshold=0.6, bits=[64]).to_pandas()
    assert {"recipe", "radius", "recall", "recall_low", "recall_high", "candidates_per_document"} <= set(frame.columns)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"recall": 0}, "recall"),
        ({"recall": True}, "recall"),
        ({"threshold": 1.5}, "threshold"),
        ({"sample": 1}, "sample"),
        ({"bits": []}, "bits"),
        ({"recipes": []}, "recipes"),
        ({"recipes": ["given"]}, "recipe"),
        ({"recipes": ["minhash:64"]}, "recipe.* is not allowed; use"),
        ({"truth": [1, 2]}, "truth"),
    ],
)
def test_numbers_out_of_range_are_errors(options: dict[str, object], name: str) -> None:
    """The message names the argument."""
    with pytest.raises(errors.ParameterError, match=name):
        nk.tune(["a", "b"], **options)  # type: ignore[arg-type]


def test_labels_of_other_documents_are_an_error() -> None:
    """There is no recall without labelled pairs."""
    with pytest.raises(errors.InputError, match="check the ids"):
        nk.tune(["one two", "one three"], truth=PairLabels(["x"], ["y"]))


@pytest.mark.shared
def test_labelled_citations_are_tuned(shared: Path) -> None:
    """Cora's 182 papers: character n-grams reach F1 0.8 at the best threshold, but not at the default one."""
    import gzip

    with gzip.open(shared / "data" / "er_cora.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    labels = ClusterLabels([record["id"] for record in records], [record["cluster"] for record in records])
    texts, ids = [record["text"] for record in records], [record["id"] for record in records]
    tuned = nk.tune(texts, ids, truth=labels, recipes=["char:4"], bits=[128])
    assert tuned.chosen is not None
    assert tuned.chosen["match_f1"] > 0.8
    default = next(row for row in tuned.thresholds.rows() if row["threshold"] == 0.8)
    assert default["f1"] < 0.5


# Labels of a sample


def labelled(weights: dict[bool, float]) -> tuple[list[str], PairLabels]:
    """Return 60 texts and weighted labels of neighbours, which match with a probability that grows with their
    similarity.
    """
    texts = corpus(60, seed=4)
    recipe = nk.Recipe("word:1")
    pairs = [(i, j) for i in range(60) for j in range(i + 1, min(i + 6, 60))]
    rng = random.Random(0)
    match = [rng.random() < jaccard(recipe, texts[i], texts[j]) for i, j in pairs]
    weight = [weights[each] * (1 + (i + j) % 3) for (i, j), each in zip(pairs, match, strict=True)]
    return texts, PairLabels([i for i, _ in pairs], [j for _, j in pairs], match, weight)


def test_weights_count_in_every_proportion() -> None:
    """Thresholds, curve and lengths use sums of weights instead of counts."""
    texts, labels = labelled({True: 1.0, False: 9.0})
    tuned = nk.tune(texts, truth=labels, recipes=["char:4"], bits=[64], recall=0.9)
    recipe = nk.Recipe("char:4|binary|xxh3|simhash:64")
    weight = {pair: labels.weights[pair] for pair in labels.labels}
    similar = {pair: jaccard(recipe, texts[int(pair[0])], texts[int(pair[1])]) for pair in weight}
    true = sum(weight[pair] for pair, match in labels.labels.items() if match)
    for row in tuned.thresholds.rows():
        accepted = {pair for pair in weight if similar[pair] >= row["threshold"]}
        hits = sum(weight[pair] for pair in accepted if labels.labels[pair])
        total = sum(weight[pair] for pair in accepted)
        assert hits / true == pytest.approx(row["recall"])
        assert (hits / total if accepted else None) == pytest.approx(row["precision"])
        assert 2 * hits / (total + true) == pytest.approx(row["f1"])
    assert tuned.chosen is not None
    fps = nk.fingerprint(texts, recipe)
    distance = {pair: int(nk.hamming(fps[[int(pair[0])]], fps[[int(pair[1])]])[0]) for pair in weight}
    target = [pair for pair in weight if labels.labels[pair] and similar[pair] >= tuned.chosen["threshold"]]
    for row in tuned.curve.rows():
        near = [pair for pair in weight if distance[pair] <= row["radius"]]
        hits, total = (sum(weight[pair] for pair in some) for some in (filter(labels.labels.get, near), near))
        found = sum(weight[pair] for pair in target if distance[pair] <= row["radius"])
        assert found / sum(weight[pair] for pair in target) == pytest.approx(row["recall"])
        assert row["recall_low"] <= row["recall"] + 1e-9
        if near:
            effective = total**2 / sum(weight[pair] ** 2 for pair in near)
            bounds = wilson(min(hits / total, 1.0) * effective, effective)
            assert (hits / total, *bounds) == pytest.approx(
                (row["precision"], row["precision_low"], row["precision_high"])
            )
    assert any(note.startswith(f"weighted: {len(weight)} labels stand for") for note in tuned.notes)


def test_a_biased_sample_needs_its_weights() -> None:
    """If pairs that do not match were sampled thinly, weights raise the recommended threshold."""
    texts, labels = labelled({True: 1.0, False: 50.0})
    plain = PairLabels(labels.left, labels.right, labels.match)
    options = {"recipes": ["char:4"], "bits": [64], "recall": 0.9}
    found = [nk.tune(texts, truth=each, **options).thresholds.rows() for each in (labels, plain)]  # type: ignore[arg-type]
    weighted, biased = (max(rows, key=lambda row: row["f1"])["threshold"] for rows in found)
    assert biased < 0.5 < weighted


def test_weights_of_one_change_nothing() -> None:
    """Every figure equals that of the labels without weights."""
    texts, labels = labelled({True: 1.0, False: 1.0})
    ones = PairLabels(labels.left, labels.right, labels.match, [1.0] * 285)
    plain = PairLabels(labels.left, labels.right, labels.match)
    one, other = (nk.tune(texts, truth=each, recipes=["char:4"], bits=[64], recall=0.9) for each in (ones, plain))
    assert list(one.curve.rows()) == list(other.curve.rows())
    assert one.notes == other.notes
    assert measured(one.settings.rows()) == measured(other.settings.rows())


def test_labels_are_read_from_their_file(tmp_path: Path) -> None:
    """The file is as a report exports it, with unsure labels; a sample of matches is not complete."""
    texts = corpus(60)
    path = tmp_path / "labels.tsv"
    rows = ["0\t1\t1\t0.81\t0.80-0.82\t3\t1", "3\t4\t1\t0.81\t0.80-0.82\t3\t1", "6\t7\tunsure\t0.79\t0.78-0.80\t9\t0"]
    path.write_text("\n".join(["left\tright\tmatch\tsimilarity\tstratum\tweight\tremoved", *rows]) + "\n")
    for truth in (path, str(path)):
        tuned = nk.tune(texts, truth=truth, recipes=["char:4"], bits=[64], recall=0.5)
        assert "2 labelled pairs" == tuned.truth["method"]
        assert any("weighted: 2 labels stand for 6 pairs" in note for note in tuned.notes)


def test_an_invalid_truth_is_refused(tmp_path: Path) -> None:
    """Rows of four values, and the folder of a run."""
    texts = corpus(9)
    with pytest.raises(errors.ParameterError, match="truth=list is not allowed"):
        nk.tune(texts, truth=[(0, 1, True, 4)])  # type: ignore[list-item]
    tables = {"clusters": "id,cluster,representative,reason\n", "pairs": "left,right\n", "kept": "text\n"}
    for name, text in tables.items():
        (tmp_path / f"{name}.csv").write_text(text)
    told = {"documents": 0, "kept_file": "kept.csv", "text_column": "text", "id_column": None, "format": "csv"}
    (tmp_path / "summary.json").write_text(json.dumps(told))
    with pytest.raises(errors.InputError, match="which is not the truth"):
        nk.tune(texts, truth=tmp_path)


# The result

SETTING: Row = {"recipe": "char:4|count|xxh3|simhash:64", "threshold": 0.85, "radius": 9, "recall": 0.97}


def tuning(chosen: Row | None) -> Tuning:
    rows = ResultTable.of_rows([] if chosen is None else [chosen], ["recipe"])
    empty = ResultTable({"radius": []})
    return Tuning(
        "recall", chosen, rows, ResultTable({"radius": [0, 1], "recall": [0.5, 1.0]}), empty, empty,
        {"documents": 9, "sample": 8, "copies": 1, "pairs": 3, "method": "labels", "missed": 0.0, "seed": 0}, ["few"],
    )  # fmt: skip


def test_the_command_is_quoted_for_a_shell() -> None:
    """Bars and spaces are quoted; without a recommendation there is no command."""
    assert (
        "nearkin dedup 'a b.jsonl' --out clean --recipe 'char:4|count|xxh3|simhash:64' --threshold 0.85 --radius 9"
    ) == tuning(SETTING).command("a b.jsonl")
    assert (
        "nearkin dedup a.jsonl 'b c.jsonl' --id-column 'my id' --out clean-2 --recipe 'char:4|count|xxh3|simhash:64' "
        "--threshold 0.85 --radius 9"
    ) == tuning(SETTING).command(["a.jsonl", "b c.jsonl"], reading=["--id-column", "my id"], out="clean-2")
    assert tuning(None).command() is None


@pytest.mark.parametrize("chosen", [SETTING, None])
def test_everything_is_json(chosen: Row | None) -> None:
    """Tables are lists of rows, and the command is included."""
    found = json.loads(json.dumps(tuning(chosen).to_dict()))
    assert [{"radius": 0, "recall": 0.5}, {"radius": 1, "recall": 1.0}] == found["curve"]
    assert ([] if chosen is None else [chosen]) == found["settings"]
    assert (chosen, ["few"], "recall", 3) == (found["chosen"], found["notes"], found["goal"], found["truth"]["pairs"])
    assert tuning(chosen).command() == found["command"]
    assert [0, 1] == tuning(chosen).to_pandas()["radius"].tolist()


@pytest.mark.parametrize(
    ("recall", "low", "expected"),
    [(0.97, 0.95, 0), (0.97, 0.949, 1), (0.97, None, 0), (None, 0.1, 0)],
)
def test_a_recall_with_a_low_bound_is_an_estimate(recall: float | None, low: float | None, expected: int) -> None:
    """A bound equal to the target is sufficient."""
    notes = estimate_notes(recall, low, 0.95)
    assert expected == len(notes)
    assert all("recall 0.970 is an estimate" in note and "starts at 0.949" in note for note in notes)


def test_numbers_at_their_bounds_are_accepted() -> None:
    """Fractions are above 0 and up to 1, samples have two documents or more."""
    check_options(1.0, 1, 2)
    check_options(1e-9, 0.5, 10**9)
