"""Informational messages that TensorFlow prints when it is imported, whatever its log level is."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator

_MESSAGES = r"^I[0-9]{4} |^WARNING: All log messages before absl::InitializeLog|^To enable the following instructions"
_END_S = 5.0


@contextlib.contextmanager
def hidden() -> Iterator[None]:
    """Leave TensorFlow's informational messages out of the standard error inside the block.

    Another process filters the lines, so that errors are not lost if this process dies inside the block. For example,
    TensorFlow ends a process on a processor that lacks an instruction.
    """
    try:
        error = os.dup(2)
    except OSError:
        # There is no standard error.
        yield
        return
    try:
        with _filter_to(error) as lines:
            os.dup2(lines, 2)
            try:
                yield
            finally:
                os.dup2(error, 2)
    finally:
        os.close(error)


@contextlib.contextmanager
def _filter_to(error: int) -> Iterator[int]:
    """Return a file whose lines reach ``error``, except for the messages; ``error`` itself without `grep`."""
    program = shutil.which("grep")
    if program is None:
        yield error
        return
    # Ctrl-C must not end the filter before this process.
    grep = subprocess.Popen(
        [program, "--line-buffered", "-a", "-v", "-E", _MESSAGES],
        stdin=subprocess.PIPE,
        stdout=error,
        start_new_session=True,
    )
    assert grep.stdin is not None
    try:
        with grep.stdin:
            yield grep.stdin.fileno()
    finally:
        # A process that was started inside the block may still hold the pipe.
        with contextlib.suppress(subprocess.TimeoutExpired):
            grep.wait(_END_S)
