"""Fuzzy digests of files: one package per kind of digest."""

from nearkin.digests import ssdeep, tlsh

__all__ = ["ssdeep", "tlsh"]
