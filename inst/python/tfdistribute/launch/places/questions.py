"""Questions to a host, which the probe answers there."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tfdistribute.errors import ClusterError
from tfdistribute.files import parse_object
from tfdistribute.launch.places.remote_process import OnWritten, RemoteProcess

# How long a host may take to answer.
ANSWER_S = 20.0

_SOURCE = Path(__file__).with_name("probe.py")


class Asked(Protocol):
    """What a question needs of its place."""

    host: str
    hello: dict[str, Any]

    @property
    def lost(self) -> str | None: ...

    def problem(self) -> ClusterError: ...

    def wait(self, is_over: Callable[[], bool], seconds: float) -> bool: ...

    def start_process(
        self,
        command: Sequence[str],
        on_written: OnWritten,
        environment: Mapping[str, str] | None = None,
    ) -> RemoteProcess: ...


class Probe:
    """A question to a host; its process ends with its answer, unless it listens."""

    def __init__(
        self,
        place: Asked,
        question: str,
        arguments: Sequence[Any],
        environment: Mapping[str, str],
    ) -> None:
        self._place, self._question = place, question
        self._output = b""
        command = [
            place.hello.get("executable") or "python3",
            "-I",
            "-S",
            "-c",
            _SOURCE.read_text(),
        ]
        try:
            self._process = place.start_process(
                [*command, question, json.dumps(arguments)], self._take, environment
            )
        except OSError as error:
            raise place.problem() from error

    def answer(self, seconds: float = ANSWER_S) -> Any:
        """Wait for the answer.

        Raises:
            ClusterError: the process ended without one, or it takes too long.
        """
        self._place.wait(lambda: self._line is not None or self._has_ended, seconds)
        if self._line is None:
            if self._place.lost is not None:
                raise self._place.problem()
            said = self._output.decode(errors="replace").strip().splitlines()
            raise ClusterError(
                f'`hosts` holds "{self._place.host}", which did not answer the question '
                f'"{self._question}": {said[-1] if said else "nothing was heard"}.',
                argument="hosts",
                value=self._place.host,
            )
        return self._line["answer"]

    def end(self) -> None:
        self._process.signal(signal.SIGKILL)

    @property
    def _has_ended(self) -> bool:
        return self._process.exit_code() is not None

    @property
    def _line(self) -> dict[str, Any] | None:
        lines = self._output.split(b"\n")[:-1]
        return next((each for line in lines if (each := parse_object(line)) is not None), None)

    def _take(self, name: str, data: bytes) -> None:
        self._output += data
