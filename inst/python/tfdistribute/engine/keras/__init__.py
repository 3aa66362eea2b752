"""Keras models as Estimators."""

from tfdistribute.engine.keras.estimator import KerasParts, make_estimator
from tfdistribute.engine.keras.models import build, describe, load, serving_input_receiver_fn

__all__ = ["KerasParts", "build", "describe", "load", "make_estimator", "serving_input_receiver_fn"]
