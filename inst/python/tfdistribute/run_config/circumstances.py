"""What is known about a run when a verb begins. Plain Python."""

from __future__ import annotations

from dataclasses import dataclass

from tfdistribute.cluster.tf_config import TfConfig


@dataclass(frozen=True)
class Circumstances:
    """What is known when a verb begins; the defaults mean "not known" or "not so".

    ``train_and_evaluate`` is checked twice: as itself with the training input, and as "evaluate" with the
    evaluation input.

    Args:
        verb: "train", "evaluate", "predict", "train_and_evaluate" or "export".
        tf_config: What ``cluster.tf_config.read_tf_config`` found.
        v1_canned: Whether the model is one of tf.compat.v1.estimator's.
        rows: Rows of this verb's input.
        epochs: Times they are read; None for without end, or where rows are not known.
        global_batch_size: Rows per step, over all replicas.
        replicas: Replicas in sync of this verb's strategy.
        devices: Canonical names of the devices that the strategies take.
    """

    verb: str
    tf_config: TfConfig | None = None
    v1_canned: bool = False
    rows: int | None = None
    epochs: int | None = None
    global_batch_size: int | None = None
    replicas: int = 1
    devices: tuple[str, ...] = ()

    @property
    def tasks(self) -> int:
        """Processes that TF_CONFIG names; 1 without it."""
        return 1 if self.tf_config is None else self.tf_config.tasks
