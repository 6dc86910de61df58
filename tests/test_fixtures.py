"""Files of every kind and version, written once, must be readable by every later version; `docs/format.md` lists the
kinds.

Each file has a JSON file with its contents. Fixtures are never rewritten. To add those of a new kind or version, run
`python tests/test_fixtures.py NAME`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from nearkin._core import StoreSegment

FIXTURES = Path(__file__).parent / "fixtures"

FPS = np.array([0b1011, 0b1000, 0b1011, 0xFF00, 0xFF01, 1 << 63, 0], np.uint64)
TEXTS = ["red wine and cheese", "red wine and blue cheese", "quite another text", "red wine and cheese", ""]
DIGESTS = [
    "96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U",
    "96:eJN08TSaEp9PT3FWiOOG0PPs71raVR:DklkTUPirvyE0U",
    "3:E:E",
    "3::",
]
VECTORS = np.array([[1.0, 2.0, -1.0, 0.5], [0.25, -3.0, 2.0, 1.0], [-1.0, 0.125, 4.0, -2.0]])
RECIPE = "word:1|binary|xxh3|minhash:16"


def _hits(result: Any, measure: str) -> list[list[tuple[Any, Any]]]:
    return [list(zip(hits.ids.tolist(), getattr(hits, measure).tolist(), strict=True)) for hits in result]


def _ids(index: Any) -> list[Any]:
    return [i for ids in index.iter_ids() for i in ids.tolist()]


def _hamming(ids: list[Any] | None, **options: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        index = nk.HammingIndex(bits=64, **options)
        index.add(None if ids is None else ids[:5], FPS[:5])
        index.add(None if ids is None else ids[5:], FPS[5:])
        index.remove([1] if ids is None else ids[1:2])
        index.save(path)

    return write


def _read_hamming(path: Path) -> dict[str, Any]:
    index = nk.HammingIndex.open(path)
    index.verify()
    return {
        "bits": index.bits,
        "method": index.method,
        "radius": index.radius,
        "recipe": None if index.recipe is None else str(index.recipe),
        "ids": _ids(index),
        "next_row": index.next_row,
        "search": _hits(index.search(FPS, radius=2), "distances"),
        "clusters": list(index.clusters(radius=1)),
    }


def _write_bands(path: Path) -> None:
    index = nk.BandIndex(threshold=0.5, num_bands=8, num_rows=2, recipe=RECIPE)
    index.add(["a", "b", "é", "d", "empty"], nk.signature(TEXTS, RECIPE))
    index.remove(["d"])
    index.save(path)


def _read_bands(path: Path) -> dict[str, Any]:
    index = nk.BandIndex.open(path)
    index.verify()
    return {
        "shape": [index.num_perm, index.num_bands, index.num_rows, index.value_bits],
        "threshold": index.threshold,
        "recipe": str(index.recipe),
        "ids": _ids(index),
        "search": _hits(index.search(nk.signature(TEXTS, RECIPE), 0), "distances"),
    }


def _write_digests(path: Path) -> None:
    index = nk.DigestIndex(recipe="space|ssdeep")
    index.add([30, 10, 20, -5], DIGESTS)
    index.remove([20])
    index.save(path)


def _read_digests(path: Path) -> dict[str, Any]:
    index = nk.DigestIndex.open(path)
    index.verify()
    return {
        "recipe": str(index.recipe),
        "strict": index.strict,
        "ids": _ids(index),
        "digests": [index.digest(i) for i in _ids(index)],
        "search": _hits(index.search(DIGESTS), "scores"),
    }


def _write_suites(path: Path) -> None:
    nk.Suites({"a": [*TEXTS, "one two three four five six seven eight"], "b": [TEXTS[1], TEXTS[2]]}).save(path)


def _read_suites(path: Path) -> dict[str, Any]:
    suites = nk.Suites.open(path)
    suites.verify()
    page = "zero one two three four five six seven eight, red wine and blue cheese, nine"
    found = nk.decontaminate([page], suites, threshold=0.5, max_chance=1.0)
    return {
        "suites": [[suite.name, suite.items] for suite in suites.suites],
        "words": suites.num_words,
        "hits": [
            [
                value if isinstance(value, (int, str)) else f"{value:.6g}"
                for name, value in hit.items()
                if name != "level"
            ]
            for hit in found.hits.rows()
        ],
    }


def _write_family(path: Path) -> None:
    nk.families.Hyperplane(bits=16, seed=7, center=True).fit(VECTORS).save(path)


def _read_family(path: Path) -> dict[str, Any]:
    family = nk.families.load(path)
    return {"family": str(family), "digest": family.digest, "codes": family.transform(VECTORS).tolist()}


def _write_idf(path: Path) -> None:
    nk.Idf.fit([*TEXTS, "a back\\slash", "名 前"], "word:1").save(path)


def _read_idf(path: Path) -> dict[str, Any]:
    idf = nk.Idf.load(path)
    return {
        "documents": idf.documents,
        "min_df": idf.min_df,
        "digest": idf.digest,
        "frequencies": dict(zip([f.decode() for f in idf.features], idf.frequencies.tolist(), strict=True)),
        "value of red": round(idf.value("red"), 12),
    }


def _write_store_segment(path: Path) -> None:
    ids: list[int | str] = [7, "7", "é", -1, 7]
    rows = np.array([3, 4, 5, 8, 20], np.int64)
    contents = np.array([5, 6, 1, 2, 5, 6, 2**64 - 1, 0, 1, 3], np.uint64)
    extras = [b"", b'{"source": "a"}', b"", b"\0", b""]
    texts: list[str | None] = [TEXTS[0], None, "", TEXTS[2], "long " * 10_000]
    StoreSegment.write(str(path), rows, ids, contents, np.arange(10, dtype=np.uint8), 2, extras, texts, b"{}", 3)


def _read_store_segment(path: Path) -> dict[str, Any]:
    segment = StoreSegment.open(str(path))
    segment.verify()
    rows = np.arange(len(segment), dtype=np.int64)
    contents, ids = segment.contents(rows), segment.ids(rows).tolist()
    return {
        "note": segment.note().decode(),
        "rows": segment.rows(0, len(segment)).tolist(),
        "ids": ids,
        "contents": contents.tolist(),
        "records": segment.records(rows).tolist(),
        "extras": [extra.decode() for extra in segment.extras(rows)],
        "texts": segment.texts(rows),
        "by_id": [positions.tolist() for positions in segment.find_ids(ids)],
        "by_content": [positions.tolist() for positions in segment.find_contents(contents)],
    }


INTS = [40, 30, 50, 60, 61, 70, -80]


# The writer of each kind (None for old versions) and its reader.
def _write_patterns(path: Path) -> None:
    names = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal"]
    lines = [*(f"user {name} from 10.0.0.{n} took {n} ms" for n, name in enumerate(names)), "link UP", "link DOWN", ""]
    templates = nk.LogTemplates(sample=4).fit(lines, [86_400.0 * n for n in range(11)], list("abcabcabcab"))
    templates.pin("link UP").save(path)


def _read_patterns(path: Path) -> dict[str, Any]:
    templates = nk.LogTemplates.open(path)
    rows = templates.table().to_pylist()
    return {"rows": json.loads(json.dumps(rows, default=str)), "skipped": templates.skipped, "count": templates.count}


def _write_optional(path: Path) -> None:
    lines = [f"sent {n} bytes{' (1 KB)' if n % 2 else ''} to 10.0.0.{n}" for n in range(40)]
    nk.LogTemplates(sample=4).fit(lines).save(path)


def _write_urls(path: Path) -> None:
    urls = [f"/search?q={word}&page={n}" for n in range(40) for word in ("red", "blue+house", "old+town")]
    nk.UrlPatterns(sample=4).fit(urls).save(path)


def _read_urls(path: Path) -> dict[str, Any]:
    patterns = nk.UrlPatterns.open(path)
    asked = ["/search?q=green&page=3", "/search?q=x'+or+1=1--&page=3", "/search?q=red&page=900000", "/wp-login.php"]
    return {
        "rows": json.loads(json.dumps(patterns.table().to_pylist(), default=str)),
        "verdicts": patterns.judge_many(asked).to_pylist(),
    }


def _write_tlsh(path: Path) -> None:
    index = nk.DigestIndex("tlsh")
    index.add([7, 9, -2], [nk.tlsh.hash(bytes((n * n + seed) % 251 for n in range(900))) for seed in (1, 2, 77)])
    index.save(path)


def _read_tlsh(path: Path) -> dict[str, Any]:
    index = nk.DigestIndex.open(path)
    index.verify()
    query = nk.tlsh.hash(bytes((n * n + 3) % 251 for n in range(900)))
    return {"count": len(index), "hits": _hits(index.search([query], distance=400), "distances")}


def _write_payloads(path: Path) -> None:
    payloads = ["1' and sleep(5)-- ", "2%22+or+sleep(7)%23", "<script>alert(1)</script>", ""]
    groups = nk.PayloadGroups(sample=4).fit(payloads, [86_400.0 * n for n in range(4)], list("abca"))
    groups.pin("7 and sleep(9)").save(path)


def _read_payloads(path: Path) -> dict[str, Any]:
    groups = nk.PayloadGroups.open(path)
    rows = groups.table().to_pylist()
    return {"rows": json.loads(json.dumps(rows, default=str)), "skipped": groups.skipped, "count": groups.count}


def _narrow(dtype: str, metric: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        X = (np.arange(40 * 6).reshape(40, 6) * 7 % 61).astype(dtype)
        nk.LSHIndex(nk.families.Hyperplane(bits=64, seed=2), filter="codes", metric=metric).fit(X).save(path)

    return write


def _read_narrow(path: Path) -> dict[str, Any]:
    index = nk.LSHIndex.open(path)
    index.verify()
    Q = (np.arange(18).reshape(3, 6) * 5 % 37).astype(index.vector_type_)
    wide = index.nearest(Q.astype(np.float64) + 0.25, 3)
    return {
        "type": index.vector_type_,
        "metric": index.settings_.metric,
        "nearest": _hits(index.nearest(Q, 3), "distances"),
        "nearest to others": _hits(wide, "distances"),
    }


KINDS: dict[str, tuple[Callable[[Path], None] | None, Callable[[Path], dict[str, Any]]]] = {
    "hamming-rows-v1.nks": (_hamming(None, recipe="char:4|count|xxh3|simhash:64"), _read_hamming),
    "hamming-ints-v1.nks": (_hamming(INTS, method="blocks", radius=2), _read_hamming),
    "hamming-strings-v1.nks": (_hamming([*list("gfeédc"), "名前"], method="multi", radius=3), _read_hamming),
    "bands-v1.nks": (_write_bands, _read_bands),
    "digests-v1.nkd": (None, _read_digests),
    "digests-v2.nkd": (None, _read_digests),
    "digests-v3.nks": (_write_digests, _read_digests),
    "family-v1.nkf": (_write_family, _read_family),
    "suites-v1.nks": (_write_suites, _read_suites),
    "patterns-v1.nkp": (_write_patterns, _read_patterns),
    "patterns-payloads-v1.nkp": (_write_payloads, _read_payloads),
    "patterns-optional-v2.nkp": (_write_optional, _read_patterns),
    "patterns-urls-v2.nkp": (_write_urls, _read_urls),
    "tlsh-v1.nks": (_write_tlsh, _read_tlsh),
    "lsh-uint8-v1.nks": (_narrow("uint8", "cosine"), _read_narrow),
    "lsh-int8-v1.nks": (_narrow("int8", "l2"), _read_narrow),
    "lsh-float16-v1.nks": (_narrow("float16", "cosine"), _read_narrow),
    "idf-v1.idf": (_write_idf, _read_idf),
    "store-segment-v1.nks": (_write_store_segment, _read_store_segment),
}


@pytest.mark.parametrize("name", list(KINDS))
def test_a_file_that_was_written_once_opens_for_ever(name: str) -> None:
    """Its contents equal those of the JSON file."""
    path = FIXTURES / name
    expected = json.loads(path.with_suffix(".txt").read_text(encoding="utf-8"))
    assert expected == json.loads(json.dumps(KINDS[name][1](path)))


@pytest.mark.parametrize("name", [name for name, (write, _) in KINDS.items() if write is not None])
def test_what_is_written_today_holds_the_same(name: str, tmp_path: Path) -> None:
    """The current writer, with the same input, writes a file with the same contents."""
    write = KINDS[name][0]
    assert write is not None
    write(tmp_path / name)
    assert KINDS[name][1](FIXTURES / name) == KINDS[name][1](tmp_path / name)


def main(names: list[str]) -> None:
    """Write fixtures and their contents."""
    for name in names:
        path = FIXTURES / name
        write = KINDS[name][0]
        if write is not None:
            write(path)
        text = json.dumps(KINDS[name][1](path), ensure_ascii=False, indent=1)
        path.with_suffix(".txt").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
