"""Keras models."""

from tfdistribute.models.keras import model
