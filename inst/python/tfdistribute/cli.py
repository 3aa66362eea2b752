"""The command line: ``python -m tfdistribute doctor`` and ``run-task``.

A command returns its exit code. A call with wrong arguments ends with 2.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from tfdistribute import gpus
from tfdistribute.bridge import doctor
from tfdistribute.errors import TfdistributeError
from tfdistribute.launch.platforms.entrypoint import run_task


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m tfdistribute")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    report = commands.add_parser("doctor", help="report on this Python, and on what is missing")
    report.add_argument("--json", action="store_true", help="print JSON")
    report.add_argument(
        "--devices", action="store_true", help="start TensorFlow, and count its devices"
    )
    report.add_argument(
        "--patches",
        action="store_true",
        help="list all changes to TensorFlow, Keras and reticulate",
    )
    task = commands.add_parser(
        "run-task",
        help="run a task of a job in a container",
        epilog="The command of the task follows --. Exit codes from 128 on mean that another start may help.",
    )
    task.usage = "python -m tfdistribute run-task -- COMMAND"
    place = arguments.index("--") if "--" in arguments else len(arguments)
    parsed, command = parser.parse_args(arguments[:place]), arguments[place + 1 :]
    if bool(command) != (parsed.command == "run-task"):
        parser.error("run-task needs the command of the task after --, and doctor takes none")
    if parsed.command == "doctor":
        return _doctor(parsed)
    try:
        return run_task(command, os.environ)
    except TfdistributeError as error:
        print(error, file=sys.stderr)
        return 1


def _doctor(arguments: argparse.Namespace) -> int:
    report = doctor.report(start_tensorflow=arguments.devices)
    problems = [f"{each['problem']} {each['fix']}" for each in report["problems"]]
    problems += [report["tensorflow_error"]] if report["tensorflow_error"] else []
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        print(f"Python {report['python']} ({report['executable']})")
        for name, version in report["packages"].items():
            print(f"  {name} {version or 'missing'}")
        if report["gpus"] is not None:
            print(f"  {report['cpus']} CPU, {report['gpus']} GPU")
        for gpu in report["nvidia_gpus"]:
            print(f"  {gpus.described(gpu)}")
        patches: list[dict[str, str]] = report["patches"] if arguments.patches else []
        for patch in patches:
            print(f"  {patch['name']}: {patch['target']}\n    {patch['why']}")
        for problem in problems:
            print(f"! {problem}")
    return 1 if problems else 0
