"""The command line: ``python -m tfdistribute check | plan | doctor``.

A command is a module with ``add_arguments(parser)`` and ``run(arguments)``, which returns the exit code: 0 when
all is well, 1 where something was found. A call that cannot be understood ends with 2.
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
        "python -m tfdistribute", description="Clusters of TensorFlow: checked and planned."
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
    parsed = parser.parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except TfdistributeError as error:
        print(error, file=sys.stderr)
        return 1
