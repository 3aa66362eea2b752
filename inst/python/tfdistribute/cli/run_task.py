"""Command of the containers that a managed platform starts."""

import argparse
import os
import sys

from tfdistribute.launch.platforms.entrypoint import run_task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "The command of the task follows --. Exit codes from 128 on mean that another start may help."


def run(arguments: argparse.Namespace) -> int:
    if not arguments.for_script:
        print("run-task: the command of the task is missing after --", file=sys.stderr)
        return 2
    return run_task(arguments.for_script, os.environ)
