"""Packed columns: side by side in few matrices, one per dtype."""
