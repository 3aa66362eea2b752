"""Row hashes, computed from values only, that identify rows in an audit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

# Constants of splitmix64, https://prng.di.unimi.it/splitmix64.c: each step mixes every bit into all others.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def hash_rows(batch: Any) -> npt.NDArray[np.uint64]:
    hashes: npt.NDArray[np.uint64] | None = None
    for part in _values(batch):
        own = _hash_part(part)
        hashes = own if hashes is None else _mix(hashes * _FACTORS[0] + own)
    return np.empty(0, np.uint64) if hashes is None else hashes


def _values(batch: Any) -> Iterator[Any]:
    if isinstance(batch, Mapping):
        features = cast(Mapping[str, Any], batch)
        for name in sorted(features):
            yield from _values(features[name])
    elif isinstance(batch, (list, tuple)) and not hasattr(batch, "dense_shape"):
        for part in cast(Sequence[Any], batch):
            yield from _values(part)
    else:
        yield batch


def _hash_part(part: Any) -> npt.NDArray[np.uint64]:
    if hasattr(part, "dense_shape"):
        return _hash_sparse(part)
    if hasattr(part, "to_list"):
        return _hash_texts([repr(row).encode() for row in part.to_list()])
    values = np.asarray(part)
    if values.ndim == 0:
        return _hash_texts([repr(values.item()).encode()])
    rows = values.reshape(len(values), int(np.prod(values.shape[1:], dtype=np.int64)))
    strings = rows.dtype.kind == "O"
    words = (
        _hash_texts(rows.reshape(-1).tolist()).reshape(rows.shape) if strings else _as_words(rows)
    )
    hashes = np.zeros(len(rows), np.uint64)
    for column in range(words.shape[1]):
        hashes = _mix(hashes + _STEP + words[:, column])
    return hashes


def _as_words(rows: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    row_bytes = rows.shape[1] * rows.dtype.itemsize
    padded = np.zeros((len(rows), -(-row_bytes // 8) * 8), np.uint8)
    if row_bytes:
        padded[:, :row_bytes] = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    return padded.view(np.uint64)


def _hash_sparse(part: Any) -> npt.NDArray[np.uint64]:
    rows: list[list[Any]] = [[] for _ in range(int(part.dense_shape[0]))]
    for index, value in zip(part.indices.tolist(), part.values.tolist(), strict=True):
        rows[index[0]].append((index[1:], value))
    return _hash_texts([repr(row).encode() for row in rows])


def _hash_texts(texts: Sequence[bytes | str]) -> npt.NDArray[np.uint64]:
    return np.array([_hash_text(text) for text in texts], np.uint64)


@lru_cache(maxsize=100_000)
def _hash_text(text: bytes | str) -> int:
    data = text.encode() if isinstance(text, str) else text
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _mix(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    # Overflow is intended: arithmetic is modulo 2^64.
    words = (words ^ (words >> np.uint64(30))) * _FACTORS[0]
    words = (words ^ (words >> np.uint64(27))) * _FACTORS[1]
    return words ^ (words >> np.uint64(31))
