"""Quality of the vector families at equal bits, and the speed of encoding.

    python bench/families.py --data ../shared/data [--part quality|generated|speed|sparse|histograms|bounding ...]

Quality: every family at 32 to 256 bits on the shared vectors. The ground truth are the 100 nearest base rows by L2; the
figures are mean average precision with grouped ties (all rows at one distance enter together, at the precision at the
end of the group) and recall@100 of the first 1,000 rows by code distance. Speed: CPU seconds of one thread relative to
the bare product of the same matrices in the same run. Seeds differ from those of the tests. The tables are in
docs/families/index.md. Histograms: the ten nearest by χ² among the ten nearest codes, docs/families/kernel.md.
Bounding: the bounding power of balls and planes, docs/families/spherical.md.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common
import nearkin as nk
from nearkin.families import (
    ITQ,
    Family,
    Hyperplane,
    KernelLSH,
    PStable,
    ShiftInvariant,
    SparseSimHash,
    SphericalHash,
    bounding_power,
    spherical_hamming,
)

BITS = (32, 64, 128, 256)


SETS = {"sift": "vec_sift_bsds", "gist": "vec_cifar10_gist512", "mnist": "vec_mnist10k", "lsa": "vec_20news_lsa96"}


QUERIES = 200


SEED = 20251121


FAMILIES: dict[str, Callable[[int], Family]] = {
    "hyperplane": lambda bits: Hyperplane(bits, seed=SEED),
    "hyperplane centred": lambda bits: Hyperplane(bits, center=True, seed=SEED),
    "hyperplane centred orthogonal": lambda bits: Hyperplane(bits, center=True, orthogonal=True, seed=SEED),
    "shift-invariant": lambda bits: ShiftInvariant(bits, seed=SEED),
    "kernel": lambda bits: KernelLSH(bits, seed=SEED),
    "itq": lambda bits: ITQ(bits, seed=SEED),
    "spherical": lambda bits: SphericalHash(bits, seed=SEED),
}


def grouped(distances: NDArray[np.float64], relevant: NDArray[np.bool_]) -> tuple[float, float]:
    """Return average precision with grouped ties of one query, and the share of relevant rows in the first 1,000.

    If the thousandth row is inside a group of ties, the group counts in proportion.
    """
    values, group = np.unique(distances, return_inverse=True)
    size = np.bincount(group, minlength=len(values))
    hits = np.bincount(group, weights=relevant, minlength=len(values))
    seen, result = np.cumsum(size), np.cumsum(hits)
    precision = float((hits * result / seen).sum() / relevant.sum())
    at = int(np.searchsorted(seen, 1000))
    before_seen, before = (seen[at - 1], result[at - 1]) if at else (0, 0.0)
    first = before + hits[at] * (1000 - before_seen) / size[at] if at < len(seen) else result[-1]
    return precision, float(first / relevant.sum())


def score(
    family: Family, base: Any, queries: Any, truth: NDArray[np.int64], *, spherical: bool = False
) -> tuple[float, float]:
    """Return mean average precision and recall of a fitted family."""
    codes, requested = family.transform(base), family.transform(queries)
    bits, results = family.num_hashes, []
    for query, near in zip(requested, truth, strict=True):
        item = np.asarray(query).reshape(1, -1) if bits > 64 else np.array([query])
        distances = (
            spherical_hamming(item, codes, bits=bits) if spherical else np.asarray(nk.hamming(item, codes), np.float64)
        )
        relevant = np.zeros(len(codes), bool)
        relevant[near] = True
        results.append(grouped(distances, relevant))
    result = np.mean(results, axis=0)
    return float(result[0]), float(result[1])


def table(base: Any, queries: Any, truth: Any, bits: tuple[int, ...]) -> dict[str, dict[str, list[float] | str]]:
    """Return MAP and recall of every family at every width."""
    results: dict[str, dict[str, list[float] | str]] = {}
    for name, make in FAMILIES.items():
        for width in bits:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", nk.errors.ConvergenceWarning)
                try:
                    family = make(width).fit(base)
                except (nk.errors.ParameterError, nk.errors.InputError) as error:
                    results.setdefault(name, {})[str(width)] = str(error)
                    continue
            results.setdefault(name, {})[str(width)] = [round(v, 4) for v in score(family, base, queries, truth)]
            if name == "spherical":
                shd = score(family, base, queries, truth, spherical=True)
                results.setdefault("spherical, SHD", {})[str(width)] = [round(v, 4) for v in shd]
        print(name, results[name], flush=True)
    print("spherical, SHD", results["spherical, SHD"], flush=True)
    return results


def quality(options: Any) -> dict[str, Any]:
    result = {}
    for name, file in SETS.items():
        data = np.load(options.data / f"{file}.npz")
        print(f"== {name}", flush=True)
        step = len(data["queries"]) // QUERIES
        queries = data["queries"][::step][:QUERIES].astype(np.float32)
        result[name] = table(
            data["base"].astype(np.float32), queries, data["l2_neighbors"][::step][:QUERIES].astype(np.int64), BITS
        )
    return result


def generated() -> dict[str, Any]:
    """Measure the generated clusters of docs/families/index.md: 32 and 64 bits, 500 queries."""
    rng = np.random.default_rng(12345)
    centres = rng.standard_normal((100, 64))
    X = (centres[rng.integers(0, 100, 21000)] + 0.6 * rng.standard_normal((21000, 64))).astype(np.float32)
    base, queries = X[1000:], X[:500]
    squares = (base**2).sum(1) - 2 * queries @ base.T
    truth = np.argpartition(squares, 100, axis=1)[:, :100]
    print(f"== generated, sum {X.sum(dtype=np.float64):.1f}", flush=True)
    return table(base, queries, truth, (32, 64))


def speed() -> list[dict[str, Any]]:
    """Measure the CPU seconds of transform relative to the bare product.

    The minimum of fifteen rounds is what the work takes; medians include the effect of other processes on the caches.
    """
    nk.set_num_threads(1)
    rng = np.random.default_rng(SEED)
    rows = []
    for n, d, m in ((10_000, 128, 64), (10_000, 128, 256), (10_000, 512, 64), (10_000, 512, 256), (10_000, 960, 128)):
        X = rng.standard_normal((n, d)).astype(np.float32)
        transposed = np.ascontiguousarray(rng.standard_normal((m, d)).astype(np.float32).T)
        candidates: dict[str, Callable[[], Any]] = {"product": lambda X=X, t=transposed: X @ t}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nk.errors.ConvergenceWarning)
            for family in (
                Hyperplane(m, center=True, seed=SEED),
                PStable(hashes=m, seed=SEED),
                ShiftInvariant(m, seed=SEED),
                SphericalHash(m, max_iter=2, samples=1000, seed=SEED),
            ):
                family.fit(X[:3000])
                candidates[family.name] = lambda f=family, X=X: f.transform(X)
        for run in candidates.values():
            run()
        timers = {name: common.timer(run) for name, run in candidates.items()}
        seconds = {name: figures["cpu_rounds"] for name, figures in common.rounds(timers, 15).items()}
        row: dict[str, Any] = {"n": n, "d": d, "bits": m}
        for kind, pick in (("", min), ("median_", np.median)):
            chosen = {name: float(pick(values)) for name, values in seconds.items()}
            row[f"{kind}product_seconds"] = chosen["product"]
            row[f"{kind}ratios"] = {name: round(value / chosen["product"], 3) for name, value in chosen.items()}
        rows.append(row)
        print(rows[-1], flush=True)
    return rows


def sparse() -> list[dict[str, Any]]:
    """Measure non-zeros per second of hashed projections: one thread, 64 bits, 10^9 columns."""
    from scipy.sparse import csr_array

    nk.set_num_threads(1)
    rng = np.random.default_rng(SEED)
    rows = []
    for kind, n in (("signs", 20_000), ("gaussian", 200)):
        indices = np.sort(rng.integers(0, 10**9, (n, 200)), axis=1)
        data = rng.standard_normal((n, 200)).ravel()
        X = csr_array((data, indices.ravel(), np.arange(0, 200 * n + 1, 200)), shape=(n, 10**9))
        X.sum_duplicates()
        family = SparseSimHash(64, projection=kind, seed=SEED).fit(X)
        family.transform(X)
        timed = common.rounds({kind: common.timer(family.transform, X)}, 5)
        rows.append({"projection": kind, "nonzeros": X.nnz, "per_second": X.nnz / timed[kind]["cpu"]})
        print(rows[-1], flush=True)
    return rows


def recall_of_codes(family: Family, base: Any, queries: Any, truth: NDArray[np.int64]) -> float:
    """Return the share of the true neighbours among as many nearest codes."""
    index = nk.HammingIndex(bits=family.num_hashes)
    index.add(None, family.fit(base).transform(base))
    found = index.nearest(family.transform(queries), k=truth.shape[1]).ids.reshape(truth.shape)
    return float(np.mean([np.isin(near, ids).mean() for near, ids in zip(truth, found, strict=True)]))


def histograms(data: Any) -> dict[str, Any]:
    """Measure recall of ten by χ² of codes of 256 bits, mean of two seeds; the rows are scaled to a sum of 1."""
    results = {}
    for name, rows in (("sift", 4000), ("gist", 2000), ("mnist", 4000)):
        arrays = np.load(data / f"{SETS[name]}.npz")
        base, queries = (arrays[key][:size].astype(np.float64) for key, size in (("base", rows), ("queries", QUERIES)))
        base, queries = (each / each.sum(axis=1, keepdims=True) for each in (base, queries))
        chi2 = [((query - base) ** 2 / np.maximum(query + base, 1e-300)).sum(axis=1) for query in queries]
        truth = np.argsort(np.array(chi2), axis=1, kind="stable")[:, :10]
        recalls: dict[str, list[float]] = {}
        for seed in (SEED, SEED + 1):
            auto = KernelLSH(256, kernel="chi2", seed=seed)
            gamma = auto.fit(base).gamma_
            for title, family, power in (
                ("planes over square roots", Hyperplane(256, seed=seed), 0.5),
                ("the same, centred", Hyperplane(256, center=True, seed=seed), 0.5),
                ("chi2, γ/4", KernelLSH(256, kernel="chi2", gamma=gamma / 4, seed=seed), 1),
                ("chi2, auto", auto, 1),
                ("chi2, 4γ", KernelLSH(256, kernel="chi2", gamma=gamma * 4, seed=seed), 1),
                ("intersection", KernelLSH(256, kernel="intersection", seed=seed), 1),
            ):
                recalls.setdefault(title, []).append(recall_of_codes(family, base**power, queries**power, truth))
        results[name] = {"rows": rows, **{title: round(float(np.mean(each)), 4) for title, each in recalls.items()}}
        print(name, results[name], flush=True)
    return results


def bounding(data: Any) -> dict[str, Any]:
    """Measure the bounding power of 8 and 16 bits: half of the rows for fitting, half for measuring."""
    results = {}
    for name, rows in (("sift", 8000), ("gist", 6000), ("mnist", 6000)):
        X = np.load(data / f"{SETS[name]}.npz")["base"][:rows].astype(np.float32)
        results[name] = {"rows": rows}
        for bits in (8, 16):
            for family in (
                SphericalHash(bits, seed=SEED),
                Hyperplane(bits, center=True, seed=SEED),
                ITQ(bits, seed=SEED),
            ):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", nk.errors.ConvergenceWarning)
                    power = bounding_power(family.fit(X[: rows // 2]), X[rows // 2 :])
                figures = {"mean_share": round(power.mean_share, 4), "regions": power.regions, "singles": power.singles}
                results[name][f"{family.name} {bits}"] = figures
        print(name, results[name], flush=True)
    return results


def report(run: dict[str, Any]) -> None:
    """Write the tables of docs/families/index.md."""
    results = run["results"]
    page = "families/index.md"

    def cells(result: dict[str, Any], widths: tuple[int, ...]) -> list[list[str]]:
        rows = []
        for name, values in result.items():
            pairs = [values[str(width)] for width in widths]
            rows.append([name, *("–" if isinstance(p, str) else f"{p[0]:.3f} / {p[1]:.2f}" for p in pairs)])
        return rows

    if "quality" in results:
        parts = [
            f"**{name}** (mAP / recall at 1,000)\n\n"
            + common.table(["family", *(f"{width} bits" for width in BITS)], cells(result, BITS))
            for name, result in results["quality"].items()
        ]
        common.splice(page, "quality", "\n\n".join(parts))
    if "generated" in results:
        text = "**100 isotropic clusters in 64 dimensions, 20,000 rows** (mAP / recall at 1,000)\n\n"
        rows = cells(results["generated"], (32, 64))
        common.splice(page, "generated", text + common.table(["family", "32 bits", "64 bits"], rows))
    if "speed" in results:
        names = [name for name in results["speed"][0]["ratios"] if name != "product"]
        rows = [
            [f"d = {r['d']}, {r['bits']} bits", *(f"{r['ratios'][n]:.2f}" for n in names)] for r in results["speed"]
        ]
        text = common.table(["10,000 rows", *names], rows)
        for result in results.get("sparse", []):
            rate = f"{result['per_second'] / 1e6:.1f} million non-zeros per second"
            text += f"\n\nSparse SimHash, {result['projection']}, 64 bits, 10⁹ columns: {rate}."
        common.splice(page, "speed", text)
    names = {"sift": "SIFT descriptors", "gist": "GIST descriptors", "mnist": "MNIST images"}
    if "histograms" in results:
        titles = [title for title in results["histograms"]["sift"] if title != "rows"]
        rows = [
            [f"{r['rows']:,} {names[name]}", *(f"{r[title]:.3f}".lstrip("0") for title in titles)]
            for name, r in results["histograms"].items()
        ]
        common.splice("families/kernel.md", "histograms", common.table(["histograms", *titles], rows))
    if "bounding" in results:
        kinds = {"spherical": "balls", "hyperplane": "planes through the mean", "itq": "ITQ"}
        rows = [
            [f"{r['rows']:,} {names[name]}", *(f"{r[f'{kind} 8']['mean_share']:.3f}".lstrip("0") for kind in kinds)]
            for name, r in results["bounding"].items()
        ]
        common.splice("families/spherical.md", "bounding", common.table(["vectors", *kinds.values()], rows))


def main() -> None:
    choices = ["quality", "generated", "speed", "sparse", "histograms", "bounding"]
    options = common.arguments(__doc__, ("--part", {"choices": choices, "nargs": "+"}))
    parts: dict[str, Callable[[], Any]] = {
        "generated": generated,
        "speed": speed,
        "sparse": sparse,
        "quality": lambda: quality(options),
        "histograms": lambda: histograms(options.data),
        "bounding": lambda: bounding(options.data),
    }

    def measure() -> dict[str, Any]:
        rows = common.measure_parts(parts, options.part)
        return {"results": common.merge_last("families", "results", rows)}

    common.run("families", options, measure, report, "numpy")


if __name__ == "__main__":
    main()
