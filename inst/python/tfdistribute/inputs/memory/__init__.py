"""Inputs in memory."""
