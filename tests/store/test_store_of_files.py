"""A store of files answers like brute force over scores, and like one `nk.dedup_files` in that order."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any, Literal

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis.stateful import initialize, rule
from test_store import clusters_of

import nearkin as nk
from nearkin.dedup.candidates.digests import is_comparable
from nearkin.digests import ssdeep
from nearkin.errors import InputError, MismatchError, ParameterError
from nearkin.store.results import StoredDocument
from store_model import HANDLES, NEW, Answer, Model, ModelDocument, StoreMachine, case_of, same

THRESHOLD = 60
FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "store-files-v2"
Kind = Literal["digests", "bytes", "paths"]


def pool() -> list[bytes]:
    """Return four families of near-identical files, and files too small to compare."""
    rng = np.random.default_rng(11)
    results = [b"", b"tiny", b"tinz", bytes(5000), bytes(6000)]
    for _ in range(4):
        base = rng.integers(0, 256, 6000, dtype=np.uint8)
        for changes in (0, 1, 3, 10, 30):
            data = base.copy()
            data[rng.integers(0, len(data), changes)] ^= 255
            results.append(data.tobytes())
    return results


POOL = pool()
DIGESTS = {data: ssdeep.hash(data) for data in POOL}
Content = tuple[str, str | bytes]


def content_of(data: bytes, kind: Kind) -> Content:
    """Return what exact copies share."""
    return ("digest", DIGESTS[data]) if kind == "digests" else ("bytes", data)


def digest_of(content: Content) -> str:
    """Return the digest of a content."""
    return content[1] if isinstance(content[1], str) else DIGESTS[content[1]]


class FileModel(Model):
    """Files, and the scores of their digests."""

    def matches(self, content: Content) -> list[tuple[ModelDocument, int]]:
        """Return the kept documents that match, with their scores."""
        digest = digest_of(content)
        results = []
        for doc in self.kept():
            other = digest_of(doc.content)
            if is_comparable(digest) and is_comparable(other):
                score = ssdeep.compare(digest, other)
                results += [(doc, score)] if score >= THRESHOLD else []
        return results

    def decide(self, content: Content) -> Answer:
        """Return the result of a new file."""
        bare = content[1] == b"" or (content[0] == "digest" and not is_comparable(digest_of(content)))
        if not bare:
            for doc in self.kept():
                if doc.content == content:
                    return ("exact", doc.id, 0, 100.0)
            for doc, score in self.matches(content):
                return ("near", doc.id, 100 - score, float(score))
        return NEW


BATCH = st.lists(st.tuples(st.integers(0, 40).map("f{}".format), st.integers(0, len(POOL) - 1)), max_size=10)
KINDS = st.sampled_from(["digests", "bytes", "paths"])


class FileMachine(StoreMachine):
    """Files as digests, bytes and paths."""

    model: FileModel
    noun = "file"

    @initialize()
    def create(self) -> None:
        """Create a store, and the files."""
        for number, data in enumerate(POOL):
            (self.folder / str(number)).write_bytes(data)
        self.begin("ssdeep", threshold=THRESHOLD)
        self.model = FileModel()

    def items(self, files: list[bytes], kind: Kind) -> list[Any]:
        """Return files as items of a kind."""
        if kind == "digests":
            return [DIGESTS[data] for data in files]
        return files if kind == "bytes" else [self.folder / str(POOL.index(data)) for data in files]

    def bring(self, which: int, batch: list[tuple[str, Content]], absorb: bool) -> None:
        """Add files, with the kind that their contents have."""
        kind: Kind = "digests" if batch[0][1][0] == "digest" else "bytes"
        self.give(which, batch, [content for _, (_, content) in batch], absorb, kind)

    def give(self, which: int, batch: list[tuple[str, Content]], items: list[Any], absorb: bool, kind: Kind) -> None:
        """Choose the kind of the next files."""
        store = self.handles[which]
        call = partial(store.check_and_add if absorb else store.add, kind=kind)
        self.offer(call, batch, items, absorb=absorb)

    @rule(batch=BATCH, which=HANDLES, absorb=st.booleans(), kind=KINDS)
    def come(self, batch: list[tuple[str, int]], which: int, absorb: bool, kind: Kind) -> None:
        """Add files, with or without deduplication."""
        contents = [(name, content_of(POOL[number], kind)) for name, number in batch]
        self.give(which, contents, self.items([POOL[number] for _, number in batch], kind), absorb, kind)

    @rule(number=st.integers(0, len(POOL) - 1), which=HANDLES, kind=KINDS)
    def check(self, number: int, which: int, kind: Kind) -> None:
        """A query changes nothing."""
        data = POOL[number]
        answers = self.handles[which].check(self.items([data], kind), k=50, kind=kind)
        content = content_of(data, kind)
        expected = self.model.decide(content)
        assert same(expected, tuple(next(answers.rows()).values()))
        scores: dict[int | str | None, float] = {doc.id: float(score) for doc, score in self.model.matches(content)}
        if expected[0] == "exact" and not scores:
            scores = {expected[1]: 100.0}
        if expected[0] == "new":
            scores = {}
        assert answers.matches is not None
        assert scores == {doc.id: doc.similarity for doc in answers.matches[0]}

    def check_contents(self, store: nk.Store, results: list[StoredDocument]) -> None:
        """Compare the digests."""
        digests = [digest_of(doc.content) for doc in self.model.documents]
        assert digests == (store.values([doc.id for doc in results]).tolist() if results else [])


TestFileMachine = case_of(FileMachine, 20)


def folder_of_files(folder: Path, count: int, seed: int) -> list[str]:
    """Write files, many of them near-identical to earlier ones, some equal, tiny or empty."""
    rng = np.random.default_rng(seed)
    folder.mkdir()
    files: list[bytes] = []
    for _ in range(count):
        kind = rng.random()
        if files and kind < 0.5:
            changed = bytearray(files[rng.integers(len(files))])
            for _ in range(int(rng.integers(0, 4))):
                at = int(rng.integers(0, len(changed) + 1))
                changed[at : at + int(rng.integers(0, 40))] = rng.bytes(int(rng.integers(0, 60)))
            files.append(bytes(changed))
        else:
            files.append(rng.bytes(int(rng.choice([0, 5, 50, 3000, 9000]))))
    for number, data in enumerate(files):
        (folder / f"f{number:03}").write_bytes(data)
    return sorted(map(str, folder.iterdir()))


@pytest.mark.parametrize("recipe", ["ssdeep", "space|ssdeep:notrunc"])
def test_any_split_into_batches_gives_the_survivors_of_one_deduplication(tmp_path: Path, recipe: str) -> None:
    """Survivors, representatives, distances, scores and reasons equal those of `nk.dedup_files` in that order."""
    paths = folder_of_files(tmp_path / "files", 300, 3)
    result = nk.dedup_files(paths, recipe=recipe, threshold=THRESHOLD)
    expected = {row["id"]: row for row in result.clusters.rows() if row["reason"] != "kept"}
    assert {"exact", "near"} == {row["reason"] for row in expected.values()}
    rng = np.random.default_rng(1)
    store = nk.Store.create(tmp_path / "store", recipe, threshold=THRESHOLD, max_pending=32)
    results: list[dict[str, Any]] = []
    while len(results) < len(paths):
        chunk = paths[len(results) : len(results) + int(rng.integers(1, 40))]
        if rng.random() < 0.5:
            results += store.check_and_add(chunk, kind="paths").rows()
        else:
            results += store.check_and_add([Path(path).read_bytes() for path in chunk], chunk, kind="bytes").rows()
        if rng.random() < 0.3:
            store.close()
            store = nk.Store.open(tmp_path / "store", max_pending=32)
    assert result.kept == [path for path, row in zip(paths, results, strict=True) if row["status"] == "new"]
    for path, row in zip(paths, results, strict=True):
        if row["status"] != "new":
            one = expected[path]
            reference = (one["reason"], one["representative"], one["distance"], one["similarity"])
            assert reference == tuple(row.values())
    assert clusters_of(result) == {frozenset(map(str, doc)) for doc in store.clusters()}
    assert len(expected) == len(store.pairs())
    store.merge()
    store.verify()
    store.close()


def test_dedup_against_a_store_equals_dedup_against_its_kept_files(tmp_path: Path) -> None:
    """A store and a folder of its kept files give the same tables; another threshold is refused."""
    old = folder_of_files(tmp_path / "old", 80, 5)
    new = folder_of_files(tmp_path / "new", 120, 5)
    with nk.Store.create(tmp_path / "store", "ssdeep", max_pending=32) as store:
        status = store.check_and_add(old, kind="paths").status
        results = nk.dedup_files(new, against=store)
        with pytest.raises(MismatchError, match="threshold"):
            nk.dedup_files(new, against=store, threshold=50)
        with pytest.raises(MismatchError, match="family"):
            nk.dedup(["a text"], against=store)
    with nk.Store.create(tmp_path / "other", "space|ssdeep", threshold=55) as store:
        summary = nk.dedup_files(new, against=store).summary
        assert ("space|ssdeep", 55) == (summary["recipe"], summary["threshold"])
        with pytest.raises(MismatchError, match="normalize"):
            nk.dedup_files(new, recipe="ssdeep", against=store)
    with nk.Store.create(tmp_path / "texts") as store, pytest.raises(MismatchError, match="family"):
        nk.dedup_files(new, against=store)
    kept = [path for path, name in zip(old, status, strict=True) if name == "new"]
    expected = nk.dedup_files(new, against=kept)
    assert expected.kept == results.kept
    assert expected.clusters.columns == results.clusters.columns
    assert expected.pairs.columns == results.pairs.columns


def test_kinds_of_items_are_distinguished(tmp_path: Path) -> None:
    """Paths, digests, bytes and texts are distinguished; the error names the right kind."""
    (tmp_path / "file").write_bytes(POOL[-1])
    with nk.Store.create(tmp_path / "store", "ssdeep") as store:
        with pytest.raises(InputError, match="row 0"):
            store.check_and_add([str(tmp_path / "file")], ["a"])
        with pytest.raises(InputError, match="kind="):
            store.check_and_add([tmp_path / "file"], ["a"])
        with pytest.raises(ParameterError, match='kind="paths"'):
            store.check_and_add([DIGESTS[POOL[-1]]], ["a"], kind="bytes")
        with pytest.raises(ParameterError, match="kind"):
            store.check_and_add(["a"], ["a"], kind="texts")
        with pytest.raises(FileNotFoundError):
            store.check_and_add([tmp_path / "none"], kind="paths")
        with pytest.raises(ParameterError, match="one per file"):
            store.check_and_add([POOL[-1]], ["a", "b"], kind="bytes")
        assert 0 == len(store)
        assert "new" == store.check_and_add([POOL[-1]], kind="bytes").status[0]
        answers = store.check([DIGESTS[POOL[-1]]])
        assert (["near"], [0]) == (answers.status, answers.ids)
    with nk.Store.create(tmp_path / "texts") as store, pytest.raises(ParameterError, match="store of texts"):
        store.check_and_add(["a"], ["a"], kind="digests")
    for wrong in ({"threshold": 0.8}, {"threshold": 0}, {"radius": 3}, {"recall": 0.9}, {"verify": "jaccard"}):
        with pytest.raises(ParameterError):
            nk.Store.create(tmp_path / "other", "ssdeep", **wrong)
    assert not (tmp_path / "other").exists()


def test_the_longest_digest_round_trips(tmp_path: Path) -> None:
    """A record has space for the largest block size and two parts of 64 characters."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    longest = f"{3 << 30}:{alphabet}:{alphabet[::-1]}"
    with nk.Store.create(tmp_path / "store", "ssdeep:notrunc") as store:
        assert ["new", "near"] == store.check_and_add([longest, longest[:-1]], ["a", "b"]).status
        store.merge()
        assert [longest, longest[:-1]] == store.values(["a", "b"]).tolist()


def write_fixture(path: Path) -> None:
    """Write the store of the fixture; run once."""
    with nk.Store.create(path, "space|ssdeep", threshold=THRESHOLD) as store:
        store.check_and_add(POOL[:12], [f"f{i}" for i in range(12)], kind="bytes", columns={"n": list(range(12))})
        store.merge()
        store.check_and_add(POOL[12:20], [f"f{i}" for i in range(12, 20)], kind="bytes")
        store.add([DIGESTS[POOL[7]]], ["listed"])
        store.remove(["f6"])


def test_a_store_of_version_1_opens(tmp_path: Path) -> None:
    """A committed store answers as when it was written, and accepts new documents."""
    shutil.copytree(FIXTURE, tmp_path / "store")
    with nk.Store.open(tmp_path / "store") as store:
        store.verify()
        results = [doc for batch in store.iter_documents() for doc in batch]
        assert ["new"] * 6 + ["near"] * 3 + ["new", "near"] == [doc.status for doc in results[:11]]
        assert {"n": 3} == results[3].columns
        assert "f6" not in store
        assert "listed" == results[-1].id
        assert ["exact", "near"] == store.check([POOL[5], POOL[13]], kind="bytes").status
        store.check_and_add([b"another file, quite another one" * 200], ["x"], kind="bytes")
        store.merge()
        store.verify()


if __name__ == "__main__":
    write_fixture(FIXTURE)
    for left in FIXTURE.glob("*-*"):
        os.remove(left)  # noqa: PTH107


def test_skipped_hubs_warn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lookups of parts that too many digests share are skipped; every call warns about it."""
    monkeypatch.setattr("nearkin.store.kinds.files.SKIP_HUBS", 2)
    rng = np.random.default_rng(7)
    common = rng.bytes(6000)
    files = [common + rng.bytes(6000) for _ in range(9)]
    with nk.Store.create(tmp_path / "files.store", recipe="ssdeep", threshold=100) as store:
        bound = "look-ups were left out: more than 2 digests of one segment share"
        with pytest.warns(RuntimeWarning, match=f"{bound} .*; they may count as new") as caught:
            store.check_and_add(files[:8], kind="bytes")
        assert {__file__} == {warning.filename for warning in caught}
        store.merge()
        with pytest.warns(RuntimeWarning, match=f"{bound} .*; they may count as new"):
            assert ["new"] == store.check(files[8:], kind="bytes").status
        with (
            pytest.warns(RuntimeWarning, match="may count as new"),
            pytest.warns(RuntimeWarning, match=f"{bound} .*; matches may be missing"),
        ):
            store.check(files[8:], kind="bytes", k=3)
