"""Packed columns: one matrix per dtype."""
