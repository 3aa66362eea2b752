"""Training as one task of a cluster: server, session and hooks."""

from tfdistribute.engine.tasks.server import MultiWorkerMirroredStrategy, Seat, settle, start_server
from tfdistribute.engine.tasks.session import Calls, train

__all__ = ["Calls", "MultiWorkerMirroredStrategy", "Seat", "settle", "start_server", "train"]
