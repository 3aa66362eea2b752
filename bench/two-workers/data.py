"""Data and sizes of a model with enough computation per step for two workers."""

from __future__ import annotations

import numpy as np

ROWS, WIDTH, HIDDEN, GLOBAL_BATCH = 8192, 256, (1024, 1024, 1024), 512

_random = np.random.default_rng(1)
X = _random.random((ROWS, WIDTH), np.float32)
Y = X[:, 0] - X[:, 1]
