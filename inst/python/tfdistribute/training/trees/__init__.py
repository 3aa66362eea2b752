"""Trainings of boosted trees, which Yggdrasil Decision Forests (ydf) grows here or with the workers of a cluster."""

from tfdistribute.training.trees.begin import begin_growth
from tfdistribute.training.trees.grow import grow_here
from tfdistribute.training.trees.task import GrowingTask
