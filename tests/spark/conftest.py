"""Fixtures of `sessions`, in a file of their own because type checkers read only one conftest."""

from __future__ import annotations

import pytest
from sessions import engine, java, sail

__all__ = ["engine", "java", "sail"]

pytest.importorskip("pysail", reason="pysail is not installed")
