"""Trainings of tabular models, which find the end of the training themselves."""

from tfdistribute.training.tabular.choice import choose_end, steps_note
