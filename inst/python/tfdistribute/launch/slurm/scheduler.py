"""Commands of Slurm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from tfdistribute.errors import BackendError, ClusterError

_COMMAND_S = 60.0
_UNKNOWN_JOB = "Invalid job id"


@dataclass(frozen=True)
class QueueEntry:
    """What Slurm knows of a job.

    Args:
        state: Such as "PENDING", "RUNNING", "COMPLETING", "CANCELLED" or "NODE_FAIL"; "" if Slurm does not know it.
        reason: Why it waits or ended; "" if Slurm does not say.
        nodes: Its nodes, as Slurm writes them.
    """

    state: str = ""
    reason: str = ""
    nodes: str = ""

    @property
    def waits(self) -> bool:
        return self.state in ("PENDING", "CONFIGURING", "REQUEUED", "SUSPENDED", "REQUEUE_HOLD")


def check_available() -> None:
    """Check that jobs can be submitted here.

    Raises:
        BackendError: this machine has no sbatch.
    """
    if shutil.which("sbatch") is None:
        raise _not_here("sbatch", "there is no such program")


def submit(script: str) -> str:
    """Submit a script, and return the number of the job.

    Raises:
        BackendError: this machine has no sbatch.
        ClusterError: Slurm does not accept the job.
    """
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
    done = _run(["sbatch", "--test-only"], script)
    return refusal(done.stderr) if done.returncode else None


def queue_entry(job: str) -> QueueEntry | None:
    """Return what the queue says about a job; None if Slurm does not answer."""
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
    """Return whether Slurm has queued a job again that it is ending now; True if it does not say.

    With ``or_will_be`` also whether it will do so, because it needs the nodes for another job.
    """
    done = _run(["scontrol", "--oneliner", "show", "job", job])
    restarts = re.search(r"\bRestarts=(\d+)", done.stdout)
    if done.returncode or restarts is None:
        return True
    preempted = re.search(r"\bPreemptTime=(?!None|N/A)", done.stdout)
    return int(restarts[1]) > starts_before or (or_will_be and preempted is not None)


def requeue(job: str) -> str | None:
    """Let a running job queue again: Slurm ends its processes. Return Slurm's words if it refuses."""
    done = _run(["scontrol", "requeue", job])
    return done.stderr.strip() if done.returncode else None


def cancel(job: str) -> None:
    """Cancel a job, whatever its state."""
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
        argument="cluster",
        value=program,
    )
