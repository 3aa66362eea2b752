"""Model and input functions in R for programs in Python.

::

    estimator = tf.estimator.Estimator(tfdistribute.r.model_fn("model.R"), model_dir="runs/cars")
    estimator.train(tfdistribute.r.input_fn("input.R"), max_steps=100)

R is started inside this process when the first function is asked for; that needs rpy2 (``pip install tfdistribute[r]``)
and R with this package. All calls must be made on the thread that asked first, because R has one thread.
"""

import atexit
import contextlib
import ctypes
import importlib
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tfdistribute import descriptions, errors
from tfdistribute.callbacks import as_callable
from tfdistribute.errors import ArgumentError, BackendError, CallbackError
from tfdistribute.inputs import Input
from tfdistribute.inputs.description import Purpose
from tfdistribute.models.specification import make_estimator_spec
from tfdistribute.training.hooks import HookContext, as_hooks
from tfdistribute.training.hooks.description import VERBS

_BOOT = "tfdistribute:::give_to_python()"
# Reticulate's pointer to the function of Python that its thread calls several times a second, as C++ names it.
_PENDING_CALL = "_ZN10reticulate9libpython17Py_AddPendingCallE"

# What R gave: finds a function in a file. And R's thread.
_find: list[Callable[..., Mapping[str, Any]]] = []
_thread: list[int] = []


def model_fn(
    path: str, name: str = "model_fn", params: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Return a model function in R as one for ``tf.estimator.Estimator``.

    Args:
        path: R file. It is run once, with variables of its own.
        name: Name of the function in it: with some of the arguments ``features``, ``labels``, ``mode``, ``params`` and
            ``config``, it returns the result of R's ``estimator_spec()``.
        params: Named values that the function gets as a list.

    Returns:
        A function of ``features``, ``labels``, ``mode`` and ``config`` that returns a ``tf.estimator.EstimatorSpec``.

    Raises:
        ArgumentError: if there is no such file or function, or the function has other arguments.
        BackendError: if R, rpy2 or R's package is missing.
        CallbackError: if the file, or later the function, raised an error in R; ``r_traceback`` has R's calls.
    """
    call = _function("model", path, name, dict(params or {}))

    def in_r(features: Any, labels: Any, mode: str, config: Any) -> Any:
        _check_thread(name)
        returned = call(features, labels, mode, config)
        context = HookContext(VERBS[mode])
        return make_estimator_spec(returned, mode, lambda hooks: as_hooks(hooks, context))

    return in_r


def input_fn(
    path: str, name: str = "input_fn", purpose: Purpose = "train", seed: int = 0
) -> Callable[..., Any]:
    """Return an input in R as an input function for ``tf.estimator.Estimator``.

    Args:
        path: R file. It is run once, with variables of its own.
        name: Name of a function in it without arguments, which returns an input, as R's ``input_fn()`` makes it.
        purpose: "train", "evaluate" or "predict", which determines the order of the rows.
        seed: Seed of the shuffling, if the input does not give one.

    Returns:
        A function of ``input_context=None`` that returns a ``tf.data.Dataset``. If a step has fewer rows than replicas,
        some replicas repeat a row, which counts nothing in Estimators after ``tfdistribute.distribute()``.

    Raises:
        ArgumentError, BackendError, CallbackError: as for ``model_fn``.
        InputError: if the data cannot be used.
    """
    call = _function("input", path, name, {})
    described = descriptions.read(Input, call())
    return described.input_fn(purpose, seed)


def receive(find: Callable[..., Mapping[str, Any]]) -> None:
    """Take from R the function that finds others. Only R calls this."""
    _find[:] = [find]


def _function(what: str, path: str, name: str, params: Mapping[str, Any]) -> Callable[..., Any]:
    if not os.path.isfile(path):
        raise ArgumentError(f'`path` "{path}" is not a file.', value=path)
    if not _find:
        _start()
    _check_thread(name)
    answer = _find[0](os.path.abspath(path), name, what, params)
    failure = answer.get("error")
    if failure is not None:
        raise errors.from_values(failure)
    function = as_callable(answer["value"], name)
    assert function is not None
    return function


def _check_thread(name: str) -> None:
    if threading.get_ident() != _thread[0]:
        raise CallbackError(
            f"`{name}` was called on a thread of its own, but R functions run on the thread that started R only.",
            "Train with one device in this process, or let tfdistribute.training.train() call it.",
        )


def _start() -> None:
    """Start R in this process, and let it set ``_find``."""
    try:
        rinterface = importlib.import_module("rpy2.rinterface")
    except Exception as error:
        raise BackendError(
            f"R cannot be used by this Python: {error}",
            "Install R, and rpy2 by `pip install tfdistribute[r]`.",
        ) from error
    # reticulate must find this interpreter, and not another one.
    os.environ["RETICULATE_PYTHON"] = sys.executable
    rinterface.initr()
    # rpy2's own end of R runs finalizers of reticulate without Python's lock.
    atexit.unregister(rinterface.endr)
    r = ctypes.PyDLL(os.path.join(os.environ["R_HOME"], "lib", "libR.so"), mode=ctypes.RTLD_GLOBAL)
    atexit.register(_end, r)
    _thread[:] = [threading.get_ident()]
    answer = _evaluate(r, _BOOT)
    if not _find:
        raise BackendError(
            f"R was started, but its package tfdistribute cannot be used: {answer}",
            "Install it into R's library; R_LIBS names further libraries.",
        )


def _end(r: ctypes.PyDLL) -> None:
    _hold_thread_of_reticulate()
    r.Rf_KillAllDevices()
    r.R_CleanTempDir()


def _hold_thread_of_reticulate() -> None:
    """Keep a thread of reticulate, which never ends, from calling Python once Python has ended.

    The call would end the process by SIGSEGV. Other systems than Linux, and versions of reticulate without this
    pointer, stay as they are.
    """
    with contextlib.suppress(OSError, ValueError, StopIteration):
        maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        path = next(line.split(maxsplit=5)[5] for line in maps if line.endswith("/reticulate.so"))
        pointer = ctypes.c_void_p.in_dll(ctypes.PyDLL(path), _PENDING_CALL)
        # A function that has no effect.
        pointer.value = ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p).value


def _evaluate(r: ctypes.PyDLL, code: str) -> str:
    """Evaluate R code; return the text of its error, or nothing.

    rpy2 gives Python's lock away while R runs, and reticulate before 1.39 uses Python without taking it, which ends the
    process. ``PyDLL`` keeps the lock. Later calls go through functions that reticulate has made, which keep it, too.
    """
    pointer = ctypes.c_void_p
    for name, arguments in {
        "Rf_mkString": [ctypes.c_char_p],
        "Rf_install": [ctypes.c_char_p],
        "Rf_lang2": [pointer, pointer],
        "Rf_protect": [pointer],
        "R_tryEvalSilent": [pointer, pointer, ctypes.POINTER(ctypes.c_int)],
    }.items():
        function = getattr(r, name)
        function.argtypes, function.restype = arguments, pointer
    r.Rf_unprotect.argtypes, r.Rf_unprotect.restype = [ctypes.c_int], None
    r.R_curErrorBuf.restype = ctypes.c_char_p
    base = pointer.in_dll(r, "R_GlobalEnv")
    failed = ctypes.c_int(0)
    text = r.Rf_protect(r.Rf_mkString(code.encode()))
    parsed = r.Rf_protect(r.Rf_lang2(r.Rf_install(b"str2lang"), text))
    call = r.Rf_protect(r.R_tryEvalSilent(parsed, base, ctypes.byref(failed)))
    if not failed.value:
        r.R_tryEvalSilent(call, base, ctypes.byref(failed))
    r.Rf_unprotect(3)
    return r.R_curErrorBuf().decode(errors="replace").strip() if failed.value else ""
