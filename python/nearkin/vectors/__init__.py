"""What dense and sparse families share: rows, projections, samples of rows."""
