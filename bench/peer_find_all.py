"""simhash-pybind's `find_all` over fingerprints in a .npy file, in its own environment, since it has simhash's name.

    .venv-pybind/bin/python bench/peer_find_all.py FILE.npy BLOCKS DISTANCE

Prints the CPU seconds of the call alone and how many pairs it gave.
"""

from __future__ import annotations

import json
import struct
import sys
import time

import simhash


def main() -> None:
    with open(sys.argv[1], "rb") as file:  # noqa: PTH123
        # The environment has no NumPy: uint64 values behind a header whose length is at byte 8.
        content = file.read()
    (length,) = struct.unpack_from("<H", content, 8)
    hashes = [value for (value,) in struct.iter_unpack("<Q", content[10 + length :])]
    start = time.process_time()
    found = simhash.find_all(hashes, int(sys.argv[2]), int(sys.argv[3]))
    print(json.dumps({"seconds": time.process_time() - start, "pairs": len(found)}))


if __name__ == "__main__":
    main()
