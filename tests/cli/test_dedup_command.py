"""Tests of `nearkin dedup` and `nearkin text pairs`."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import nearkin as nk
from command import ROOT, TEXTS, call, check_message, json_lines, near_texts, run, succeed, write_jsonl
from corpora import read_rows, write_rows


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return the output folder of a run."""
    return tmp_path / "out"


def kept(out: Path) -> list[str]:
    return [row["id"] for row in json_lines(out / "kept.jsonl")]


def summary(out: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return content


def test_dedup_writes_what_is_kept_and_why(corpus: Path, out: Path) -> None:
    """Kept documents are lines of the input; clusters name the kept document; the summary has counts."""
    done = call("dedup", corpus, "--out", out, "--id-column", "id", "--source-column", "from")
    assert (0, "") == (done.code, done.out), done.err
    original = corpus.read_text().splitlines()
    assert [original[0], original[1], original[4]] == (out / "kept.jsonl").read_text().splitlines()
    clusters = json_lines(out / "clusters.jsonl")
    assert [("a", "a", "kept"), ("c", "a", "same-letters"), ("d", "a", "exact")] == [
        (row["id"], row["representative"], row["reason"]) for row in clusters
    ]
    assert [("c", "a"), ("d", "a")] == [(row["id"], row["representative"]) for row in json_lines(out / "pairs.jsonl")]
    counts = json.loads((out / "summary.json").read_text())
    assert (5, 3, 2, 1, 0) == tuple(
        counts[key] for key in ("documents", "kept", "removed", "without_features", "malformed")
    )
    assert nk.__version__ == counts["version"]
    assert nk.Recipe(counts["recipe"]).digest == counts["recipe_digest"]
    assert ["start", "hash", "read", "collapse", "cluster", "result", "write", "other"] == list(counts["timings"])
    assert [{"source": "x", "documents": 5, "removed": 2, "share": 0.4}] == counts["sources"]
    expected = {"inputs": [str(corpus)], "format": "jsonl", "text_column": "text", "id_column": "id"}
    assert expected == {key: counts[key] for key in expected}
    assert ("kept.jsonl", corpus.stat().st_size, []) == (
        counts["kept_file"],
        counts["bytes_read"],
        counts["malformed_first"],
    )


def test_the_summary_on_a_terminal_says_what_happened(corpus: Path, tmp_path: Path) -> None:
    """Standard error gets counts, reasons, the source of candidates, the recipe and an example."""
    done = call("dedup", corpus, "-o", tmp_path / "out", "--id-column", "id")
    lines = [" ".join(line.split()) for line in done.err.splitlines() if line.strip()]
    assert lines[0].startswith("5 documents in ")
    assert [
        f"3 kept in {tmp_path / 'out' / 'kept.jsonl'}",
        "2 removed (40.0%) in 1 cluster, the largest of 3",
        "1 of them exact copies",
        "1 of them differ from a kept document only in case, spacing or punctuation",
        "0 of them near-duplicates: jaccard similarity of at least 0.8",
        "1 document has no text to compare and was kept; --empty drop removes it",
    ] == lines[1:7]
    assert "recipe " + str(nk.Recipe().with_family("minhash")) == lines[8]
    assert "for example, c is removed as a duplicate of a (same-letters, similarity 1.00)" == lines[9]
    assert "" == call("dedup", corpus, "-o", tmp_path / "quiet", "-q").err


def test_threads_and_doors_give_the_same_answer(tmp_path: Path) -> None:
    """One thread, the default number of threads and the Python call agree on the sample corpus."""
    sample = ROOT / "samples/licences.jsonl.gz"
    done = run("dedup", sample, "-o", tmp_path / "single", "--id-column", "id", "-q", "--threads", "1")
    assert 0 == done.returncode, done.stderr
    assert 0 == call("dedup", sample, "-o", tmp_path / "default", "--id-column", "id", "-q").code
    single, default = ((tmp_path / name / "clusters.jsonl").read_text() for name in ("single", "default"))
    assert single == default
    with gzip.open(sample, "rt", encoding="utf8") as file:
        rows = [json.loads(line) for line in file]
    result = nk.dedup([row["text"] for row in rows], ids=[row["id"] for row in rows])
    assert [json.loads(line)["id"] for line in single.splitlines()] == result.clusters["id"]


def test_standard_input_and_output(corpus: Path) -> None:
    """The name - reads a pipe and prints kept documents; the summary is printed to standard error."""
    arguments = ("dedup", "-", "--format", "jsonl", "--out", "-", "--id-column", "id")
    for options, said in (((), True), (("--json",), True), (("--quiet",), False)):
        done = succeed(*arguments, *options, stdin=corpus.read_bytes())
        assert ["a", "b", "e"] == [row["id"] for row in done.objects()]
        assert said == ("removed (40.0%)" in done.err)
        assert "kept in" not in done.err


def test_json_prints_the_summary(corpus: Path, tmp_path: Path) -> None:
    """--json prints one object, which equals summary.json."""
    done = call("dedup", corpus, "--out", tmp_path / "out", "--json")
    assert (summary(tmp_path / "out"), "") == (done.json(), done.err)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("first", ["a", "b", "e"]),
        ("last", ["b", "d", "e"]),
        ("longest", ["b", "c", "e"]),
        ("shortest", ["a", "b", "e"]),
        ("max:n", ["b", "d", "e"]),
        ("min:n", ["a", "b", "e"]),
    ],
)
def test_keep_says_which_stays(corpus: Path, tmp_path: Path, rule: str, expected: list[str]) -> None:
    """Keep rules use the position, the length or a field."""
    assert 0 == call("dedup", corpus, "-o", tmp_path / "out", "--id-column", "id", "--keep", rule).code
    assert expected == kept(tmp_path / "out")


def test_against_names_the_older_document(corpus: Path, out: Path, tmp_path: Path) -> None:
    """A new document that matches an older corpus is removed, and clusters name the older one."""
    new = write_jsonl(tmp_path / "new.jsonl", {"new": TEXTS["b"].upper(), "other": "Quite another matter altogether."})
    older = write_jsonl(tmp_path / "older.jsonl", {"old": "Quite another matter altogether!"})
    done = succeed("dedup", new, "--against", corpus, "-o", out, "--id-column", "id")
    assert ["other"] == kept(out)
    [row] = json_lines(out / "clusters.jsonl")
    assert ("new", "b", "same-letters-old") == (row["id"], row["representative"], row["reason"])
    assert "1 of them match older documents" in done.message
    done = call("dedup", new, "--against", corpus, "--against", older, "-o", out, "--id-column", "id", "--overwrite")
    assert (0, []) == (done.code, kept(out))


def test_the_threshold_decides_what_matches(similar: Path, tmp_path: Path) -> None:
    """A low threshold removes all but one document, a high one none; -t is the short form."""
    for option, count in (("--threshold", 0.2), ("-t", 0.2), ("--threshold", 1.0)):
        out = tmp_path / f"{option}{count}"
        assert 0 == call("dedup", similar, "-o", out, option, count, "--recipe", "word:1", "--radius", 128).code
        assert (16 if count == 0.2 else 0) == summary(out)["removed"]


def test_the_radius_bounds_candidates(similar: Path, tmp_path: Path) -> None:
    """Radius 0 has no near-duplicate candidates; the summary contains the radius, given or derived."""
    for radius, candidates in ((0, True), (128, False)):
        out = tmp_path / str(radius)
        assert 0 == call("dedup", similar, "-o", out, "--radius", radius, "-t", 0.6).code
        assert (radius, candidates) == (summary(out)["radius"], 0 == summary(out)["candidates"])
    done = call("dedup", similar, "-o", tmp_path / "none", "-t", 0.6, "--family", "simhash")
    assert f"within {summary(tmp_path / 'none')['radius']} bits" in done.message


def test_recipe_family_and_bits_make_the_recipe(corpus: Path, tmp_path: Path) -> None:
    """Each option changes one field of the recipe; the summary has the complete recipe."""
    made = {
        (): nk.Recipe().with_family("minhash"),
        ("--family", "simhash"): nk.Recipe(),
        ("--bits", "64"): nk.Recipe().with_(bits=64),
        ("--recipe", "simhash-pypi"): nk.Recipe.preset("simhash-pypi"),
        ("--recipe", "word:2|count|xxh3|simhash:64", "--bits", "256"): nk.Recipe("word:2|count|xxh3|simhash:256"),
        ("--family", "simhash:192"): nk.Recipe().with_(bits=192),
        ("--family", "minhash:64"): nk.Recipe().with_text("minhash:64:fast"),
        ("--family", "minhash:64:one"): nk.Recipe().with_text("minhash:64"),
    }
    for options, recipe in made.items():
        out = tmp_path / "-".join(["out", *options]).replace(":", "_").replace("|", "_")
        assert 0 == call("dedup", corpus, "-o", out, *options).code
        assert (str(recipe), recipe.digest) == (summary(out)["recipe"], summary(out)["recipe_digest"])


def test_recall_makes_bands_and_radius(corpus: Path, out: Path, tmp_path: Path) -> None:
    """The summary contains the recall; --recall with --radius is an error."""
    done = call("dedup", corpus, "-o", out, "--family", "minhash", "--recall", "0.99")
    content = summary(out)
    assert (0, True) == (done.code, float(str(content["expected_recall"])) >= 0.99)
    assert f"{content['num_bands']} bands of {content['num_rows']}, recall " in done.message
    assert 0 == call("dedup", corpus, "-o", tmp_path / "other", "--recall", "0.9", "--family", "simhash").code
    other = summary(tmp_path / "other")
    assert (25, True) == (other["radius"], 0.9 <= float(str(other["expected_recall"])))
    check_message(2, "recall", "dedup", corpus, "-o", tmp_path / "third", "--recall", "0.99", "--radius", "3")


@pytest.mark.parametrize("measure", ["jaccard", "containment", "indel", "signature", "none"])
def test_candidates_are_verified_by_a_measure(corpus: Path, out: Path, measure: str) -> None:
    """Each measure removes the copy with other punctuation; the summary says if nothing verifies."""
    done = call("dedup", corpus, "-o", out, "--id-column", "id", "--verify", measure)
    assert (0, measure) == (done.code, summary(out)["verify"])
    assert ["a", "b", "e"] == kept(out)
    assert ("not verified: " in done.message) == (measure == "none")


def test_containment_has_candidates_of_its_own(tmp_path: Path) -> None:
    """Containment removes a text inside another one, and reports the recall."""
    whole = " ".join(f"word{i}" for i in range(200))
    rows = [{"id": "part", "text": whole[300:700]}, {"id": "whole", "text": whole}, {"id": "other", "text": "else"}]
    corpus = write_rows(tmp_path / "texts.jsonl", rows)
    out = tmp_path / "out"
    done = call("dedup", corpus, "-o", out, "--measure", "containment", "--keep", "longest", "--id-column", "id")
    assert (0, ["whole", "other"]) == (done.code, kept(out))
    assert (0.95, 32) == (summary(out)["expected_recall"], summary(out)["sketch_size"])
    assert "by sketches of 32 features, recall 95.0% at the threshold" in done.message
    done = call("text", "pairs", corpus, "--measure", "containment", "--id-column", "id", "--recall", 0.99)
    assert (0, ["part", "whole"]) == (done.code, done.out.split("\t")[:2])
    assert 2 == call("dedup", corpus, "-o", out, "--measure", "containment", "--radius", 3, "--overwrite").code
    assert 2 == call("text", "pairs", corpus, "--measure", "overlap").code


def test_clusters_are_centred_or_chains(similar: Path, tmp_path: Path) -> None:
    """Components include chains."""
    for rule in ("absorb", "components"):
        assert 0 == call("dedup", similar, "-o", tmp_path / rule, "--cluster", rule, "-t", 0.6).code
        assert rule == summary(tmp_path / rule)["cluster"]
    assert int(str(summary(tmp_path / "components")["kept"])) <= int(str(summary(tmp_path / "absorb")["kept"]))


def test_links_are_those_of_the_removed_or_all(similar: Path, tmp_path: Path) -> None:
    """With --links all, neither document of a pair needs to be kept."""
    for links, columns in (("representatives", {"id", "representative"}), ("all", {"left", "right"})):
        out = tmp_path / links
        options = ("-t", "0.2", "--radius", "128", "--recipe", "word:1")
        assert 0 == call("dedup", similar, "-o", out, "--links", links, *options).code
        rows = json_lines(out / "pairs.jsonl")
        assert columns == set(rows[0]) - {"distance", "similarity"}
        assert (16 if links == "representatives" else 17 * 16 // 2) == len(rows)


def test_a_source_that_loses_much_more_is_warned_of(tmp_path: Path) -> None:
    """Removed documents are counted by a column, with a warning for outliers."""
    rows = [{"text": "the same text again and again", "from": "copies"}] * 30
    rows += [{"text": f"text {i} of its own {i * i} {i * 7919}", "from": f"site{i % 5}"} for i in range(200)]
    path = write_rows(tmp_path / "corpus.jsonl", rows)
    done = call("dedup", path, "-o", tmp_path / "out", "--source-column", "from", "-q")
    warnings = summary(tmp_path / "out")["warnings"]
    assert isinstance(warnings, list)
    assert [f"nearkin: warning: {text}" for text in warnings] == done.err.splitlines()
    assert any("copies" in text for text in warnings)


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "txt", "jsonl.gz"])
def test_what_is_kept_has_the_format_of_the_input(out: Path, tmp_path: Path, form: str) -> None:
    """The format follows from the file name; tables have the same format."""
    path = write_rows(tmp_path / f"corpus.{form}", ({"id": name, "text": text} for name, text in TEXTS.items()))
    columns = () if form == "txt" else ("--text-column", "text", "--id-column", "id")
    done = call("dedup", path, "-o", out, *columns, "--json")
    assert (0, 3, f"kept.{form}") == (done.code, done.json()["kept"], done.json()["kept_file"]), done.err
    assert (out / f"kept.{form}").is_file()


@pytest.mark.parametrize("inputs", ["data", "data/*", "data/*.jsonl data/2.csv data/3.parquet"])
def test_formats_are_read_one_after_another(inputs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for inputs of several formats names the runs, and these keep what one run keeps of one format."""
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    texts = {**TEXTS, "f": "A text that none of the other files has."}
    files = {"1.jsonl": "ab", "2.csv": "cf", "3.parquet": "de"}
    for name, keys in files.items():
        write_rows(Path("data", name), ({"id": key, "text": texts[key]} for key in keys))
    said = call("dedup", *inputs.split(), "--out", "out")
    assert (1, False) == (said.code, Path("out").exists())
    for command in (commands := re.findall(r"`nearkin (.+?)`", said.err)):
        succeed(*shlex.split(command))
    outputs = [shlex.split(command)[-1] for command in commands]
    found = [
        row["id"] for out, name in zip(outputs, files, strict=True) for row in read_rows(Path(out, f"kept.{name[2:]}"))
    ]
    assert found == [key for key in "abcfde" if key in nk.dedup(texts.values(), ids=texts).kept] == ["a", "b", "f", "e"]


def test_a_format_is_named_where_names_do_not_tell(tmp_path: Path) -> None:
    """--format sets the format."""
    path = tmp_path / "corpus.data"
    path.write_text("\n".join(TEXTS.values()))
    assert 0 == call("dedup", path, "-o", tmp_path / "out", "--format", "txt", "-q").code


def test_malformed_records_are_reported_with_file_and_line(corpus: Path, tmp_path: Path) -> None:
    """Unreadable records are skipped, counted and named; with --strict the first is an error."""
    corpus.write_text(corpus.read_text() + '{"id": "x", "text": \n{"id": "y", "text": 7}\n')
    done = call("dedup", corpus, "-o", tmp_path / "out", "--id-column", "id")
    assert (1, False) == (done.code, (tmp_path / "out").exists())
    assert "2 of 7 records can't be read, more than 10%; the first: " in done.message
    assert "or allow more by --max-malformed" in done.message
    done = succeed("dedup", corpus, "-o", tmp_path / "out", "--id-column", "id", "--max-malformed", "2")
    rejected = [json.loads(line) for line in (tmp_path / "out" / "rejected.jsonl").read_text().splitlines()]
    assert [(str(corpus), 6), (str(corpus), 7)] == [(bad["file"], bad["line"]) for bad in rejected]
    assert "invalid JSON" in rejected[0]["reason"]
    assert 'column "text" holds a number' in rejected[1]["reason"]
    assert "rejected.jsonl" in summary(tmp_path / "out")["files"]
    assert all(f"skipped: {corpus}, line {line}" in done.err for line in (6, 7))
    assert "2 unreadable records skipped" in done.message
    assert (2, 2) == (summary(tmp_path / "out")["malformed"], len(list(summary(tmp_path / "out")["malformed_first"])))
    strict = call("dedup", corpus, "-o", tmp_path / "strict", "--id-column", "id", "--strict")
    assert (1, True) == (strict.code, "line 6" in strict.err)
    assert not (tmp_path / "strict").exists()
    corpus.write_text(corpus.read_text() + "{\n" * 10)
    many = call("dedup", corpus, "-o", tmp_path / "many", "--id-column", "id", "-q", "--max-malformed", "100%")
    assert (5, True) == (many.err.count("skipped: "), "skipped 12 unreadable records in all" in many.err)


def test_existing_output_is_refused(corpus: Path, out: Path, tmp_path: Path) -> None:
    """A folder with files is only replaced if it is an earlier output and --overwrite is given."""
    assert 0 == call("dedup", corpus, "-o", out).code
    check_message(2, "--overwrite", "dedup", corpus, "-o", out)
    assert 0 == call("dedup", corpus, "-o", out, "--overwrite").code
    # Other files of the user are not changed.
    (out / "notes.txt").write_text("mine")
    assert 0 == call("dedup", corpus, "-o", out, "--overwrite").code
    assert "mine" == (out / "notes.txt").read_text()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "kept.jsonl").write_text("mine")
    assert 2 == call("dedup", corpus, "-o", foreign, "--overwrite").code
    assert "mine" == (foreign / "kept.jsonl").read_text()


def test_the_folder_of_the_output_is_made(corpus: Path, tmp_path: Path) -> None:
    """Missing parent folders are created."""
    out = tmp_path / "deep" / "deeper" / "out"
    assert 0 == call("dedup", corpus, "-o", out, "-q").code
    assert (out / "kept.jsonl").is_file()


def test_pairs_prints_every_verified_pair(corpus: Path) -> None:
    """Each pair, including exact copies, is printed once: left, right, distance, similarity."""
    done = call("text", "pairs", corpus, "--id-column", "id")
    rows = [line.split("\t") for line in done.lines]
    assert [("a", "c"), ("a", "d"), ("c", "d")] == sorted((left, right) for left, right, _, _ in rows)
    assert {("0", "1.0000")} == {(far, alike) for _, _, far, alike in rows}
    printed = call("text", "pairs", corpus, "--id-column", "id", "--json").objects()
    assert [["a", "c", 0, 1.0]] == [list(row.values()) for row in printed if (row["left"], row["right"]) == ("a", "c")]
    assert {"left", "right", "distance", "similarity"} == set(printed[0])


def test_pairs_that_are_not_verified_have_no_similarity(corpus: Path) -> None:
    """Unverified pairs have - in lines and null in JSON; exact copies have similarity 1."""
    options = ("--id-column", "id", "--verify", "none", "--radius", "0")
    rows = [line.split("\t") for line in call("text", "pairs", corpus, *options).lines]
    assert {("c", "-"), ("d", "-"), ("d", "1.0000")} == {(right, alike) for _, right, _, alike in rows}
    printed = call("text", "pairs", corpus, *options, "--json").objects()
    assert {("c", None), ("d", None), ("d", 1.0)} == {(row["right"], row["similarity"]) for row in printed}


def test_options_of_pairs_change_what_is_found(similar: Path) -> None:
    """Threshold, radius, recipe and bits change the result."""
    base = ("text", "pairs", similar, "--recipe", "word:1", "--radius", "128")
    assert 17 * 16 // 2 == len(call(*base, "-t", "0.2").lines)
    assert [] == call(*base, "-t", "1").lines
    assert [] == call(*base, "-t", "0.2", "--radius", "0").lines
    assert [] != call(*base, "-t", "0.2", "--bits", "256", "--radius", "256").lines
    assert 2 == call(*base, "--bits", "64").code


def test_pairs_reads_what_it_can(corpus: Path) -> None:
    """Unreadable records are reported, or are an error."""
    corpus.write_text(corpus.read_text() + "{\n")
    options = ("--id-column", "id", "--threads", "1", "--format", "jsonl", "-q")
    assert 1 == call("text", "pairs", corpus, *options).code
    done = call("text", "pairs", corpus, *options, "--max-malformed", "20%")
    assert (0, 3, True) == (done.code, len(done.lines), "line 6" in done.err)
    assert (1, []) == ((strict := call("text", "pairs", corpus, "--strict")).code, strict.lines)


def test_shards_in_shards_out(corpus: Path, tmp_path: Path) -> None:
    """With --out-layout input there is one kept file per input, and `evaluate` reads them."""
    lines = corpus.read_text().splitlines(keepends=True)
    shards = tmp_path / "shards"
    shards.mkdir()
    (shards / "a.jsonl").write_text("".join(lines[:3]))
    (shards / "b.jsonl.gz").write_bytes(gzip.compress("".join(lines[3:]).encode()))
    out = tmp_path / "out"
    check_message(0, "kept-*", "dedup", shards, "-o", out, "--id-column", "id", "--out-layout", "input")
    assert 0 == call("dedup", shards, "-o", tmp_path / "one", "--id-column", "id").code
    kept = (out / "kept-a.jsonl").read_bytes() + gzip.decompress((out / "kept-b.jsonl.gz").read_bytes())
    assert (tmp_path / "one" / "kept.jsonl").read_bytes() == kept
    about = summary(out)
    assert ["kept-a.jsonl", "kept-b.jsonl.gz"] == about["kept_files"]
    assert {"kept-a.jsonl", "kept-b.jsonl.gz"} <= set(about["files"])
    assert 0 == call("recipe", "evaluate", out, "--truth", tmp_path / "one").code
    again = call("dedup", shards, "-o", out, "--id-column", "id", "--overwrite", "-q")
    assert (0, False) == (again.code, (out / "kept-a.jsonl").exists())
    check_message(2, "single for standard input", "dedup", "-", "-o", tmp_path / "x", "--out-layout", "input")


WIRE = "The board of the company declared a quarterly dividend of {} percent per share on its common stock"


def test_texts_that_differ_are_kept_and_counted(tmp_path: Path) -> None:
    """--differ works in `dedup`, `pairs`, `compare` and a store."""
    corpus = write_jsonl(tmp_path / "wire.jsonl", {n: WIRE.format(n) for n in ("1.5", "15")})
    done = succeed("dedup", corpus, "--out", tmp_path / "a", "--differ", "numbers,days")
    assert "differ in numbers, days: both kept" in done.message
    assert 1 == summary(tmp_path / "a")["pairs_that_differ"]
    compared = call("text", "compare", "--text", WIRE.format("1.5"), WIRE.format("15"))
    assert "numbers      differ: 1.5 → 15" in compared.lines
    done = call("text", "pairs", corpus, "--differ", "numbers")
    assert (0, "") == (done.code, done.out)
    made = call("store", "create", tmp_path / "a.store", "--differ", "numbers", "--json")
    assert ["numbers"] == json.loads(made.out)["differ"]


def test_documents_without_text_are_kept_unless_they_are_dropped(tmp_path: Path) -> None:
    """--empty sets the treatment of missing texts, empty ones and those without letters; the table counts them."""
    corpus = tmp_path / "titles.jsonl"
    texts = ["null", '""', '"!!!"', '"!!!"', '"one text"', '"one text"']
    corpus.write_text("".join(f'{{"id": "{n}", "text": {text}, "title": "T{n}"}}\n' for n, text in enumerate(texts)))
    done = call("dedup", corpus, "--out", tmp_path / "a")
    assert (0, 5, 4) == (done.code, summary(tmp_path / "a")["kept"], summary(tmp_path / "a")["without_features"])
    assert "4 documents have no text to compare and were kept; --empty drop removes them" in done.message
    done = call("dedup", corpus, "--out", tmp_path / "b", "--empty", "drop")
    assert (0, 1, 5) == (done.code, summary(tmp_path / "b")["kept"], summary(tmp_path / "b")["removed"])
    assert "4 documents have no text to compare and were removed" in done.message


# Labels


def test_what_a_person_rejected_stays(corpus: Path, tmp_path: Path) -> None:
    """Pairs labelled different are not merged; exact copies are still removed."""
    labels = tmp_path / "labels.tsv"
    header = "left\tright\tmatch\tsimilarity\tstratum\tweight\tremoved\n"
    labels.write_text(header + "a\tc\t0\t1\t1.00-1.02\t2\t1\nb\te\tunsure\t0.1\t0.10-0.12\t2\t0\n")
    done = call("dedup", corpus, "-o", tmp_path / "out", "--id-column", "id", "--labels", labels)
    assert (0, ["a", "b", "c", "e"]) == (done.code, kept(tmp_path / "out"))
    reported = summary(tmp_path / "out")["labels"]
    assert {
        "same": 0, "different": 1, "unsure": 1, "contradictory": 0, "kept_apart": 1, "joined": 0,
        "not_joined": 0, "equal": 0, "unknown_ids": 0,
    } == reported  # fmt: skip
    assert "1 pair not merged, of 1 labelled different" in done.message
    again = call(
        "dedup", tmp_path / "out" / "kept.jsonl", "-o", tmp_path / "again", "--id-column", "id", "--labels", labels
    )
    assert (0, 0) == (again.code, summary(tmp_path / "again")["removed"])


def test_labels_may_lie_in_the_folder_that_is_written_anew(corpus: Path, out: Path) -> None:
    """Labels in the replaced output folder are read first, and are not deleted."""
    assert 0 == call("dedup", corpus, "-o", out, "--id-column", "id", "-q").code
    (out / "labels.tsv").write_text("left\tright\tmatch\na\tc\t0\n")
    options = ("--id-column", "id", "--labels", out / "labels.tsv", "--overwrite", "-q")
    assert 0 == call("dedup", corpus, "-o", out, *options).code
    assert ["a", "b", "c", "e"] == kept(out)
    assert (out / "labels.tsv").exists()


def test_a_document_merged_for_a_label_alone_is_counted(corpus: Path, out: Path, tmp_path: Path) -> None:
    """The summary on the terminal, summary.json, the table of clusters and the page name the label as the reason."""
    labels = tmp_path / "labels.tsv"
    labels.write_text("left\tright\tmatch\na\tb\t1\n")
    done = call("dedup", corpus, "-o", out, "--id-column", "id", "--labels", labels, "--report")
    assert (0, True) == (done.code, "of them less similar, but labelled same" in done.message)
    assert 1 == summary(out)["removed_by_reason"]["label"]
    assert ["label"] == [row["reason"] for row in json_lines(out / "clusters.jsonl") if row["id"] == "b"]
    assert "less similar, but labelled same" in (out / "report.html").read_text(encoding="utf-8")


def test_labels_that_say_nothing_are_told_once(corpus: Path, tmp_path: Path) -> None:
    """Labels with unknown ids or equal contents give one warning each."""
    labels = tmp_path / "labels.tsv"
    labels.write_text("left\tright\tmatch\na\td\t0\nx\ty\t0\n")
    done = run("dedup", corpus, "-o", tmp_path / "out", "--id-column", "id", "--labels", labels, "-q")
    said = done.stderr.decode()
    assert 0 == done.returncode
    assert (1, 1) == (said.count("labelled ids belong to no document"), said.count("have equal contents"))
    assert 2 == len(summary(tmp_path / "out")["warnings"])


def test_labels_that_cannot_be_followed_are_refused(corpus: Path, tmp_path: Path) -> None:
    """Invalid tables of labels are errors."""
    labels = tmp_path / "labels.tsv"
    for text, message in (
        ("left\tright\tmatch\na\tc\tmaybe\n", "match='maybe'; labels are same, different, worse and unsure"),
        ("left\tright\tmatch\tweight\na\tc\t0\t-3\n", "record 1 has the weight '-3'"),
        ("one\ttwo\na\tc\n", "no columns of pairs among one, two"),
    ):
        labels.write_text(text)
        check_message(1, message, "dedup", corpus, "-o", tmp_path / "out", "--labels", labels)
        assert not (tmp_path / "out").exists()
    assert 1 == call("dedup", corpus, "-o", tmp_path / "out", "--labels", tmp_path).code


def test_a_checkpoint_is_deleted_when_the_output_is_in_place(tmp_path: Path) -> None:
    """A run that fails at its output leaves the checkpoint; the next one takes it over, says so and deletes it."""
    texts = {f"d{i}": text for i, text in enumerate(near_texts())}
    source, point = write_jsonl(tmp_path / "in.jsonl", texts), tmp_path / "point"
    options = ("--id-column", "id", "--checkpoint", point)
    with mock.patch("nearkin.io.atomic_write.StagedOutput.commit_folder", side_effect=OSError(5, "broken")):
        failed = call("dedup", source, "--out", tmp_path / "out", *options)
    assert failed.code
    assert point.is_dir()
    done = succeed("dedup", source, "--out", tmp_path / "out", *options)
    assert "60  of them were hashed by an earlier run" in done.err
    assert f"checkpoint {point} deleted: the output is in place" in done.err
    assert not point.exists()
    succeed("dedup", source, "--out", tmp_path / "plain", "--id-column", "id")
    for name in ("kept.jsonl", "clusters.jsonl", "pairs.jsonl"):
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--out", "point"], "use a folder that contains no input; point is inside"),
        (["--out", "point/out"], "use a folder outside point"),
        (["--out", "out", "--checkpoint", "s3://bucket/point"], "use a folder of this machine; with an engine also"),
        (["--out", "out", "--unit", "line"], "--checkpoint point is not allowed; use no --unit and no --boilerplate"),
        (["--out", "out", "--family", "ssdeep"], "--checkpoint: not with --family ssdeep"),
        (["--out", "out", "--threshold", "0.7"], "of another job: threshold was 0.8 and is 0.7"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_checkpoints_that_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    """Each message names what is allowed, and the checkpoint stays."""
    monkeypatch.chdir(tmp_path)
    source = write_jsonl(Path("in.jsonl"), TEXTS)
    nk.dedup(source, id="id", checkpoint="point")
    check_message(2, said, "dedup", source, "--id-column", "id", "--checkpoint", "point", *options)
    assert Path("point", "checkpoint.json").is_file()
    assert not Path("out").exists()


def test_a_checkpoint_that_cannot_be_deleted_is_a_warning(tmp_path: Path) -> None:
    """The output is in place, so the run succeeds."""
    source, point = write_jsonl(tmp_path / "in.jsonl", TEXTS), tmp_path / "point"
    with mock.patch("nearkin.dedup.checkpoint.remove_checkpoint", side_effect=OSError(13, "denied")):
        done = call("dedup", source, "--out", tmp_path / "out", "--id-column", "id", "--checkpoint", point)
    assert 0 == done.code
    assert f"checkpoint {point} is not deleted: [Errno 13] denied; delete the folder" in done.err
    assert (tmp_path / "out" / "summary.json").is_file()
    assert point.is_dir()


def test_a_damaged_checkpoint_is_said_once(tmp_path: Path) -> None:
    """The command prints the warning of the summary."""
    source, point = write_jsonl(tmp_path / "in.jsonl", TEXTS), tmp_path / "point"
    nk.dedup(source, id="id", checkpoint=point)
    (damaged,) = point.glob("documents-*")
    damaged.write_bytes(damaged.read_bytes()[:-1])
    done = call("dedup", source, "--out", tmp_path / "out", "--id-column", "id", "--checkpoint", point)
    assert (0, 1) == (done.code, done.err.count("is damaged, its checksum differs")), done.err


def test_an_empty_file_has_no_next_commands(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "empty.jsonl", {})
    done = succeed("dedup", path, "--out", tmp_path / "out")
    assert ("no documents in" in done.message, "next:" in done.message) == (True, False)
    assert "next:" in succeed("dedup", write_jsonl(tmp_path / "a.jsonl", {"a": "b"}), "--out", tmp_path / "b").message


def test_a_dry_run_reads_and_writes_nothing(tmp_path: Path) -> None:
    """It says what would be read; wrong options and missing columns are errors as in a run."""
    lines = [json.dumps({"id": f"d{i}", "body": f"text {i} of a corpus that is read", "n": i}) for i in range(30)]
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("\n".join(lines))
    words = ("dedup", corpus, "--text-column", "body", "--keep", "max:n", "--out", tmp_path / "out", "--dry-run")
    found = succeed(*words, "--json").json()
    assert ("jsonl", ["body", "id", "n"], 30) == (found["format"], found["columns"], found["documents"])
    assert [f"d{i}" for i in range(10)] == found["first_ids"]
    assert corpus.stat().st_size == found["bytes"]
    assert found["seconds"] >= 0
    assert "documents    30" in succeed(*words).lines
    assert [corpus] == list(tmp_path.iterdir())
    check_message(1, "no record has a column 'm'", *(word if word != "max:n" else "max:m" for word in words))
    check_message(2, "--threshold 2", *words, "--threshold", 2)
    files = succeed("dedup", "--family", "ssdeep", tmp_path, "--out", tmp_path / "out", "--dry-run", "--json").json()
    assert (1, [str(corpus)]) == (files["files"], files["first"])
