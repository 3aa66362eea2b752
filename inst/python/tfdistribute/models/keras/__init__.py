"""Keras models."""

from tfdistribute.models.keras import model

__all__ = ["model"]
