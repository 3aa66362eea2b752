"""Sharding audit: which rows each worker reads."""
