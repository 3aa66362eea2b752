"""Audit of sharding: which rows each worker reads."""
