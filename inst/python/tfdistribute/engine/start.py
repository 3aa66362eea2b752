"""Logging and warnings of TensorFlow, set once after its import."""

from __future__ import annotations

import logging
import warnings
from typing import Any

from tfdistribute.engine import patches


def reduce_warnings(tensorflow: Any) -> None:
    """Silence TensorFlow's deprecation warnings and informational logs; other warnings and errors stay.

    Estimators are deprecated as a whole, so a warning for each of their parts tells users nothing.
    """
    logger = tensorflow.get_logger()
    logger.setLevel(logging.WARNING)
    logger.addFilter(_is_news)
    patches.install("deprecation_warnings", False)
    warnings.filterwarnings("ignore", message="To make it possible to preserve tf.data options")
    # Model functions use these layers, which nothing replaces in graphs.
    warnings.filterwarnings("ignore", message=r"`tf\.layers\.\w+` is deprecated")


def _is_news(record: logging.LogRecord) -> bool:
    # The step counter compares two reads of the step that can be out of order, and warns without reason.
    return not str(record.msg).startswith("It seems that global step")
