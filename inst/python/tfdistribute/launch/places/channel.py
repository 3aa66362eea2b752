"""Channels to the agents of hosts."""

import contextlib
import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import IO

from tfdistribute.errors import ClusterError


class Channel(ABC):
    """Access to one agent, which reads ``writing``, by descriptors that do not block."""

    writing: int
    reading: int
    errors: int

    @property
    def refusal(self) -> ClusterError | None:
        """Why the channel will never open; None if it may."""
        return None

    @property
    def waits(self) -> str | None:
        """Why the channel is not open yet; None if that is not known."""
        return None

    @property
    def opening(self) -> Sequence[int]:
        """Descriptors that can be read when a channel that is not open may open."""
        return ()

    @property
    def is_leaving(self) -> bool:
        """Whether a framework is going to take the host away."""
        return False

    def is_open(self) -> bool:
        return True

    @abstractmethod
    def end(self) -> None:
        """Close the input, which ends the agent."""

    @abstractmethod
    def close(self, seconds: float) -> None:
        """Wait until the agent has ended, at most this long, and release everything."""


class CommandChannel(Channel):
    """Pipes of a command such as ssh; raises OSError if it cannot be run."""

    def __init__(self, command: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        self.pid = self._process.pid
        self._pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self.writing, self.reading, self.errors = (_not_blocking(each) for each in self._pipes)

    def end(self) -> None:
        _close(self._pipes[0])

    def close(self, seconds: float) -> None:
        self.end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self._process.kill()
        self._process.wait()
        for pipe in self._pipes:
            _close(pipe)


def _not_blocking(pipe: IO[bytes] | None) -> int:
    assert pipe is not None
    os.set_blocking(pipe.fileno(), False)
    return pipe.fileno()


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        pipe.close()
