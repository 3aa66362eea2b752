"""Experiment trackers, one per file, and the process that logs to one."""

from tfdistribute.trackers.description import Tracker
from tfdistribute.trackers.mlflow import Mlflow
from tfdistribute.trackers.wandb import Wandb

__all__ = ["Mlflow", "Tracker", "Wandb"]
