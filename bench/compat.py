"""Our drop-in modules beside the packages that they stand in for, call for call, on one thread.

Both sides are given the same inputs in the same process, in rounds that alternate; what they give is compared first. A
page of docs/migrate gets the table of its peer. `python bench/compat.py --peer simhash`
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common

Job = tuple[int, Callable[[], Any], Callable[[], Any]]
"""How many items a job has, and what is done with them by the package and by ours."""
ROUNDS = 5


def simhash(data: Path) -> dict[str, Job]:
    """Fingerprints of texts and features, and an index that is built and asked."""
    import simhash as theirs

    from nearkin.compat import simhash as ours

    english = hashable(common.pieces(common.texts(data, "en_20news"), 1000), 500)
    chinese = hashable(common.pieces(common.texts(data, "zh_laws"), 350), 500)
    features = [{word: 1 + place % 9 for place, word in enumerate(text.split())} for text in english]
    rng = random.Random(7)
    spread = [rng.getrandbits(64) for _ in range(20_000)]
    # Fingerprints of a corpus with near-copies fill some buckets: 200 sources, each in 100 variants.
    near = [value ^ 1 << rng.randrange(64) ^ 1 << rng.randrange(64) for value in spread[:200] for _ in range(100)]

    def texts(module: Any, batch: list[str], **options: Any) -> list[int]:
        return [module.Simhash(text, **options).value for text in batch]

    def built(module: Any, values: list[int]) -> Any:
        return module.SimhashIndex([(str(i), module.Simhash(value)) for i, value in enumerate(values)], k=3)

    def asked(module: Any, values: list[int]) -> Callable[[], list[list[str]]]:
        index, queries = built(module, values), [module.Simhash(value) for value in values[:2000]]
        return lambda: [sorted(index.get_near_dups(query)) for query in queries]

    def pair(count: int, call: Callable[[Any], Any]) -> Job:
        return count, lambda: call(theirs), lambda: call(ours)

    return {
        "`Simhash(text)`, English, 1,000 characters": pair(len(english), lambda module: texts(module, english)),
        "`Simhash(text)`, Chinese, 350 characters": pair(len(chinese), lambda module: texts(module, chinese)),
        "`Simhash(text, f=128)`, English": pair(len(english), lambda module: texts(module, english, f=128)),
        "`Simhash(dict)`, words with weights": pair(len(features), lambda module: texts(module, features)),  # type: ignore[arg-type]
        "`SimhashIndex(objs, k=3)`, 20,000 at random": pair(
            len(spread), lambda module: built(module, spread).bucket_size()
        ),
        "`get_near_dups`, 20,000 at random": (2000, asked(theirs, spread), asked(ours, spread)),
        "`get_near_dups`, 20,000 near-copies": (2000, asked(theirs, near), asked(ours, near)),
    }


def hashable(texts: Any, count: int) -> list[str]:
    """The first texts that the package can hash with NumPy 2: a shingle that occurs 256 times is an error."""
    from simhash import Simhash

    def known(text: str) -> bool:
        try:
            return bool(Simhash(text).value + 1)
        except OverflowError:
            return False

    return list(itertools.islice(filter(known, texts), count))


PEERS: dict[str, tuple[Callable[[Path], dict[str, Job]], list[str]]] = {"simhash": (simhash, ["simhash", "numpy"])}
"""What is measured for a peer, and the packages whose versions are noted."""


def measure(peer: str, data: Path) -> None:
    """Compare what both sides give, then time them."""
    import nearkin as nk

    nk.set_num_threads(1)
    jobs, packages = PEERS[peer][0](data), PEERS[peer][1]
    found: dict[str, Any] = {}
    for name, (count, theirs, ours) in jobs.items():
        if theirs() != ours():
            raise SystemExit(f"{name}: ours differs from {peer}")
        calls = {"theirs": theirs, "ours": ours}
        times = common.rounds({side: lambda call=call: common.timed(call)[:2] for side, call in calls.items()}, ROUNDS)  # type: ignore[misc]
        found[name] = {"items": count, **times}
        print(name, f"{times['theirs']['cpu'] / times['ours']['cpu']:.3g} times", flush=True)
    common.save(f"compat-{peer}", {"jobs": found}, versions=common.versions(*packages))


def write_page(peer: str, file: str = "") -> None:
    """The table of a peer's page."""
    run = common.latest(f"compat-{peer}", file)

    def each(seconds: float, items: int) -> str:
        return f"{seconds / items * 1e6:,.3g}" if seconds / items < 1e-3 else f"{seconds / items * 1e6:,.0f}"

    rows = [
        (
            name,
            each(job["theirs"]["cpu"], job["items"]),
            each(job["ours"]["cpu"], job["items"]),
            common.ratio(job["theirs"]["cpu"] / job["ours"]["cpu"]),
        )
        for name, job in run["jobs"].items()
    ]
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items() if name in PEERS[peer][1])
    table = common.table(["call", f"{peer}, µs each", "ours, µs each", "ratio"], rows)
    about = f"CPU time on one thread, median of {ROUNDS} rounds, after both sides gave the same; {versions}."
    page = common.ROOT / "docs" / "migrate" / f"{peer}.md"
    common.splice(page, "speed", f"{table}\n\n{about} {common.about(run)}")


def main() -> None:
    options = common.arguments(__doc__, ("--peer", {"required": True, "choices": sorted(PEERS)}))
    if options.report is None:
        measure(options.peer, options.data)
    write_page(options.peer, options.report or "")


if __name__ == "__main__":
    main()
