"""Deduplication: hash, search, verify, cluster, keep; for texts and for files."""
