"""What is set once, when this package brings TensorFlow into the process."""

from __future__ import annotations

import logging
import warnings
from typing import Any

from tensorflow.python.util import deprecation


def prepare(tensorflow: Any) -> None:
    """Quieten what TensorFlow says about itself; its other warnings and errors stay.

    Estimators are deprecated as a whole, so nobody learns anything from a line for each of their parts.

    Args:
        tensorflow: The imported module.
    """
    tensorflow.get_logger().setLevel(logging.WARNING)
    deprecation._PRINT_DEPRECATION_WARNINGS = False
    warnings.filterwarnings("ignore", message="To make it possible to preserve tf.data options")
