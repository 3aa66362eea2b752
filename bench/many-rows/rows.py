"""A million rows of 20 floats and a class, and the size of batches that the ways try."""

from __future__ import annotations

import numpy as np

ROWS, WIDTH = 1_000_000, 20
HIDDEN = (64, 32)
BATCHES = (1024, 4096, 16384)

_random = np.random.default_rng(1)
X = _random.random((ROWS, WIDTH), np.float32)
Y = (X[:, 0] + X[:, 1] > 1).astype(np.int64)
