"""nearkin.io.inputs: the files and format of inputs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nearkin.errors import InputError, ParameterError
from nearkin.io import OutputDir, open_corpus
from nearkin.io.inputs import ExcludedFolders, _to_id, compression_of, format_of, resolve


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.jsonl", ("jsonl", "")),
        ("a.NDJSON.GZ", ("jsonl", "gz")),
        ("a.json.zst", ("jsonl", "zst")),
        ("a.b.pq", ("parquet", "")),
        ("a.csv", ("csv", "")),
        ("a.tab", ("tsv", "")),
        ("a.log.gz", ("txt", "gz")),
        ("a", (None, "")),
        ("a.gz", (None, "gz")),
        ("a.txt.bz2", ("txt", "bz2")),
        ("a.json.xz", ("jsonl", "xz")),
        ("a.tsv.lz4", ("tsv", "lz4")),
        ("a.txt.7z", (None, "")),
    ],
)
def test_a_name_says_format_and_compression(name: str, expected: tuple[str | None, str]) -> None:
    """The extension determines both, in any case."""
    assert expected == (format_of(name), compression_of(name))


def test_order_is_as_given_and_by_name_within(tmp_path: Path) -> None:
    """Globs and folders are sorted by name. Hidden files and folders, and links to folders, are skipped."""
    for name in ("b.jsonl", "a.jsonl", ".c.jsonl", "sub/d.jsonl", ".git/e.jsonl", "z/f.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"text": "a"}\n')
    (tmp_path / "link").symlink_to(tmp_path / "sub")
    for inputs, expected in [
        (tmp_path, ["a.jsonl", "b.jsonl", "sub/d.jsonl", "z/f.jsonl"]),
        (tmp_path / "*.jsonl", ["a.jsonl", "b.jsonl"]),
        ([tmp_path / "z", tmp_path / "*.jsonl"], ["z/f.jsonl", "a.jsonl", "b.jsonl"]),
    ]:
        kind, sources = resolve(inputs, None)  # type: ignore[arg-type]
        assert ("jsonl", expected) == (kind, [str(Path(source.name).relative_to(tmp_path)) for source in sources])


def test_a_file_with_the_name_of_a_glob_is_that_file(tmp_path: Path) -> None:
    """The name of an existing file is never used as a pattern."""
    (tmp_path / "a[1].jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "a1.jsonl").write_text('{"text": "b"}\n')
    _, (source,) = resolve(tmp_path / "a[1].jsonl", None)
    assert "a[1].jsonl" == Path(source.name).name


def test_a_folder_of_a_given_format_has_such_files(tmp_path: Path) -> None:
    """`format` selects files of a folder; a folder without such files is an error."""
    (tmp_path / "a.csv").write_text("text\na\n")
    (tmp_path / "b.txt").write_text("b\n")
    assert ["b.txt"] == [Path(source.name).name for source in resolve(tmp_path, "txt")[1]]
    assert ["a.csv", "b.txt"] == [source.document for source in resolve(tmp_path, "files")[1]]
    with pytest.raises(InputError, match="the folder has no jsonl files"):
        resolve(tmp_path, "jsonl")


@pytest.mark.parametrize("mark", ["_SUCCESS", "_metadata", "_common_metadata", "_committed_123", "_started_123"])
def test_what_engines_leave_beside_tables_is_no_input(tmp_path: Path, mark: str) -> None:
    """Marker files of engines are skipped; any other unknown file is an error."""
    (tmp_path / "part-0.parquet").touch()
    (tmp_path / mark).touch()
    kind, files = resolve(tmp_path, None)
    assert ("parquet", ["part-0.parquet"]) == (kind, [Path(file.name).name for file in files])
    (tmp_path / "_notes").touch()
    with pytest.raises(InputError, match="_notes: is of no known format"):
        resolve(tmp_path, None)


def test_standard_input_is_rows(tmp_path: Path) -> None:
    """Standard input defaults to JSON lines, cannot contain files, and may be given once."""
    kind, (source,) = resolve("-", None)
    assert ("jsonl", None, False) == (kind, source.path, source.regular)
    assert "csv" == resolve("-", "csv")[0]
    with pytest.raises(ParameterError, match="a format of rows for standard input"):
        resolve("-", "files")
    with pytest.raises(InputError, match="given twice"):
        resolve(["-", "-"], None)
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(InputError, match="given twice"):
        resolve([tmp_path / "a.jsonl", tmp_path / "link.jsonl"], None)


@pytest.mark.parametrize(("name", "said"), [(b"a\nb", "line break"), (b"a\xff", "not UTF-8")])
def test_names_that_a_list_cannot_hold_are_refused(tmp_path: Path, name: bytes, said: str) -> None:
    """The list of kept files has one UTF-8 path per line, so other names are malformed."""
    path = tmp_path / os.fsdecode(name)
    path.write_text("text")
    with pytest.raises(InputError, match=said):
        open_corpus(path, format="files", max_malformed=1.0)
    (tmp_path / "good").write_text("text")
    with open_corpus(tmp_path, format="files", max_malformed=1.0) as corpus:
        assert 1 == sum(len(batch.texts) for batch in corpus.batches())
        assert 1 == corpus.malformed.count
        record = str(corpus.malformed.first[0])
        assert record.isprintable()
        assert said in record
    with pytest.raises(InputError, match=said), open_corpus(tmp_path, format="files", strict=True) as corpus:
        list(corpus.batches())


def test_ids_of_files_are_parted_by_slashes_on_every_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids use / instead of the separator of the system."""
    monkeypatch.setattr(os, "sep", "\\")
    assert "a/b c/d.txt" == _to_id("a\\b c\\d.txt")


@pytest.mark.parametrize(
    ("inputs", "format", "reason"),
    [
        ("a.xyz", None, "unknown file extension; rename it, or give format=, one of jsonl"),
        ("x.npy", None, "is an array; in Python, nearkin.dedup(numpy.load(file)) deduplicates vectors"),
        ("none.jsonl", None, "no such file or folder"),
        ("*.none", None, "no file matches"),
        ("folder", "parquet", "the folder has no parquet files"),
        ("empty", None, "the folder has no files"),
        ("mixed", None, "b.txt: is txt, while mixed/a.jsonl is jsonl; format='jsonl' reads these alone"),
        (["folder/a.jsonl", "mixed/b.txt"], None, "is txt, while folder/a.jsonl is jsonl"),
        (["several/*", "mixed/a.jsonl"], None, "`nearkin dedup several/0.csv several/1.csv several/2.csv … --store"),
        (["folder/a.jsonl", "folder/../folder/a.jsonl"], None, "is given twice"),
        (["folder/a.jsonl", "folder/*.jsonl"], None, "is given twice"),
    ],
)
def test_inputs_that_can_not_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inputs: str | list[str], format: str | None, reason: str
) -> None:
    """The message contains the input and how to fix it."""
    monkeypatch.chdir(tmp_path)
    several = [f"several/{number}.csv" for number in range(5)]
    for name in ("folder/a.jsonl", "mixed/a.jsonl", "mixed/b.txt", "a.xyz", "x.npy", "several/a.jsonl", *several):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("{}")
    Path("empty").mkdir()
    with pytest.raises(InputError) as caught:
        resolve(inputs, format)
    assert reason in str(caught.value)


def test_arguments_that_name_nothing() -> None:
    """An empty list of inputs and an unknown format are refused."""
    with pytest.raises(ParameterError, match="use at least one path"):
        resolve([], None)
    with pytest.raises(ParameterError, match="format='xml' is not allowed; use one of jsonl"):
        resolve("a.jsonl", "xml")


def test_a_glob_of_folders_is_their_files(tmp_path: Path) -> None:
    """Folders that match ** are skipped."""
    (tmp_path / "in" / "ner").mkdir(parents=True)
    for name in ("in/a.jsonl", "in/ner/b.jsonl"):
        (tmp_path / name).write_text("{}")
    kind, sources = resolve(str(tmp_path / "**" / "*"), "jsonl")
    assert ("jsonl", ["a.jsonl", "b.jsonl"]) == (kind, [Path(source.name).name for source in sources])


def test_folders_that_are_excluded_are_counted(tmp_path: Path) -> None:
    """Excluded folders are recognised through links, and their files are counted."""
    for name in ("a.txt", "store/b.txt", "store/inner/c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("words")
    (tmp_path / "link").symlink_to(tmp_path / "store")
    excluded = ExcludedFolders([tmp_path / "link"])
    _, sources = resolve(tmp_path, "files", excluded)
    assert ["a.txt"] == [source.document for source in sources]
    assert {f"files of {tmp_path / 'link'}": 2} == excluded.counts()
    assert {} == ExcludedFolders().counts()


def test_a_hard_link_of_an_input_is_the_same_file(tmp_path: Path) -> None:
    """Two names of one file are refused as inputs, and so is an output whose files are links of an input."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text('{"text": "one"}\n')
    second.hardlink_to(first)
    with pytest.raises(InputError, match="is given twice"):
        resolve([first, second], None)
    out = tmp_path / "out"
    with OutputDir(out) as target:
        with target.open("kept.jsonl") as file:
            file.write(b"{}\n")
        target.write_json("summary.json", {})
    linked = tmp_path / "c.jsonl"
    linked.hardlink_to(out / "kept.jsonl")
    with (
        pytest.raises(ParameterError, match="is a hard link of a file inside"),
        OutputDir(out, overwrite=True, inputs=[linked]),
    ):
        pass
