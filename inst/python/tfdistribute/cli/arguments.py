"""Arguments that commands share."""

from __future__ import annotations

import argparse


def count(text: str) -> int:
    """Parse a whole number of at least 1; raise ArgumentTypeError for anything else."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def add_work_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch-size", type=count, help="examples of one training step")
    parser.add_argument(
        "--devices-per-worker", type=count, default=1, help="devices of each process that trains"
    )
