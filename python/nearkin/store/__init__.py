"""Store: a collection of documents on disk that deduplicates them as they are added.

| file | holds |
|---|---|
| `store` | `Store`: the public class |
| `kinds/` | settings, hashing and indexes of stores of texts, files and vectors |
| `results` | the results of calls: `CheckResult`, `StoredMatch`, `StoredDocument`, `StoreStats` |
| `dedup` | deduplication of a batch: the stages of `nearkin.dedup` over stored documents |
| `snapshot` | the documents at one commit, by row |
| `memtable` | pending documents, indexed in memory |
| `segment` | documents and their index in immutable files |
| `records` | layout of a stored document |
| `log` | the mutable state in SQLite: pending documents, tombstones, the segment list, settings |
| `commits` | the number of the last commit, outside of SQLite |
| `lost` | segments that no list names, and missing commits |
| `salvage` | adoption of lost segments, salvage of a store with a damaged log |
| `compaction` | flushing, merging, erasing, backups |
| `expiry` | time to live: documents older than a time |
| `copy` | copies with other settings |
| `backups` | backups in one folder: shared files, restoration by time |
| `check` | verification and repair |
| `outbox` | outputs that are committed together with a store |
| `memory` | the memory budget |
| `filesystem` | the folder of a store |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearkin.lazy import lazy_names

if TYPE_CHECKING:
    from nearkin.store.results import CheckResult as CheckResult
    from nearkin.store.store import Store as Store
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__, {"results": ["CheckResult"], "store": ["Store"]})
