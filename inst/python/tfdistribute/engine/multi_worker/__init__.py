"""Training as one task of a cluster: server, session and hooks."""

from tfdistribute.engine.multi_worker.hooks import ReportSaves
from tfdistribute.engine.multi_worker.key_value_store import KeyValueStore
from tfdistribute.engine.multi_worker.server import (
    MultiWorkerMirroredStrategy,
    assign_task,
    start_server,
)
from tfdistribute.engine.multi_worker.trainer import TaskTrainer, variable_shapes
