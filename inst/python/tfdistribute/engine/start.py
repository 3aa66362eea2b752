"""What is set once, when this package brings TensorFlow into the process."""

from __future__ import annotations

import logging
from typing import Any


def prepare(tensorflow: Any) -> None:
    """Quieten TensorFlow's loggers; warnings and errors stay.

    Args:
        tensorflow: The imported module.
    """
    tensorflow.get_logger().setLevel(logging.WARNING)
    tensorflow.compat.v1.logging.set_verbosity(tensorflow.compat.v1.logging.WARN)
