"""Repairs of TensorFlow's behavior."""

from tfdistribute.engine.repairs.replicated_variables import KeepOneOfEachVariable
