"""Train TensorFlow Estimators with distribution strategies: on many devices and machines."""

__version__ = "0.1.0"
