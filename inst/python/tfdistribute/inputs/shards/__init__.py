"""Sharded files with an index of their columns and rows."""
