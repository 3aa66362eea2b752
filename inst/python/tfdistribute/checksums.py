"""Checksums: CRC-32C as TensorFlow writes it into checkpoints and TFRecord files, and CRC-32 of any content."""

import importlib
import sys
import zlib
from collections.abc import Callable, Iterable
from functools import cache

from tfdistribute.errors import BackendError

_MASK = 0xA282EAD8
# Larger content is sampled, so that a checksum takes a tenth of a second.
_MOST_BYTES, _SAMPLES = 2**26, 2**10


@cache
def crc32c() -> Callable[[int, bytes], int]:
    """Return the function that extends a CRC-32C, 0 at first, by bytes; BackendError without google-crc32c."""
    try:
        return importlib.import_module("google_crc32c").extend
    except ImportError as error:
        raise BackendError(
            f"google-crc32c cannot be imported by {sys.executable}: {error}.",
            "Run install_tfdistribute() in R, or `pip install google-crc32c`.",
        ) from error


def masked(crc: int) -> int:
    """Return a CRC in the form of TensorFlow's files, because the CRC of data that holds CRCs would be weak."""
    return (((crc >> 15) | (crc << 17 & 0xFFFFFFFF)) + _MASK) & 0xFFFFFFFF


def checksum(contents: Iterable[bytes | memoryview]) -> str:
    """Return text that differs if contents, bytes in C order, differ; above 64 MB, evenly spaced blocks count."""
    crc = 0
    for content in contents:
        view = memoryview(content).cast("B")
        crc = zlib.crc32(str(view.nbytes).encode(), crc)
        for block in _sampled(view):
            crc = zlib.crc32(block, crc)
    return f"checksum {crc:08x}"


def _sampled(view: memoryview) -> Iterable[memoryview]:
    if view.nbytes <= _MOST_BYTES:
        return (view,)
    size = _MOST_BYTES // _SAMPLES
    last = view.nbytes - size
    starts = (last * number // (_SAMPLES - 1) for number in range(_SAMPLES))
    return (view[start : start + size] for start in starts)
