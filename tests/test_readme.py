"""What the README guarantees."""

from __future__ import annotations

import doctest
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nearkin as nk
from nearkin.errors import MismatchError

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def licences() -> list[str]:
    """Return texts of the corpus that ships with the project, with many near-duplicates."""
    path = Path(__file__).resolve().parents[1] / "samples" / "licences.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines][:1500]


@pytest.mark.parametrize("page", ["README.md", "README.zh.md", "docs/index.md"])
def test_the_time_of_the_example_is_that_of_the_newest_run(page: str) -> None:
    """The pages print the seconds of the newest run file of `bench/first_run.py`."""
    newest = sorted((ROOT / "bench" / "runs").glob("*-first-run-*.json"))[-1]
    printed = json.loads(newest.read_text(encoding="utf-8"))["printed"]
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [f"{printed:.1f}"] == re.findall(r"7,053  documents in ([\d.]+) s", text)


def similarities(texts: list[str], result: nk.DedupResult) -> list[float]:
    """Return the similarity of each removed text to the one that it was removed for, by sets of features."""
    recipe = nk.Recipe(result.summary["recipe"])
    features: dict[int, set[str]] = {}
    values = []
    for row in result.clusters.rows():
        if row["id"] != row["representative"]:
            a, b = (
                features.setdefault(i, set(recipe.features_of(texts[i]))) for i in (row["id"], row["representative"])
            )
            values.append(len(a & b) / len(a | b) if a | b else 1.0)
    return values


def test_nothing_below_the_threshold_is_removed_but_by_the_options_that_it_names(licences: list[str]) -> None:
    """By default each removed text has the similarity; signatures and components remove others, too."""
    texts = [text[:800] for text in licences]
    assert min(similarities(texts, nk.dedup(texts, threshold=0.6))) >= 0.6
    assert min(similarities(texts, nk.dedup(texts, threshold=0.6, verify="signature"))) < 0.6
    assert min(similarities(texts, nk.dedup(texts, threshold=0.6, cluster="components"))) < 0.6
    (promise,) = re.findall(r"- \*\*Verified matches\*\*:(?:.|\n)*?(?=\n- )", README)
    assert all(option in promise for option in ("--verify signature", "--verify none", "--cluster components"))


def test_a_second_run_removes_nothing(licences: list[str]) -> None:
    """No text of the output matches another one of it; of passages, copies of remainders are all there is."""
    kept = [licences[i] for i in nk.dedup(licences).kept]
    assert len(kept) < len(licences)
    assert len(kept) == len(nk.dedup(kept).kept)
    left = [text for text in nk.passages(licences, unit="line").remaining(licences) if text is not None]
    again = nk.passages(left, unit="line").passages
    assert {"document"} == {row["unit"] for row in again.rows()}


def test_files_of_different_recipes_cannot_be_mixed_and_arrays_have_none(tmp_path: Path) -> None:
    """A store and an index of digests refuse another recipe; tests of the command line show it of index files."""
    one, other = "char:4|count|xxh3|simhash:64", "char:5|count|xxh3|simhash:64"
    with (
        nk.Store.create(tmp_path / "store", one, threshold=0.8) as store,
        pytest.raises(MismatchError, match=r"recipe slot (min_n|n) "),
    ):
        nk.dedup(["some text"], recipe=other, threshold=0.8, against=store)
    digests = nk.DigestIndex(recipe="ssdeep")
    with pytest.raises(MismatchError):
        digests.add(None, ["3:E:E"], recipe="ssdeep:elimseq")
    index = nk.HammingIndex(recipe=one)
    assert 1 == index.add(None, nk.fingerprint(["some text"], other))
    assert "An array of fingerprints has no recipe" in README.replace("\n  ", " ")


@pytest.mark.slow
def test_python_examples_pass_mypy_in_strict_mode(tmp_path: Path) -> None:
    """The examples, as one script, have types; an option that does not exist is an error there."""
    source = "".join(example.source for example in doctest.DocTestParser().get_examples(README))
    for name, added, code in (("readme", "", 0), ("misspelt", "nk.dedup(texts, treshold=0.7)\n", 1)):
        script = tmp_path / f"{name}.py"
        script.write_text(source + added, encoding="utf-8")
        check = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), str(script)]
        done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
        assert code == done.returncode, done.stdout
        assert ("treshold" in done.stdout) == bool(added)
