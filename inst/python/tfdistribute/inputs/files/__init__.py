"""Inputs from files: which files, which blocks, which rows."""
