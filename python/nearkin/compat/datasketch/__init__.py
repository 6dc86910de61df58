"""datasketch under its own names: `from nearkin.compat.datasketch import MinHash, MinHashLSH`.

The module has the MinHash sketches of datasketch 2.0 and their index, with the same names, arguments, values and
parameters. The header of each module lists the differences, and `docs/migrate/datasketch.md` maps each call. `loads`
and `load` read pickles that datasketch wrote.

Not included: `MinHashLSHForest`, `MinHashLSHEnsemble`, `MinHashLSHBloom`, `WeightedMinHash`, `HyperLogLog`,
`bBitMinHash`, `HNSW`, the asynchronous indexes, query buffers, and storage in Redis or Cassandra.
"""

from __future__ import annotations

from nearkin.compat.datasketch.lsh import MinHashLSH
from nearkin.compat.datasketch.minhash import LeanMinHash, MinHash, sha1_hash32, sha1_hash64
from nearkin.compat.datasketch.pickles import load, loads

__all__ = [
    "LeanMinHash",
    "MinHash",
    "MinHashLSH",
    "load",
    "loads",
    "sha1_hash32",
    "sha1_hash64",
]
