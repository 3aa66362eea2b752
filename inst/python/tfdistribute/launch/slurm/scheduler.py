"""Commands of Slurm, and the script that sbatch gets."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tfdistribute.cluster.slurm import SlurmCluster
from tfdistribute.descriptions import check_text
from tfdistribute.errors import BackendError, ClusterError
from tfdistribute.launch.detached.scheduler import QueueEntry
from tfdistribute.launch.job import Job

_COMMAND_S = 60.0
_UNKNOWN_JOB = "Invalid job id"
_DOWN = "(down, drained or reserved)"

NAME: str = "Slurm"
OUTPUT: str = "slurm-{}.out"
KEY: str = ""

# Fast startup, as for every supervisor: Python ignores environment variables and installed packages.
_CODE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from tfdistribute.launch.slurm.supervisor_main import main; sys.exit(main(sys.argv[1:]))"
)


def check_available() -> None:
    """Raise BackendError if this machine has no sbatch."""
    if shutil.which("sbatch") is None:
        raise _not_here("sbatch", "there is no such program")


def submit(job: Job, logs: str) -> str:
    """Return the number of a new job; BackendError without sbatch, ClusterError if Slurm does not accept it."""
    assert isinstance(job.cluster, SlurmCluster)
    name = name_of(job.model_dir)
    script = job_script(job.cluster, job.directory, logs, job.working_directory, name)
    # Slurm queues a job that is larger than its partition, and the job would wait for ever.
    refused = try_submission(script)
    if refused is not None:
        raise refused
    done = _run(["sbatch", "--parsable"], script)
    if done.returncode:
        raise refusal(done.stderr)
    return done.stdout.strip().split(";")[0]


def refusal(said: str) -> ClusterError:
    lines = [
        line.removeprefix("sbatch: error: ").strip() for line in said.splitlines() if line.strip()
    ]
    why = " ".join(dict.fromkeys(lines[-2:])) or "it does not say why."
    return ClusterError(
        f"Slurm does not accept this job: {why}",
        "See `sinfo` for partitions and limits, and job_script() for what was asked.",
        argument="cluster",
    )


def try_submission(script: str) -> ClusterError | None:
    """Return why no job of this kind can ever start; None if one can, or once its nodes are there again."""
    done = _run(["sbatch", "--test-only"], script)
    is_possible = done.returncode == 0 or _DOWN in done.stderr
    return None if is_possible else refusal(done.stderr)


def queue_entry(job: str) -> QueueEntry | None:
    """Return the entry of a job; None if Slurm does not answer."""
    done = _run(["squeue", "--noheader", f"--jobs={job}", "--states=all", "--format=%T|%r|%N"])
    if done.returncode:
        return QueueEntry() if _UNKNOWN_JOB in done.stderr else None
    line = done.stdout.strip().splitlines()[:1]
    state, reason, nodes = [*line[0].split("|"), "", ""][:3] if line else ("", "", "")
    return QueueEntry(state, "" if reason == "None" else reason, nodes)


def own_comments() -> list[str]:
    """List the comments of this user's jobs in the queue; none on a machine without Slurm."""
    if shutil.which("squeue") is None:
        return []
    return _run(
        ["squeue", "--noheader", f"--user={os.getuid()}", "--format=%k"]
    ).stdout.splitlines()


def is_requeued(job: str, starts_before: int, or_will_be: bool = True) -> bool:
    """Return whether Slurm has queued an ending job again, or will do so; True if it does not say."""
    done = _run(["scontrol", "--oneliner", "show", "job", job])
    restarts = re.search(r"\bRestarts=(\d+)", done.stdout)
    if done.returncode or restarts is None:
        return True
    preempted = re.search(r"\bPreemptTime=(?!None|N/A)", done.stdout)
    return int(restarts[1]) > starts_before or (or_will_be and preempted is not None)


def requeue(job: str) -> str | None:
    """Let a running job queue again, which ends its processes; return Slurm's words if that fails."""
    done = _run(["scontrol", "requeue", job])
    return done.stderr.strip() if done.returncode else None


def cancel(job: str) -> None:
    _run(["scancel", job])


def signal_batch(job: str, name: str) -> bool:
    """Send a signal to the script of a running job only; return whether Slurm has done so."""
    return _run(["scancel", "--batch", f"--signal={name}", job]).returncode == 0


def _run(command: Sequence[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            text=True,
            check=False,
            timeout=_COMMAND_S,
        )
    except subprocess.TimeoutExpired:
        said = f"{command[0]} did not answer in {_COMMAND_S:g} seconds"
        return subprocess.CompletedProcess(list(command), 1, "", said)
    except OSError as error:
        raise _not_here(command[0], str(error.strerror)) from error


def _not_here(program: str, why: str) -> BackendError:
    return BackendError(
        f'`cluster` is a slurm_cluster(), and "{program}" cannot be run on this machine: {why}.',
        "Work on a login node of Slurm, or use ssh_cluster() or local_cluster().",
        value=program,
    )


def name_of(model_dir: str | None) -> str:
    return os.path.basename((model_dir or "").rstrip("/")) or "job"


def job_script(
    cluster: SlurmCluster, directory: str, logs: str, working_directory: str, name: str
) -> str:
    """Return the script of a job; ArgumentError if a path has a line break, which would end a line of the script."""
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
    # sbatch reads it without a shell.
    if re.fullmatch(r"[\w@%+=:,./-]*", value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
