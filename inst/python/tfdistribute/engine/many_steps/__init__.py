"""Constant folding for steps whose batches all have the same size."""
