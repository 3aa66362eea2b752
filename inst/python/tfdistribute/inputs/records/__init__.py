"""Inputs from files of records: TFRecord, and records of fixed length."""
