"""All requests at once for a while: no error, the store verifies, and memory does not grow with time."""

from __future__ import annotations

import gzip
import random
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from document_families import SETTINGS, member
from live import Service, serving

import nearkin as nk

MEMORY = 64 << 20
CLIENTS = 6
ATTACKERS = 2
SLACK = 64 << 20
"""Bytes by which memory may differ between two periods: documents wait and segments are merged by turns."""


def private_memory(service: Service) -> int:
    """Return the bytes of memory that are not those of mapped files (Linux)."""
    lines = Path(f"/proc/{service.pid}/status").read_text("ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


HOSTILE: list[tuple[str, bytes, dict[str, str], set[int]]] = [
    ("/v1/check", gzip.compress(b"") * 400_000, {"Content-Encoding": "gzip"}, {400, 413}),
    ("/v1/check", gzip.compress(b" " * (256 << 20)), {"Content-Encoding": "gzip"}, {413}),
    ("/v1/check", gzip.compress(b'{"text": "' + b"a" * 100_000)[:-20], {"Content-Encoding": "gzip"}, {400}),
    ("/v1/check", b"[" * 1_000_000, {}, {400}),
    ("/v1/check", b'{"documents": [' + b"1," * 500_000 + b"1]}", {}, {400, 413}),
]
"""Bodies that cost their sender little: path, bytes, header fields, statuses that may answer them."""


def attack(service: Service, number: int, is_over: Callable[[], bool]) -> int:
    """Send hostile bodies in turn, and return their number."""
    count = 0
    while not is_over():
        path, body, headers, statuses = HOSTILE[(number + count) % len(HOSTILE)]
        reply = service.post(path, body, headers)
        # A service with too many requests refuses some.
        assert reply.status in statuses | {429, 503}, (path, body[:40], reply)
        count += 1
    return count


def mix(client: nk.Client, number: int, is_over: Callable[[], bool], durations: list[float]) -> int:
    """Send requests of every kind, note the seconds of each one, and return their number."""
    choose, count, name = random.Random(number), 0, 0
    begin = time.monotonic()
    while not is_over():
        if count:
            durations.append(time.monotonic() - begin)
        count += 1
        draw = choose.random()
        begin = time.monotonic()
        if draw < 0.5:
            documents = [member(choose.randrange(1 << 40), number) for _ in range(choose.choice([1, 1, 1, 20]))]
            ids = [f"{number}-{name + position}" for position in range(len(documents))]
            name += len(documents)
            result = client.check_and_add([document["text"] for document in documents], ids)
            assert set(result.status) <= {"new", "near"}
        elif draw < 0.75:
            client.check([member(choose.randrange(1 << 40), number)["text"]], k=3)
        elif draw < 0.95 and name:
            stored = client.get([f"{number}-{choose.randrange(name)}"], missing_ok=True)
            assert 1 == len(stored)
        elif draw < 0.98 and name:
            client.remove([f"{number}-{choose.randrange(name)}"], missing_ok=True)
        else:
            client.stats()
    return count


def run_mixed_load(folder: Path, seconds: float) -> tuple[list[tuple[float, int]], list[float]]:
    """Run clients, hostile ones, merges and backups; return times with bytes of memory, and seconds of requests."""
    path, backups = folder / "pages.store", folder / "backups"
    nk.Store.create(path, **SETTINGS).close()
    errors: list[BaseException] = []
    durations: list[float] = []
    attacks: list[int] = []
    samples: list[tuple[float, int]] = []
    with serving(path, "--memory-limit", str(MEMORY), "--backups", str(backups)) as service:
        begin = time.monotonic()

        def elapsed() -> float:
            return time.monotonic() - begin

        def is_over() -> bool:
            return elapsed() > seconds or bool(errors)

        def work(number: int) -> None:
            try:
                with nk.Client(service.url, retries=20) as client:
                    mix(client, number, is_over, durations)
            except BaseException as error:
                errors.append(error)

        def assail(number: int) -> None:
            try:
                attacks.append(attack(service, number, is_over))
            except BaseException as error:
                errors.append(error)

        def maintain() -> None:
            try:
                with nk.Client(service.url, retries=20) as client:
                    turn = 0
                    while elapsed() < seconds and not errors:
                        time.sleep(min(seconds / 4, 20))
                        client.merge()
                        client.backup(f"turn{turn}")
                        turn += 1
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
        threads += [threading.Thread(target=assail, args=(number,)) for number in range(ATTACKERS)]
        threads.append(threading.Thread(target=maintain))
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            samples.append((elapsed(), private_memory(service)))
            time.sleep(min(seconds / 50, 1))
        for thread in threads:
            thread.join()
        assert [] == errors
        assert ATTACKERS == len(attacks)
        assert min(attacks) > 0
        assert [] == [line for line in service.log if line["level"] == "error"]
        maps = Path(f"/proc/{service.pid}/maps").read_text("ascii", "replace")
        assert "pyarrow" in maps
        assert "pandas" not in maps, "pyarrow imported pandas, which takes 60 to 100 MB"
    with nk.Store.open(path, "r") as store:
        store.verify()
    for copy in backups.iterdir():
        with nk.Store.open(copy, "r") as store:
            store.verify()
    return samples, durations


def plot_memory(samples: list[tuple[float, int]], file: Path) -> None:
    """Draw memory over time as SVG."""
    width, height, most = 800, 300, max(size for _, size in samples)
    end = samples[-1][0]
    points = " ".join(f"{width * at / end:.1f},{height - height * size / most:.1f}" for at, size in samples)
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -20 {width} {height + 40}">'
        f'<text y="-5">{most / 1e6:.0f} MB</text><text y="{height + 15}">{end:.0f} s</text>'
        f'<polyline points="{points}" fill="none" stroke="black"/></svg>\n',
        "utf-8",
    )


def test_mixed_load_without_errors(tmp_path: Path) -> None:
    """Two seconds of requests of every kind, with hostile bodies, merges and backups."""
    samples, durations = run_mixed_load(tmp_path, 2)
    assert len(durations) > CLIENTS
    plot_memory(samples, tmp_path / "memory.svg")
    assert (tmp_path / "memory.svg").read_text("utf-8").count("<polyline") == 1


@pytest.mark.slow
def test_memory_stays_level_in_ten_minutes_of_mixed_load(tmp_path: Path) -> None:
    """The peak of the last third is that of the middle third; `memory.svg` in the folder of the test has the plot."""
    samples, durations = run_mixed_load(tmp_path, 600)
    plot_memory(samples, tmp_path / "memory.svg")
    end = samples[-1][0]
    middle = max(size for at, size in samples if end / 3 <= at < 2 * end / 3)
    last = max(size for at, size in samples if at >= 2 * end / 3)
    late = statistics.quantiles(durations, n=100)[-1]
    print(
        f"{len(durations):,} requests, 99 of 100 within {late:.2f} s, {middle / 1e6:.0f} MB, then {last / 1e6:.0f} MB"
    )
    assert last < middle + SLACK
