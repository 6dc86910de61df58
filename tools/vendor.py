"""Add the sources of all crates to a source archive, so that it builds without a network.

    python tools/vendor.py dist/nearkin-0.1.0.tar.gz dist/vendored

The archive of the same name in the second folder has `vendor/`, to which its `.cargo/config.toml` sends cargo.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CONFIG = """
[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "vendor"
"""


def unpack(archive: Path, parent: Path) -> Path:
    """Unpack a source archive, add the crates, and return its folder."""
    with tarfile.open(archive) as files:
        files.extractall(parent, filter="data")
    folder = parent / archive.name.removesuffix(".tar.gz")
    subprocess.run(["cargo", "vendor", "--quiet", "--locked", "--versioned-dirs", "vendor"], cwd=folder, check=True)
    with (folder / ".cargo" / "config.toml").open("a", encoding="utf-8") as file:
        file.write(CONFIG)
    return folder


def main(archive: Path, out: Path) -> None:
    """Write the archive with the crates."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, tarfile.open(out / archive.name, "w:gz") as files:
        folder = unpack(archive, Path(name))
        files.add(folder, folder.name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
