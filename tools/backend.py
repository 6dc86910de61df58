"""The build backend: maturin, preceded by a check for a Rust compiler.

Without a compiler, maturin tries to download one and prints many lines. A build of nearkin from source ends in one line
with instructions instead.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from typing import Any

import maturin
from maturin import build_sdist, get_requires_for_build_sdist, prepare_metadata_for_build_wheel

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel

_MISSING = (
    "nearkin: a build from source needs Rust, and there is no `cargo` on the PATH. Install Rust from rustup.rs, "
    "or take a wheel, which needs no compiler: pip install --only-binary nearkin nearkin"
)


def _check() -> None:
    if shutil.which("cargo") is None:
        sys.exit(_MISSING)


def get_requires_for_build_wheel(config_settings: Mapping[str, Any] | None = None) -> list[str]:
    """Return no additional requirements; exit if there is no compiler."""
    _check()
    return []


def get_requires_for_build_editable(config_settings: Mapping[str, Any] | None = None) -> list[str]:
    """Return no additional requirements; exit if there is no compiler."""
    _check()
    return []


def build_wheel(
    wheel_directory: str, config_settings: Mapping[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel with maturin."""
    _check()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Mapping[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Build an editable install with maturin."""
    _check()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
