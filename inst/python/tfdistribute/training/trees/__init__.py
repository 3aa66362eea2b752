"""Trainings of boosted trees, which Yggdrasil Decision Forests (ydf) grows here or with the workers of a cluster."""

from tfdistribute.training.trees.grow import begin_growth, grow_here
from tfdistribute.training.trees.task import GrowingTask
