"""Installation: notices, extras, and a build without a compiler."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def dependencies_of(manifest: str) -> list[str]:
    """Return the crates that are compiled in: all dependencies except those of tests."""
    names: list[str] = []
    table = ""
    for line in (ROOT / manifest).read_text("utf-8").splitlines():
        if head := re.fullmatch(r"\[(.+)\]", line.strip()):
            table = head[1]
        elif table.endswith("dependencies") and not table.endswith("dev-dependencies"):
            names += re.findall(r"^([\w-]+)\s*=", line)
    return [name for name in names if not name.startswith("nearkin")]


def test_everything_that_is_compiled_in_has_its_notice() -> None:
    notices = (ROOT / "THIRD_PARTY_LICENSES.txt").read_text("utf-8")
    names = [
        name
        for crate in ("core", "patterns", "python")
        for name in dependencies_of(f"crates/nearkin-{crate}/Cargo.toml")
    ]
    assert len(names) > 15
    assert [name for name in names if not re.search(rf"^{re.escape(name)} \d", notices, re.MULTILINE)] == []
    for beside in sorted((ROOT / "crates/nearkin-core/data").glob("LICENSE-*")):
        assert beside.read_text("utf-8").strip() in notices


def test_every_extra_but_the_engines_is_in_all() -> None:
    """`pip install 'nearkin[all]'` excludes the engines, which need different versions of one client."""
    extras = set(metadata.metadata("nearkin").get_all("Provides-Extra") or [])
    if "all" not in extras:
        pytest.skip("an older build is installed")
    needed = [line for line in metadata.requires("nearkin") or [] if re.search(r"extra == ['\"]all['\"]", line)]
    named = {name for line in needed for name in re.findall(r"\[([\w,]+)\]", line)[0].split(",")}
    assert named == extras - {"all", "sail", "spark"}


@pytest.mark.parametrize("hook", ["get_requires_for_build_wheel()", "build_wheel('.')", "build_editable('.')"])
def test_a_build_without_rust_ends_in_one_line(tmp_path: Path, hook: str) -> None:
    pytest.importorskip("maturin")
    environment = {**os.environ, "PATH": str(tmp_path), "PYTHONPATH": str(ROOT / "tools")}
    done = subprocess.run(
        [sys.executable, "-c", f"import backend; backend.{hook}"], env=environment, cwd=tmp_path, capture_output=True
    )
    lines = done.stderr.decode().splitlines()
    assert (done.returncode, len(lines)) == (1, 1)
    assert "needs Rust" in lines[0]
    assert "--only-binary" in lines[0]
