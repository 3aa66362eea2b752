"""One class over TensorFlow's Estimators, with every repair and addition of this package."""

from tfdistribute.engine.estimator.adoption import adopt, set_options
from tfdistribute.engine.estimator.category_codes import codes_of_rows
from tfdistribute.engine.estimator.estimator import DistributedEstimator
from tfdistribute.engine.estimator.options import EstimatorOptions, StepOptions
