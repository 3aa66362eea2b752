"""Trainings of tabular models, which find the end of the training themselves."""

from tfdistribute.training.tabular.choice import check_trains, choose_end, training_note
from tfdistribute.training.tabular.shared_choice import (
    await_readers,
    chosen_by_chief,
    forget_choice,
)
from tfdistribute.training.tabular.start import write_start
from tfdistribute.training.tabular.trials import Team
