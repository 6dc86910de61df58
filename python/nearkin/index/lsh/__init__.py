"""The index of vectors by any family of hash functions."""
