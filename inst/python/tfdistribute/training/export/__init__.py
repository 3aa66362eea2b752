"""The verbs with which a trained model leaves this package."""

from tfdistribute.training.export.keras_model import (
    as_keras_model,
    export_keras_model,
)
from tfdistribute.training.export.savedmodel import export_savedmodel
