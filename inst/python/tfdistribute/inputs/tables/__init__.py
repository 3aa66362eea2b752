"""Inputs from CSV, Parquet and Arrow files."""
