"""Logs of real programs whose templates are known: `bench/data/program_logs.jsonl.gz`.

    python bench/program_logs.py --packages FOLDER [--only NAME]

Programs (`data/programs`) that use Python's `logging` run with a hook that keeps each record's format (`"Crawled %s"`,
the event and its template) and its message (the line). Records without arguments count if their place in the source
always logs the same text, without digits; otherwise the text was formatted before it was logged, and its template is
unknown. Formats without a letter (`"%s"`) are no templates. Folders of the machine are replaced by `/srv`. The lines
are in a random order.

The first programs: a crawler (scrapy, with a site that fails), fonts (fontTools: subsets, merges, XML), figures
(matplotlib and Pillow), an installer (pip), a database library (SQLAlchemy), a web server (uvicorn, websockets and
asyncio); at most 400 lines of an event. The second ones need `--packages`: a queue of tasks (celery), a mail server
(aiosmtpd), calls of a cloud that fails (botocore), timers and a web framework (apscheduler, tornado), pipelines
(luigi), a server of processes (gunicorn), SSH and SFTP (asyncssh), machines (asyncua), builds (setuptools),
documentation (sphinx), topics of texts (gensim); at most 60 lines of an event, of at most 2,000 characters. Nobody
chose their texts for a log parser. Rules were chosen on those in `CHOOSING`.
"""

from __future__ import annotations

import collections
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import common

PATH = common.DATA / "program_logs.jsonl.gz"
MAX_LINES = 400
MAX_LINES_SECOND = 60
MAX_CHARACTERS_SECOND = 2000
_FORMAT = re.compile(r"%(?:\(\w+\))?[-#0 +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?[diouxXeEfFgGcrsa]")

PROGRAMS = (
    *("crawler", "fonts", "figures", "installer", "database", "server", "tasks", "mail", "cloud", "timers"),
    *("pipelines", "web", "ssh", "machines", "builder", "docs", "topics"),
)
PACKAGES = {
    "tasks": "celery",
    "mail": "aiosmtpd",
    "cloud": "botocore",
    "timers": "apscheduler tornado",
    "pipelines": "luigi",
    "web": "gunicorn",
    "ssh": "asyncssh",
    "machines": "asyncua",
    "builder": "setuptools wheel",
    "docs": "sphinx",
    "topics": "gensim",
}
"""Packages of the second group of programs, for `pip install --target FOLDER`."""
CHOOSING = ("crawler", "figures", "installer", *PACKAGES)
"""Programs on which rules may be chosen; the others are sealed."""

HOOK = r"""
import json, logging, os, sys
source, output = sys.argv[1:3]
sys.argv = ["program"]
# Processes that the program forks append to the same file.
rows = os.open(output, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
class Record(logging.LogRecord):
    def __init__(self, name, level, pathname, lineno, msg, args, *rest, **more):
        super().__init__(name, level, pathname, lineno, msg, args, *rest, **more)
        try:
            row = [f"{pathname}:{lineno}", str(msg), bool(self.args), self.getMessage()]
            os.write(rows, json.dumps(row).encode() + b"\n")
        except Exception:
            pass
logging.setLogRecordFactory(Record)
logging.getLogger().setLevel(logging.DEBUG)
logging.getLogger().addHandler(logging.NullHandler())
exec(compile(open(source).read(), "program", "exec"), {"__name__": "__main__"})
"""


def source(name: str) -> str:
    """Return the source of a program."""
    return (common.DATA / "programs" / f"{name}.py.txt").read_text(encoding="utf-8")


def run(program: str, packages: Path | None = None) -> list[tuple[str, str, bool, str]]:
    """Run a program; return place, format, whether it has arguments, and message of each of its log records.

    `packages` is a folder of `pip install --target` that is searched first.
    """
    first = [str(packages)] if packages else []
    with tempfile.TemporaryDirectory() as folder:
        work, path, output = Path(folder) / "work", Path(folder) / "program.py", Path(folder) / "records.json"
        work.mkdir()
        path.write_text(program, encoding="utf-8")
        call = [sys.executable, "-c", HOOK, str(path), str(output)]
        env = os.environ | ({"PYTHONPATH": os.pathsep.join(first)} if first else {})
        done = subprocess.run(call, cwd=work, env=env, capture_output=True, text=True, check=False)
        if not output.exists():
            raise SystemExit(done.stderr[-3000:])
        text = output.read_text(encoding="utf-8")
    libraries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    folders = {str(work), sys.prefix, folder, str(Path.home()), sys.base_prefix, *libraries, *first}
    for prefix in sorted(folders, key=len, reverse=True):
        if len(prefix) > 4:
            text = text.replace(prefix, "/srv").replace(prefix.lstrip("/"), "srv")
    return [tuple(json.loads(line)) for line in text.splitlines()]


def records(name: str, rows: list[tuple[str, str, bool, str]]) -> list[dict[str, Any]]:
    """Return the records whose template is known, at most 400 or 60 of an event, in a random order."""
    # A place that passes arguments without conversions has formatted the text before.
    rows = [
        (place, form, has_args and _FORMAT.search(form.replace("%%", "")) is not None, text)
        for place, form, has_args, text in rows
    ]
    texts: dict[str, set[str]] = collections.defaultdict(set)
    for place, form, has_args, _ in rows:
        if not has_args:
            texts[place].add(form)
    constant = {place for place, forms in texts.items() if len(forms) == 1 and not re.search(r"\d", "".join(forms))}
    known = [row for row in rows if row[3].strip() and (row[2] or row[0] in constant)]
    random.Random(f"program {name}").shuffle(known)
    counts: collections.Counter[str] = collections.Counter()
    result = []
    for _, form, has_args, message in known:
        template = "%".join(_FORMAT.sub("<*>", part) for part in form.split("%%")) if has_args else form
        if not re.search("[a-zA-Z]", template.replace("<*>", "")):
            continue
        if name in PACKAGES and len(message) > MAX_CHARACTERS_SECOND:
            continue
        counts[template] += 1
        if counts[template] <= (MAX_LINES_SECOND if name in PACKAGES else MAX_LINES):
            result.append({"system": name, "event": template, "template": template, "text": message})
    return result


def read(path: Path = PATH) -> dict[str, list[dict[str, Any]]]:
    """Return the saved records of each program."""
    results: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            results[record["system"]].append(record)
    return dict(results)


def write(path: Path, systems: dict[str, list[dict[str, Any]]]) -> None:
    """Save the records of each program."""
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        for rows in systems.values():
            for record in rows:
                file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def main() -> None:
    options = common.arguments(
        __doc__,
        ("--only", {"choices": list(PROGRAMS), "help": "run only this program"}),
        ("--packages", {"type": Path, "help": "a folder of `pip install --target` with the packages of PACKAGES"}),
    )
    results = read() if PATH.exists() else {}
    for name in PROGRAMS:
        if options.only not in (None, name):
            continue
        if name in PACKAGES and options.packages is None:
            raise SystemExit(f"{name} needs --packages FOLDER; run pip install --target FOLDER {PACKAGES[name]}")
        results[name] = records(name, run(source(name), options.packages))
        events = collections.Counter(record["event"] for record in results[name])
        print(f"{name:10} {len(results[name]):6} lines, {len(events):4} events")
    write(PATH, {name: results[name] for name in PROGRAMS if name in results})


if __name__ == "__main__":
    main()
