"""Inputs whose rows are in memory."""
