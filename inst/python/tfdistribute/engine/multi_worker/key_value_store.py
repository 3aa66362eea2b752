"""Key-value store of a task's server: text by key, which every task of the cluster can read and write."""

import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

_TABLE = "tfdistribute_records"
# A session would connect to every task of the cluster; with a filter that matches none it only uses the server's own.
_NO_OTHER_TASK = "/job:none"


class KeyValueStore:
    """The store of one server, which lives as long as its process.

    A frozen process never answers, although the kernel accepts connections in its name. A table with a shared name
    belongs to the server, and a variable would become part of checkpoints.
    """

    def __init__(self, target: str, timeout_s: float) -> None:
        self._target = target
        self._config = tf.compat.v1.ConfigProto(
            device_filters=[_NO_OTHER_TASK], operation_timeout_in_ms=int(timeout_s * 1000)
        )
        self._lock = threading.Lock()
        self._graph = tf.Graph()
        with self._graph.as_default():
            table = tf.raw_ops.MutableHashTableV2(
                key_dtype=tf.int64, value_dtype=tf.string, shared_name=_TABLE
            )
            self._keys = tf.compat.v1.placeholder(tf.int64, [None])
            self._texts = tf.compat.v1.placeholder(tf.string, [None])
            self._insert = tf.raw_ops.LookupTableInsertV2(
                table_handle=table, keys=self._keys, values=self._texts
            )
            self._find = tf.raw_ops.LookupTableFindV2(
                table_handle=table, keys=self._keys, default_value=""
            )
        self._session: Any = None

    def write(self, texts: Mapping[str, str]) -> bool:
        """Write texts by key; return whether the server answered."""
        feeds = {self._keys: _numbers(texts), self._texts: list(texts.values())}
        return self._run([self._insert], feeds) is not None

    def read(self, keys: Sequence[str]) -> list[str] | None:
        """Read texts, "" for a key without one; None if the server does not answer."""
        answer = self._run([self._find], {self._keys: _numbers(keys)})
        return None if answer is None else [text.decode() for text in answer[0]]

    def close(self) -> None:
        """Forget the session, because closing it would wait for a server that may be gone. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            session._closed = True

    def _run(self, fetches: list[Any], feeds: dict[Any, Any]) -> list[Any] | None:
        with self._lock:
            if self._session is None:
                self._session = tf.compat.v1.Session(
                    self._target, graph=self._graph, config=self._config
                )
            try:
                return self._session.run(fetches, feeds)
            except tf.errors.OpError:
                # A restarted server does not know the session.
                self.close()
                return None


def _numbers(keys: Iterable[str]) -> list[int]:
    # TensorFlow has no table from text to text.
    return [zlib.crc32(key.encode()) for key in keys]
