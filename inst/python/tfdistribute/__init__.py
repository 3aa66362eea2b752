"""Distributed training of TensorFlow Estimators, on many devices and machines."""

__version__ = "0.1.0"
