"""Tests of `nearkin recipe evaluate` and `nearkin recipe tune`."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest

import nearkin as nk
from command import TEXTS, call, check_message, run, succeed
from corpora import write_rows

TRUTH = "left\tright\tmatch\na\tc\t1\na\td\t1\na\tb\t0\nd\te\t1\n"


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    path = tmp_path / "truth.tsv"
    path.write_text(TRUTH)
    return path


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "jsonl.gz"])
def test_a_runs_folder_is_scored_in_every_format(tmp_path: Path, truth: Path, form: str) -> None:
    """Two true pairs are found, one is missed, and one false pair is not found."""
    out = tmp_path / "out"
    corpus = write_rows(tmp_path / f"corpus.{form}", ({"id": name, "text": text} for name, text in TEXTS.items()))
    assert 0 == call("dedup", corpus, "-o", out, "--id-column", "id", "-q").code
    done = succeed("recipe", "evaluate", out, "--truth", truth, "--json")
    result = json.loads(done.data)
    expected = ("true_positives", "false_positives", "false_negatives", "true_negatives")
    assert [2, 0, 1, 1] == [result["pairwise"][name] for name in expected]
    assert (2, 2) == (result["links"]["hits"], result["links"]["of"])
    assert (0, 0) == (result["counts"]["unknown"], result["counts"]["missing"])
    shown = call("recipe", "evaluate", out, "--truth", truth)
    assert "recall    0.667" in shown.out


def test_documents_without_ids_are_known_by_their_rows(tmp_path: Path) -> None:
    """Documents without ids are identified by row number, files by path."""
    texts = ["one two three four five six", "one two three four five six", "something else"]
    lines, folder = tmp_path / "lines.txt", tmp_path / "files"
    lines.write_text("\n".join(texts) + "\n")
    folder.mkdir()
    for at, text in enumerate(texts):
        (folder / f"f{at}.md").write_text(text)
    for name, ids in (("lines.txt", ["0", "1", "2"]), ("files", ["f0.md", "f1.md", "f2.md"])):
        truth = tmp_path / f"{name}.csv"
        truth.write_text("id,cluster\n" + "".join(f"{each},{at // 2}\n" for at, each in enumerate(ids)))
        assert 0 == call("dedup", tmp_path / name, "-o", tmp_path / f"{name}-out", "-q").code
        done = call("recipe", "evaluate", tmp_path / f"{name}-out", "--truth", truth, "--json")
        result = json.loads(done.data)
        assert (0, 0, 3) == (result["counts"]["unknown"], result["counts"]["missing"], result["bcubed"]["documents"])
        assert 1.0 == result["bcubed"]["f1"]


def test_pairs_that_were_printed_are_scored(tmp_path: Path, truth: Path) -> None:
    """The output of `nearkin text pairs --json` is a table of pairs."""
    corpus = write_rows(tmp_path / "corpus.jsonl", ({"id": name, "text": text} for name, text in TEXTS.items()))
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_bytes(call("text", "pairs", corpus, "--id-column", "id", "--json").data)
    result = json.loads(call("recipe", "evaluate", pairs, "--truth", truth, "--json").data)
    assert 2 == result["pairs"]["true_positives"]


def test_wrong_usage_ends_with_its_code(tmp_path: Path, truth: Path) -> None:
    """A wrong option returns 2, a missing file 1."""
    assert 2 == call("recipe", "evaluate", truth, "--truth", truth, "--unlisted", "maybe").code
    assert 2 == call("recipe", "evaluate", truth, "--truth", truth, "--min-similarity", "0.5").code
    check_message(1, "not a folder that nearkin dedup wrote", "recipe", "evaluate", tmp_path, "--truth", truth)


def test_tune_ends_with_a_command_that_runs(similar: Path, tmp_path: Path) -> None:
    """The last line is a command with the radius and recipe of --json."""
    import shlex

    tune = ("recipe", "tune", similar, "--threshold", "0.6", "--bits", "64", "--bits", "128")
    done = succeed(*tune)
    command = shlex.split(done.out.splitlines()[-1])
    result = call(*tune, "--json").json()
    assert str(result["chosen"]["radius"]) == command[command.index("--radius") + 1]
    assert result["chosen"]["recipe"] == command[command.index("--recipe") + 1]
    assert 0 == run(*command[1:], "--overwrite", "-q", cwd=tmp_path).returncode
    assert (tmp_path / "clean" / "kept.jsonl").is_file()


def test_tune_advises_what_reads_the_same_and_overwrites_nothing(similar: Path, tmp_path: Path) -> None:
    """The command has the same reading options and inputs, and a new output folder."""
    import shlex

    inputs = [tmp_path / "a b.csv", tmp_path / "c.csv"]
    rows = [json.loads(line) for line in similar.read_text().splitlines()]
    for path, part in zip(inputs, (rows[::2], rows[1::2]), strict=True):
        path.write_text("no;body\n" + "".join(f"{row['id']};{row['text']}\n" for row in part))
    (tmp_path / "clean").mkdir()
    (tmp_path / "clean-2").write_text("")
    options = ("--id-column", "no", "--text-column", "body", "--delimiter", ";", "--html", "--threshold", "0.6")
    page = tmp_path / "page.html"
    done = run("recipe", "tune", *inputs, *options, "--bits", "64", "--report", page, cwd=tmp_path)
    assert 0 == done.returncode, done.stderr
    line = done.stdout.decode().splitlines()[-1]
    command = shlex.split(line)
    reading = ["--text-column", "body", "--id-column", "no", "--delimiter", ";", "--html"]
    assert ["nearkin", "dedup", *map(str, inputs), *reading, "--out", "clean-3"] == command[:13]
    assert line in html.unescape(page.read_text())
    assert 0 == run(*command[1:], "-q", cwd=tmp_path).returncode
    assert (tmp_path / "clean-3" / "kept.csv").is_file()


def test_tune_measures_bands(similar: Path, tmp_path: Path) -> None:
    """A minhash recipe gives a table of bands and a command; labels are an error."""
    import shlex

    corpus = similar
    options = ("--recipe", "word:1|binary|xxh3|minhash:64:fast", "--num-perm", "64", "--threshold", "0.6")
    done = call("recipe", "tune", corpus, *options)
    command = shlex.split(done.out.splitlines()[-1])
    result = json.loads(call("recipe", "tune", corpus, *options, "--json").data)
    assert command == shlex.split(result["command"].replace("CORPUS", str(corpus)))
    command[command.index("--out") + 1] = str(tmp_path / "clean")
    assert 0 == call(*command[1:]).code
    assert {64} == {row["num_perm"] for row in result["curve"]}
    assert 2 == call("recipe", "tune", corpus, *options, "--truth", corpus).code


def test_tune_takes_labels(similar: Path, tmp_path: Path) -> None:
    """Labels are pairs by id; the folder of a run is an error."""
    labels = tmp_path / "labels.csv"
    labels.write_text("left,right,match\nt1,t2,1\nt3,t4,1\nt5,t9,0\n")
    tune = ("recipe", "tune", similar)
    options = ("--id-column", "id", "--truth", labels, "--recipe", "word:1", "--bits", "64")
    result = call(*tune, *options, "--json").json()
    assert ("f1", 2) == (result["goal"], result["truth"]["pairs"])
    assert {"features", "threshold", "precision", "recall", "f1"} == set(result["thresholds"][0])
    assert "F1" in call(*tune, *options).out
    assert 2 == call(*tune, "--recall", "0").code
    assert 0 == call("dedup", similar, "-o", tmp_path / "out", "-q").code
    check_message(1, "which is not the truth", *tune, "--truth", tmp_path / "out")


@pytest.fixture
def cleaned(corpus: Path, tmp_path: Path) -> Path:
    """Write the output folder of a run that removed c and d as duplicates of a."""
    assert 0 == call("dedup", corpus, "-o", tmp_path / "cleaned", "--id-column", "id", "-q").code
    return tmp_path / "cleaned"


def counts(result: Any) -> list[int]:
    names = ("true_positives", "false_positives", "false_negatives", "true_negatives")
    return [result["pairwise"][name] for name in names]


def test_columns_of_the_truth_have_names(cleaned: Path, tmp_path: Path) -> None:
    """Columns of pairs, of a similarity and of clusters can be set."""
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("one,two,alike\na,c,0.9\na,d,1.0\na,b,0.1\n")
    options = ("--pair-columns", "one,two", "--label-column", "alike", "--min-similarity", "0.8")
    assert [2, 0, 0, 1] == counts(call("recipe", "evaluate", cleaned, "--truth", pairs, *options, "--json").json())
    clusters = tmp_path / "clusters.csv"
    clusters.write_text("key,work\na,1\nb,2\nc,1\nd,1\ne,3\n")
    named = ("--id-column", "key", "--cluster-column", "work")
    assert 1.0 == call("recipe", "evaluate", cleaned, "--truth", clusters, *named, "--json").json()["bcubed"]["f1"]


def test_what_the_truth_does_not_list_is_judged_or_not(cleaned: Path, tmp_path: Path) -> None:
    """An unlisted pair counts as false, or is ignored."""
    truth = tmp_path / "truth.csv"
    truth.write_text("left,right\na,c\n")
    positives = {}
    for unlisted in ("false", "unjudged", "auto"):
        result = call("recipe", "evaluate", cleaned, "--truth", truth, "--unlisted", unlisted, "--json").json()
        positives[unlisted] = result["pairwise"]["false_positives"]
    assert positives["false"] == positives["auto"] > positives["unjudged"] == 0


def test_evaluation_in_words_names_the_measures(cleaned: Path, truth: Path) -> None:
    """Precision, recall and F1 are printed with intervals."""
    shown = call("recipe", "evaluate", cleaned, "--truth", truth).out
    assert all(word in shown for word in ("precision", "recall", "F1"))
    assert call("recipe", "evaluate", cleaned, "--truth", cleaned, "--json").json()["bcubed"]["f1"] == 1.0


@pytest.mark.parametrize("columns", ["left", "left,", ",right", "a,b,c", ""])
def test_two_columns_are_two_names(cleaned: Path, truth: Path, columns: str) -> None:
    """--pair-columns takes two names separated by a comma."""
    done = call("recipe", "evaluate", cleaned, "--truth", truth, "--pair-columns", columns)
    assert (2, True) == (done.code, "two names separated by a comma, such as left,right" in done.err)


def test_options_of_tune_change_what_is_measured(similar: Path) -> None:
    """Widths, features, sample, threshold and recall change the JSON output."""
    base = ("recipe", "tune", similar, "-q", "--json")
    result = call(*base, "-t", "0.6", "--bits", "64", "--bits", "192", "--recipe", "word:1").json()
    assert [64, 192] == sorted(nk.Recipe(row["recipe"]).bits for row in result["settings"])
    assert {1} == {nk.Recipe(row["recipe"]).n for row in result["settings"]}
    assert {0.6} == {row["threshold"] for row in result["settings"]}
    assert 10 == call(*base, "-t", "0.6", "--bits", "64", "--sample", "10").json()["truth"]["sample"]
    both = call(*base, "-t", "0.6", "--bits", "64", "--recipe", "word:1", "--recipe", "char:4").json()
    assert 2 == len(both["settings"])
    expected = [call(*base, "-t", "0.6", "--bits", "64", "--recall", recall).json() for recall in ("0.2", "0.99")]
    radii = [row["radius"] for item in expected for row in item["settings"]]
    assert radii[1] is None or radii[0] <= radii[1]


def test_tune_gives_the_same_for_a_seed(similar: Path) -> None:
    """Results with one seed are equal, except for times."""

    def measured(seed: int) -> Any:
        options = ("--sample", "12", "--bits", "64", "-t", "0.6", "--seed", seed, "--threads", "1", "--json")
        result = call("recipe", "tune", similar, *options).json()
        return [(row["radius"], row["recall"], row["recall_low"]) for row in result["settings"]]

    assert measured(1) == measured(1)


def test_tune_says_what_it_measured(similar: Path) -> None:
    """The output has the sample size, a table with units, and the command."""
    done = call("recipe", "tune", similar, "-t", "0.6", "--bits", "64", "--id-column", "id", "--format", "jsonl")
    assert done.lines[0].startswith("17 of 17 documents measured, 136 true pairs: ")
    assert ["recipe", "bytes", "threshold", "radius"] == done.lines[1].split()[:4]
    assert "candidates: per document; hash, verify: CPU seconds per million documents" in done.lines
    assert done.lines[-1].startswith(f"nearkin dedup {similar}")
    bands = call("recipe", "tune", similar, "-t", "0.6", "--recipe", "word:1|binary|xxh3|minhash:64")
    assert ["values", "bands", "rows"] == bands.lines[1].split()[:3]
    assert "candidates: per document; nominal: the recall to request of a deduplication" in bands.lines


def test_tune_refuses_what_does_not_go_together(similar: Path, tmp_path: Path) -> None:
    """Bands with bits or labels, two recipes with bands, and invalid shares are errors."""
    labels = tmp_path / "labels.csv"
    labels.write_text("left,right\nt1,t2\n")
    for options in (
        ("--recipe", "minhash", "--bits", "64"),
        ("--num-perm", "64", "--truth", labels),
        ("--recipe", "minhash", "--recipe", "default"),
    ):
        done = call("recipe", "tune", similar, *options)
        assert (2, True) == (done.code, "one with minhash, without --truth and --bits" in done.err)
    for option in (("--recall", "1.5"), ("--threshold", "0"), ("--sample", "0"), ("--bits", "0")):
        assert 2 == call("recipe", "tune", similar, *option).code, option
    assert 1 == call("recipe", "tune", similar, "--truth", tmp_path / "none.csv").code
    assert 1 == call("recipe", "tune", similar, "--text-column", "missing").code


def test_tune_takes_the_labels_of_a_page(similar: Path, tmp_path: Path) -> None:
    """Both names of the option take exported labels, as does `evaluate`."""
    labels = tmp_path / "labels.tsv"
    header = "left\tright\tmatch\tsimilarity\tstratum\tweight\tremoved\n"
    labels.write_text(
        header + "t1\tt2\t1\t0.9\thigh\t4\t1\nt3\tt4\t1\t0.7\tlow\t20\t0\nt5\tt9\tunsure\t0.7\tlow\t20\t0\n"
    )
    options = ("--id-column", "id", "--bits", "64", "--recipe", "word:1")
    done = call("recipe", "tune", similar, *options, "--truth", labels, "--json")
    assert any("weighted: 2 labels stand for 24 pairs" in note for note in done.json()["notes"])
    assert 0 == call("dedup", similar, "-o", tmp_path / "clean", "--id-column", "id", "-q").code
    scores = call("recipe", "evaluate", tmp_path / "clean", "--truth", labels, "--json").json()
    assert (2, 24.0, 1) == tuple(
        scores["counts"][name] for name in ("weighted_labels", "weighted_pairs", "unsure_labels")
    )
    assert ["high", "low"] == [each["stratum"] for each in scores["strata"]]
    shown = call("recipe", "evaluate", tmp_path / "clean", "--truth", labels).lines
    at = shown.index("labels by stratum, and how many pairs of each kind were found:")
    names = ["stratum", "pairs", "labels", "match", "interval", "right", "wrong", "missed"]
    assert [names, ["high", "4", "1", "1.000", "0.207 to 1.000"]] == [
        shown[at + 1].split("\t"), shown[at + 2].split("\t")[:5],
    ]  # fmt: skip
    labels.write_text("left\tright\tmatch\tweight\nt1\tt2\t1\tlots\n")
    for command in (("recipe", "tune", similar), ("recipe", "evaluate", tmp_path / "clean")):
        check_message(1, "record 1 has the weight 'lots'; weights are numbers above 0", *command, "--truth", labels)


def test_tune_takes_labels_from_named_columns(similar: Path, tmp_path: Path) -> None:
    """Labels may be pairs with a number, or clusters."""
    base = ("recipe", "tune", similar, "--id-column", "id", "--bits", "64", "--recipe", "word:1", "--json")
    labels = tmp_path / "labels.csv"
    labels.write_text("one,two,alike\nt1,t2,0.9\nt3,t4,0.9\nt5,t9,0.1\n")
    options = ("--truth", labels, "--pair-columns", "one,two", "--label-column", "alike", "--min-similarity", "0.5")
    assert 2 == call(*base, *options).json()["truth"]["pairs"]
    clusters = tmp_path / "clusters.csv"
    clusters.write_text("id,work\n" + "".join(f"t{i},{i // 2}\n" for i in range(17)))
    assert 8 == call(*base, "--truth", clusters, "--cluster-column", "work").json()["truth"]["pairs"]


def test_a_page_of_an_evaluation(tmp_path: Path) -> None:
    """The page is written in addition to the output, and replaces only a page."""
    pytest.importorskip("jinja2", reason="jinja2 is not installed (nearkin[report])")
    (tmp_path / "found.csv").write_text("a,b\n1,2\n1,3\n")
    (tmp_path / "truth.csv").write_text("a,b,match\n1,2,1\n1,3,0\n")
    arguments = ("recipe", "evaluate", tmp_path / "found.csv", "--truth", tmp_path / "truth.csv")
    page = tmp_path / "scores.html"
    for _ in range(2):
        done = succeed(*arguments, "--report", page)
        assert call(*arguments).out == done.out
        assert "precision 0.500, recall 1.000</h1>" in page.read_text()
    for path, message in (
        (tmp_path / "truth.csv", "a name that ends with .html"),
        (tmp_path / "none" / "page.html", "a file in a folder that exists"),
    ):
        check_message(2, message, *arguments, "--report", path)
    assert "a,b,match\n1,2,1\n1,3,0\n" == (tmp_path / "truth.csv").read_text()
    (tmp_path / "folder.html").mkdir()
    assert "a file; this is a folder" in call(*arguments, "--report", tmp_path / "folder.html").err


def test_a_page_of_a_run_has_its_pairs_by_similarity(tmp_path: Path) -> None:
    """The folder of a run provides similarities, so labels do not need them."""
    pytest.importorskip("jinja2", reason="jinja2 is not installed (nearkin[report])")
    words = [f"word{number}" for number in range(17)]
    rows = [{"id": f"d{at}", "text": " ".join([*words, f"w{at}"]), "work": at % 2} for at in range(6)]
    corpus = write_rows(tmp_path / "corpus.jsonl", rows)
    succeed("dedup", corpus, "--out", tmp_path / "clean", "--id-column", "id", "--threshold", "0.7", "--quiet")
    page = tmp_path / "scores.html"
    done = call(
        *("recipe", "evaluate", tmp_path / "clean", "--truth", corpus, "--id-column", "id", "--cluster-column", "work"),
        *("--report", page),
    )
    assert 0 == done.code, done.err
    assert "Confusion by similarity" in page.read_text()


def test_a_page_of_a_tuning(similar: Path, tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="jinja2 is not installed (nearkin[report])")
    for options, title in (((), "radius"), (("--recipe", "minhash"), "bands of")):
        page = tmp_path / "tuning.html"
        succeed("recipe", "tune", similar, "--threshold", "0.6", *options, "--quiet", "--report", page)
        assert title in page.read_text().split("</h1>")[0].split("<h1>")[1]
    refused = call("recipe", "tune", similar, "--report", similar)
    assert 2 == refused.code
    assert 17 == len(similar.read_text().splitlines())
