"""Inputs from record files: TFRecord and fixed-length records."""
