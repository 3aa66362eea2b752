"""Inputs from TFRecord files."""
