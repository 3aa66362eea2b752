"""Keras models as Estimators."""

from tfdistribute.engine.keras.estimator import KerasParts, make_estimator
from tfdistribute.engine.keras.models import built, facts, load, receiver

__all__ = ["KerasParts", "built", "facts", "load", "make_estimator", "receiver"]
