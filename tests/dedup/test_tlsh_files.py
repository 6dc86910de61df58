"""nearkin.dedup_files and stores of files by TLSH, and by both digests."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import nearkin as nk
from command import call, check_message
from nearkin.errors import InputError, MismatchError, ParameterError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return files: one, changed in many places, its halves swapped, equal, another one, and two without a digest."""
    rng = random.Random(8)
    words = [bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(300)]
    text = bytearray(b" ".join(rng.choices(words, k=2000)))
    contents = {"a": bytes(text), "half": bytes(text[: len(text) // 2]), "other": rng.randbytes(9000)}
    for at in range(0, len(text), 60):
        text[at] = rng.randrange(97, 123)
    contents |= {"b": bytes(text), "copy": contents["a"], "zeros": bytes(500), "zeros2": bytes(500), "ones": b"1" * 500}
    files = tmp_path / "files"
    files.mkdir()
    for name, content in contents.items():
        (files / name).write_bytes(content)
    return files


def rows_of(result: nk.DedupResult) -> dict[str, tuple[object, ...]]:
    return {
        Path(str(row["id"])).name: (row["reason"], row["distance"], row["similarity"], row["evidence"])
        for row in (
            dict(zip(result.clusters.columns, values, strict=True))
            for values in zip(*(result.clusters[name] for name in result.clusters.columns), strict=True)
        )
    }


def test_files_within_the_radius_are_near(folder: Path) -> None:
    """The distance is that of the digests, the similarity 100 minus it; files without a digest match by their bytes."""
    a, b = (nk.tlsh.hash(folder / name) for name in "ab")
    distance = nk.tlsh.distance(a, b)
    assert 0 < distance <= 40
    assert 0 == nk.ssdeep.compare(nk.ssdeep.hash(folder / "a"), nk.ssdeep.hash(folder / "b"))
    result = nk.dedup_files(sorted(folder.iterdir()), family="tlsh", radius=distance)
    rows = rows_of(result)
    assert ("near", distance, 100.0 - distance, f"tlsh {distance}") == rows["b"]
    assert ("exact", 0, 100.0, "bytes") == rows["copy"] == rows["zeros2"]
    assert {"a", "half", "other", "ones", "zeros"} == {Path(name).name for name in result.kept}
    assert ("tlsh", distance, 100 - distance) == tuple(
        result.summary[name] for name in ("recipe", "radius", "threshold")
    )
    assert result.kept == nk.dedup_files(sorted(folder.iterdir()), recipe="tlsh", radius=distance).kept
    links = nk.dedup_files(sorted(folder.iterdir()), family="tlsh", radius=distance, links="all", cluster="components")
    assert f"tlsh {distance}" in links.pairs["evidence"]
    near = nk.dedup_files(sorted(folder.iterdir()), family="tlsh", radius=distance - 1)
    assert str(folder / "b") in near.kept


def test_either_digest_makes_files_near(folder: Path) -> None:
    """Ssdeep finds the half, TLSH the file that changed everywhere; both are named."""
    files = sorted(folder.iterdir())
    alone = [
        set(nk.dedup_files(files, family="ssdeep", threshold=40).kept),
        set(nk.dedup_files(files, family="tlsh", radius=40).kept),
    ]
    result = nk.dedup_files(files, family="fuzzy", threshold=40, radius=40)
    rows = rows_of(result)
    assert str(rows["half"][3]).startswith("ssdeep ")
    assert str(rows["b"][3]).startswith("tlsh ")
    assert alone[0] & alone[1] == set(result.kept)
    against = nk.dedup_files([folder / "b", folder / "other"], against=[folder / "a"], family="fuzzy", radius=40)
    assert [str(folder / "other")] == against.kept
    for name, variable in (("p.py", "first"), ("q.py", "second")):
        lines = [f"{variable}_{i} = len({variable}_{i - 1}) + call_{i % 7}('{i}')" for i in range(300)]
        (folder / name).write_text("\n".join(lines))
    text = nk.dedup_files(sorted(folder.iterdir()), family="fuzzy", radius=40, also="text")
    assert "text ." in str(rows_of(text)["q.py"][3])


def test_a_store_of_tlsh_digests_finds_files(folder: Path, tmp_path: Path) -> None:
    """Digests, bytes and paths have one result; a reopened store and a run into it agree; other digests are refused."""
    a, b = (nk.tlsh.hash(folder / name) for name in "ab")
    distance = nk.tlsh.distance(a, b)
    with nk.Store.create(tmp_path / "store", "tlsh", radius=40) as store:
        paths = [str(folder / name) for name in ("a", "zeros")]
        assert ["new", "new"] == list(store.add(paths, ids=paths, kind="paths").status)
        with pytest.raises(InputError, match="row 1"):
            store.check([a, "3::"])
        with pytest.raises(MismatchError):
            store.check([nk.tlsh.hash(folder / "a", buckets=256)])
    with nk.Store.open(tmp_path / "store") as store:
        for items, kind in (([b], None), ([(folder / "b").read_bytes()], "bytes"), ([str(folder / "b")], "paths")):
            result = store.check(items, kind=kind)  # type: ignore[arg-type]  # one of the kinds
            assert ("near", distance, 100.0 - distance) == (
                result.status[0],
                result.distances[0],
                result.similarities[0],
            )
        assert ["exact", "new"] == list(store.check([bytes(500), b"1" * 500], kind="bytes").status)
        assert 40 == store.stats().settings["radius"]
        run = nk.dedup_files(sorted(folder.iterdir()), store=store)
        assert str(folder / "b") not in run.kept
        assert len(store) == 2 + len([name for name in run.kept if name not in paths])
        store.verify()
        with pytest.raises(MismatchError, match="family"):
            nk.dedup_files([folder / "b"], store=store, family="ssdeep")
    for arguments in (
        {"recipe": "tlsh", "threshold": 80},
        {"recipe": "ssdeep", "radius": 3},
        {"recipe": "tlsh", "radius": 101},
    ):
        with pytest.raises(ParameterError):
            nk.Store.create(tmp_path / "no", **arguments)  # type: ignore[arg-type]


def test_families_have_their_own_thresholds(folder: Path) -> None:
    """A score for TLSH, a radius for ssdeep, and a recipe of another family are refused."""
    for arguments in (
        {"family": "tlsh", "threshold": 80},
        {"family": "ssdeep", "radius": 10},
        {"family": "tlsh", "recipe": "ssdeep"},
        {"family": "fuzzy", "recipe": "tlsh"},
        {"family": "sdhash"},
        {"family": "tlsh", "radius": 101},
    ):
        with pytest.raises(ParameterError):
            nk.dedup_files([folder / "a"], **arguments)


@pytest.mark.parametrize("family", ["tlsh", "fuzzy"])
def test_the_command_writes_evidence_and_a_report(folder: Path, tmp_path: Path, family: str) -> None:
    """`nearkin dedup --family` has the result of the call, and its report names the digests."""
    out = tmp_path / "out"
    done = call("dedup", "--family", family, folder, "--out", out, "--radius", "40", "--report", "--json")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (out / "clusters.jsonl").read_text().splitlines()]
    assert any(row["evidence"].startswith("tlsh ") for row in rows)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "TLSH digests are at most 40 apart" in page
    assert ("ssdeep digests have a score" in page) == (family == "fuzzy")
    check_message(2, f"not with --family {family}", "dedup", "--family", family, folder, "--out", out, "--html")


def test_a_store_is_made_by_the_commands(folder: Path, tmp_path: Path) -> None:
    """`store create --recipe tlsh --radius` makes a store to which `dedup --store` adds."""
    store = tmp_path / "store"
    assert 0 == call("store", "create", store, "--recipe", "tlsh", "--radius", "40", "--quiet").code
    assert 0 == call("dedup", "--family", "tlsh", folder / "a", "--out", tmp_path / "o", "--store", store).code
    done = call("check", folder / "b", "--store", store)
    assert "near" in done.out
