"""Metrics of an evaluation: the loss over rows, and states that several processes add up."""

from tfdistribute.engine.metrics.row_loss import (
    ROW_LOSS,
    as_loss,
    with_baselines_of_all_replicas,
    with_row_loss,
    without_auc_of_one_class,
)
from tfdistribute.engine.metrics.states import AddStates, States
from tfdistribute.engine.metrics.sums import sum_states
