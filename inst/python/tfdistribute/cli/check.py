"""Command that lists all mistakes of a cluster."""

import argparse
import dataclasses
import json
import os
import sys
from pathlib import Path

from tfdistribute.cli import add_work_arguments
from tfdistribute.cluster.checks import check_tf_configs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="*",
        type=Path,
        help="a file with the TF_CONFIG of one task; without any, the environment's TF_CONFIG is checked",
    )
    add_work_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    try:
        texts = [file.read_text(encoding="utf-8") for file in arguments.file]
    except (OSError, UnicodeDecodeError) as error:
        print(f"check: {error}", file=sys.stderr)
        return 2
    texts = texts or [text for text in [os.environ.get("TF_CONFIG", "").strip()] if text]
    if not texts:
        print("check: TF_CONFIG is not set, and no file was given", file=sys.stderr)
        return 2
    findings = check_tf_configs(texts, arguments.devices_per_worker, arguments.batch_size)
    if arguments.json:
        print(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            print(f"{finding.severity}: {finding.field}: {finding.message}\n  -> {finding.fix}")
        if not findings:
            print("No mistake was found.")
    return 1 if findings else 0
