"""Command that reports on this Python, and on missing packages."""

import argparse
import json

from tfdistribute import gpus
from tfdistribute.bridge import doctor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--devices", action="store_true", help="start TensorFlow, and count its devices"
    )
    parser.add_argument(
        "--patches",
        action="store_true",
        help="list all changes to TensorFlow, Keras and reticulate",
    )


def run(arguments: argparse.Namespace) -> int:
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
