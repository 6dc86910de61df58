"""What a store is asked: what new documents would be, and what it knows of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import MinHashCandidates, SimHashCandidates, Values
from nearkin.dedup.result import PairTable
from nearkin.errors import ParameterError, bad_parameter, check_count, mismatch
from nearkin.families.minhash import as_signatures
from nearkin.index.fingerprints import flat_rows
from nearkin.index.ids import Id, Ids, check_ids
from nearkin.progress import ShowProgress, reporting
from nearkin.store.answers import Answers, StoredMatch
from nearkin.store.dedup import Batch
from nearkin.store.documents import StoredDocument, StoreStats
from nearkin.store.fast_path import answer_of_one, outcome_of_one
from nearkin.store.opened import Items, OpenedStore
from nearkin.store.reading import count_of, documents_of, hexadecimal, is_kind, live_rows, stats_of
from nearkin.store.results import answers_of, best_matches, distances_of, nearest_of
from nearkin.store.settings import Kind
from nearkin.store.snapshot import StoreView


class AskedStore(OpenedStore):
    """The questions of a store: each reads one commit, and remembers nothing."""

    @property
    def next_row(self) -> int:
        """How many documents were ever added, removed ones included: the row number of the next one."""
        with self._reading() as state:
            return state.next_row

    @property
    def id_kind(self) -> str:
        """Kind of the ids, "int" or "str"; "" before the first."""
        with self._reading() as state:
            return state.id_kind

    def check(
        self, texts: Items, *, k: int | None = None, kind: Kind | None = None, progress: ShowProgress = None
    ) -> Answers:
        """What each document would be if it came now; nothing is remembered.

        Parameters
        ----------
        texts : iterable of str or None, or an Arrow string array; files and vectors as for `check_and_add`
            Each is held against the store alone, not against the others.
        k : int, optional
            Give the k best matches of each text, too, most similar first, with their columns.
        kind : {"digests", "bytes", "paths"}, optional
            As for `check_and_add`.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Returns
        -------
        Answers
            Status "new", "exact" or "near".

        Raises
        ------
        ParameterError
            k below 1.
        CorruptStoreError
            Damage that a look-up met.
        """
        if k is not None:
            check_count("k", k, 1, 1 << 20, "1 or more")
        self._check_texts()
        with reporting(progress) as report:
            hashed = self._hash(texts, None, kind, report)
            with self._reading() as state:
                if k is None and len(hashed) == 1:
                    outcome = outcome_of_one(hashed, None, self._contents, *self._cache.take(1))
                    if outcome is not None:
                        return answer_of_one(outcome, self._contents)
                batch = Batch(hashed, None, self._settings, self._cache, report)
                # Texts do not meet one another: each is its own original.
                batch.original = np.arange(len(hashed))
                decision = batch.open()
                batch.decide(self._contents, 0, state.next_row, decision)
                matches = None if k is None else best_matches(batch, self._contents, k)
                distances = distances_of(batch, decision, self._contents)
                return answers_of(decision, self._contents, distances, {}, matches)

    def search(self, values: Any, *, radius: int | None = None, k: int = 10) -> list[list[StoredMatch]]:
        """The documents that stay nearest to fingerprints, signatures, digests or vectors that were made before.

        Nothing is verified by texts: what `check` says of a text may be less than what this finds for its fingerprint.

        Parameters
        ----------
        values : (n,) or (n, words) uint64, (n, num_perm) uint, n digests, or (n, d) vectors
            What `values` gives for documents of the store.
        radius : int, optional
            Largest Hamming distance, up to that of the store, which it is for None; with fingerprints.
        k : int, default 10
            Matches per query, at most.

        Returns
        -------
        list of lists of StoredMatch
            Most similar first, ties in the order of their coming. Similarities are those of `check`: of signatures the
            share of equal values, of digests scores, of vectors cosines; NaN for fingerprints.

        Raises
        ------
        ParameterError
            Values of another shape; a radius beyond the store's.
        """
        check_count("k", k, 1, 1 << 20, "1 or more")
        source = self._settings.source
        if not isinstance(source, SimHashCandidates) and radius is not None:
            raise bad_parameter("radius", radius, "None: only fingerprints are searched within one")
        if not isinstance(source, (SimHashCandidates, MinHashCandidates)):
            kind: Kind | None = "digests" if self._settings.noun == "file" else None
            return self.check(values, k=k, kind=kind).matches or []
        if isinstance(source, SimHashCandidates):
            num_perm, most = None, source.radius
            rows: Values = flat_rows(values, source.recipe.bits, "values").reshape(-1, source.recipe.words)
            if radius is not None:
                most = check_count("radius", radius, 0, most, f"0 to {most}, the radius of the store")
        else:
            num_perm = most = source.recipe.num_perm
            rows = as_signatures(values, "values", num_perm)
            if rows.dtype.itemsize * 8 != source.recipe.value_bits:
                raise mismatch("bits of a value", f"a store of {source.recipe.value_bits}", f"values of {rows.dtype}")
        with self._reading():
            view = StoreView(self._contents, 0, 1 << 31)
            lists = view.candidates(rows)
            distances = source.distances(rows[lists.owners()], view.values(lists.places))
            return nearest_of(self._contents, lists, distances, most, k, num_perm)

    def get(self, ids: Ids, *, missing_ok: bool = False) -> list[StoredDocument | None]:
        """What the store knows of documents.

        Parameters
        ----------
        ids : iterable of int or str
        missing_ok : bool, default False
            Whether an id that is not there gives None.

        Raises
        ------
        ParameterError
            An id that is not there.
        """
        keys = check_ids(ids)
        with self._reading():
            rows = self._rows_of(keys, missing_ok)
            there = rows[rows >= 0]
            documents = iter(documents_of(self._contents, there))
            return [next(documents) if row >= 0 else None for row in rows.tolist()]

    def texts(self, ids: Ids) -> list[str | None]:
        """The texts of documents; None for one that was not new.

        Raises
        ------
        ParameterError
            An id that is not there.
        MismatchError
            The store keeps no texts, and `texts=` was not given; the message says what there is.
        """
        keys = check_ids(ids)
        with self._reading():
            return self._contents.texts(self._rows_of(keys, missing_ok=False))

    def features(self, ids: Ids) -> list[NDArray[np.uint64] | None]:
        """With `text="features"`: hashes of the features of documents, ascending; None for one that was not new.

        Raises
        ------
        ParameterError
            An id that is not there.
        MismatchError
            The store keeps no hashes of features.
        """
        if self._settings.text != "features":
            raise mismatch("texts", f'a store with text="{self._settings.text}"', "a call that needs feature hashes")
        keys = check_ids(ids)
        with self._reading():
            return self._contents.features(self._rows_of(keys, missing_ok=False))

    def values(self, ids: Ids) -> Values:
        """What documents are searched by.

        Returns
        -------
        (n, ...) array
            Fingerprints, `(n,)` or `(n, words)` uint64; signatures, `(n, num_perm)`; digests, `(n,)` objects; vectors,
            `(n, d)` float32.

        Raises
        ------
        ParameterError
            An id that is not there.
        """
        keys = check_ids(ids)
        with self._reading():
            values = StoreView(self._contents, 0, 0).values(self._rows_of(keys, missing_ok=False))
            return self._contents.family.shown(values)

    def contents(self, ids: Ids) -> list[str]:
        """XXH3-128 of what exact copies share, the text or the bytes of a file, as 32 hexadecimal digits.

        Raises
        ------
        ParameterError
            An id that is not there.
        """
        keys = check_ids(ids)
        with self._reading():
            found = self._contents.contents(self._rows_of(keys, missing_ok=False))
        return hexadecimal(found, self._settings)

    def __len__(self) -> int:
        """How many documents were added and not removed."""
        with self._reading() as state:
            return count_of(self._contents, state)

    def __contains__(self, key: object) -> bool:
        """Whether an id is there."""
        if isinstance(key, bool) or not isinstance(key, (int, str, np.integer)):
            return False
        try:
            keys = check_ids([key])
        except ParameterError:
            return False
        with self._reading() as state:
            if not is_kind(keys, state):
                return False
            return bool(self._contents.find_ids(keys)[0] >= 0)

    def iter_documents(self, *, batch_size: int = 4096) -> Iterator[list[StoredDocument]]:
        """All documents in the order in which they came, `batch_size` at a time.

        Each batch is read when it is asked for: what is removed meanwhile is not given, what is added is.
        """
        check_count("batch_size", batch_size, 1, 1 << 24, "1 to 16,777,216")
        start = 0
        while True:
            with self._reading():
                rows = live_rows(self._contents, start, batch_size)
                if not len(rows):
                    return
                batch = documents_of(self._contents, rows)
            start = int(rows[-1]) + 1
            yield batch

    def pairs(self) -> PairTable:
        """Links of documents that were not new with the one that stays: id, representative, distance, similarity."""
        links = [
            (one.id, one.match, one.distance, one.similarity)
            for batch in self.iter_documents()
            for one in batch
            if one.match is not None
        ]
        names = ("id", "representative", "distance", "similarity")
        columns = {name: [link[at] for link in links] for at, name in enumerate(names)}
        return PairTable(columns, id_type={"int": "int64", "str": "string"}.get(self.id_kind))

    def clusters(self) -> list[list[Id]]:
        """Clusters of two and more ids: the document that stays first, then the others in the order of their coming."""
        groups: dict[Id, list[Id]] = {}
        for link in self.pairs().rows():
            groups.setdefault(link["representative"], [link["representative"]]).append(link["id"])
        order = {name: number for number, name in enumerate(groups)}
        return sorted(groups.values(), key=lambda group: order[group[0]])

    def stats(self) -> StoreStats:
        """What the store holds, without opening anything large."""
        with self._reading() as state:
            return stats_of(self._contents, state)
