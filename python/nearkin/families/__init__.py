"""Hash families, one file each: a distribution over hash functions with a stated collision probability."""

from __future__ import annotations

from nearkin.families.simhash import SimHash

__all__ = ["SimHash"]
