"""The command line of Hamming indexes: nearkin.cli.index and nearkin.cli.search, run as their users run them."""

from __future__ import annotations

import io
import json
import os
import pty
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk
import nearkin.cli.app as cli
from nearkin.io.locks import changing
from nearkin.search.fingerprints import from_hex, hamming, to_bytes, to_hex

Run = Callable[..., tuple[int, str, str]]

WORDS = [f"word{i}" for i in range(400)]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Exit code, standard output and standard error of one call, in this process."""

    def call(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = cli.run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def texts() -> list[str]:
    """Sixty texts: twenty, a copy of each with a word changed, and one with ten changed."""
    rng = random.Random(3)
    base = [rng.choices(WORDS, k=80) for _ in range(20)]
    near = [[*words[:40], "changed", *words[41:]] for words in base]
    far = [[*words[:30], *rng.choices(WORDS, k=10), *words[40:]] for words in base]
    return [" ".join(words) for words in [*base, *near, *far]]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """The texts with string ids, and one without any letter."""
    path = tmp_path / "corpus.jsonl"
    rows = [{"id": f"d{i}", "text": text} for i, text in enumerate([*texts(), "..."])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def brute_force(fps: np.ndarray, query: np.ndarray, radius: int, ids: list[Any]) -> list[tuple[int, Any]]:
    found = [(int(np.unpackbits((row ^ query).view(np.uint8)).sum()), key) for row, key in zip(fps, ids, strict=True)]
    return sorted((far, key) for far, key in found if far <= radius)


def test_search_of_a_corpus_equals_brute_force(run: Run, corpus: Path, tmp_path: Path) -> None:
    """Every document of a corpus asked of its own index: what a comparison with all fingerprints gives."""
    index = tmp_path / "c.nks"
    code, out, err = run("index", "build", corpus, "-o", index, "--id-column", "id", "--radius", 30)
    assert (0, "") == (code, out), err
    assert "60 added, 1 without any letter" in err
    code, out, err = run("search", index, corpus, "--id-column", "id")
    assert 0 == code
    assert "d60: a text without any letter has no fingerprint" in err
    found: dict[str, list[tuple[int, str]]] = {}
    for line in out.splitlines():
        query, key, distance = line.split("\t")
        found.setdefault(query, []).append((int(distance), key))
    fps = nk.fingerprint(texts())
    names = [f"d{i}" for i in range(60)]
    # Ties go by row, which is the order in which ids were added.
    for name, fp in zip(names, fps, strict=True):
        assert brute_force(fps, fp, 30, names) == sorted(found[name])
        assert [far for far, _ in found[name]] == sorted(far for far, _ in found[name])


def test_a_text_a_file_and_standard_input_find_the_same(run: Run, corpus: Path, tmp_path: Path) -> None:
    """The three ways to ask for one text; --json has one object per query."""
    index, letter = tmp_path / "c.nks", tmp_path / "letter.txt"
    assert 0 == run("index", "build", corpus, "-o", index, "--id-column", "id", "-q")[0]
    text = texts()[20]
    letter.write_text(text)
    answers = [
        run("search", index, "--text", text, "-k", 3, "--json"),
        run("search", index, "--file", letter, "-k", 3, "--json"),
        run("search", index, "-k", 3, "--json", stdin=text.encode()),
        run("search", index, "--file", "-", "-k", 3, "--json", stdin=text.encode()),
    ]
    found = [json.loads(out) for _, out, _ in answers]
    assert ["text 1", str(letter), "-", "-"] == [one["query"] for one in found]
    assert {"id": "d20", "distance": 0} == found[0]["matches"][0]
    assert {"d0", "d20", "d40"} == {match["id"] for match in found[0]["matches"]}
    assert all(one["matches"] == found[0]["matches"] for one in found)
    # Without a radius and -k: the ten nearest, as the index announces no radius.
    assert 10 == len(run("search", index, "--text", text)[1].splitlines())
    both = run("search", index, "--text", text, "-k", 3, "-r", 0)[1]
    assert "text 1\td20\t0\n" == both


def test_exit_codes_say_whether_something_was_found(run: Run, corpus: Path, tmp_path: Path) -> None:
    """0 found, 1 failure, 2 usage, 3 nothing."""
    index = tmp_path / "c.nks"
    assert 0 == run("index", "build", corpus, "-o", index, "--id-column", "id", "-q")[0]
    assert 3 == run("search", index, "--text", "nothing like it", "--radius", 0)[0]
    assert (3, '{"query": "text 1", "matches": null}\n') == run("search", index, "--text", "...", "--json")[:2]
    assert 2 == run("search", index, "--text", "a", "--radius", 129)[0]
    assert 2 == run("search", index, "--text", "a", "-k", 0)[0]
    assert 2 == run("search", index, "--no-such-option")[0]
    assert 1 == run("search", tmp_path / "none.nks", "--text", "a")[0]
    assert 1 == run("search", index, "--file", tmp_path / "none.txt")[0]
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    code, _, err = run("search", index, "--file", tmp_path / "latin.txt")
    assert (1, True) == (code, "is not UTF-8 at byte 3" in err)
    assert 1 == run("search", corpus, "--text", "a")[0]


def test_another_recipe_is_refused_and_named(run: Run, corpus: Path, tmp_path: Path) -> None:
    """The file carries its recipe; the first slot that differs is named, by add and by search."""
    index = tmp_path / "c.nks"
    assert 0 == run("index", "build", corpus, "-o", index, "--id-column", "id", "-q", "--recipe", "simhash-pypi")[0]
    before = index.read_bytes()
    assert nk.Recipe.preset("simhash-pypi") == nk.HammingIndex.open(index).recipe
    for command in (("index", "add", index, corpus, "--id-column", "id"), ("search", index, "--text", "a")):
        code, _, err = run(*command, "--recipe", "default")
        assert (2, True) == (code, "recipe slot norm differs: none against nfkc" in err)
        code, _, err = run(*command, "--recipe", "norm:none|case:lower|letters:python|char:4|count|md5|simhash:128")
        assert (2, True) == (code, "recipe slot bits differs: 64 against 128" in err)
    assert 0 == run("search", index, "--text", texts()[0], "--recipe", "simhash-pypi", "-k", 1)[0]
    assert before == index.read_bytes()


def test_build_in_two_parts_equals_build_at_once(run: Run, corpus: Path, tmp_path: Path) -> None:
    """Half of a corpus built and the rest added: the same answers as all at once; removed ids are gone."""
    lines = corpus.read_text().splitlines(keepends=True)
    parts = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    parts[0].write_text("".join(lines[:25]))
    parts[1].write_text("".join(lines[25:]))
    whole, grown = tmp_path / "whole.nks", tmp_path / "grown.nks"
    assert 0 == run("index", "build", *parts, "-o", whole, "--id-column", "id", "-q")[0]
    assert 0 == run("index", "build", parts[0], "-o", grown, "--id-column", "id", "-q")[0]
    code, out, _ = run("index", "add", grown, parts[1], "--id-column", "id", "--json")
    about = json.loads(out)
    assert (0, 35, 60, 36, 1, 0) == (
        code,
        *(about[key] for key in ("added", "fingerprints", "read", "without_fingerprint", "malformed")),
    )
    asked = [run("search", index, corpus, "--id-column", "id", "-r", 40)[1] for index in (whole, grown)]
    assert asked[0] == asked[1] != ""
    code, _, err = run("index", "add", grown, parts[1], "--id-column", "id")
    assert (2, True) == (code, "already there" in err)
    assert "0 added" in run("index", "add", grown, parts[1], "--id-column", "id", "--existing", "skip")[2]
    assert "2 removed" in run("index", "remove", grown, "d0", "d20")[2]
    (tmp_path / "gone.txt").write_text("d40\n\nd41\n")
    assert 0 == run("index", "remove", grown, "--ids", tmp_path / "gone.txt")[0]
    assert 2 == run("index", "remove", grown, "d40")[0]
    assert 2 == run("index", "remove", grown)[0]
    assert 0 == run("index", "remove", grown, "d40", "--missing-ok", "-q")[0]
    assert 56 == len(nk.HammingIndex.open(grown))
    assert "d20" not in run("search", grown, "--text", texts()[20], "-k", 60)[1]


def test_documents_without_ids_are_numbered_over_all_that_is_added(run: Run, tmp_path: Path) -> None:
    """A text without any letter takes its number, so that numbers are places in the corpora."""
    one, two, index = tmp_path / "one.txt", tmp_path / "two.txt", tmp_path / "c.nks"
    one.write_text("first text here\n...\nthird text here\n...\n")
    two.write_text("fifth text here\n")
    assert 0 == run("index", "build", one, "-o", index, "-q")[0]
    assert 0 == run("index", "add", index, two, "-q")[0]
    for row, text in {0: "first text here", 2: "third text here", 4: "fifth text here"}.items():
        assert f"text 1\t{row}\t0\n" == run("search", index, "--text", text, "-r", 0)[1]
    assert 5 == nk.HammingIndex.open(index).next_row
    assert 0 == run("index", "remove", index, "4", "-q")[0]
    assert 2 == run("index", "remove", index, "4")[0]
    code, _, err = run("index", "remove", index, "first")
    assert (2, True) == (code, "an integer, as the ids of this index are" in err)
    assert 3 == run("search", index, "--text", "fifth text here", "-r", 0)[0]


def test_a_folder_of_files_has_their_paths_as_ids(run: Run, tmp_path: Path) -> None:
    """A file per document."""
    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text(texts()[0])
    (folder / "deep" / "b.txt").write_text(texts()[1])
    index = tmp_path / "c.nks"
    assert 0 == run("index", "build", folder, "-o", index, "-q")[0]
    assert "text 1\tdeep/b.txt\t0\n" == run("search", index, "--text", texts()[1], "-k", 1)[1]


def test_fingerprints_come_as_hexadecimal_decimal_and_arrays(run: Run, tmp_path: Path) -> None:
    """What `nearkin hash` prints, bare numbers, columns, .npy of three types: the same answers."""
    rng = np.random.default_rng(4)
    for bits, shape in ((64, (300,)), (100, (300, 2))):
        fps = rng.integers(0, 2**64, shape, dtype=np.uint64)
        if bits == 100:
            fps[:, 1] >>= np.uint64(28)
        query = to_hex(fps[17:18], bits)[0]
        digits = to_hex(fps, bits)
        words = fps.reshape(300, -1).astype(object)
        numbers = [str(sum(int(word) << 64 * i for i, word in enumerate(row))) for row in words]
        inputs: dict[str, tuple[object, ...]] = {"hex.txt": ("hex",), "int.txt": ("int",), "hex.jsonl": ("hex",)}
        (tmp_path / "hex.txt").write_text("\n".join(digits) + "\n")
        (tmp_path / "int.txt").write_text("\n".join(numbers))
        (tmp_path / "hex.jsonl").write_text("".join(json.dumps({"fingerprint": text}) + "\n" for text in digits))
        np.save(tmp_path / "a.npy", fps)
        np.save(tmp_path / "b.npy", fps.view(np.int64))
        np.save(tmp_path / "c.npy", to_bytes(fps, bits))
        inputs |= dict.fromkeys(("a.npy", "b.npy", "c.npy"), ("npy",))
        answers = {}
        for name, kind in inputs.items():
            index = tmp_path / "codes.nks"
            built = run(
                "index", "build", tmp_path / name, "-o", index, "--overwrite", "--fingerprints", *kind, "--bits", bits
            )
            assert 0 == built[0], built[2]
            answers[name] = run("search", index, "--fingerprint", query, "-k", 5)[1]
        assert 1 == len(set(answers.values()))
        nearest = brute_force(fps.reshape(300, -1), fps.reshape(300, -1)[17], bits, list(range(300)))[:5]
        expected = "".join(f"{query}\t{key}\t{far}\n" for far, key in nearest)
        assert expected == answers["hex.txt"]


def test_hash_and_build_work_together(run: Run, corpus: Path, tmp_path: Path) -> None:
    """The output of `nearkin hash` builds the same index as the texts, recipe and all."""
    index, other = tmp_path / "c.nks", tmp_path / "d.nks"
    assert 0 == run("index", "build", corpus, "-o", index, "--id-column", "id", "-q")[0]
    printed = run("hash", corpus, "--id-column", "id")[1]
    listed = tmp_path / "hashed.txt"
    listed.write_text(printed)
    build = ("index", "build", listed, "-o", other, "--fingerprints", "hex", "--recipe", "default")
    assert "60 added, 1 without" in run(*build)[2]
    assert index.read_bytes() == other.read_bytes()
    assert run("search", index, corpus, "-r", 25)[1] == run("search", other, corpus, "-r", 25)[1]
    bare = tmp_path / "e.nks"
    code, _, err = run("index", "build", listed, "-o", bare, "--fingerprints", "hex")
    assert (1, True) == (code, "no hexadecimal number below 2**64" in err)
    assert 0 == run("index", "build", listed, "-o", bare, "--fingerprints", "hex", "--bits", 128, "-q")[0]
    code, _, err = run("search", bare, "--text", "a")
    assert (2, True) == (code, "built from fingerprints without a recipe" in err)
    code, _, err = run("index", "add", bare, listed, "--fingerprints", "hex", "--recipe", "default")
    assert (2, True) == (code, "an index that was made without one" in err)


def test_ids_beside_an_array(run: Run, tmp_path: Path) -> None:
    """--ids names a file of integers or strings; integers of a list meet integers of the index."""
    fps = np.arange(50, dtype=np.uint64)
    np.save(tmp_path / "codes.npy", fps)
    np.save(tmp_path / "ids.npy", np.arange(50) * 10)
    index = tmp_path / "c.nks"
    build = ("index", "build", tmp_path / "codes.npy", "-o", index, "--fingerprints", "npy")
    assert 0 == run(*build, "--ids", tmp_path / "ids.npy", "-q")[0]
    assert "7\t70\t0\n" == run("search", index, "--fingerprint", "7", "-r", 0)[1]
    (tmp_path / "more.txt").write_text("505\tffff\n")
    assert 0 == run("index", "add", index, tmp_path / "more.txt", "--fingerprints", "hex", "-q")[0]
    assert "ffff\t505\t0\n" == run("search", index, "--fingerprint", "ffff", "-r", 0)[1]
    np.save(tmp_path / "short.npy", np.arange(3))
    assert 2 == run(*build, "--overwrite", "--ids", tmp_path / "short.npy")[0]
    (tmp_path / "bad.npy").write_bytes(b"no array")
    code, _, err = run("index", "build", tmp_path / "bad.npy", "-o", tmp_path / "x.nks", "--fingerprints", "npy")
    assert (1, True) == (code, "no NumPy array file" in err)
    np.save(tmp_path / "float.npy", np.zeros(3))
    assert 1 == run("index", "build", tmp_path / "float.npy", "-o", tmp_path / "x.nks", "--fingerprints", "npy")[0]
    assert not (tmp_path / "x.nks").exists()


def test_lines_that_are_no_fingerprints_are_named(run: Run, tmp_path: Path) -> None:
    """They are skipped and counted, or with --strict an error; a line without one is not a fingerprint."""
    listed, index = tmp_path / "codes.txt", tmp_path / "c.nks"
    listed.write_text("a\tff\nb\t-\nc\t-1\nd\t1_0\ne 10\nf\t0x10\ng\t" + "f" * 17 + "\n")
    code, out, err = run("index", "build", listed, "-o", index, "--fingerprints", "hex", "--json")
    assert 0 == code
    about = json.loads(out)
    assert (2, 4) == (about["added"], about["malformed"])
    assert "row 3: '-1' is no hexadecimal number below 2**64" in err
    assert "row 5: no id, which the first line has" in err
    for key, value in (("a", "ff"), ("f", "10")):
        assert f"{value}\t{key}\t0\n" == run("search", index, "--fingerprint", value, "-r", 0)[1]
    code, _, err = run("index", "build", listed, "-o", tmp_path / "x.nks", "--fingerprints", "hex", "--strict")
    assert (1, False) == (code, (tmp_path / "x.nks").exists())
    assert 2 == run("index", "build", listed, "-o", tmp_path / "x.nks", "--fingerprints", "octal")[0]


def test_info_explains_and_verifies(run: Run, corpus: Path, tmp_path: Path) -> None:
    """All that explain() has, the recipe, and whether the file is sound: a changed byte is exit code 1."""
    index = tmp_path / "c.nks"
    limits = ("--radius", 20, "--method", "multi", "--memory-limit", "1.5M")
    assert 0 == run("index", "build", corpus, "-o", index, "--id-column", "id", "-q", *limits)[0]
    code, out, _ = run("index", "info", index, "--json")
    about = json.loads(out)
    opened = nk.HammingIndex.open(index)
    assert 0 == code
    assert {**about, **opened.explain()} == about
    assert ("multi", 20, 1_500_000, True) == tuple(
        about[key] for key in ("method", "announced_radius", "memory_limit", "verified")
    )
    assert (nk.Recipe().digest, index.stat().st_size) == (about["recipe_digest"], about["file_bytes"])
    assert about["parts"][0]["built"]
    shown = run("index", "info", index, "--radius", 10)[1]
    for part in ("60 of 128 bits", "strings", nk.Recipe().digest, "sound", "radius 10", "look-ups"):
        assert part in shown
    content = bytearray(index.read_bytes())
    content[-70] ^= 1
    index.write_bytes(content)
    code, _, err = run("index", "info", index)
    assert (1, True) == (code, "does not match its checksum" in err)
    assert 0 == run("index", "info", index, "--no-verify")[0]


def test_a_recipe_that_was_changed_in_the_file_is_found(run: Run, corpus: Path, tmp_path: Path) -> None:
    """Its digest is in the file."""
    index = tmp_path / "c.nks"
    assert 0 == run("index", "build", corpus, "-o", index, "--id-column", "id", "-q")[0]
    opened = nk.HammingIndex.open(index)
    note = opened._core.note()
    assert note is not None
    opened._core.set_note(note.replace('"n": 4', '"n": 5'))
    opened.save(index)
    code, _, err = run("search", index, "--text", "a")
    assert (1, True) == (code, "its recipe has the digest" in err)


def test_what_is_there_is_not_written_over(run: Run, corpus: Path, tmp_path: Path) -> None:
    """Only an index is replaced, and only if --overwrite says so; a failed build leaves nothing."""
    index, other = tmp_path / "c.nks", tmp_path / "notes.txt"
    other.write_text("mine")
    build = ("index", "build", corpus, "--id-column", "id", "-q")
    assert 0 == run(*build, "-o", index)[0]
    assert 2 == run(*build, "-o", index)[0]
    assert 0 == run(*build, "-o", index, "--overwrite")[0]
    assert 1 == run(*build, "-o", other, "--overwrite")[0]
    assert "mine" == other.read_text()
    assert 2 == run(*build, "-o", tmp_path / "no" / "folder.nks")[0]
    before = index.read_bytes()
    assert 2 == run(*build, "-o", index, "--overwrite", "--radius", 500)[0]
    assert 2 == run(*build, "-o", index, "--overwrite", "--memory-limit", "much")[0]
    assert 2 == run(*build, "-o", index, "--overwrite", "--method", "magic")[0]
    assert before == index.read_bytes()
    assert {"corpus.jsonl", "c.nks", "notes.txt"} == {path.name for path in tmp_path.iterdir()}


def test_two_updates_at_a_time_are_refused(run: Run, corpus: Path, tmp_path: Path) -> None:
    """The second one is told; nothing is lost. Searches go on."""
    index = tmp_path / "c.nks"
    assert 0 == run("index", "build", corpus, "-o", index, "--id-column", "id", "-q")[0]
    with changing(index):
        code, _, err = run("index", "remove", index, "d1")
        assert (1, True) == (code, "another process is changing the index" in err)
        assert 0 == run("search", index, "--text", texts()[1], "-k", 1)[0]
    assert 0 == run("index", "remove", index, "d1")[0]


def test_the_whole_command_on_pipes_and_terminals(corpus: Path, tmp_path: Path) -> None:
    """In a process of its own: lines on a pipe, a table on a terminal, no progress where nobody looks."""
    command = [sys.executable, "-m", "nearkin"]
    index = tmp_path / "c.nks"
    built = subprocess.run(
        [*command, "index", "build", "-", "-o", index, "--id-column", "id"],
        input=corpus.read_bytes(),
        capture_output=True,
        check=True,
    )
    assert b"" == built.stdout
    assert 1 == len(built.stderr.splitlines())
    ask = [*command, "search", str(index), "-k", "2"]
    piped = subprocess.run(ask, input=texts()[5].encode(), capture_output=True, check=True)
    assert b"-\td5\t0" == piped.stdout.splitlines()[0]
    assert b"" == piped.stderr
    main, side = pty.openpty()
    with subprocess.Popen(ask, stdin=subprocess.PIPE, stdout=side, env={**os.environ, "COLUMNS": "80"}) as process:
        process.communicate(texts()[5].encode())
    os.close(side)
    shown = os.read(main, 1 << 16).decode()
    os.close(main)
    assert all(part in shown for part in ("query", "distance", "d5", "│"))


def test_help_has_examples(run: Run) -> None:
    """Every command says how it is used."""
    for command in ("build", "add", "remove", "info"):
        code, out, _ = run("index", command, "--help")
        assert (0, True) == (code, f"nearkin index {command} " in out.split("Example", maxsplit=1)[1])
    assert "nearkin search corpus.nks" in run("search", "--help")[1].split("Example", maxsplit=1)[1]


def test_hexadecimal_ids_meet_the_fingerprints_of_hash(run: Run, corpus: Path) -> None:
    """What `nearkin hash` prints is what from_hex reads."""
    rows = [line.split("\t") for line in run("hash", corpus, "--id-column", "id")[1].splitlines()]
    codes = from_hex([digits for _, digits in rows if digits != "-"], 128)
    assert not np.asarray(hamming(codes, nk.fingerprint(texts()))).any()
