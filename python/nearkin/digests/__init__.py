"""Fuzzy digests of files: one package per kind of digest."""

from nearkin.digests import ssdeep

__all__ = ["ssdeep"]
