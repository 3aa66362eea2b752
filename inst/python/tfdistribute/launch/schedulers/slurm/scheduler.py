"""Commands of Slurm, and the script that sbatch gets."""

import dataclasses
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence

from tfdistribute.cluster.slurm_environment import expand_nodes
from tfdistribute.cluster.spec import Cluster
from tfdistribute.descriptions import check_text
from tfdistribute.errors import BackendError, ClusterError
from tfdistribute.launch.host.logs import log_directories
from tfdistribute.launch.host.private_directory import jobs_directory
from tfdistribute.launch.job import Job
from tfdistribute.launch.places.transport import Transport
from tfdistribute.launch.schedulers.scheduler import (
    QueueEntry,
    Scheduler,
    Start,
    supervisor_command,
)
from tfdistribute.launch.schedulers.slurm import srun
from tfdistribute.launch.schedulers.slurm.cluster import SlurmCluster
from tfdistribute.rules import Finding

_COMMAND_S = 60.0
_UNKNOWN_JOB = "Invalid job id"
_DOWN = "(down, drained or reserved)"

_WAIT = ("PENDING", "CONFIGURING", "REQUEUED", "SUSPENDED", "REQUEUE_HOLD")
_ENDED = (
    *("", "BOOT_FAIL", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"),
    *("PREEMPTED", "REVOKED", "TIMEOUT"),
)


class SlurmScheduler(Scheduler):
    name = "Slurm"
    output = "slurm-{}.out"
    time_signal = "SIGUSR1"

    def takes(self, cluster: Cluster) -> bool:
        return isinstance(cluster, SlurmCluster)

    def check_available(self) -> None:
        if shutil.which("sbatch") is None:
            raise _not_here("sbatch", "there is no such program")

    def submit(self, job: Job, logs: str) -> str:
        assert isinstance(job.cluster, SlurmCluster)
        name = _name_of(job.model_dir)
        script = job_script(job.cluster, job.directory, logs, job.working_directory, name)
        # Slurm queues a job that is larger than its partition, and the job would wait for ever.
        refused = _try_submission(script)
        if refused is not None:
            raise refused
        done = _run(["sbatch", "--parsable"], script)
        if done.returncode:
            raise _refusal(done.stderr)
        return done.stdout.strip().split(";")[0]

    def entry(self, key: str) -> QueueEntry | None:
        done = _run(["squeue", "--noheader", f"--jobs={key}", "--states=all", "--format=%T|%r"])
        if done.returncode:
            return QueueEntry("ended") if _UNKNOWN_JOB in done.stderr else None
        line = done.stdout.strip().splitlines()[:1]
        state, reason = [*line[0].split("|"), ""][:2] if line else ("", "")
        if state in _WAIT:
            return QueueEntry("waits", "" if reason == "None" else reason)
        if state in _ENDED:
            return QueueEntry("ended", state)
        if state == "CANCELLED":
            return QueueEntry("cancelled", state)
        return QueueEntry("runs" if state == "RUNNING" else "ends", state)

    def signal(self, key: str, name: str) -> bool:
        # To the script, whose place the supervisor has taken.
        return _run(["scancel", "--batch", f"--signal={name}", key]).returncode == 0

    def cancel(self, key: str) -> None:
        _run(["scancel", key])

    def begin(self, job: Job, where: str) -> Start:
        assert isinstance(job.cluster, SlurmCluster)
        hosts = tuple(expand_nodes(os.environ["SLURM_JOB_NODELIST"]))
        cluster = dataclasses.replace(job.cluster, hosts=hosts)
        starts_before = int(os.environ.get("SLURM_RESTART_COUNT") or 0)
        return Start(cluster, os.environ["SLURM_JOB_ID"], starts_before)

    def check(self, cluster: SlurmCluster) -> list[Finding]:
        refused = _try_submission(script_of(cluster))
        return (
            [] if refused is None else [Finding("cluster", refused.problem, refused.remedy or "")]
        )

    def own_directories(self) -> list[str]:
        # As comments of jobs; none on a machine without Slurm.
        if shutil.which("squeue") is None:
            return []
        return _run(
            ["squeue", "--noheader", f"--user={os.getuid()}", "--format=%k"]
        ).stdout.splitlines()

    def transports(self, cluster: SlurmCluster) -> Callable[[str], Transport]:
        return srun.transports()

    def may_restart(self, cluster: SlurmCluster) -> bool:
        return cluster.requeue

    def save_s(self, cluster: SlurmCluster) -> float:
        # Half of the time that Slurm leaves before the time limit.
        return cluster.stop_signal_s / 2

    def is_restarted(self, key: str, starts_before: int, or_will_be: bool = True) -> bool:
        done = _run(["scontrol", "--oneliner", "show", "job", key])
        restarts = re.search(r"\bRestarts=(\d+)", done.stdout)
        if done.returncode or restarts is None:
            return True
        preempted = re.search(r"\bPreemptTime=(?!None|N/A)", done.stdout)
        return int(restarts[1]) > starts_before or (or_will_be and preempted is not None)

    def restart(self, key: str) -> str | None:
        done = _run(["scontrol", "requeue", key])
        return done.stderr.strip() if done.returncode else None


def script_of(cluster: SlurmCluster, model_dir: str | None = None) -> str:
    """Return the script of a job that is not submitted."""
    working_directory = os.getcwd()
    directory = os.path.join(jobs_directory(model_dir, working_directory), "tfdistribute-job-ID")
    logs = log_directories("ID", model_dir, working_directory)[0]
    return job_script(cluster, directory, logs, working_directory, _name_of(model_dir))


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
        "output": os.path.join(logs.replace("%", "%%"), SlurmScheduler.output.format("%j")),
        "chdir": working_directory,
        # How `own_directories` finds it.
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
    command = supervisor_command(cluster.python, directory, "", "slurm")
    # The supervisor takes the place of the script, and so gets its signals.
    return "\n".join(["#!/bin/bash", *lines, *cluster.setup, f"exec {shlex.join(command)}", ""])


def _name_of(model_dir: str | None) -> str:
    return os.path.basename((model_dir or "").rstrip("/")) or "job"


def _quote(value: str) -> str:
    # sbatch reads it without a shell.
    if re.fullmatch(r"[\w@%+=:,./-]*", value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _try_submission(script: str) -> ClusterError | None:
    """Return why no job of this kind can ever start; None if one can, or once its nodes are there again."""
    done = _run(["sbatch", "--test-only"], script)
    is_possible = done.returncode == 0 or _DOWN in done.stderr
    return None if is_possible else _refusal(done.stderr)


def _refusal(said: str) -> ClusterError:
    lines = [
        line.removeprefix("sbatch: error: ").strip() for line in said.splitlines() if line.strip()
    ]
    why = " ".join(dict.fromkeys(lines[-2:])) or "it does not say why."
    return ClusterError(
        f"Slurm does not accept this job: {why}",
        "See `sinfo` for partitions and limits, and job_script() for what was asked.",
        argument="cluster",
    )


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
