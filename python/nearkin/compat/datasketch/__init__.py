"""datasketch by its own names: `from nearkin.compat.datasketch import MinHash, MinHashLSH`.

Names, arguments, values and chosen parameters are those of datasketch 2.0; what differs stands in the header of each
module, and `docs/migrate/datasketch.md` goes through it call by call. `loads` and `load` read pickles of datasketch's
own objects.

Not here: `HyperLogLogPlusPlus`, `bBitMinHash`, `HNSW`, `MinHashLSHBloom`, the asynchronous indexes, and storage in
Redis or Cassandra.
"""

from __future__ import annotations

from nearkin.compat.datasketch.ensemble import MinHashLSHEnsemble
from nearkin.compat.datasketch.forest import MinHashLSHForest
from nearkin.compat.datasketch.hashing import sha1_hash32, sha1_hash64
from nearkin.compat.datasketch.hyperloglog import HyperLogLog
from nearkin.compat.datasketch.lean import LeanMinHash
from nearkin.compat.datasketch.lsh import MinHashLSH, MinHashLSHDeletionSession, MinHashLSHInsertionSession
from nearkin.compat.datasketch.minhash import MinHash
from nearkin.compat.datasketch.pickles import load, loads
from nearkin.compat.datasketch.weighted import WeightedMinHash, WeightedMinHashGenerator

WeightedMinHashLSH = MinHashLSH
WeightedMinHashLSHForest = MinHashLSHForest

__all__ = [
    "HyperLogLog",
    "LeanMinHash",
    "MinHash",
    "MinHashLSH",
    "MinHashLSHDeletionSession",
    "MinHashLSHEnsemble",
    "MinHashLSHForest",
    "MinHashLSHInsertionSession",
    "WeightedMinHash",
    "WeightedMinHashGenerator",
    "WeightedMinHashLSH",
    "WeightedMinHashLSHForest",
    "load",
    "loads",
    "sha1_hash32",
    "sha1_hash64",
]
