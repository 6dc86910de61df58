"""The command line, run as its users run it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

import nearkin as nk
from command import ROOT, TEXTS, run


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    lines = [
        json.dumps({"id": name, "text": text, "n": i, "from": "x"}) for i, (name, text) in enumerate(TEXTS.items())
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_dedup_writes_what_is_kept_and_why(corpus: Path, tmp_path: Path) -> None:
    """Kept has the input's own lines, clusters names the kept document, the summary counts."""
    out = tmp_path / "out"
    done = run("dedup", corpus, "--out", out, "--id-column", "id", "--source-column", "from")
    assert done.returncode == 0, done.stderr
    assert done.stdout == b""
    original = corpus.read_text().splitlines()
    assert [original[0], original[1], original[4]] == (out / "kept.jsonl").read_text().splitlines()
    clusters = lines_of(out / "clusters.jsonl")
    assert [("a", "a", "kept"), ("c", "a", "near"), ("d", "a", "exact")] == [
        (row["id"], row["representative"], row["reason"]) for row in clusters
    ]
    assert [("c", "a"), ("d", "a")] == [(row["id"], row["representative"]) for row in lines_of(out / "pairs.jsonl")]
    summary = json.loads((out / "summary.json").read_text())
    assert (5, 3, 2, 1, 0) == tuple(
        summary[key] for key in ("documents", "kept", "removed", "without_features", "malformed")
    )
    assert nk.__version__ == summary["version"]
    assert nk.Recipe(summary["recipe"]).digest == summary["recipe_digest"]
    assert {"hash", "cluster"} <= set(summary["timings"])
    assert [{"source": "x", "documents": 5, "removed": 2, "share": 0.4}] == summary["sources"]


def test_a_second_run_removes_nothing(tmp_path: Path) -> None:
    """The job on its own output, over the sample corpus."""
    first, second = tmp_path / "first", tmp_path / "second"
    assert run("dedup", ROOT / "samples/licences.jsonl.gz", "-o", first, "--id-column", "id", "-q").returncode == 0
    assert run("dedup", first / "kept.jsonl.gz", "-o", second, "--id-column", "id", "-q").returncode == 0
    assert json.loads((second / "summary.json").read_text())["removed"] == 0


def test_threads_and_doors_give_the_same_answer(tmp_path: Path) -> None:
    """One thread, two threads and the Python call agree on the sample corpus."""
    sample = ROOT / "samples/licences.jsonl.gz"
    for threads in ("1", "2"):
        done = run("dedup", sample, "-o", tmp_path / threads, "--id-column", "id", "-q", "--threads", threads)
        assert done.returncode == 0, done.stderr
    one, two = ((tmp_path / threads / "clusters.jsonl").read_text() for threads in ("1", "2"))
    assert one == two
    with gzip.open(sample, "rt", encoding="utf8") as file:
        rows = [json.loads(line) for line in file]
    result = nk.dedup([row["text"] for row in rows], ids=[row["id"] for row in rows])
    assert [json.loads(line)["id"] for line in one.splitlines()] == result.clusters["id"]


def test_readme_shows_what_the_command_prints(tmp_path: Path) -> None:
    """The first console block of the README is the output of its command, but for the time it takes."""
    readme = (ROOT / "README.md").read_text()
    block = re.search(r"```console\n\$ nearkin (dedup samples.*?)\n(.*?)```", readme, re.DOTALL)
    assert block is not None
    arguments = block[1].replace("demo-out", str(tmp_path / "demo-out")).split()
    printed = run(*arguments, cwd=ROOT).stderr.decode().replace(str(tmp_path) + "/", "")

    def normal(text: str) -> list[str]:
        return [re.sub(r"in [0-9.]+ s", "in T s", " ".join(line.split())) for line in text.splitlines() if line.strip()]

    assert normal(block[2]) == normal(printed)[: len(normal(block[2]))]
    rows = re.search(r"head -n 2 demo-out/clusters.jsonl\n(.*?)```", readme, re.DOTALL)
    assert rows is not None
    assert rows[1].splitlines() == (tmp_path / "demo-out" / "clusters.jsonl").read_text().splitlines()[:2]


def test_standard_input_and_output(corpus: Path) -> None:
    """- reads a pipe and prints what is kept; the summary stays on standard error."""
    done = run("dedup", "-", "--format", "jsonl", "--out", "-", "--id-column", "id", stdin=corpus.read_bytes())
    assert done.returncode == 0, done.stderr
    assert ["a", "b", "e"] == [json.loads(line)["id"] for line in done.stdout.splitlines()]
    assert b"removed" in done.stderr


def test_json_prints_the_summary(corpus: Path, tmp_path: Path) -> None:
    """--json prints one object that programs can read."""
    done = run("dedup", corpus, "--out", tmp_path / "out", "--json")
    assert json.loads(done.stdout)["kept"] == 3


def test_keep_max_of_a_column(corpus: Path, tmp_path: Path) -> None:
    """The best document by a field stays."""
    out = tmp_path / "out"
    assert run("dedup", corpus, "-o", out, "--id-column", "id", "--keep", "max:n").returncode == 0
    assert ["b", "d", "e"] == [row["id"] for row in lines_of(out / "kept.jsonl")]


def test_against_names_the_older_document(corpus: Path, tmp_path: Path) -> None:
    """New documents that match an older one are removed; the older one is named."""
    new = tmp_path / "new.jsonl"
    new.write_text(json.dumps({"id": "new", "text": TEXTS["b"].upper()}) + "\n")
    out = tmp_path / "out"
    done = run("dedup", new, "--against", corpus, "-o", out, "--id-column", "id")
    assert done.returncode == 0, done.stderr
    assert (out / "kept.jsonl").read_text() == ""
    [row] = lines_of(out / "clusters.jsonl")
    assert ("new", "b", "near-old") == (row["id"], row["representative"], row["reason"])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--threshold", "1.5"], 2, "threshold=1.5 is not allowed; use a similarity above 0 and up to 1"),
        (["--radius", "200"], 2, "use a whole number from 0 to bits=128"),
        (["--recipe", "char:0|count|xxh3|simhash:64"], 2, "n=0 is not allowed; use 1 to 64"),
        (["--recipe", "nonsense"], 2, "'nonsense' is not one of them"),
        (["--keep", "max"], 2, "use first, last, longest, shortest, max:COLUMN or min:COLUMN"),
        (["--verify", "magic"], 2, "use jaccard, containment, indel, signature, none"),
        (["--text-column", "missing"], 1, "missing"),
        (["--nonsense"], 2, "No such option"),
    ],
)
def test_bad_options_say_what_is_allowed(
    corpus: Path, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    """The message says found, allowed, mend; nothing is written; no traceback."""
    done = run("dedup", corpus, "-o", tmp_path / "out", *arguments)
    assert code == done.returncode, done.stderr
    assert message in " ".join(done.stderr.decode().split())
    assert b"Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_malformed_records_are_reported_with_file_and_line(corpus: Path, tmp_path: Path) -> None:
    """They are skipped and counted, or an error with --strict."""
    corpus.write_text(corpus.read_text() + '{"id": "x", "text": \n{"id": "y"}\n')
    done = run("dedup", corpus, "-o", tmp_path / "out", "--id-column", "id")
    assert done.returncode == 0
    assert b"line 6" in done.stderr
    assert b"line 7" in done.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["malformed"] == 2
    strict = run("dedup", corpus, "-o", tmp_path / "strict", "--id-column", "id", "--strict")
    assert strict.returncode == 1
    assert b"line 6" in strict.stderr
    assert not (tmp_path / "strict").exists()


def test_existing_output_is_refused(corpus: Path, tmp_path: Path) -> None:
    """A folder with files is never written into unless it is an earlier output and --overwrite says so."""
    out = tmp_path / "out"
    assert run("dedup", corpus, "-o", out).returncode == 0
    assert run("dedup", corpus, "-o", out).returncode == 2
    assert run("dedup", corpus, "-o", out, "--overwrite").returncode == 0


def test_hash_prints_an_id_and_hexadecimal_digits(corpus: Path) -> None:
    """One line per document; a text without letters has none."""
    done = run("hash", corpus, "--id-column", "id", "--bits", "64")
    rows = [line.split("\t") for line in done.stdout.decode().splitlines()]
    expected = nk.fingerprint([TEXTS["a"]], nk.Recipe().with_(bits=64))[0]
    assert ["a", f"{int(expected):016x}"] == rows[0]
    assert ["e", "-"] == rows[4]


def test_compare_shows_distance_similarity_and_differing_features() -> None:
    """The articles' two texts."""
    done = run("compare", "--text", "how are u?", "how are you?", "--json", "--recipe", "simhash-pypi")
    found = json.loads(done.stdout)
    assert 12 == found["distance"]
    assert (["areu"], ["arey", "reyo", "eyou"]) == (found["only_a"], found["only_b"])
    assert 1 - 2 / 22 == pytest.approx(found["indel"])
    assert 3 / 7 == pytest.approx(found["jaccard"])
    shown = run("compare", "--text", "how are u?", "how are you?").stdout.decode()
    assert "only in b    'arey', 'reyo', 'eyou'" in shown


def test_compare_reads_files_and_refuses_other_encodings(tmp_path: Path) -> None:
    """A file that is not UTF-8 is an error that says where and how to mend it."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("some text")
    two.write_bytes(b"caf\xe9")
    done = run("compare", one, two)
    assert 1 == done.returncode
    assert "is not UTF-8 at byte 3" in done.stderr.decode()


def test_pairs_prints_every_verified_pair(corpus: Path) -> None:
    """Copies too, each pair once."""
    done = run("pairs", corpus, "--id-column", "id")
    found = {tuple(line.split("\t")[:2]) for line in done.stdout.decode().splitlines()}
    assert {("a", "c"), ("a", "d")} <= found
    assert len(found) == len(done.stdout.decode().splitlines())


def test_recipe_prints_every_slot() -> None:
    """Text form, digest, JSON."""
    text, digest, slots = run("recipe", "word:3|count|xxh3|simhash:64").stdout.decode().splitlines()
    recipe = nk.Recipe("word:3|count|xxh3|simhash:64")
    assert (str(recipe), recipe.digest, recipe.to_json()) == (text, digest, slots)


def test_help_and_version() -> None:
    """Every command has help with an example."""
    assert f"nearkin {nk.__version__}" == run("--version").stdout.decode().strip()
    for command in ("dedup", "hash", "compare", "pairs", "recipe"):
        shown = run(command, "--help").stdout.decode()
        assert f"nearkin {command} " in shown.split("Options", maxsplit=1)[1] or "Example" in shown
