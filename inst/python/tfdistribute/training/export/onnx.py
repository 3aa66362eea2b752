"""Trained models in the format ONNX."""

import os
import time

from tfdistribute import engine
from tfdistribute.models import Model
from tfdistribute.training.export.keras_model import read_trained

FILE = "model.onnx"


def write_onnx(model: Model, checkpoint_path: str | None, staging: str) -> str:
    """Write the file ``model.onnx`` into a new directory below ``staging``, named by the time; return the directory.

    Raises BackendError if a Python package is missing, and UnsupportedError if ONNX has no operator for a part of the
    model.
    """
    model, known, read = read_trained(model, checkpoint_path, "export_savedmodel")
    known = known._replace(is_portable=True)
    made = engine.keras.outside_graphs(model.as_keras_model, known, read)
    engine.keras.onnx.check_packages()
    directory = os.path.join(staging, str(int(time.time())))
    os.makedirs(directory)
    path = os.path.join(directory, FILE)
    engine.keras.outside_graphs(engine.keras.onnx.write, made, model.encoders(known), path)
    return directory
