"""Tests of nearkin.cli.ssdeep_compat against the program ssdeep, line by line."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import nearkin as nk
from command import ENVIRONMENT, Done, call, needs_ssdeep

HEADER = "ssdeep,1.1--blocksize:hash:hash,filename"


def run(*arguments: object, stdin: bytes = b"") -> Done:
    """Run `nearkin ssdeep compat` in this process."""
    return call("ssdeep", "compat", *arguments, stdin=stdin)


def program(*arguments: object, stdin: bytes = b"") -> tuple[int, bytes]:
    """Return the exit code and standard output of the program, in the current folder."""
    done = subprocess.run(["ssdeep", *map(str, arguments)], input=stdin, capture_output=True, check=False, timeout=60)
    return done.returncode, done.stdout


def blocks(data: bytes) -> list[list[bytes]]:
    """Return clusters with their members in a fixed order, because that of the program depends on its memory."""
    return sorted(sorted(block.split(b"\n")) for block in data.strip(b"\n").split(b"\n\n"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with similar files, short ones, names with quotes, links and lists."""
    text = "".join(f"line {i} of {i * i % 977}\n" for i in range(900)).encode()
    binary = random.Random(5).randbytes(30_000)
    files = {
        "d/a.txt": text,
        "d/b.txt": text + b"extra",
        "d/c.txt": text * 2,
        "d/sub/e.txt": text[:3000],
        'd/sub/q"uo,te.txt': text,
        "d/bin": binary,
        "d/bin2": binary[200:],
        "d/empty": b"",
        "d/zeros": bytes(5000),
        "d/short": b"short",
        "d/back\\slash": text[:9000],
        "d/ümläut": text[5000:],
        "e/a.txt": text,
        "e/-b": text[::-1],
    }
    for name, data in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "d" / "link").symlink_to("a.txt")
    (tmp_path / "d" / "dangling").symlink_to("nowhere")
    (tmp_path / "d" / "linkdir").symlink_to("sub")
    (tmp_path / "d" / "sub" / "up").symlink_to("..")
    monkeypatch.chdir(tmp_path)
    write_list("k1", "d/a.txt", "d/bin", "d/empty", "d/short")
    write_list("k2", "d/b.txt", "d/bin2", "d/c.txt", 'd/sub/q"uo,te.txt', "d/zeros", "d/short")
    (tmp_path / "k3").write_text("junk\n", encoding="utf-8")
    (tmp_path / "k4").write_bytes(b"")
    (tmp_path / "k5").write_text(f"{HEADER}\n", encoding="utf-8")
    lines = (tmp_path / "k1").read_text("utf-8").splitlines()[1:]
    odd = ["48:abcdefg:hijk", '48:abcdefg:hijk,"x",5', "48:abcdefg:hijk,bare", '48x:abcdefg:hi,"a"b"', "48:abc", ""]
    more = ['48:abcdefg:hijk, "x"', '47:abcdefg:hijk,"y"', ' 48:abcdefg:hijk:lm,"z\\"\\\\"', '48:abcdefg:hijk,""']
    (tmp_path / "k6").write_text("\r\n".join([HEADER.replace("1.1", "1.0"), *lines, *odd, *more]), encoding="utf-8")
    damaged = ['48:a,"x"', '::,"y"', '48:abcdefg:hijk,"z"', f'48:{"abcdefgh" * 9}:a,"long"', '48:abcdefg:hijk,"w"']
    (tmp_path / "k7").write_text("\n".join([HEADER, *damaged]), encoding="utf-8")
    return tmp_path


def write_list(name: str, *files: str) -> None:
    """Write a list of the program for files."""
    entries = [(nk.ssdeep.hash(file), file) for file in files]
    Path(name).write_bytes(nk.ssdeep.write_list(entries))


ALIKE = ["d/a.txt", "d/b.txt", "d/bin", "d/bin2", "d/c.txt"]
FILES = [*ALIKE, "d/empty", "d/zeros", "d/short", "d/nope", "d", "e/a.txt", "d/a.txt"]
NAMES = ["", "-l", "-b"]
CALLS = [
    *[f"{names} {mode}" for names in NAMES for mode in ("", "-d", "-p", "-dc", "-pc", "-da", "-m k1", "-m k1 -m k2")],
    *["-l -m k1 -d", "-l -m k1 -p", "-lam k1", "-lcm k2", "-lcam k1", "-ldt 98", "-lpt99", "-ld -t 100", "-lc", "-la"],
    *["-ls", "-lv", "-lg", "-lga", "-l -m k6", "-l -m nope -m k1", "-lat 50 -d"],
]
LISTS = ["-k k1 k2", "-k k2 k1 k2", "-k k1 -k k2 k1", "-cak k1 k2", "-x k1", "-x k1 k2", "-x k1 k1", "-xc k1 k2"]
LISTS += [
    "-xa k1",
    "-xt 98 k1 k2",
    "-x k1 k3 nope d k4 k5 k2",
    "-k k1 -x k2",
    "-x k6",
    "-x k7",
    "-k k7 k6",
    "-xa k6",
    "-ak k6 k1 k6",
]
LISTS += ["-k k1 nope", "-bx k1 k2", "-rk k1 d"]
TREES = ["-r d", "-rl d", "-rb d", "-rl d/ e", "-rl .", "-r ./d//sub/..", "-rld d", "-rlp d", "-rlm k1 d e", "-rlc ."]
CLUSTERS = ["-gd", "-gp", "-gdl", "-gpl -t 99", "-gdl -t 99", "-gdal"]


@needs_ssdeep
@pytest.mark.parametrize("flags", CALLS)
def test_files_give_the_programs_lines(flags: str, here: Path) -> None:
    """Output equals that of the program in every mode, including missing and repeated files."""
    done = run(*flags.split(), *FILES)
    assert program(*flags.split(), *FILES) == (done.code, done.data)


@needs_ssdeep
@pytest.mark.parametrize("arguments", [*LISTS, *TREES])
def test_lists_and_trees_give_the_programs_lines(arguments: str, here: Path) -> None:
    """Output equals that of the program for lists with invalid entries, and for folders."""
    done = run(*arguments.split())
    code, expected = program(*arguments.split())
    assert (code, expected) == (done.code, done.data)


@needs_ssdeep
@pytest.mark.parametrize("arguments", [*[f"{flags} FILES" for flags in CLUSTERS], "-gx k1 k2", "-gxt 99 k1 k2"])
def test_clusters_are_the_programs(arguments: str, here: Path) -> None:
    """Clusters equal those of the program, in the order of their size."""
    words = [*arguments.removesuffix(" FILES").split(), *(FILES if arguments.endswith("FILES") else [])]
    done = run(*words)
    code, expected = program(*words)
    assert (code, blocks(expected)) == (done.code, blocks(done.data))
    sizes = [int(line.split()[-1]) for line in done.lines if line.startswith("** Cluster size ")]
    assert sorted(sizes, reverse=True) == sizes


@needs_ssdeep
@pytest.mark.parametrize("flags", ["", "-l", "-d", "-p", "-x", "-g", "-k k1", "-m k1", "-cm k1", "-m k1 -d", "-v"])
@pytest.mark.parametrize("name", ["d/a.txt", "d/short", "d/empty"])
def test_standard_input_gives_the_programs_lines(flags: str, name: str, here: Path) -> None:
    """Output equals that of the program without a file, and with `-`."""
    data = Path(name).read_bytes()
    done = run(*flags.split(), stdin=data)
    assert program(*flags.split(), stdin=data) == (done.code, done.data)
    if not set(flags) & set("xk"):
        assert done.data == run(*flags.split(), "-", stdin=data).data


REFUSED = ["-lb", "-dp", "-gc", "-dx", "-px", "-d -k k1", "-m k1 -x", "-m k1 -k k2", "-z", "-t", "-t 101 -d", "-t -5"]
REFUSED += ["-m nope", "-m k3", "-k k4", "-m d", "--help", "-t 200 -h"]


@needs_ssdeep
@pytest.mark.parametrize("flags", REFUSED)
def test_what_the_program_refuses_is_refused(flags: str, here: Path) -> None:
    """Wrong flags return exit code 1 and a message, or with -s no message."""
    arguments = [*flags.split(), "d/a.txt"] if flags != "-t" else ["-t"]
    if flags == "--help":
        arguments = ["--help", "d/a.txt"]
    done = run(*arguments)
    assert (1, b"") == (done.code, done.data)
    assert done.err.startswith("nearkin: ")
    assert 1 == program(*arguments)[0]
    silent = run("-s", *arguments)
    assert (1, b"", "") == (silent.code, silent.data, silent.err)


@needs_ssdeep
def test_flags_stand_anywhere(here: Path) -> None:
    """Flags may follow files, be combined, and end at two dashes, as in getopt."""
    for arguments in (["d/a.txt", "-l"], ["-l", "--", "d/a.txt"], ["-ldt5", "d/a.txt", "d/b.txt"], ["-bl", "-V"]):
        done = run(*arguments)
        assert program(*arguments) == (done.code, done.data), arguments
    os.chdir("e")
    done = run("-l", "--", "-b")
    assert program("-l", "--", "-b") == (done.code, done.data)
    assert done.data.endswith(b',"-b"\n')


def test_messages_are_of_our_own(here: Path) -> None:
    """Skipped files are reported with the reason, except with -s."""
    os.mkfifo("pipe")
    done = run("-lr", "d", "nope", "pipe")
    assert 0 == done.code
    for part in ("d/dangling: No such file", "nope: No such file", "not a regular file", "leads back to a folder"):
        assert part in done.err
    assert done.data == run("-lrs", "d", "nope", "pipe").data
    assert "" == run("-lrs", "d", "nope", "pipe").err
    assert "d: is a folder; -r takes" in run("d").err
    assert "no file has 4096 bytes" in run("d/short").err
    assert "no file has 4096 bytes" not in run("d/short", "d/a.txt").err
    assert "hashing d/short" in run("-lv", "d/short").err
    assert "k3: is no list of ssdeep" in run("-x", "k3").err
    assert "k6, line 7: is no entry" in run("-x", "k6").err
    assert 'k7, line 2: digest "48:a": fewer than two colons' in run("-x", "k7").err
    assert "-t x: a score is a number" in run("-t", "x", "d/a.txt").message
    assert "-b and -l exclude each other" in run("-bl", "d/a.txt").message


def test_help_and_version(here: Path) -> None:
    """-V prints the version of ssdeep; -h lists every flag."""
    assert "2.14.1\n" == run("-V").out == run("-V", "-z").out
    plain = run("-l", "-h")
    assert 0 == plain.code
    for flag in "mkdpxgtacrlbsvhV":
        assert f"\n  -{flag} " in plain.out
    assert "Usage" in run("--help").out


def test_names_that_are_not_utf8_are_written_as_they_are(here: Path) -> None:
    """Names are written with their exact bytes, including line ends."""
    for name in (b"\xff\xfe", b"new\nline"):
        Path(os.fsdecode(name)).write_bytes(b"x" * 5000)
        assert b',"' + name + b'"\n' in run("-l", os.fsdecode(name)).data
        assert name + b" matches d/zeros (" not in run("-ld", "d/zeros", os.fsdecode(name)).data
    assert b"\xff\xfe matches new\nline (100)" in run("-ld", "new\nline", os.fsdecode(b"\xff\xfe")).data


def test_a_link_named_ssdeep_is_the_program(here: Path) -> None:
    """Under the name ssdeep, all flags are those of the program."""
    script = here / "nearkin"
    script.write_text(f"#!{sys.executable}\nfrom nearkin.cli import main\n\nmain()\n", encoding="utf-8")
    script.chmod(0o755)
    (here / "ssdeep").symlink_to(script)
    environment = {**os.environ, **ENVIRONMENT}
    results = [
        subprocess.run([here / "ssdeep", *arguments], capture_output=True, check=False, env=environment)
        for arguments in (["-ld", "d/a.txt", "e/a.txt"], ["--version"])
    ]
    assert [(0, b"e/a.txt matches d/a.txt (100)\n"), (1, b"")] == [(done.returncode, done.stdout) for done in results]


@needs_ssdeep
@pytest.mark.shared
def test_releases_of_files_give_the_programs_lines(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Output equals that of the program for 593 files of many releases, in several modes."""
    with tarfile.open(shared / "data" / "files_variants.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    listed = run("-rl", ".")
    assert program("-rl", ".") == (listed.code, listed.data)
    assert 500 < len(listed.lines)
    Path("known").write_bytes(listed.data)
    for arguments in (["-rld", "js", "so"], ["-rlpt", "60", "so"], ["-rlcm", "known", "so"], ["-xt", "90", "known"]):
        done = run(*arguments)
        assert program(*arguments) == (done.code, done.data), arguments
        assert done.data
    done = run("-gxt", "40", "known")
    assert blocks(program("-gxt", "40", "known")[1]) == blocks(done.data)
