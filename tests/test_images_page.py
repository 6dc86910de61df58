"""The program of docs/images.md, which measures image hashes; skipped where their packages are missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs/images.md"


def test_a_thousand_pictures_are_measured() -> None:
    """Both hashes find nearly all copies that were compressed or scaled; PDQ pairs nothing but two chessboards."""
    for name in ("imagehash", "pdqhash", "skimage", "PIL"):
        pytest.importorskip(name, reason=f"{name} is not installed: docs/images.md needs it")
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    namespace: dict[str, Any] = {}
    for block in blocks:
        if not block.startswith(">>>"):
            exec(block, namespace)  # noqa: S102 - that is what the test is about
    assert len(namespace["names"]) == 1000
    for hash_name in ("PDQ", "pHash"):
        found, _ = namespace["measured"][hash_name]
        assert min(found[edit] for edit in ("JPEG, quality 40", "half the size", "brighter by 30%")) >= 180
    pairs = namespace["measured"]["PDQ"][1]
    assert len(pairs) == 9
    assert all("chessboard" in name for side in (pairs.left, pairs.right) for name in side)
