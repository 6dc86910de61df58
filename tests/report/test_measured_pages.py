"""Pages of tunings, evaluations and plans: their figures equal the measurements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from report_browser import open_page, write_page
from test_charts import parse_chart

import nearkin as nk
from command import succeed
from nearkin.quality.judgements import ClusterLabels, DedupRun, PairLabels, read_judgements
from nearkin.report.evaluation import Step, build_evaluation, group_by_similarity
from nearkin.report.model import Contents, Section
from nearkin.report.plan import build_plan
from nearkin.report.run import Run
from nearkin.report.sampling import near_pairs
from nearkin.report.tuning import build_tuning
from nearkin.theory.intervals import WeightSums, wilson
from planted import WORDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def corpus(count: int = 120, seed: int = 3) -> list[str]:
    """Return texts, some of them with a few changed words."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        words = [WORDS[at] for at in rng.integers(0, len(WORDS), 30)]
        texts.append(" ".join(words))
        for _ in range(int(rng.integers(0, 3))):
            near = list(words)
            for at in rng.integers(0, 30, int(rng.integers(1, 5))):
                near[at] += "x"
            texts.append(" ".join(near))
    return texts


def section(contents: Contents, title: str) -> Section:
    [found] = [each for each in contents.sections if each.title == title]
    return found


def figures(contents: Contents) -> dict[str, str]:
    return {label: value for label, value, _ in contents.figures}


def check(contents: Contents) -> Contents:
    """Check that each chart is plain SVG with a table of its values, and that rows of tables are complete."""
    for each in contents.sections:
        for chart in each.charts:
            parse_chart(chart)
            assert chart.rows
        for table in each.tables:
            assert table.rows
            assert all(len(row) == len(table.columns) for row in table.rows)
    return contents


@pytest.fixture(scope="module")
def tuned() -> nk.quality.Tuning:
    return nk.tune(corpus(), threshold=0.6, bits=[64, 128])


def test_a_tuning(tuned: nk.quality.Tuning) -> None:
    """The recommended setting comes first; there is a row for each setting and a chart of all radii for each recipe."""
    contents = check(build_tuning(tuned, "garden.jsonl", recall=0.95))
    chosen = tuned.chosen
    assert chosen is not None
    assert f"Tuning of garden.jsonl: radius {chosen['radius']} of {chosen['bytes'] * 8} bits" == contents.title
    assert f"{chosen['recall']:.1%}" == figures(contents)["recall"]
    assert f"To run: {tuned.command('garden.jsonl')}" in contents.sentences
    assert [row["recipe"] for row in tuned.settings.rows()] == [
        row[0] for row in section(contents, "Settings").tables[0].rows
    ]
    charts = section(contents, "Recall and precision by radius").charts
    assert {chart.title for chart in charts} == {row["recipe"] for row in tuned.settings.rows()}
    assert charts[0].title == chosen["recipe"]
    for chart in charts:
        rows = [row for row in tuned.curve.rows() if row["recipe"] == chart.title]
        assert len(rows) == len(chart.rows)
        for row, shown in zip(rows, chart.rows, strict=True):
            assert (str(row["radius"]), f"{row['recall']:.4f}") == shown[:2]
            assert f"{row['recall_low']:.4f} to {row['recall_high']:.4f}" == shown[2]
    # The same measurement gives the same page.
    assert contents == build_tuning(tuned, "garden.jsonl", recall=0.95)


def test_many_recipes_are_limited() -> None:
    """Curves are limited in number, settings are in the order of their values, and the page says so."""
    texts = corpus(40)
    widths = [128, 32, 48, 64, 80, 96, 112]
    found = nk.tune(texts, threshold=0.6, bits=widths)
    contents = build_tuning(found)
    assert 6 == len(section(contents, "Recall and precision by radius").charts)
    assert ("Curves of 6 of 7 recipes; nearkin recipe tune --json has all of them.",) == contents.cuts
    rows = section(contents, "Settings").tables[0].rows
    assert sorted(widths) == [int(row[0].rpartition(":")[2]) for row in rows]


def test_a_tuning_by_labels() -> None:
    """Charts have precision and recall by threshold for each kind of features, and the F1 of verified pairs."""
    texts = corpus(60)
    labels = [(at, at + 1, texts[at][:4] == texts[at + 1][:4]) for at in range(len(texts) - 1)]
    found = nk.tune(texts, truth=labels, bits=[64])
    contents = check(build_tuning(found))
    charts = section(contents, "Precision and recall by threshold").charts
    assert {chart.title for chart in charts} <= {row["features"] for row in found.thresholds.rows()}
    assert "F1" in figures(contents)
    assert "F1 of verified pairs" in section(contents, "Settings").tables[0].columns


def test_nothing_is_advised() -> None:
    contents = check(build_tuning(nk.tune(["one", "two", "three"], bits=[64]), "few"))
    assert "Tuning of few: no recommendation" == contents.title
    assert "No setting reaches the target." in contents.sentences
    assert () == contents.figures


def test_a_tuning_of_bands() -> None:
    found = nk.tune_bands(corpus(), threshold=0.6)
    contents = check(build_tuning(found, recall=0.95))
    assert found.chosen is not None
    assert f"{found.chosen['num_bands']} bands of {found.chosen['num_rows']} values" in contents.title
    charts = section(contents, "Recall by candidates").charts
    assert [f"{number} values" for number in (64, 128, 256)] == [chart.title for chart in charts]
    listed = section(contents, "Bands").tables[0].rows
    for number in (64, 128, 256):
        rows = [row for row in found.curve.rows() if row["num_perm"] == number]
        shown = {float(row[3]) for row in listed if row[0] == str(number)}
        # The omitted settings are further from the target.
        far = [abs(row["recall"] - 0.95) for row in rows if row["nominal_recall"] not in shown]
        near = [abs(row["recall"] - 0.95) for row in rows if row["nominal_recall"] in shown]
        assert max(near) <= min(far)
    assert f"{len(listed)} of {len(found.curve)} choices" in contents.cuts[0]


def test_an_evaluation() -> None:
    """Each measure has its interval, and there are the four kinds of pairs."""
    truth = [(1, 2, True), (1, 3, False), (4, 5, True), (6, 7, False)]
    found = nk.evaluate([(1, 2), (1, 3)], truth)
    contents = check(build_evaluation(found, "clean", "labels.tsv"))
    assert "clean against labels.tsv: precision 0.500, recall 0.500" == contents.title
    low, high = wilson(1, 2)
    rows = section(contents, "Measures").tables[0].rows
    assert ("pairs, precision", "0.500", f"{low:.3f} to {high:.3f}") == rows[0]
    square = section(contents, "Found and true").tables[0]
    assert ["1", "1", "1", "1"] == [row[1] for row in square.rows]
    assert not [each for each in contents.sections if each.title == "By similarity"]
    clusters = build_evaluation(nk.evaluate({1: "x", 2: "x", 3: "x"}, {1: "a", 2: "a", 3: "b", 4: "b"}))
    assert "0.667" == {row[0]: row[1] for row in section(clusters, "Measures").tables[0].rows}["B-cubed, precision"]
    assert "not known" == section(clusters, "Found and true").tables[0].rows[3][1]


def test_an_evaluation_without_any_pair() -> None:
    contents = check(build_evaluation(nk.evaluate({1: "x", 2: "y"}, {1: "a", 2: "b"})))
    assert "run against truth: precision –, recall –" == contents.title


def test_labels_by_similarity() -> None:
    """Each stratum of the labels has the number of pairs that it represents."""
    left, right = list(range(0, 80, 2)), list(range(1, 80, 2))
    match = [at % 3 > 0 for at in range(40)]
    strata = ["0.78-0.80"] * 20 + ["0.80-0.82"] * 20
    labels = PairLabels(left, right, match, weight=[5.0] * 20 + [1.0] * 20, stratum=strata)
    found = nk.evaluate(PairLabels(left[20:], right[20:]), labels)
    part = section(check(build_evaluation(found)), "By similarity")
    hits, missed = sum(match[20:]), sum(match[:20])
    assert [
        ("0.78-0.80", "0", "0", f"{5 * missed}", f"{5 * (20 - missed)}"),
        ("0.80-0.82", f"{hits}", f"{20 - hits}", "0", "0"),
    ] == part.tables[1].rows
    low, high = wilson(hits, 20)
    assert ("0.81", f"{hits / 20:.4f}", f"{low:.4f} to {high:.4f}") == part.charts[0].rows[1]
    assert ("0.78-0.80", "20", "100") == part.tables[0].rows[0][:3]


@pytest.mark.parametrize("weight", [[5.0, 1.0], [1.0, 1.0]])
def test_unknown_recall_is_not_a_number(weight: list[float]) -> None:
    """With labels of found pairs only, neither figures nor tables have a recall of 1."""
    labels = PairLabels([1, 3], [2, 4], [True, False], weight=weight, stratum=["0.90-0.92", "0.82-0.84"])
    contents = check(build_evaluation(nk.evaluate([(1, 2), (3, 4)], labels)))
    precision = weight[0] / sum(weight)
    assert f"run against truth: precision {precision:.3f}, recall not known" == contents.title
    assert [("recall", "–", "not known"), ("F1", "–", "not known")] == list(contents.figures[1:3])
    rows = section(contents, "Measures").tables[0].rows
    assert [("–", "not known")] * 4 == [row[1:] for row in rows if "precision" not in row[0]]
    cells = [row[1] for row in section(contents, "Found and true").tables[0].rows]
    assert [f"{weight[0]:g}", f"{weight[1]:g}", "not known", "not known"] == cells


@pytest.mark.parametrize("weighted", [True, False])
def test_many_strata_are_steps(*, weighted: bool) -> None:
    """Every stratum of the labels is a step, with its weights."""
    rng = np.random.default_rng(2)
    count = 400
    lows = 0.02 * rng.integers(20, 50, count)
    match = [bool(each) for each in rng.random(count) < lows]
    weight = (1 / (lows * 2 + 0.1)).round(2).tolist() if weighted else None
    labels = PairLabels(
        list(range(0, 2 * count, 2)),
        list(range(1, 2 * count, 2)),
        match,
        weight=weight,
        stratum=[f"{low:.2f}-{low + 0.02:.2f}" for low in lows],
    )
    found = nk.evaluate([(2 * at, 2 * at + 1) for at in range(count) if lows[at] > 0.79], labels)
    part = section(check(build_evaluation(found)), "By similarity")
    names = [row[0] for row in part.tables[1].rows]
    assert sorted({f"{low:.2f}-{low + 0.02:.2f}" for low in lows}) == names
    weights = np.ones(count) if weight is None else np.array(weight)
    for name, row in zip(names, part.tables[0].rows, strict=True):
        low, high = map(float, name.split("-"))
        here = (lows >= low - 1e-9) & (lows < high - 1e-9)
        assert (f"{here.sum():,}", f"{weights[here].sum():,.0f}") == row[1:3]
        share = float((weights * np.array(match))[here].sum() / weights[here].sum())
        # Three digits; a share of half a unit may be rounded either way.
        assert float(row[3]) == pytest.approx(share, abs=5.001e-4)
    cells = sum(float(cell.replace(",", "")) for row in part.tables[1].rows for cell in row[1:])
    assert cells == pytest.approx(weights.sum(), rel=0.01)
    # Precision and recall of each threshold, and the best F1, by their definitions.
    true = np.array(match)
    best = 0.0
    for row in part.charts[1].rows:
        taken = lows >= float(row[0]) - 1e-9
        hits = weights[taken & true].sum()
        recall, precision = hits / weights[true].sum(), hits / weights[taken].sum()
        assert (f"{recall:.4f}", f"{precision:.4f}") == (row[1], row[3])
        best = max(best, 2 * precision * recall / (precision + recall))
    assert part.sentences[1].startswith(f"F1 is highest, {best:.3f}, at a threshold of ")


@pytest.fixture(scope="module")
def run() -> tuple[Run, list[str]]:
    """A run with near misses."""
    texts = corpus()
    result = nk.dedup(texts, threshold=0.8, near_misses="auto")
    return Run.from_texts(result, texts), texts


def count_pairs(run: Run, step: Step, truth: Any) -> list[float]:
    """Count the pairs of a step of similarity, found or not, by a function that returns whether two rows match."""
    pairs = near_pairs(run)
    cells = [0.0] * 4
    assert step.low is not None
    assert step.high is not None
    rows = zip(pairs.left, pairs.right, pairs.similarity, pairs.match, pairs.weight, strict=True)
    for left, right, similarity, match, weight in rows:
        judged = truth(str(left), str(right))
        if judged is not None and step.low <= similarity + 1e-9 < step.high + (step.high == 1) * 1e-6:
            cells[(0 if match else 2) + (0 if judged else 1)] += float(weight)
    return cells


def test_pairs_of_a_run_by_similarity(run: tuple[Run, list[str]]) -> None:
    """Counts equal those of clusters, complete pairs, labelled pairs and another run, with weights of near misses."""
    result_run, texts = run
    family = {str(at): " ".join(text.replace("x", "").split()[:5]) for at, text in enumerate(texts)}
    clusters = ClusterLabels(family.keys(), family.values())
    some = dict(list(family.items())[::2])
    labelled = [
        (str(a), str(b)) for a, b in zip(near_pairs(result_run).left, near_pairs(result_run).right, strict=True)
    ][::2]
    match = [family[a] == family[b] for a, b in labelled]
    true = [pair for pair, same in zip(labelled, match, strict=True) if same]
    left, right = ([pair[side] for pair in labelled] for side in range(2))
    other = DedupRun(clusters, set(family), [], 0, None)
    cases: list[tuple[Any, str, Any]] = [
        (clusters, "auto", lambda a, b: family[a] == family[b]),
        (other, "auto", lambda a, b: family[a] == family[b]),
        (
            ClusterLabels(some.keys(), some.values()),
            "auto",
            lambda a, b: family[a] == family[b] if a in some and b in some else None,
        ),
        (
            PairLabels(left, right, match),
            "unjudged",
            lambda a, b: family[a] == family[b] if (a, b) in labelled or (b, a) in labelled else None,
        ),
        (PairLabels([a for a, _ in true], [b for _, b in true]), "auto", lambda a, b: (a, b) in true or (b, a) in true),
    ]
    for known, unlisted, truth in cases:
        steps = group_by_similarity(result_run, known, unlisted)  # type: ignore[arg-type]  # one of the three
        assert len(near_pairs(result_run)) == sum(step.pairs for step in steps)
        for step in steps:
            totals = [cell.total for cell in step.cells]
            assert totals == pytest.approx(count_pairs(result_run, step, truth))
            assert (step.judged == 0) == (sum(totals) == 0)
    assert any(step.cells[2].total + step.cells[3].total > 0 for step in group_by_similarity(result_run, clusters))
    found = nk.evaluate({str(at): str(at) for at in range(len(texts))}, clusters)
    part = section(check(build_evaluation(found, steps=group_by_similarity(result_run, clusters))), "By similarity")
    assert ("similarity", "found, match", "found, no match", "not found, match", "not found, no match") == part.tables[
        1
    ].columns
    nothing = WeightSums(0.0, 0.0)
    assert not [
        each
        for each in build_evaluation(
            found, steps=[Step("0.8-0.9", 0.8, 0.9, (nothing, nothing, nothing, nothing), 0, 3)]
        ).sections
        if each.title == "By similarity"
    ]


def index(bits: int, radius: int) -> nk.HammingIndex:
    rng = np.random.default_rng(1)
    hamming_index = nk.HammingIndex(bits, radius=radius)
    hamming_index.add(np.arange(60_000), rng.integers(0, 2**63, 60_000, dtype=np.uint64) * np.uint64(2))
    hamming_index.search(np.zeros(1, np.uint64), radius=radius)
    return hamming_index


def test_plans_are_tables_of_what_explain_returns() -> None:
    """Single values are rows of a table; mappings, also those of lists, have their own."""
    about = index(64, 3).explain(3)
    contents = check(build_plan(about, "corpus.nks"))
    assert "Plan of corpus.nks" == contents.title
    tables = {table.title: table.rows for table in section(contents, "Plan").tables}
    assert ("fingerprints", "60,000") in tables["corpus.nks"]
    part, methods = about["parts"][0], about["parts"][0]["methods"]
    assert ("method", part["method"]) in tables["corpus.nks: parts, 1"]
    assert {f"corpus.nks: parts, 1: methods: {name}" for name in methods} <= tables.keys()
    X = np.random.default_rng(0).standard_normal((500, 16)).astype(np.float32)
    digests = nk.DigestIndex()
    digests.add(["a"], [nk.ssdeep.hash(bytes(range(256)) * 40)])
    for explained in (
        nk.LSHIndex(nk.families.PStable(), num_tables=4, hashes_per_table=3).fit(X).explain(),
        nk.LSHIndex(nk.families.Hyperplane()).fit(X).explain(),
        nk.BandIndex(128, threshold=0.8).explain(),
        digests.explain(),
    ):
        rows = section(check(build_plan(explained)), "Plan").tables[0].rows
        singles = [key for key, value in explained.items() if not isinstance(value, dict)]
        assert [key.replace("_", " ") for key in singles] == [name for name, _ in rows]


def test_labels_that_a_page_exports_are_read(tmp_path: Path) -> None:
    """Strata and weights of the file are rows of the page."""
    path = tmp_path / "labels.tsv"
    path.write_text(
        "left\tright\tmatch\tsimilarity\tstratum\tweight\tremoved\n"
        "a\tb\t1\t0.81\t0.80-0.82\t2\t1\nc\td\t0\t0.79\t0.78-0.80\t3\t0\ne\tf\tunsure\t0.79\t0.78-0.80\t3\t0\n"
    )
    labels = read_judgements(path)
    assert isinstance(labels, PairLabels)
    part = section(build_evaluation(nk.evaluate([("a", "b")], labels)), "By similarity")
    assert [("0.78-0.80", "0", "0", "0", "3"), ("0.80-0.82", "2", "0", "0", "0")] == part.tables[1].rows


def test_pages_open_without_a_fault(
    browser: Browser, tuned: nk.quality.Tuning, run: tuple[Run, list[str]], tmp_path: Path
) -> None:
    """There are no errors, requests, horizontal scrolling or violations found by axe."""
    result_run, texts = run
    truth = ClusterLabels(range(len(texts)), [" ".join(text.replace("x", "").split()[:5]) for text in texts])
    scores = nk.evaluate({at: at for at in range(len(texts))}, truth)
    for contents in (
        build_tuning(tuned, "<script>alert(1)</script>", recall=0.95),
        build_evaluation(scores, "clean", "labels.tsv", group_by_similarity(result_run, truth)),
        build_plan(index(64, 3).explain(3)),
    ):
        path = write_page(contents, tmp_path)
        with open_page(browser, path, width=320, color_scheme="dark", bypass_csp=True) as visit:
            assert contents.title == visit.text("h1")
            assert (0, []) == (visit.overflow(), visit.faults())
            visit.page.set_viewport_size({"width": 1280, "height": 900})
            visit.page.emulate_media(color_scheme="light")
            assert (0, []) == (visit.overflow(), visit.faults())


def test_files_by_score(tmp_path: Path) -> None:
    """Steps of a run of files are steps of the score."""
    data = b"".join(b"line %d of a file that will change a little\n" % number for number in range(400))
    rows = ["id,cluster"]
    for number in range(4):
        path = tmp_path / f"{number}.txt"
        path.write_bytes(data.replace(b"line %d " % (90 * number + 50), b"LINE, edited "))
        rows.append(f"{path},{number // 2}")
    (tmp_path / "truth.csv").write_text("\n".join(rows) + "\n")
    files = sorted(tmp_path.glob("*.txt"))
    succeed("dedup", "--family", "ssdeep", *files, "--out", tmp_path / "clean", "--quiet")
    steps = group_by_similarity(Run.from_folder(tmp_path / "clean"), read_judgements(tmp_path / "truth.csv"))
    assert 3 == sum(step.judged for step in steps)
    assert (1.0, 2.0) == (sum(step.cells[0].total for step in steps), sum(step.cells[1].total for step in steps))
    assert all(step.name == f"{step.low:.0f}-{step.high:.0f}" and (step.low or 0) > 50 for step in steps)
