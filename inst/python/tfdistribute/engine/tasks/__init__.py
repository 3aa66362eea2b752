"""Training as one task of a cluster: server, session and hooks."""

from tfdistribute.engine.tasks.hooks import ReportSaves
from tfdistribute.engine.tasks.key_value_store import KeyValueStore
from tfdistribute.engine.tasks.server import (
    MultiWorkerMirroredStrategy,
    assign_task,
    start_server,
)
from tfdistribute.engine.tasks.trainer import TaskTrainer, variable_shapes

__all__ = [
    "KeyValueStore",
    "MultiWorkerMirroredStrategy",
    "ReportSaves",
    "TaskTrainer",
    "assign_task",
    "start_server",
    "variable_shapes",
]
