"""Guard of R functions against calls from other threads than R's.

R has one thread. Up to reticulate 1.38, an R function that another thread calls ends the process
("Rcpp::LongjumpException"). Newer versions hand the call over to R's thread and wait; if that thread waits inside
TensorFlow for the caller, both wait for ever. So such a call raises an error instead. It reaches the user as the error
of the TensorFlow function that made it.
"""

import importlib
import sys
import threading
from collections.abc import Callable
from typing import Any

from tfdistribute.engine import patches
from tfdistribute.errors import CallbackError

# AutoGraph calls functions with this attribute as they are: ``autograph_artifact`` in
# tensorflow/python/autograph/impl/api.py.
_NO_AUTOGRAPH = "autograph_info__"


def install() -> None:
    """Guard the R functions of this session, including functions that Python has already. Idempotent.

    This must be R's thread. In a process without R it does nothing.
    """
    if "rpycall" not in sys.modules:
        return
    # Every function of R calls one of the two targets.
    hands_over = hasattr(
        importlib.import_module("rpytools.thread"), "safe_call_r_function_on_main_thread"
    )
    guard = _guarded(threading.get_ident(), hands_over)
    patches.install("r_functions", guard, guard)


def _guarded(r_thread: int, hands_over: bool) -> Callable[..., Any]:
    def guarded(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        is_foreign = threading.get_ident() != r_thread
        if is_foreign and not (hands_over and not _is_in_tensorflow(r_thread)):
            raise CallbackError(
                "TensorFlow called an R function on a thread of its own "
                f'("{threading.current_thread().name}"), but R functions run on R\'s thread only.',
                "Let estimator() call it, which works under every strategy; TensorFlow's own run() calls R functions "
                "only with one device, as in tf$distribute$OneDeviceStrategy().",
            )
        return call(*args, **kwargs)

    setattr(guarded, _NO_AUTOGRAPH, None)
    return guarded


def _is_in_tensorflow(thread: int) -> bool:
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == "tensorflow":
            return True
        frame = frame.f_back
    return False
