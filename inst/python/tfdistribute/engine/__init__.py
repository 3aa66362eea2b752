"""The only package that imports TensorFlow and uses its private parts.

Other packages write ``from tfdistribute import engine`` and use TensorFlow as ``engine.tf``, and modules of this
package as ``engine.devices`` and so on. These are imported on first use, so descriptions, checks and plans do not need
TensorFlow.
"""

import contextlib
import gc
import importlib
import importlib.util
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tfdistribute import versions
from tfdistribute.engine import patches as patches  # modules import it without TensorFlow
from tfdistribute.engine import start_messages
from tfdistribute.engine.step.passes import list_switched_off
from tfdistribute.errors import BackendError
from tfdistribute.interrupts import defer_interrupt


def is_started() -> bool:
    return "tensorflow" in sys.modules


def tf_config_at_start() -> str:
    """Return TF_CONFIG at TensorFlow's import, or at the process's start if other code imported it; "" if not set."""
    return _noted.get("TF_CONFIG", _first_tf_config()).strip()


def when_started(function: Callable[[], None]) -> None:
    _when_started.append(function)


def prepare() -> None:
    """Prepare TensorFlow that another package has imported, unless this one is importing it."""
    if not _noted.get("begun"):
        _ = sys.modules[__name__].tf


def check_process() -> None:
    """Raise ArgumentError if ``TFDISTRIBUTE_PASSES`` names no pass, and BackendError in a fork of this process.

    TensorFlow's threads do not exist in a fork, so its first session would wait for them forever.
    """
    list_switched_off()
    started = _noted.get("pid")
    if started is not None and started != str(os.getpid()):
        raise BackendError(
            f"This process (pid {os.getpid()}) was forked from process {started}, which had started TensorFlow. "
            "TensorFlow does not work in forked processes.",
            'Start processes of their own, such as multiprocessing.get_context("spawn").',
        )


# TF_CONFIG at this package's import of TensorFlow, and that process; empty until then.
_noted: dict[str, str] = {}
_when_started: list[Callable[[], None]] = []


def _first_tf_config() -> str:
    try:
        entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return os.environ.get("TF_CONFIG", "")
    matches = [entry for entry in entries if entry.startswith(b"TF_CONFIG=")]
    return os.fsdecode(matches[0].partition(b"=")[2]) if matches else ""


def _import_tensorflow() -> Any:
    # TensorFlow reads its log level when it is imported. R users do not need its informational messages.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    _noted["begun"] = "1"
    # Objects of a program that used TensorFlow before, such as models, stay collectable.
    is_first = not is_started()
    if is_first:
        _noted["TF_CONFIG"] = os.environ.get("TF_CONFIG", "")
    # Newer versions of TensorFlow need a choice before they are imported, and additions afterwards.
    newer = importlib.import_module("tfdistribute.engine.newer_tensorflow")
    try:
        # What is half imported cannot be imported again.
        with defer_interrupt(), without_collection(freezes=is_first):
            with newer.keras_2_chosen(), _quiet_start():
                tensorflow = importlib.import_module("tensorflow")
            newer.complete(tensorflow)
            importlib.import_module("tensorflow_estimator")
    except ImportError as error:
        raise _unusable(error) from error
    _noted["pid"] = str(os.getpid())
    _reduce_warnings(tensorflow)
    for repair in ("dataset_tuning", "generated_files", "all_reduce"):
        importlib.import_module(f"tfdistribute.engine.repairs.{repair}").install()
    return tensorflow


def _quiet_start() -> contextlib.AbstractContextManager[None]:
    shows_all = os.environ["TF_CPP_MIN_LOG_LEVEL"] == "0"
    return contextlib.nullcontext() if shows_all else start_messages.hidden()


@contextlib.contextmanager
def without_collection(*, freezes: bool) -> Iterator[None]:
    """Collect no garbage inside the block, and if it ``freezes``, look at no object that exists at its end ever again.

    TensorFlow's import makes 400,000 objects that stay. Each collection of old garbage looked at all of them, which
    took a fifth of the time of a small training.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
        if freezes:
            gc.freeze()
    finally:
        if collects:
            gc.enable()


def _reduce_warnings(tensorflow: Any) -> None:
    """Silence TensorFlow's informational logs, and the deprecation warnings of every part of Estimators."""
    logger = tensorflow.get_logger()
    logger.setLevel(logging.WARNING)
    # The step counter compares two reads of the step that can be out of order, and warns without reason.
    logger.addFilter(lambda record: not str(record.msg).startswith("It seems that global step"))
    patches.install("deprecation_warnings", False)
    warnings.filterwarnings("ignore", message="To make it possible to preserve tf.data options")
    # Model functions use these layers, which nothing replaces in graphs.
    warnings.filterwarnings("ignore", message=r"`tf\.layers\.\w+` is deprecated")


def _unusable(error: ImportError) -> BackendError:
    problems = versions.problems()
    if problems:
        return BackendError(
            f"TensorFlow's Estimators cannot be used by {sys.executable}: {problems[0].message}",
            f"Run install_tfdistribute() in R and restart it. Outside R: {problems[0].fix}",
        )
    return BackendError(
        f"TensorFlow {versions.tensorflow()} cannot be imported by {sys.executable}: {error}.",
        f"Run install_tfdistribute() in R and restart it. Outside R: `{versions.pip_line(versions.DEFAULT)}`.",
    )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "tf":
        value = _import_tensorflow()
    else:
        module = f"{__name__}.{name}"
        if importlib.util.find_spec(module) is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        _ = sys.modules[__name__].tf
        value = importlib.import_module(module)
    globals()[name] = value
    if name == "tf":
        for function in _when_started:
            function()
    return value
