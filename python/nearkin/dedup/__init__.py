"""Deduplication: hash, search, verify, cluster, keep; of texts and of files."""
