"""Write THIRD_PARTY_LICENSES.txt: the notices of everything that is compiled into the wheel or included in it.

The crates are the dependencies of `nearkin-module` on any system, without those of tests and builds. Their texts are
the crates' licence files. Data files of the project have their notices in the same folder.

    python tools/make_notices.py            writes the file
    python tools/make_notices.py --check    fails if it lacks a crate of Cargo.lock
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUT = ROOT / "THIRD_PARTY_LICENSES.txt"
DATA = {
    "jieba: dictionary, inverse document frequencies and models (MIT)": "crates/nearkin-base/data/LICENSE-jieba",
    "Unicode: tables of characters (Unicode-3.0)": "crates/nearkin-base/data/LICENSE-unicode",
}
SYSTEMS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-msvc")
CHOICES = ("LICENSE-MIT*", "LICENSE*", "LICENCE*", "COPYING*", "license*", "UNLICENSE*")
"""Of a crate under several licences the first of these is taken: MIT where it is offered."""
LINE = "=" * 78


def crates() -> Iterator[dict[str, Any]]:
    """Return what is compiled into the extension, by name."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    command += [f"--filter-platform={system}" for system in SYSTEMS]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    start = next(key for key, package in packages.items() if package["name"] == "nearkin-module")
    seen, waiting = {start}, [start]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            if None in kinds and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    yield from sorted((packages[key] for key in seen if packages[key]["source"]), key=lambda package: package["name"])


def licence_text(package: dict[str, Any]) -> str:
    """Return the licence of a crate."""
    folder = Path(package["manifest_path"]).parent
    for choice in CHOICES:
        files = sorted(path for path in folder.glob(choice) if path.is_file())
        if files:
            return files[0].read_text("utf-8", errors="replace").strip()
    authors = ", ".join(package["authors"]) or "its authors"
    return f"Licence: {package['license']}, by {authors}; see {package['repository']}"


def page() -> str:
    """Return all notices; crates with the same text share it."""
    texts: dict[str, list[str]] = {}
    for package in crates():
        texts.setdefault(licence_text(package), []).append(
            f"{package['name']} {package['version']} ({package['license']})"
        )
    parts = ["nearkin is licensed under Apache-2.0 (LICENSE). Its wheel carries the following works of others.\n"]
    for name, path in DATA.items():
        parts.append(f"{LINE}\n{name}\n{LINE}\n\n{(ROOT / path).read_text('utf-8').strip()}\n")
    for text, names in sorted(texts.items(), key=lambda item: item[1]):
        parts.append(f"{LINE}\n" + "\n".join(names) + f"\n{LINE}\n\n{text}\n")
    return "\n".join(parts)


def main() -> None:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        if OUT.read_text("utf-8") != page():
            sys.exit(f"{OUT.name} is not what the crates say; run python tools/make_notices.py")
        return
    OUT.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
