"""Data of the small model: 200,000 rows of 20 floats and a class."""

from __future__ import annotations

import numpy as np

ROWS, WIDTH, BATCH = 200_000, 20, 128
HIDDEN = (64, 32)

_random = np.random.default_rng(1)
X = _random.random((ROWS, WIDTH), np.float32)
Y = (X[:, 0] + X[:, 1] > 1).astype(np.int64)
COLUMNS = [f"x{index + 1}" for index in range(WIDTH)]
