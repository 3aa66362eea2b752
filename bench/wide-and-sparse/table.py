"""Tables as R users have them.

By name: ``crosses``, ``embedding``, ``hashed``, ``wide-and-deep``; or the number of their columns: ``200``, ``2000``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

KIND = sys.argv[1]
BATCH = 256
ROWS = {"200": 50_000, "2000": 10_000}.get(KIND, 200_000)
HIDDEN = (64, 32)
# Buckets of a cross, and the size of the embedding.
BUCKETS, LEVELS, DIMENSION = 10**6, 10**5, 32
NAMES = [f"x{index + 1}" for index in range(int(KIND) if KIND.isdigit() else 8)]

_random = np.random.default_rng(1)


def _whole(most: int) -> Any:
    return _random.integers(0, most, ROWS).astype(np.int32)


_numbers = {name: _random.random(ROWS, np.float32) for name in NAMES}
_crossed = {"a": _whole(2000), "b": _whole(2000)}
_level = {"level": _whole(LEVELS)}
# 1000 different strings.
WORDS = np.array([f"word {index}" for index in range(1000)], dtype=object)
CODES = _whole(len(WORDS))

FEATURES: dict[str, Any] = {
    "crosses": _crossed,
    "embedding": _level,
    "hashed": {"word": WORDS[CODES]},
    "wide-and-deep": {**_crossed, **_level, **_numbers},
}.get(KIND, _numbers)
_first = next(iter(FEATURES.values())) if KIND != "hashed" else CODES
Y = (_first + _random.normal(scale=_first.std(), size=ROWS) > _first.mean()).astype(np.int64)
