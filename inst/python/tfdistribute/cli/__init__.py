"""The command line: ``python -m tfdistribute check | plan | launch | logs | stop | doctor``.

A command is a module with ``add_arguments(parser)`` and ``run(arguments)``, which returns the exit code: 0 for success,
1 if something was found or failed, 130 if it was stopped. A call with wrong arguments ends with 2. Arguments after
``--`` are passed to the script that a command starts: ``arguments.for_script``.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from tfdistribute.errors import TfdistributeError

COMMANDS = {
    "check": "list all mistakes of a cluster",
    "plan": "show what each task of a cluster would do",
    "launch": "run a script in a cluster of processes on this machine",
    "logs": "show the logs of a job",
    "stop": "stop a job",
    "doctor": "report on this Python, and on what is missing",
}


def main(arguments: Sequence[str]) -> int:
    """Run one command.

    Raises:
        SystemExit: after the help (0), or for wrong arguments (2).
    """
    parser = argparse.ArgumentParser(
        "python -m tfdistribute",
        description="Check, plan, start and supervise TensorFlow clusters.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    chosen = next((word for word in arguments if word in COMMANDS), None)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=f"{purpose.capitalize()}.")
        # Only the chosen command is imported, which keeps `check` fast.
        if name == chosen:
            module = importlib.import_module(f"tfdistribute.cli.{name}")
            command.add_argument("--json", action="store_true", help="print JSON")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    own, for_script = _split(arguments)
    parsed = parser.parse_args(own)
    if for_script and parsed.command != "launch":
        parser.error(f"{parsed.command} takes nothing after --")
    parsed.for_script = for_script
    try:
        return int(parsed.run(parsed))
    except TfdistributeError as error:
        print(error, file=sys.stderr)
        return 1


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split arguments at ``--``."""
    given = list(arguments)
    place = given.index("--") if "--" in given else len(given)
    return given[:place], given[place + 1 :]
