"""The command line: ``python -m tfdistribute check | plan | launch | ...``, see ``COMMANDS``.

A command is a module with ``add_arguments(parser)`` and ``run(arguments)``, which returns the exit code: 0
for success, 1 if something was found or failed, 130 if it was stopped. A call with wrong arguments ends with 2.
Arguments after ``--`` are passed to what a command starts: ``arguments.for_script``.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence

from tfdistribute.errors import TfdistributeError

COMMANDS = {
    "check": "list all mistakes of a cluster",
    "plan": "show what each task of a cluster would do",
    "launch": "run a script in a cluster of processes, on this machine, on hosts or by Slurm",
    "submit": "submit a script to Kubernetes or Vertex AI",
    "list": "list the jobs that run or wait in Slurm's queue, and those submitted from this directory",
    "logs": "show the logs of a job",
    "stop": "stop a job",
    "doctor": "report on this Python, and on what is missing",
    "run-task": "run a task of a job in a container",
}
# Modules that are not named as their command; one named `list` would hide Python's list here.
_MODULES = {"list": "list_jobs", "run-task": "run_task"}
# Commands that start something else, whose arguments are given after `--`.
_STARTING = ("launch", "submit", "run-task")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        "python -m tfdistribute",
        description="Check, plan, start and supervise TensorFlow clusters.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    chosen = next((word for word in arguments if word in COMMANDS), None)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(
            name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}."
        )
        # Only the chosen command is imported, which keeps `check` fast.
        if name == chosen:
            module = importlib.import_module(f"tfdistribute.cli.{_MODULES.get(name, name)}")
            command.add_argument("--json", action="store_true", help="print JSON")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    own, for_script = _split(arguments)
    parsed = parser.parse_args(own)
    if for_script and parsed.command not in _STARTING:
        parser.error(f"{parsed.command} takes nothing after --")
    parsed.for_script = for_script
    try:
        return int(parsed.run(parsed))
    except TfdistributeError as error:
        print(error, file=sys.stderr)
        return 1


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    given = list(arguments)
    place = given.index("--") if "--" in given else len(given)
    return given[:place], given[place + 1 :]


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def add_work_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch-size", type=count, help="examples of one training step")
    parser.add_argument(
        "--devices-per-worker", type=count, default=1, help="devices of each process that trains"
    )
