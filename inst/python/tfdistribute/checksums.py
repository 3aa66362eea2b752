"""CRC-32C checksums as TensorFlow writes them into its files: checkpoints and TFRecord."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import cache

from tfdistribute.errors import BackendError

_MASK = 0xA282EAD8


@cache
def crc32c() -> Callable[[int, bytes], int]:
    """Return the function that extends a CRC-32C, 0 at first, by bytes.

    Raises:
        BackendError: google-crc32c is not installed.

    Source:
        https://pypi.org/project/google-crc32c/: 10 GB per second with the processor's own instruction.
    """
    try:
        return importlib.import_module("google_crc32c").extend
    except ImportError as error:
        raise BackendError(
            f"google-crc32c cannot be imported by {sys.executable}: {error}.",
            "Run install_tfdistribute() in R, or `pip install google-crc32c`.",
        ) from error


def masked(crc: int) -> int:
    """Return a CRC as it stands in a file: the CRC of data that holds CRCs would say little.

    Source:
        https://www.tensorflow.org/tutorials/load_data/tfrecord, "TFRecords format details".
    """
    return (((crc >> 15) | (crc << 17 & 0xFFFFFFFF)) + _MASK) & 0xFFFFFFFF
