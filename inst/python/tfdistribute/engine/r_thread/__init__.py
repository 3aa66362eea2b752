"""R functions on R's own thread: replicas in sequence, and functions that TensorFlow's threads call."""

from tfdistribute.engine.r_thread.main_thread_calls import (
    CallRefusedError,
    ServedCallError,
    ServedFunction,
)
from tfdistribute.engine.r_thread.sequential_replicas import adopt
