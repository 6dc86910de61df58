"""Texts: batches, words and keywords, inverse document frequencies."""
