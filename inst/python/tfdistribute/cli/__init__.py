"""The command line: ``python -m tfdistribute check | plan | launch | logs | stop | doctor``.

A command is a module with ``add_arguments(parser)`` and ``run(arguments)``, which returns the exit code: 0 when
all is well, 1 where something was found or has failed, 130 where it was stopped. A call that cannot be understood
ends with 2. What stands after ``--`` is for the script that a command starts: ``arguments.for_script``.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from tfdistribute.errors import TfdistributeError

COMMANDS = {
    "check": "list all mistakes of a cluster",
    "plan": "say what each task of a cluster would do",
    "launch": "run a script in a cluster of processes on this machine",
    "logs": "show what the tasks of a job have logged",
    "stop": "stop a job",
    "doctor": "say what this Python has, and what is missing",
}


def main(arguments: Sequence[str]) -> int:
    """Run one command.

    Args:
        arguments: What stands after ``python -m tfdistribute``.

    Returns:
        The exit code.

    Raises:
        SystemExit: after the help (0), or for a call that cannot be understood (2).
    """
    parser = argparse.ArgumentParser(
        "python -m tfdistribute",
        description="Clusters of TensorFlow: checked, planned, started and watched.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    chosen = next((word for word in arguments if word in COMMANDS), None)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=f"{purpose.capitalize()}.")
        # Only the chosen command is imported: a check shall not wait for what others need.
        if name == chosen:
            module = importlib.import_module(f"tfdistribute.cli.{name}")
            command.add_argument("--json", action="store_true", help="print JSON")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    own, for_script = _divided(arguments)
    parsed = parser.parse_args(own)
    if for_script and parsed.command != "launch":
        parser.error(f"{parsed.command} takes nothing after --")
    parsed.for_script = for_script
    try:
        return int(parsed.run(parsed))
    except TfdistributeError as error:
        print(error, file=sys.stderr)
        return 1


def _divided(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate what stands before ``--`` from what stands after it."""
    given = list(arguments)
    place = given.index("--") if "--" in given else len(given)
    return given[:place], given[place + 1 :]
