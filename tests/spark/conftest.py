"""The fixtures of `sessions`; type checkers, which know one conftest alone, read that file and not this one."""

from __future__ import annotations

import pytest
from sessions import engine, java, sail

__all__ = ["engine", "java", "sail"]

pytest.importorskip("pysail", reason="pysail is not installed")
