"""Shorter imports of TensorFlow. Nothing here imports it."""
