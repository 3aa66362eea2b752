"""Process beside a supervisor that holds the connection to a framework.

The supervisor is not a client itself, because clients start threads and end their process. Both processes write lines
of JSON. The driver ends with its standard input, or when it has answered one call of a session.
"""

import json
import os
import pkgutil
import select
import sys
from collections.abc import Callable, Mapping
from typing import Any

from tfdistribute import errors
from tfdistribute.errors import ClusterError
from tfdistribute.launch.frameworks.framework import Framework

_WATCH_S = 1.0


def main() -> None:
    answers = os.dup(1)
    # Clients of frameworks print.
    os.dup2(2, 1)

    def tell(**news: Any) -> None:
        os.write(answers, json.dumps(news).encode() + b"\n")

    request = _read_line()
    kind: type[Framework] = pkgutil.resolve_name(request["framework"])
    framework = kind(request["cluster"], request["members"])
    try:
        _serve(framework, request, tell)
    except ClusterError as error:
        tell(refusal=errors.as_values(error))
    except Exception as error:  # noqa: BLE001 - the supervisor shows it, whatever a client raises
        first = f"{type(error).__name__}: {error}".splitlines()[0]
        tell(
            refusal=errors.as_values(
                ClusterError(f"The connection to the framework failed: {first}.")
            )
        )
    finally:
        framework.end()
    # Threads of a client may wait for ever.
    sys.stderr.flush()
    os._exit(0)


def _serve(framework: Framework, request: Mapping[str, Any], tell: Callable[..., None]) -> None:
    tell(address=framework.connect())
    if "call" in request:
        tell(value=getattr(framework, request["call"])(**request["arguments"]))
    elif home := _read_line():
        framework.start(
            [json.dumps({**home, "index": index}) for index in range(framework.members)]
        )
        while not select.select([0], [], [], _WATCH_S)[0]:
            tell(waits=framework.watch(), leaving=framework.leaving())


def _read_line() -> dict[str, Any]:
    # Nothing that follows may be buffered.
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return {}
        line += byte
    return json.loads(line)
