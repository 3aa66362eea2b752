"""Where examples come from: each description becomes a tf.data.Dataset in whichever process performs it."""

from tfdistribute.inputs import dataset_function, generator, in_memory
from tfdistribute.inputs.description import Input, Purpose

__all__ = ["Input", "Purpose", "dataset_function", "generator", "in_memory"]
