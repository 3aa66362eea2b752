"""Repairs of TensorFlow's behaviour."""

from tfdistribute.engine.repairs.replicated_variables import KeepOneOfEachVariable

__all__ = ["KeepOneOfEachVariable"]
