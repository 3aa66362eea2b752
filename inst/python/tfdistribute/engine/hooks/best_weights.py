"""Weights of the best step of a training, kept until its end."""

import os
from typing import Any

import tensorflow as tf

from tfdistribute import storage
from tfdistribute.checkpoints.contents import files_of

_DIRECTORY = "best-weights"


class BestWeights:
    """A checkpoint outside TensorFlow's list, which deletes old ones; a copy of the step's if ``of_checkpoints``."""

    def __init__(self, model_dir: str, of_checkpoints: bool) -> None:
        self._model_dir = model_dir
        self._directory = os.path.join(model_dir, _DIRECTORY)
        self._of_checkpoints = of_checkpoints
        self._prefix: str | None = None

    def find_saver(self, graph: Any) -> None:
        savers = graph.get_collection(tf.compat.v1.GraphKeys.SAVERS)
        definition = type(savers[0].saver_def)()
        definition.CopyFrom(savers[0].saver_def)
        # It must not delete the checkpoints of the other saver.
        definition.max_to_keep = 1
        self._saver = tf.compat.v1.train.Saver(saver_def=definition)

    def keep(self, session: Any, step: int) -> None:
        self.discard()
        storage.of(self._directory).make_directory(self._directory)
        name = f"model.ckpt-{step}"
        prefix = os.path.join(self._directory, name)
        if self._of_checkpoints:
            files = files_of(os.path.join(self._model_dir, name))
            for file in files:
                storage.copy(file, os.path.join(self._directory, os.path.basename(file)))
            self._prefix = prefix if files else None
        else:
            self._prefix = self._saver.save(
                session, prefix, write_meta_graph=False, write_state=False
            )

    def restore(self, session: Any) -> None:
        if self._prefix is not None:
            self._saver.restore(session, self._prefix)

    def discard(self) -> None:
        self._prefix = None
        storage.of(self._directory).remove_directory(self._directory)
