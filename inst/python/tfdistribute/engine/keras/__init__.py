"""Keras models as Estimators."""

from tfdistribute.engine.keras.estimator import KerasParts, make_estimator
from tfdistribute.engine.keras.graph_isolation import keep
from tfdistribute.engine.keras.models import built, facts, load, receiver

__all__ = ["KerasParts", "built", "facts", "keep", "load", "make_estimator", "receiver"]
