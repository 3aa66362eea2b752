"""The script that sbatch gets."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

from tfdistribute.cluster.slurm import SlurmCluster
from tfdistribute.descriptions import check_text

# Output of the script in the directory of the logs.
OUTPUT = "slurm-{}.out"

# Fast startup, as for every supervisor: Python ignores environment variables and installed packages.
_CODE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from tfdistribute.launch.slurm.supervisor_main import main; sys.exit(main(sys.argv[1:]))"
)


def job_script(
    cluster: SlurmCluster, directory: str, logs: str, working_directory: str, name: str
) -> str:
    """Return the script of a job.

    Args:
        name: What is trained, for the name of the job.

    Raises:
        ArgumentError: a path has a line break, which would begin a new line of the script.
    """
    # Without a model_dir, both others are below the working directory.
    check_text("working_directory", working_directory, "Start the job in another one.")
    check_text("model_dir", (logs, directory), "Use a directory with another name.")
    options = {
        "job-name": f"tfdistribute-{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}",
        "nodes": cluster.nodes,
        "ntasks-per-node": 1,
        "time": cluster.time_limit,
        "partition": cluster.partition,
        "account": cluster.account,
        # A number of seconds before the time limit, to the script only.
        "signal": f"B:USR1@{cluster.stop_signal_s}",
        "open-mode": "append",
        # In names of files, Slurm replaces what follows a %.
        "output": os.path.join(logs.replace("%", "%%"), OUTPUT.format("%j")),
        "chdir": working_directory,
        # How `own_jobs` finds it.
        "comment": directory,
        # Variables of the session, some of them secret, do not travel.
        "export": "NONE",
    }
    lines = [
        f"#SBATCH --{option}={_quote(str(value))}"
        for option, value in options.items()
        if value is not None
    ]
    lines.append("#SBATCH --requeue" if cluster.requeue else "#SBATCH --no-requeue")
    lines += [f"#SBATCH {option}" for option in cluster.options]
    python = cluster.python or sys.executable
    root = str(Path(__file__).parents[3])
    command = [python, "-I", "-S", "-c", _CODE, root, directory]
    # The supervisor takes the place of the script, and so gets its signals.
    return "\n".join(["#!/bin/bash", *lines, *cluster.setup, f"exec {shlex.join(command)}", ""])


def _quote(value: str) -> str:
    """Quote a value as sbatch reads it: without a shell."""
    if re.fullmatch(r"[\w@%+=:,./-]*", value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
