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
        model_kind: Kind of the model; "custom" and "keras" bring their own model function, all others
            are canned.
        optimizer_kind: "name", "v1", "keras_instance", "new_keras_instance", "callable" or None.
        v1_canned: Whether the model is one of tf.compat.v1.estimator's.
        early_stopping_hooks: Whether a hook of tf.estimator.experimental.stop_if_* is among the hooks.
        rows: Rows of this verb's input.
        epochs: Times they are read; None for without end, or where rows are not known.
        global_batch_size: Rows per step, over all replicas.
        cpu_devices_in_model: Highest CPU:k that the model names, plus 1; 0 for none.
        replicas: Replicas in sync of this verb's strategy.
        devices: Canonical names of the devices that the strategies take.
    """

    verb: str
    tf_config: TfConfig | None = None
    model_kind: str | None = None
    optimizer_kind: str | None = None
    v1_canned: bool = False
    early_stopping_hooks: bool = False
    rows: int | None = None
    epochs: int | None = None
    global_batch_size: int | None = None
    cpu_devices_in_model: int = 0
    replicas: int = 1
    devices: tuple[str, ...] = ()

    @property
    def tasks(self) -> int:
        """Processes that TF_CONFIG names; 1 without it."""
        return 1 if self.tf_config is None else self.tf_config.tasks
