"""Models, feature columns and optimizers: plain values that build TensorFlow's objects."""

# Importing a module registers its members with their family.
from tfdistribute.models import canned, custom, feature_columns, keras, training_loop, wrapped
from tfdistribute.models.canned.tabular import Tabular, TabularRegressor
from tfdistribute.models.description import Model, TrainedFeatures
from tfdistribute.models.factors import FactorCodes
from tfdistribute.models.feature_columns.description import FeatureColumn, safe_key
from tfdistribute.models.feature_columns.initializers import Initializer
from tfdistribute.models.features import check_kinds
from tfdistribute.models.keras.model import KerasModel
from tfdistribute.models.optimizers import Optimizer
from tfdistribute.models.serving import (
    examples_receiver,
    filling_receiver,
    parse_example_spec_with_label,
    tensors_receiver,
)
from tfdistribute.models.warm_start import WarmStart
from tfdistribute.models.weights import row_weights
from tfdistribute.models.wrapped import Wrapped
