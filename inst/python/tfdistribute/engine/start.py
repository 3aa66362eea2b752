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
    logger = tensorflow.get_logger()
    logger.setLevel(logging.WARNING)
    logger.addFilter(_is_news)
    deprecation._PRINT_DEPRECATION_WARNINGS = False
    warnings.filterwarnings("ignore", message="To make it possible to preserve tf.data options")
    # What model functions are written with; in graphs there is nothing to replace it.
    warnings.filterwarnings("ignore", message=r"`tf\.layers\.\w+` is deprecated")


def _is_news(record: logging.LogRecord) -> bool:
    # The step counter compares two reads of the step that may overtake each other, and warns for nothing.
    return not str(record.msg).startswith("It seems that global step")
