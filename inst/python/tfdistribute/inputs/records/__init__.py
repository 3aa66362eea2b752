"""Inputs from TFRecord and fixed-length files."""
