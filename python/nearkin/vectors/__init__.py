"""Shared code of families and indexes of vectors: rows, projections, samples."""
