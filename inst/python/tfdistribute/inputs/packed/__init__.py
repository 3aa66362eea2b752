"""Columns packed side by side: few arrays, one per dtype."""
