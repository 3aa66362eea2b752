"""Training as one task of a cluster: server, session and hooks."""

from tfdistribute.engine.tasks.server import MultiWorkerMirroredStrategy, assign_task, start_server
from tfdistribute.engine.tasks.session import TaskSession

__all__ = ["MultiWorkerMirroredStrategy", "TaskSession", "assign_task", "start_server"]
