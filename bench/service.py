"""The service under load: rates, times of answers, memory, beside the store itself, the bare framework, and a rival.

A store of a million documents of about 1 KB (those of `bench/store_growth.py`), texts kept, served by `nearkin serve`
on the loopback interface of the machine that also runs the loader (`service_load.py`): CPU seconds of both are told.
Every part begins with a copy of the store as it was built and merged.

- *check*: half copies, a quarter with one word changed, a quarter new; 16 connections.
- *add*: durable `check-and-add` of single new documents; 16 connections, so that commits are of groups.
- *batches*: `check-and-add` of 1,000 new documents, JSON and Arrow; the same documents through `Store` in this process.
- *overload*: twice the batches of 200 that it can carry, on 600 connections, whatever is answered; memory beyond the
  most that it had while it carried them.
- *backup*: `check` and `add` while the store is copied.
- *minutes*: all of these mixed, for long (`--minutes`).

Beside it `service_rivals.py`. Stores are kept in `--folder`, since building them takes minutes.

Run: `python bench/service.py --folder FOLDER`; results go to `bench/runs/`, the tables into `docs/service.md`.
"""

from __future__ import annotations

import http.client
import io
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import common
import nearkin as nk
from service_load import Load, Loader, cpu_seconds, document, post, private, resident
from service_rivals import Rival, rival
from store import THRESHOLD, pieces, sync_time
from store_growth import documents, one_word_changed

ARROW = "application/vnd.apache.arrow.stream"
CONNECTIONS = 16
BATCH = 1000
PARTS = ("check", "add", "batches", "overload", "backup")


# The store


def built(folder: Path, recipe: str, count: int, data: Path) -> Path:
    """A merged store of `count` documents; made where it is not there."""
    path = folder / f"{recipe}-{count}"
    if path.exists():
        return path
    aside = path.with_suffix(".part")
    shutil.rmtree(aside, ignore_errors=True)
    source, begin = documents(data), time.perf_counter()
    with nk.Store.create(aside, None if recipe == "simhash" else recipe, threshold=THRESHOLD) as store:
        for start in range(0, count, 5000):
            end = min(start + 5000, count)
            names = [f"http://example.org/news/{number:010d}" for number in range(start, end)]
            store.add(list(itertools.islice(source, end - start)), names)
        store.merge()
    print(f"built {path} in {time.perf_counter() - begin:.0f} s", flush=True)
    return aside.rename(path)


@contextmanager
def copied(path: Path) -> Iterator[Path]:
    """A copy that may be changed: segments, which never change, are linked."""
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        copy = Path(name) / "pages.store"
        shutil.copytree(path, copy, copy_function=lambda one, other: link_or_copy(Path(one), Path(other)))
        yield copy


def link_or_copy(one: Path, other: Path) -> None:
    """Segments are linked, all else is copied."""
    if one.parent.name == "segments":
        os.link(one, other)
    else:
        shutil.copy2(one, other)


# The service


@dataclass
class Served:
    """A service that runs."""

    address: tuple[str, int]
    pid: int

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer; the text of one that is none."""
        connection = http.client.HTTPConnection(*self.address, timeout=600)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            told = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{answer.status}: {told!r}")
        return json.loads(told) if "json" in answer.getheader("content-type", "") else told.decode()


@contextmanager
def served(path: Path, *options: str) -> Iterator[Served]:
    """A service of a store."""
    log = path.parent / "service.log"
    command = [sys.executable, "-m", "nearkin", "serve", str(path), "--port", "0", *options]
    with log.open("wb") as file:
        process = subprocess.Popen(command, stderr=file, stdout=subprocess.DEVNULL)
    try:
        found = Served(listening(log, process), process.pid)
        while True:
            try:
                found.call("GET", "/readyz")
                break
            except (OSError, RuntimeError):
                time.sleep(0.05)
        yield found
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def listening(log: Path, process: subprocess.Popen[bytes]) -> tuple[str, int]:
    """The address that a service tells in its log."""
    while process.poll() is None:
        for line in log.read_text().splitlines():
            if '"listening"' in line and line.endswith("}"):
                host, port = json.loads(line)["url"].split("//")[1].split(":")
                return host, int(port)
        time.sleep(0.05)
    raise RuntimeError(log.read_text())


def loaded(served: Served | Rival, requests: Iterable[bytes], **options: Any) -> dict[str, Any]:
    """A load, and what it took of the processes that answered."""
    pids = served.pids if isinstance(served, Rival) else (served.pid,)
    begin = [cpu_seconds(pid) for pid in pids]
    load = Loader(served.address, iter(requests), **options).run()
    cpu = [cpu_seconds(pid) - before for pid, before in zip(pids, begin, strict=True)]
    count = max(load.statuses[200], 1)
    more = {"service_cpu_seconds": sum(cpu), "service_cpu_ms": 1000 * sum(cpu) / count}
    return {**load.figures(), **more, "loader_cpu_ms": 1000 * load.cpu_seconds / count}


# What is asked


@dataclass
class Asked:
    """The documents of a run, the same for all that are compared."""

    known: list[str]
    source: Iterator[str]
    """New documents without end."""

    def mixed(self, count: int) -> list[str]:
        """Half copies, a quarter near, a quarter new."""
        choose = random.Random(5)
        kinds = choose.choices(["copy", "copy", "near", "new"], k=count)
        known = itertools.cycle(self.known)
        return [
            next(self.source) if kind == "new" else next(known) if kind == "copy" else one_word_changed(next(known))
            for kind in kinds
        ]

    def new(self, count: int) -> list[str]:
        """New documents."""
        return list(itertools.islice(self.source, count))


def new_documents(data: Path) -> Iterator[str]:
    """Documents as those of the store, made by another seed."""
    texts, choose = pieces(data, 30_000), random.Random(29)
    while True:
        words = choose.choice(texts).split(" ")
        for at in range(0, len(words), 4):
            words[at] = f"n{choose.getrandbits(30):x}"
        yield " ".join(words)


def known_texts(path: Path, count: int) -> list[str]:
    """Texts of random documents of a store."""
    with nk.Store.open(path, "r") as store:
        rows = random.Random(3).sample(range(len(store)), min(count, len(store)))
        names = [f"http://example.org/news/{row:010d}" for row in rows]
        parts = [store.texts(names[start : start + 1000]) for start in range(0, len(names), 1000)]
        return [text for part in parts for text in part if text is not None]


def checks(texts: list[str]) -> list[bytes]:
    """A request per text."""
    return [document("/v1/check", {"text": text}) for text in texts]


def additions(texts: list[str], name: str) -> list[bytes]:
    """A request per text, with ids of their own."""
    found = enumerate(texts)
    return [
        document("/v1/check-and-add", {"id": f"http://example.org/{name}/{i:010d}", "text": text}) for i, text in found
    ]


def batches(texts: list[str], name: str, form: str, size: int = BATCH) -> list[bytes]:
    """A request per `size` texts, in JSON or Arrow."""
    found = []
    for start in range(0, len(texts), size):
        some = texts[start : start + size]
        names = [f"http://example.org/{name}/{i:010d}" for i in range(start, start + len(some))]
        if form == "json":
            rows = [{"id": one, "text": text} for one, text in zip(names, some, strict=True)]
            found.append(document("/v1/check-and-add", {"documents": rows}))
        else:
            table, sink = pa.table({"id": names, "text": some}), io.BytesIO()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            found.append(post("/v1/check-and-add", sink.getvalue(), ARROW))
    return found


# The parts


def timed_calls(call: Callable[[int], object], count: int) -> dict[str, float]:
    """Calls of this process, one after the other."""
    times = []
    cpu, begin = time.process_time(), time.perf_counter()
    for number in range(count):
        start = time.perf_counter()
        call(number)
        times.append(time.perf_counter() - start)
    seconds = time.perf_counter() - begin
    ms = 1000 * np.array(times)
    return {
        "seconds": seconds,
        "per_second": count / seconds,
        "cpu_ms": 1000 * (time.process_time() - cpu) / count,
        "p50_ms": float(np.percentile(ms, 50)),
        "p99_ms": float(np.percentile(ms, 99)),
    }


def checked(base: Path, asked: Asked, seconds: float) -> dict[str, Any]:
    """`check`, by HTTP and in this process."""
    texts = asked.mixed(int(10_000 * seconds))
    requests = checks(texts)
    with copied(base) as path:
        with served(path) as service:
            loaded(service, itertools.islice(requests, 2000))
            found = {"http": loaded(service, itertools.cycle(requests), connections=CONNECTIONS, seconds=seconds)}
        with nk.Store.open(path) as store:
            store.check(texts[:100])
            found["store"] = timed_calls(lambda number: store.check([texts[number]]), 3000)
    return found


def added(base: Path, asked: Asked, seconds: float) -> dict[str, Any]:
    """Durable additions of single documents, by HTTP and in this process."""
    requests = additions(asked.new(int(6000 * seconds)), "add")
    texts = asked.new(2000)
    with copied(base) as path:
        found: dict[str, Any] = {"sync_ms": 1000 * sync_time(path.parent)}
        with served(path) as service:
            loaded(service, additions(asked.new(500), "warm"))
            found["http"] = loaded(service, requests, connections=CONNECTIONS, seconds=seconds)
            found["metrics"] = commits(service.call("GET", "/metrics"))
    with copied(base) as path, nk.Store.open(path) as store:
        found["store"] = timed_calls(lambda number: store.check_and_add([texts[number]], [f"s{number}"]), len(texts))
    return found


def commits(metrics: str) -> dict[str, float]:
    """The lines of commits in what the service measures of itself."""
    lines = [line.rsplit(" ", 1) for line in metrics.splitlines() if "commit" in line and not line.startswith("#")]
    return {name: float(value) for name, value in lines if "bucket" not in name}


def in_batches(base: Path, asked: Asked, count: int) -> dict[str, Any]:
    """The same batches through `Store`, and by HTTP in both forms."""
    texts = asked.new(count * BATCH)
    names = [f"http://example.org/batch/{number:010d}" for number in range(len(texts))]
    found: dict[str, Any] = {}
    with copied(base) as path, nk.Store.open(path) as store:

        def add(number: int) -> None:
            start, end = BATCH * number, BATCH * (number + 1)
            store.check_and_add(texts[start:end], names[start:end])

        found["store"] = timed_calls(add, count)
    for form, connections in (("json", 2), ("arrow", 2), ("json", 4)):
        requests = batches(texts, "batch", form)
        with copied(base) as path, served(path) as service:
            some = loaded(service, requests, connections=connections, seconds=300)
        some["documents_per_second"] = BATCH * some["per_second"]
        some["of_store"] = some["per_second"] / found["store"]["per_second"]
        found[f"{form}-{connections}"] = some
    return found


def overloaded(base: Path, asked: Asked, seconds: float) -> dict[str, Any]:
    """Batches of 200: as many as it carries, on 4 connections; then twice that rate, on 600. Checks, then additions.

    The memory of checks is that of the service alone; additions make the store grow, too, and write segments.
    """
    size = 200
    texts = asked.mixed(200 * size)
    questions = [
        document("/v1/check", {"documents": [{"text": text} for text in texts[start : start + size]]})
        for start in range(0, len(texts), size)
    ]
    found: dict[str, Any] = {"documents_per_request": size}
    for name in ("check", "add"):
        sizes: list[tuple[int, int]] = []
        with copied(base) as path, served(path) as service:

            def tick(_: float, __: Load, sizes: list[tuple[int, int]] = sizes, pid: int = service.pid) -> bool:
                sizes.append((resident(pid), private(pid)))
                return True

            requests = itertools.cycle(questions) if name == "check" else endless(asked, size)
            carrying = loaded(service, requests, connections=4, seconds=seconds, tick=tick)
            before = [max(column) for column in zip(*sizes, strict=True)]
            rate = 2 * carrying["per_second"]
            if name == "add":
                requests = iter(list(itertools.islice(requests, int(rate * seconds))))
            over = loaded(service, requests, connections=600, seconds=seconds, rate=rate, tick=tick)
        grown = [max(column) - most for column, most in zip(zip(*sizes, strict=True), before, strict=True)]
        memory = {"before_private_mb": before[1] / 1e6, "grown_mb": grown[0] / 1e6, "grown_private_mb": grown[1] / 1e6}
        found[name] = {**over, **memory, "offered_per_second": rate, "carrying": carrying}
    return found


def endless(asked: Asked, size: int) -> Iterator[bytes]:
    """Batches of additions without end."""
    for number in itertools.count():
        yield from batches(asked.new(50 * size), f"over{number}", "json", size)


def backed_up(base: Path, asked: Asked) -> dict[str, Any]:
    """`check` and single additions, three to one, before and while the store is copied."""
    questions, changes = checks(asked.mixed(180_000)), additions(asked.new(60_000), "backup")
    requests = [one for start in range(60_000) for one in (*questions[3 * start : 3 * start + 3], changes[start])]
    marks: list[tuple[float, int]] = []
    span: dict[str, float] = {}
    with copied(base) as path, served(path, "--backups", str(path.parent / "backups")) as service:
        (path.parent / "backups").mkdir(exist_ok=True)

        def back_up() -> None:
            span["begin"] = time.perf_counter()
            service.call("POST", "/v1/backup", {"name": "while"})
            span["end"] = time.perf_counter()

        thread = threading.Thread(target=back_up)

        def tick(seconds: float, load: Load) -> bool:
            marks.append((time.perf_counter(), load.statuses[200]))
            if seconds > 8 and thread.ident is None:
                thread.start()
            return "end" not in span or time.perf_counter() < span["end"] + 4

        loaded(service, requests[:2000])
        found = loaded(service, itertools.islice(requests, 2000, None), seconds=120, tick=tick)
        thread.join()
    during = rate_between(marks, span["begin"], span["end"])
    other = rate_between(marks, marks[0][0] + 2, span["begin"])
    more = {"backup_seconds": span["end"] - span["begin"], "rate_during": during, "rate_before": other}
    return {**found, **more, "cost": 1 - during / other}


def rate_between(marks: list[tuple[float, int]], begin: float, end: float) -> float:
    """Answers per second between two moments."""
    times, counts = (np.array(column, float) for column in zip(*marks, strict=True))
    first, last = np.interp([begin, end], times, counts)
    return float((last - first) / (end - begin))


def for_minutes(base: Path, asked: Asked, minutes: float) -> dict[str, Any]:
    """A mix of checks, additions, batches and removals; memory at each minute."""
    pool, known = asked.new(3000), asked.known[:20_000]
    choose, count = random.Random(13), itertools.count()

    def fresh() -> dict[str, object]:
        one, other = choose.choice(pool), choose.choice(pool)
        return {"id": f"http://example.org/long/{next(count):010d}", "text": one[:500] + other[500:]}

    def requests() -> Iterator[bytes]:
        while True:
            kind = choose.random()
            if kind < 0.6:
                yield document("/v1/check", {"text": choose.choice(known)})
            elif kind < 0.8:
                yield document("/v1/check", fresh())
            elif kind < 0.98:
                yield document("/v1/check-and-add", fresh())
            else:
                yield document("/v1/check-and-add", {"documents": [fresh() for _ in range(50)]})

    sizes: list[dict[str, float]] = []
    with copied(base) as path, served(path) as service:

        def tick(seconds: float, load: Load) -> bool:
            if seconds >= 60 * len(sizes):
                size = {"resident_mb": resident(service.pid) / 1e6, "private_mb": private(service.pid) / 1e6}
                sizes.append({"seconds": seconds, "answers": load.statuses[200], **size})
            return True

        found = loaded(service, requests(), seconds=60 * minutes, tick=tick)
        info = service.call("GET", "/v1/info")
    return {**found, "memory": sizes, "documents": info["documents"]}


def beside(asked: Asked, seconds: float, redis_documents: int) -> dict[str, Any]:
    """The bare framework, and datasketch on Redis with a smaller collection, which takes it less long to build."""
    found: dict[str, Any] = {}
    requests = checks(asked.mixed(20_000))
    with rival("bare") as one:
        loaded(one, requests[:2000])
        found["bare"] = loaded(one, itertools.cycle(requests), connections=CONNECTIONS, seconds=seconds)
    texts = asked.new(redis_documents)
    smaller = Asked(texts, asked.source)
    with rival("redis") as one:
        added = loaded(one, additions(texts, "r"), connections=CONNECTIONS, seconds=3600)
        requests = checks(smaller.mixed(5000))
        found["redis"] = loaded(one, itertools.cycle(requests), connections=CONNECTIONS, seconds=seconds)
        found["redis"] |= {"documents": redis_documents, "add": added, "redis_mb": resident(one.pids[1]) / 1e6}
    return found


# The page


def cell(found: dict[str, Any] | None, text: Callable[[dict[str, Any]], str]) -> str:
    """A figure, or a dash where it was not measured."""
    return "–" if found is None else text(found)


def rate_and_time(found: dict[str, Any]) -> str:
    """Rate, and the time of the slowest hundredth."""
    return f"{common.ratio(found['per_second'])}, {found['p99_ms']:.1f} ms"


def rows_of(results: dict[str, dict[str, Any]]) -> Iterator[list[str]]:
    """The first table: a row per part, a column per recipe."""

    def row(name: str, goal: str, text: Callable[[dict[str, Any]], str], part: str) -> list[str]:
        return [name, *(cell(found.get(part), text) for found in results.values()), goal]

    yield row("`check`: requests per second, 99%", "8,000, 5 ms", lambda one: rate_and_time(one["http"]), "check")
    yield row("CPU per `check`, service and loader", "", lambda one: both(one["http"]), "check")
    yield row("durable `check-and-add`, 99%", "4,000, 10 ms", lambda one: rate_and_time(one["http"]), "add")
    yield row("one sync of the disk", "", lambda one: f"{one['sync_ms']:.2f} ms", "add")
    for form, name in (("json-2", "JSON"), ("arrow-2", "Arrow")):

        def batch(one: dict[str, Any], form: str = form) -> str:
            some = one[form]
            rate = common.ratio(some["documents_per_second"])
            return f"{rate} documents, {100 * some['of_store']:.0f}% of the store, {some['p99_ms']:.0f} ms"

        yield row(f"batches of 1,000, {name}: per second, 99%", "60%, 200 ms", batch, "batches")
    for name, said in (("check", "checks"), ("add", "additions")):
        yield row(f"twice the {said} it carries", "200 and 429", lambda one, name=name: refusals(one[name]), "overload")
    yield row("memory that twice the checks take", "200 MB", lambda one: grown(one["check"]), "overload")
    yield row("backup under load: cost", "20%", lambda one: f"{100 * one['cost']:.0f}%", "backup")
    yield row("all together: minutes, errors, memory more", "10, 0", endured, "minutes")


def both(one: dict[str, Any]) -> str:
    """CPU per request of the service and of the loader."""
    return f"{1000 * one['service_cpu_ms']:.0f} µs, {1000 * one['loader_cpu_ms']:.0f} µs"


def refusals(one: dict[str, Any]) -> str:
    """How many of each status."""
    return ", ".join(f"{count:,} of {status}" for status, count in one["statuses"].items())


def grown(one: dict[str, Any]) -> str:
    """Memory beyond what the load had that was carried."""
    return f"{one['grown_private_mb']:.0f} MB"


def endured(one: dict[str, Any]) -> str:
    """Errors, and growth after the first minute."""
    wrong = sum(count for status, count in one["statuses"].items() if status != "200") + one["lost"]
    sizes = [row["private_mb"] for row in one["memory"]]
    grown = sizes[-1] - sizes[min(1, len(sizes) - 1)]
    return f"{one['seconds'] / 60:.0f}, {wrong} of {sum(one['statuses'].values()):,}, {grown:+.0f} MB"


def rivals_of(run: dict[str, Any]) -> Iterator[list[str]]:
    """The second table: `check` by each, and the ratio to the service with minhash."""
    results, rivals = run["results"], run.get("rivals", {})
    best = next((results[name]["check"] for name in ("minhash", "simhash") if "check" in results.get(name, {})), None)
    if best is None or not rivals:
        return
    base = best["http"]["per_second"]
    redis = rivals["redis"]
    named = {
        "the service": best["http"],
        "`Store.check` in a process, one by one": best["store"],
        "FastAPI under granian, a fixed answer": rivals["bare"],
        f"datasketch on Redis, {redis['documents']:,} documents, nothing verified": redis,
    }
    for name, one in named.items():
        yield [name, *rate_and_time(one).split(", "), common.ratio(base / one["per_second"])]
    rate = next(
        (results[key]["add"]["http"]["per_second"] for key in ("minhash", "simhash") if "add" in results[key]), 0
    )
    if rate:
        yield ["datasketch on Redis, new documents added", *rate_and_time(redis["add"]).split(", "),
               f"{common.ratio(rate / redis['add']['per_second'])} (durable)"]  # fmt: skip


def render(run: dict[str, Any], page: Path) -> None:
    """Write the tables."""
    results = {name: dict(found) for name, found in run["results"].items()}
    source = common.about(run)
    if common.runs("service-minutes"):
        long = common.latest("service-minutes")
        results.setdefault(long["recipe"], {})["minutes"] = long
        source += f" Minutes: `bench/runs/{long['file']}`."
    text = common.table([f"{run['documents']:,} documents", *results, "goal"], rows_of(results))
    rivals = common.table(["`check`", "per second", "99%", "the service is"], rivals_of(run))
    content = f"{text}\n\n{rivals}\n\n{source}"
    if page.exists():
        common.splice(page, "service", content)
    else:
        print(content)


def measured(given: Any, recipe: str, done: dict[str, Any]) -> None:
    """The chosen parts, for a store of one recipe, but for the minutes."""
    base = built(given.folder, recipe, given.documents, given.data)
    asked = Asked(known_texts(base, 40_000), new_documents(given.data))
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "check": lambda: checked(base, asked, given.seconds),
        "add": lambda: added(base, asked, given.seconds),
        "batches": lambda: in_batches(base, asked, given.batches),
        "overload": lambda: overloaded(base, asked, given.seconds),
        "backup": lambda: backed_up(base, asked),
    }
    for name in given.parts:
        done[name] = parts[name]()
        print(json.dumps({recipe: {name: done[name]}}), flush=True)


def main() -> None:
    given = common.arguments(
        __doc__,
        ("--folder", {"type": Path, "default": Path(tempfile.gettempdir()) / "nearkin-service", "help": "of stores"}),
        ("--documents", {"type": int, "default": 1_000_000}),
        ("--recipes", {"nargs": "+", "choices": ("minhash", "simhash"), "default": ["minhash", "simhash"]}),
        ("--parts", {"nargs": "*", "choices": PARTS, "default": list(PARTS)}),
        ("--seconds", {"type": float, "default": 15.0, "help": "of each load"}),
        ("--batches", {"type": int, "default": 100, "help": "of 1,000 documents"}),
        ("--minutes", {"type": float, "default": 0.0, "help": "of the mixed load, on the first recipe"}),
        ("--redis", {"type": int, "default": 10_000, "help": "documents of the rival; 0 leaves the rivals out"}),
        ("--no-save", {"action": "store_true", "help": "print alone: a trial"}),
    )
    page = common.ROOT / "docs" / "service.md"
    if given.report is not None:
        render(common.latest("service", given.report), page)
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, dict[str, Any]] = {}
    run: dict[str, Any] = {"documents": given.documents, "results": results}

    def save() -> None:
        if not given.no_save:
            common.save("service", run, versions=common.versions("granian", "fastapi", "datasketch", "redis"))

    for recipe in given.recipes if given.parts else []:
        results[recipe] = {}
        measured(given, recipe, results[recipe])
        save()
    base = built(given.folder, given.recipes[0], given.documents, given.data)
    asked = Asked(known_texts(base, 20_000), new_documents(given.data))
    if given.redis and given.parts:
        run["rivals"] = beside(asked, given.seconds, given.redis)
        print(json.dumps(run["rivals"]), flush=True)
        save()
    if given.minutes:
        minutes = for_minutes(base, asked, given.minutes)
        print(json.dumps(minutes), flush=True)
        if not given.no_save:
            common.save("service-minutes", {"documents": given.documents, "recipe": given.recipes[0], **minutes})
    if not given.no_save:
        render(common.latest("service"), page)


if __name__ == "__main__":
    main()
