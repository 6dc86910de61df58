"""Functions for DuckDB and expressions of polars: CPU time for 10,000 rows, as a share of the library's own.

Texts are pieces of 1,000 characters of 20 Newsgroups, in the memory of the host. Each round runs the library on the
same Arrow data, a function in Python that returns values computed before (the cost of the host: DuckDB copies texts and
values to and from Arrow), and the door, on one thread; the median of 15 rounds counts.

    share = library / (door - host)        share of the whole = library / door

Run `python bench/doors.py`; the tables are in docs/duckdb.md and docs/polars.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import common

ROWS = 10_000
ROUNDS = 15
SIMHASH = "char:4|count|xxh3|simhash:64"

Runs = dict[str, Callable[[], Any]]


def duckdb_runs(texts: list[str]) -> dict[str, Runs]:
    """Return what to time for each function of DuckDB."""
    import duckdb
    import pyarrow as pa

    import nearkin as nk
    import nearkin.duckdb

    con: Any = duckdb.connect()
    con.execute("SET threads = 1")
    nearkin.duckdb.register(con)
    column = pa.array(texts)
    codes = nk.fingerprint(column, SIMHASH)
    others = np.roll(codes, 1)
    con.from_arrow(pa.table({"text": column, "a": codes, "b": others})).create("pages")

    def run(expression: str) -> Callable[[], Any]:
        return lambda: con.sql(f"SELECT {expression} FROM pages").to_arrow_table()  # noqa: S608

    def host(expression: str, kind: str) -> Callable[[], Any]:
        """Return a query with a function that returns the values of an expression for the first rows."""
        values = run(expression)().column(0).combine_chunks()
        name = f"host_{len(expression)}"

        def first(*columns: Any) -> Any:
            return values.slice(0, len(columns[0]))

        con.create_function(name, first, None, kind, type="arrow")
        return run(f"{name}(text, '{SIMHASH}')")

    calls = {
        "fingerprint, 64 bits": (
            f"nk_fingerprint64(text, '{SIMHASH}')",
            "UBIGINT",
            lambda: nk.fingerprint(column, SIMHASH),
        ),
        "fingerprint, 128 bits": ("nk_fingerprint(text)", "BLOB", lambda: nk.fingerprint(column)),
        "signature": ("nk_signature(text)", "UINTEGER[]", lambda: nk.signature(column)),
    }
    runs: dict[str, Runs] = {
        name: {"library": library, "host": host(call, kind), "door": run(call)}
        for name, (call, kind, library) in calls.items()
    }
    runs["hamming, UBIGINT"] = {
        "library": lambda: nk.hamming(codes, others),
        "host": run("a, b"),
        "door": run("nk_hamming(a, b)"),
    }
    return runs


def polars_runs(texts: list[str]) -> dict[str, Runs]:
    """Return what to time for each expression of polars."""
    import polars as pl

    import nearkin as nk
    import nearkin.polars

    column = pl.Series("text", texts)
    codes = nk.fingerprint(column, SIMHASH)
    others = np.roll(codes, 1)
    frame = pl.DataFrame({"text": column, "a": codes, "b": others})
    text: Any = nearkin.polars.TextNamespace(pl.col("text"))
    code: Any = nearkin.polars.TextNamespace(pl.col("a"))

    def run(expression: pl.Expr) -> Callable[[], Any]:
        return lambda: frame.select(expression)

    host = run(pl.col("text").map_batches(lambda series: series, return_dtype=pl.String, is_elementwise=True))
    return {
        "fingerprint, 64 bits": {
            "library": lambda: nk.fingerprint(column, SIMHASH),
            "host": host,
            "door": run(text.fingerprint(SIMHASH)),
        },
        "fingerprint, 128 bits": {
            "library": lambda: nk.fingerprint(column),
            "host": host,
            "door": run(text.fingerprint()),
        },
        "signature": {"library": lambda: nk.signature(column), "host": host, "door": run(text.signature())},
        "tokens": {
            "library": lambda: nk.words(column, result="arrow"),
            "host": host,
            "door": run(text.tokens()),
        },
        "hamming": {"library": lambda: nk.hamming(codes, others), "host": host, "door": run(code.hamming("b"))},
    }


def compare(runs: Runs) -> dict[str, Any]:
    """Return CPU seconds of each run, and the shares of the library's speed."""
    seconds = common.rounds({name: common.timer(call) for name, call in runs.items()}, ROUNDS)
    library, host, door = (seconds[name]["cpu"] for name in ("library", "host", "door"))
    return {"seconds": seconds, "share": library / (door - host), "share_of_whole": library / door}


def measure(options: Any) -> dict[str, Any]:
    """Measure all functions."""
    import nearkin as nk

    nk.set_num_threads(1)
    texts = list(common.pieces(common.texts(options.data, "en_20news"), 1000))[:ROWS]
    hosts = {"duckdb": duckdb_runs(texts), "polars": polars_runs(texts)}
    return {"hosts": {host: {name: compare(runs) for name, runs in made.items()} for host, made in hosts.items()}}


def report(run: dict[str, Any]) -> None:
    """Write the table of each page."""
    for host, results in run["hosts"].items():
        rows = []
        for name, result in results.items():
            cells = [f"{1000 * result['seconds'][key]['cpu']:.1f}" for key in ("library", "host", "door")]
            rows.append([name, *cells, f"{result['share']:.0%}", f"{result['share_of_whole']:.0%}"])
        header = ["10,000 rows, CPU ms", "library", "host alone", "host and nearkin", "share", "of the whole"]
        common.splice(f"{host}.md", "doors", common.table(header, rows))
        common.splice(f"{host}.md", "doors-run", common.source(run))


def main() -> None:
    """Measure, save and report."""
    options = common.arguments(__doc__)
    common.run("doors", options, lambda: measure(options), report, "duckdb", "polars", "pyarrow")


if __name__ == "__main__":
    main()
