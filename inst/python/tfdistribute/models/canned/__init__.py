"""TensorFlow's canned Estimators."""

from tfdistribute.models.canned import baseline, combined, dnn, linear

__all__ = ["baseline", "combined", "dnn", "linear"]
