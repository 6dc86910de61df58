"""Wrong calls of every command: each ends in one line that says what was found, what is allowed and how to mend it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from test_help import PREPARATIONS, write_example_files

import nearkin as nk
from command import call
from nearkin.cli.app import command_names

# The exit code, the call, and what its message must say.
WRONG = [
    # A word that is no command, no option or no value, and what it may mean.
    (2, "dedpu corpus.jsonl", "there is no command dedpu; did you mean `nearkin dedup`?"),
    (2, "store creat x", "there is no command creat; did you mean `nearkin store create`?"),
    (2, "dedup corpus.jsonl -o x --treshold 0.5", "there is no option --treshold; did you mean --threshold"),
    (2, "store create s --memory", "there is no option --memory"),
    (2, "text hash corpus.jsonl --recpie x", "did you mean --recipe"),
    (2, "dedup corpus.jsonl -o x --keep longst", "use first, last, longest, shortest, max:COLUMN or min:COLUMN"),
    (2, "dedup corpus.jsonl -o x --keep longst", "did you mean longest?"),
    (2, "dedup corpus.jsonl -o x --family minhsh", "did you mean minhash?"),
    (2, "dedup corpus.jsonl -o x --lossles", "did you mean --lossless"),
    (2, "dedup corpus.jsonl -o x --lossless --cluster components", "--lossless is not allowed; use it with the cl"),
    (2, "dedup corpus.jsonl -o x --lossless --unit line", "use no --unit and no --boilerplate"),
    (2, "dedup corpus.jsonl -o x --lossless --engine sail", "--lossless: not with an engine"),
    (2, "dedup corpus.jsonl -o x --lossless --family ssdeep", "--lossless: not with --family ssdeep"),
    (2, "dedup pictures.csv -o x --hex-column phash --radius 8 --lossless", "--lossless is not allowed; use"),
    (2, "dedup corpus.jsonl -o x --shrink-to 60%", "--shrink-to '60%' is not allowed; use a number of documents from"),
    (2, "dedup corpus.jsonl -o x --shrink-to 0", "or a share of them above 0 and up to 1.0, such as 0.6"),
    (2, "dedup corpus.jsonl -o x --shrink-to 1", "or more: the threshold 0.5, the lowest that is searched, keeps no"),
    (2, "dedup corpus.jsonl -o x --shrink-to 2 --measure indel", "whose candidates have a promise of recall"),
    (2, "dedup corpus.jsonl -o x --shrink-to 2 --checkpoint work", "use it without a checkpoint"),
    (2, "dedup corpus.jsonl -o x --shrink-to 2 --store new.store", "use it without --store, which has a"),
    (2, "dedup corpus.jsonl -o x --shrink-to 2 --engine sail", "--shrink-to: not with an engine"),
    (2, "dedup corpus.jsonl -o x --shrink-to 2 --unit line", "use no --unit and no --boilerplate"),
    (2, "dedup corpus.jsonl -o x --group-colum site", "did you mean --group-column"),
    (2, "dedup corpus.jsonl -o x --group-column id --against new.jsonl", "--group-column id is not allowed; use it wi"),
    (2, "dedup corpus.jsonl -o x --group-column id --engine sail", "--group-column: not with an engine"),
    (2, "dedup corpus.jsonl -o x --group-column id --unit line", "use no --unit and no --boilerplate"),
    (1, "dedup corpus.jsonl -o x --group-column site", "no record has a column 'site'"),
    (2, "dedup corpus.jsonl -o x --measure jacard", "--measure 'jacard' is not allowed; use jaccard"),
    (2, "dedup corpus.jsonl -o x --measure jacard", "did you mean jaccard?"),
    (2, "decontaminate corpus.jsonl --suites new.jsonl -o x --action ct", "use drop or cut"),
    (2, "leaks corpus.jsonl new.jsonl --threshold 2", "--threshold 2.0 is not allowed; use"),
    (2, "dedup corpus.jsonl -o x --unit paragraf", "did you mean paragraph?"),
    (2, "dedup corpus.jsonl -o x --format jsnl", "use one of jsonl, parquet, csv, tsv, txt, files, warc; did you mean"),
    (2, "text pairs corpus.jsonl --format xml", "--format 'xml' is not allowed; use one of jsonl"),
    (2, "dedup corpus.jsonl -o x --encoding utf-9", "use the name of an encoding, such as latin-1"),
    (2, "dedup corpus.jsonl -o x --explain", "--engine or --remote with it"),
    (2, "dedup corpus.jsonl -o x --id-column id --family simhash --engine sail --explain", "use it with minhash"),
    (2, "dedup corpus.jsonl -o x --engine duckdb", "--engine duckdb is not allowed; use spark or sail"),
    (2, "dedup corpus.jsonl -o x --recipe foo", "use a preset (containment, default, go-fnv1a, jieba-jenkins"),
    (2, "dedup corpus.jsonl -o x --recipe simhash-pipy", "did you mean simhash-pypi?"),
    (2, "recipe show word:3|count|xxh4|simhash:64", "'xxh4' is not one of them"),
    (2, "recipe show word:0|count|xxh3|simhash:64", "word='0' is not allowed; use 1 or more, such as word:3"),
    (2, "text explain hi --recipe foo", "use a preset"),
    (2, "index build corpus.jsonl -o y.nks --existing maybe", "--existing 'maybe' is not allowed"),
    (2, "serve s3://bucket/pages", "STORE s3://bucket/pages is not allowed; use the folder of a store on this machine"),
    (2, "serve pages.store --sync never", "--sync 'never' is not allowed"),
    (2, "dedup pictures.csv -o x --hex-colum phash", "did you mean --hex-column"),
    (2, "dedup pictures.csv -o x --hex-column phash", "no --radius given; use a number of bits, such as 31 for PDQ"),
    (2, "dedup pictures.csv -o x --hex-column phash --radius 65", "--radius 65 is not allowed; use 0 to 64, the width"),
    (2, "dedup pictures.csv -o x --hex-column phash --threshold 0.9", "use --radius with --hex-column, whose"),
    (2, "dedup pictures.csv -o x --hex-column phash --radius 8 --text-column id", "use only --hex-column"),
    (2, "dedup pictures.csv -o x --hex-column phash --radius 8 --engine sail", "--hex-column: not with an engine"),
    (2, "dedup corpus.jsonl -o x --image-column id", "--image-column id is not allowed; use --hex-column with it"),
    (2, "text pairs pictures.csv --hex-column phash", "no --radius given; use a number of bits"),
    (2, "text pairs pictures.csv --hex-column phash --radius 8 --recipe default", "use --radius with --hex-column"),
    (1, "text pairs pictures.csv --hex-column id --radius 8", "row 0: 1 hexadecimal digits; expected an even"),
    (1, "text pairs pictures.csv --hex-column dhash --radius 8", "no column 'dhash'"),
    (2, "search pictures.csv --hex-column phash", "no queries given; use --fingerprint, or inputs with codes"),
    (2, "search pictures.csv --hex-column phash --text fox", "use --fingerprint or inputs with --hex-column"),
    (2, "search pages.store new.jsonl --hex-column phash", "--hex-column: not with a store, which has texts"),
    # What is missing.
    (2, "dedup corpus.jsonl", "--out is missing; `nearkin dedup -h` shows the options"),
    (2, "dedup --out x", "INPUTS is missing"),
    (2, "check new.jsonl", "--store is missing"),
    (2, "report", "FOLDER is missing"),
    (2, "serve", "STORE is missing; give it, --patterns FILE, or both"),
    (2, "serve --patterns fox.txt --create", "--create is not allowed; use a STORE with it"),
    (2, "mcp", "STORE is missing"),
    (2, "store remove pages.store", "no ids given; use ids as arguments, or --ids FILE"),
    (2, "index remove corpus.nks", "no ids given; use ids as arguments, or --ids FILE"),
    (2, "store expire pages.store", "no --before given; use a time, or an age such as 90d as max_age (--max-age)"),
    (2, "ssdeep hash", "no inputs given; use files, or directories with --recursive"),
    (2, "fuzzy", "no inputs given; use files, or directories with --recursive"),
    (2, "tlsh hash", "no inputs given; use files, or directories with --recursive"),
    (2, "tlsh search Documents/new.bin", "no --known given; use --known LIST, a file of `nearkin tlsh hash`"),
    (2, "ssdeep search Documents/new.bin", "no --known given; use --known LIST, a file of `nearkin ssdeep hash`"),
    (2, "text compare a", "B is missing"),
    (2, "recipe evaluate clean", "--truth is missing"),
    # Values out of range or of another type.
    (2, "dedup corpus.jsonl -o x --threshold 2", "--threshold 2.0 is not allowed; use a similarity above 0 and up to"),
    (2, "dedup corpus.jsonl -o x --threshold high", "--threshold high is not allowed; use a number"),
    (2, "dedup corpus.jsonl -o x --recall 1.5", "--recall 1.5 is not allowed; use above 0 and below 1"),
    (2, "dedup corpus.jsonl -o x --radius 500", "--radius 500 is not allowed; use a whole number from 0 to bits=128"),
    (2, "text hash corpus.jsonl --threads 0", "use 1 to 4096, or leave it out for one per core"),
    (2, "text pairs corpus.jsonl --max-malformed few", "--max-malformed 'few' is not allowed; use a number of records"),
    (2, "dedup corpus.jsonl -o x --max-malformed 200%", "or a share of them such as 5%"),
    (2, "store create new.store --threshold 80", "use a similarity above 0 and up to 1"),
    (2, "store expire pages.store --before yesterday", "use a time such as 2026-01-31"),
    (2, "store restore backups --out y --at 1999", "use a time such as 2026-01-31T12:00Z"),
    (2, "store copy pages.store y --threshold x", "--threshold x is not allowed; use a number"),
    (2, "search corpus.nks --text hello --top-k 0", "--top-k 0 is not allowed; use 1 or more"),
    (2, "search corpus.nks --text hello --radius 200", "--radius 200 is not allowed; use 0 to bits=128"),
    (2, "search corpus.nks --fingerprint zz", "--fingerprint 'zz' is not allowed; use a hexadecimal number"),
    (2, "index build corpus.jsonl -o y.nks --bits 0", "--bits 0 is not allowed; use 1 to 1024"),
    (2, "index info corpus.nks --radius 999", "--radius 999 is not allowed; use 0 to bits=128"),
    (2, "ssdeep search --known known.txt new.txt --threshold 101", "--threshold 101 is not allowed; use 1 to 100"),
    (2, "serve pages.store --port 99999", "--port 99999 is not allowed; use 0 to 65535; 0 selects a free port"),
    (2, "serve pages.store --max-body big", "use a number of bytes such as 500M, 2G or 2Gi"),
    (2, "serve pages.store --rate fast", "such as 100/s or 30/min"),
    (2, "recipe tune corpus.jsonl --bits abc", "--bits abc is not allowed; use a whole number"),
    (2, "recipe idf corpus.jsonl -o y.idf --min-df 0", "--min-df 0 is not allowed; use 1 to"),
    (2, "text keywords corpus.jsonl --top 0", "--top 0 is not allowed; use all, a number from 1, or a share"),
    (2, "text contains pages.jsonl --known known.jsonl --threshold 9", "use a containment above 0 and up to 1"),
    # Options that exclude each other, or that need another.
    (2, "dedup corpus.jsonl -o x --delimiter ;", "--delimiter ';' is not allowed; use it with csv alone; the format i"),
    (2, "dedup two.csv -o x --delimiter ab", "use one ASCII character such as ';'"),
    (2, "dedup corpus.jsonl -o x --store pages.store --against known.jsonl", "and no --against, with --store"),
    (2, "dedup corpus.jsonl -o x --unit line --store pages.store", "use no --unit and no --boilerplate"),
    (2, "dedup corpus.jsonl -o x --family ssdeep --unit line", "--unit: not with --family ssdeep"),
    (2, "dedup corpus.jsonl -o x --family ssdeep --html", "--html: not with --family ssdeep"),
    (2, "dedup corpus.jsonl -o x --family ssdeep --encoding latin-1", "--encoding: not with --family ssdeep"),
    (2, "dedup corpus.jsonl -o - --report", "use a folder with --report, which is written there"),
    (2, "search pages.store --text a --radius 3", "--radius: not with a store"),
    (2, "serve pages.store --host 0.0.0.0", "use 127.0.0.1, or tokens: --token-file FILE"),
    (2, "serve pages.store --tls-cert fox.txt", "--tls-cert FILE without --tls-key is not allowed; use both, in PEM"),
    (2, "text compare old.txt new.txt --text --files", "--text: not with --files"),
    (2, "text compare old.txt nowhere.txt", "nowhere.txt: no such file, but the other argument is one; --text takes b"),
    (2, "store expire pages.store --before 2020-01-01 --max-age 9d", "use one of them: a time, or an age such as 90d"),
    (2, "index add corpus.nks new.jsonl --recipe simhash-pypi", "leave it out: the index has its own"),
    (2, "check --store pages.store", "no inputs given; use files, - for standard input, or --text TEXT"),
    (2, "check --store pages.store --text a --html", "--html: not with --text alone, which reads no corpus"),
    (2, "leaks corpus.jsonl", "use two or more different ones, the training set first"),
    (2, "leaks corpus.jsonl corpus.jsonl", "use two or more different ones, the training set first"),
    (2, "--verbose", "it goes with --version alone"),
    # Files that do not exist, that are folders, or that are of another kind.
    (1, "dedup nowhere.jsonl -o x", "nowhere.jsonl: no such file or folder"),
    (1, "dedup https:/me:SECRET@host/a.jsonl -o x", "https:/me:***@host/a.jsonl: no such file or folder"),
    (1, "report https:/me:SECRET@host/out", "https:/me:***@host/out: "),
    (1, "dedup corpus.jsonl -o x --against nowhere.jsonl", "nowhere.jsonl: no such file or folder"),
    (1, "dedup corpus.jsonl -o x --labels nowhere.tsv", "nowhere.tsv: no such file or folder"),
    (1, "dedup corpus.jsonl -o x --labels fox.txt", "has no columns; give .jsonl, .csv, .tsv or .parquet"),
    (1, "dedup empty -o x", "empty: the folder has no files"),
    (1, "dedup pages.store -o x", "is a store; `nearkin store export` writes its documents as a file"),
    (1, "dedup corpus.nks -o x", "unknown file extension; rename it, or give --format, one of jsonl"),
    (1, "text hash mixed", "mixed/b.jsonl is jsonl; give inputs of one format, or --format files to take every"),
    (1, "dedup x.parquet -o x", "the Parquet file is damaged"),
    (1, "dedup x.jsonl.gz -o x", "the compressed stream is damaged or cut off"),
    (1, "text hash latin.jsonl", "or give the encoding that it has, such as --encoding latin-1"),
    (1, "dedup broken.jsonl -o x", "none of 20 records can be read; the first: broken.jsonl, line 1: invalid JSON"),
    (1, "dedup corpus.jsonl -o x --text-column txet", 'no column "txet"; this record has id, text'),
    (1, "dedup corpus.jsonl -o x --id-column uid", 'no column "uid"; this record has id, text'),
    (1, "dedup corpus.jsonl -o x --keep max:nope", "no record has a column 'nope'; the first has 'id', 'text'"),
    (1, "dedup two.csv -o x", "no column 'text'; the header has a, b; name yours by --text-column"),
    (1, "dedup corpus.jsonl -o x --store empty", "the folder exists, but no store is here; give the folder of a store"),
    (1, "dedup corpus.jsonl -o x --store fox.txt", "fox.txt: is a file, and a store is a folder; give the folder of"),
    (1, "check new.jsonl --store nowhere", "nowhere: no such file or folder; give the folder of a store, or create on"),
    (2, "check new.jsonl --store ftp://host/x", "use the folder of a store, or the http:// or https:// URL of its ser"),
    (1, "store add empty new.jsonl", "the folder exists, but no store is here"),
    (1, "store add pages.store nowhere.jsonl", "nowhere.jsonl: no such file or folder"),
    (1, "store verify fox.txt", "fox.txt: is a file, and a store is a folder"),
    (1, "store adopt empty", "the folder exists, but no store is here"),
    (1, "store merge nowhere", "nowhere: no such file or folder; give the folder of a store"),
    (1, "store backup pages.store clean", "clean: exists already; give another path"),
    (1, "store info corpus.nks", "corpus.nks: is a file, and a store is a folder"),
    (1, "store salvage empty -o y", "no store is here; give the folder of a store"),
    (1, "store restore empty", "has no backups; give a folder in which `nearkin store backup` made them"),
    (1, "store restore nowhere", "nowhere: no such folder; give one in which `nearkin store backup` made backups"),
    (1, "index info pages.store", "pages.store: is a store; `nearkin store info` shows it"),
    (1, "index info nowhere", "nowhere: no such file; give an index, as `nearkin index build` writes it"),
    (1, "index info nothing.nks", "it is empty; give an index, as `nearkin index build` writes it"),
    (1, "search nothing.nks --text a", "it is empty; give an index, as `nearkin index build` writes it"),
    (1, "store restore empty -o y", "has no backups; give a folder in which `nearkin store backup` made them"),
    (2, "store get pages.store zzz", "use ids that are in the store, or --missing-ok"),
    (2, "search http://127.0.0.1:1 --text a", "`nearkin check` queries a service"),
    (1, "search corpus.jsonl --text a", "is no file that nearkin saved; give an index, as `nearkin index build` write"),
    (1, "search tiny.txt --text a", "is no file that nearkin saved; give an index, as `nearkin index build` writes it"),
    (1, "search pages.store --file empty", "empty: is a folder; give regular files"),
    (1, "index add empty new.jsonl", "empty: is a folder; give an index"),
    (2, "index remove corpus.nks zzz", "use ids of the index, or --missing-ok"),
    (2, "index remove numbers.nks 77", "ids 77 (not there) is not allowed; use ids of the index, or --missing-ok"),
    (1, "report nowhere", "is not a folder that nearkin dedup wrote for documents or files: the folder does not exist"),
    (1, "report fox.txt", "is not a folder that nearkin dedup wrote for documents or files: it is a file"),
    (1, "report empty", "is not a folder that nearkin dedup wrote for documents or files: it has no summary.json"),
    (1, "mcp empty", "the folder exists, but no store is here"),
    (1, "mcp nowhere", "nowhere: no such file or folder"),
    (2, "mcp pages.store --create --readonly", "--readonly with --create is not allowed; use an existing store"),
    (1, "serve empty --port 0", "the folder exists, but no store is here"),
    (1, "serve pages.store --token-file nowhere", "nowhere: no such file"),
    (1, "patterns lines nowhere.log", "nowhere.log: no such file or folder"),
    (1, "patterns urls empty", "empty: the folder has no files"),
    (1, "patterns payloads waf.jsonl --text-column nope", 'no column "nope"; this record has payload'),
    (1, "tlsh compare T1 fox.txt", "T1: no such file or folder"),
    (2, "tlsh cluster Documents --linkage centered", "--linkage centered is not allowed"),
    (1, "ssdeep hash nowhere", "nearkin: nowhere: no such file or folder"),
    (1, "ssdeep hash Documents", "Documents: a directory; add --recursive to hash the files below it"),
    (1, "ssdeep compare Documents/old.bin nowhere", "nowhere: no such file or folder"),
    (1, "ssdeep cluster nowhere", "nowhere: no such file or folder"),
    (1, "recipe show idf:@nowhere|word:1", "nowhere: no such file; give a table, as"),
    (1, "recipe show word:1|idf:@fox.txt|xxh3|simhash:64", "fox.txt: is no file that nearkin saved; give a table, as"),
    (1, "recipe evaluate corpus.jsonl --truth labels.tsv", "name pair columns (left,right), or an id and a cluster co"),
    (1, "text explain Documents/raw.bin --files", "is not UTF-8 at byte 128; convert it"),
    (1, "text hash a.xml", "unknown file extension; rename it, or give --format, one of jsonl"),
    # Output that cannot be written.
    (1, "dedup corpus.jsonl -o /proc/x", "cannot write into the folder /proc (it takes no files)"),
    (1, "recipe idf corpus.jsonl -o /proc/x", "cannot write into the folder /proc (it takes no files)"),
    (1, "index build corpus.jsonl -o /proc/x.nks", "/proc/x.nks: no such file or folder"),
    (1, "store create /proc/x", "cannot write into the folder /proc (it takes no files)"),
    (1, "dedup corpus.jsonl -o fox.txt/x", "fox.txt is a file, not a folder; choose another folder"),
    (2, "dedup corpus.jsonl -o s3://bucket/x", "use a local folder, or --engine, which writes to URLs"),
    (2, "dedup corpus.jsonl -o clean", "use a folder that is empty or does not exist, or --overwrite; it contains clu"),
    (2, "dedup corpus.jsonl -o Documents --overwrite", "use a folder with the output of an earlier run"),
    (2, "dedup corpus.jsonl -o corpus.jsonl", "corpus.jsonl is inside and is never overwritten"),
    (1, "store create pages.store", "pages.store: exists already; give another path"),
    (1, "store create nowhere/x.store", "nowhere does not exist; create it, or choose another"),
    (1, "store copy pages.store empty", "empty: exists already; give another path"),
    (1, "store backup pages.store nowhere/x.store", "nowhere does not exist; create it, or choose another"),
    (1, "store export pages.store -o nowhere/x.jsonl", "nowhere does not exist; create it, or choose another"),
    (2, "store export pages.store -o x.foo", "use a file that ends in .jsonl, .jsonl.gz or .jsonl.zst"),
    (2, "index build corpus.jsonl -o corpus.nks", "use a file that does not exist, or --overwrite"),
    (2, "index build corpus.jsonl -o empty", "--out empty is not allowed; use a file; this is a folder"),
    (2, "index build corpus.jsonl -o nowhere/x.nks", "use a file in a folder that exists"),
    (1, "index build corpus.jsonl -o fox.txt --overwrite", "fox.txt: is no file that nearkin saved"),
    (2, "index add corpus.nks corpus.jsonl --id-column id", "(already there) is not allowed; use new ids, or --existi"),
    (2, "patterns lines app.log --multiline (", "--multiline '(' is not allowed"),
    (2, "patterns lines app.log --annotate x.jsonl", "use --match FILE with it"),
    (2, "patterns lines app.log --match x --annotate x.txt", "use a name that ends in .jsonl or .parquet"),
    (2, "patterns lines app.log --match x --new --annotate x.jsonl", "use it without --annotate, which prints nothing"),
    (2, "patterns payloads app.log --match x --queue --annotate x.jsonl", "it without --queue, which prints"),
    (2, "patterns lines app.log --out x.txt", "use a name that ends in .jsonl or .parquet"),
    (1, "recipe idf corpus.jsonl -o nowhere/x", "nowhere does not exist; create it, or choose another"),
    (1, "recipe idf corpus.jsonl -o empty", "empty: is a folder; give the path of a file"),
    (2, "report clean --out x.txt", "use a name that ends with .html"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the examples, and with others that commands refuse."""
    folder = tmp_path_factory.mktemp("wrong")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_example_files(folder, " ".join([*PREPARATIONS, "known.txt"]))
    nk.HammingIndex(recipe=nk.Recipe()).save(folder / "numbers.nks")
    for name in ("empty", "mixed"):
        (folder / name).mkdir()
    contents = {
        "mixed/b.jsonl": b'{"text": "one"}\n',
        "mixed/c.csv": b"text\none\n",
        "latin.jsonl": b'{"text": "caf\xe9"}\n',
        "broken.jsonl": b"{not json}\n" * 20,
        "two.csv": b"a,b\n1,2\n",
        "pictures.csv": b"id,phash\na,ffd8a0c1e3f07f00\nb,0123456789abcdef\n",
        "x.parquet": b"PAR1, then nothing",
        "x.jsonl.gz": b"not compressed",
        "a.xml": b"<a/>",
        "nothing.nks": b"",
        "tiny.txt": b"hi\n",
        "Documents/raw.bin": bytes(range(256)),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def visible_files(folder: Path) -> list[str]:
    """Return the files of a folder except locks, which remain."""
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


@pytest.mark.parametrize(("code", "line", "message"), WRONG)
def test_a_wrong_call_says_what_is_allowed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: int, line: str, message: str
) -> None:
    """One line on standard error with the option or file, and no argument of Python, error number or hidden file."""
    monkeypatch.chdir(folder)
    before = visible_files(folder)
    done = call(*shlex.split(line, posix=True) if "|" not in line and ";" not in line else line.split())
    assert (code, True) == (done.code, message in done.message), (done.code, done.err)
    errors = [each for each in done.err.splitlines() if not each.startswith(("nearkin: ids are", "nearkin: read as"))]
    assert 1 == len(errors), errors
    plain = re.sub(r"bits=128|recipe=|word=", "", errors[0])
    assert not re.search(r"\w=['\w]|Errno|os error|`save`|None|True|/\.", plain), plain
    assert before == visible_files(folder)


def test_every_command_has_a_wrong_call() -> None:
    """Each command is called wrongly at least once."""
    lines = [line for _, line, _ in WRONG]
    missing = [
        name for name in command_names() if not any(line.startswith(f"{name} ") or line == name for line in lines)
    ]
    assert [] == missing
