"""Conversion of trained canned models to functional models of Keras 3."""
