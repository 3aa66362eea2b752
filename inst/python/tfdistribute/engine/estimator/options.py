"""The behavior of an Estimator that differs between models."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class StepOptions:
    """Settings that change a training step, by the names that they have in ``RunSettings``.

    Args:
        micro_batches: Micro-batches over which a training step accumulates gradients.
        scales_loss: Whether a training step scales its loss, for gradients in float16.
    """

    micro_batches: int = 1
    scales_loss: bool = False

    @classmethod
    def of(cls, settings: Any) -> "StepOptions":
        return cls(**{each.name: getattr(settings, each.name) for each in fields(cls)})


@dataclass(frozen=True)
class EstimatorOptions:
    """The behavior of an Estimator that differs between models.

    Args:
        kind: Origin of the model function, as from ``existing_estimators.kind_of``.
        reads_matrices: Whether the model function takes ``Features``; others get a plain dictionary, because
            reticulate converts no other mapping to a list.
        columns: The model's feature columns, some of which may be joint columns.
        feature_keys: Names of features inside the model, by their names in the data.
        only_row_count: Whether the model reads no features and needs one only to count rows.
        weight_key: Name inside the model of the feature that holds the weights, or None.
        whole_labels: Whether labels are class numbers.
        classes: Names or number of the classes of a canned classifier, or None.
        loss_is_mean: Whether the loss of a model function for one device is a mean; None for other model functions.
        reports_mean_loss: Whether the replicas' losses are averaged, not summed, and evaluations report the mean over
            rows.
        row_loss: Name of the model's own metric that is the mean loss over rows, or None.
        hides_row_loss: Whether evaluations report that metric as "loss" only.
        keeps_one_variable: Whether variables that a strategy has wrapped are dropped from the graph's collections.
        factor_levels: Levels of the features that the model reads as codes, by name.
        note_unread: Called in training with the names of these features that the model does not read; None for nothing.
        label_levels: Levels of a label that the model reads as codes, or None.
        sums_loss: Whether the loss of a canned model is a sum over examples.
        as_written: Whether AutoGraph can leave the model function out, because it is only code of TensorFlow.
        step: Settings that change a training step.
        warm_vocabularies: Categories in the checkpoint of a warm start and in this model, by variable.
    """

    kind: str = "custom"
    reads_matrices: bool = False
    columns: Sequence[Any] = ()
    feature_keys: Mapping[str, str] = field(default_factory=dict[str, str])
    only_row_count: bool = False
    weight_key: str | None = None
    whole_labels: bool = False
    classes: int | Sequence[str] | None = None
    loss_is_mean: bool | None = None
    reports_mean_loss: bool = False
    row_loss: str | None = None
    hides_row_loss: bool = False
    keeps_one_variable: bool = False
    factor_levels: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    note_unread: Callable[[Collection[str]], None] | None = None
    label_levels: Sequence[str] | None = None
    sums_loss: bool = False
    as_written: bool = False
    step: StepOptions = StepOptions()
    warm_vocabularies: Mapping[str, tuple[Sequence[Any], Sequence[Any]]] = field(
        default_factory=dict[str, tuple[Sequence[Any], Sequence[Any]]]
    )

    @property
    def adds_row_loss(self) -> bool:
        return self.row_loss is None and self.reports_mean_loss
