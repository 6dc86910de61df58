"""Parts of texts: chunks, repeated passages, items of benchmarks, leaks between splits."""
