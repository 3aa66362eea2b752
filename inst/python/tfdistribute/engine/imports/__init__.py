"""Shorter imports of TensorFlow, and shorter calls from R. Nothing here imports TensorFlow."""
