"""Texts: batches, words, keywords, inverse document frequencies, edits and chunks."""
