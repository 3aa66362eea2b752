"""Supervisors on the head node of Ray, from outside."""

import dataclasses
import json
import os
import signal
import subprocess
from typing import Any

from tfdistribute import __version__
from tfdistribute.cluster.engines.ray import RayCluster
from tfdistribute.errors import ClusterError, from_values
from tfdistribute.launch.detached.scheduler import QueueEntry
from tfdistribute.launch.engines.gang import DRIVER
from tfdistribute.launch.engines.ray_supervisor import NOT_SEEN
from tfdistribute.launch.job import Job
from tfdistribute.launch.places.transport import (
    LOADER,
    OTHER_PACKAGE,
    finder_source,
    version_problem,
)

NAME: str = "Ray"
OUTPUT: str = "ray-{}.out"
# Without the address of the cluster, which is not known before the supervisor is there.
KEY: str = "{}@"

_ENGINE = "tfdistribute.launch.engines.ray_supervisor:RaySupervisors"
_CALL_S = {"start_supervisor": 90.0, "send_signal": 60.0}
_HEAD = "The head node of Ray"


def submit(job: Job, logs: str) -> str:
    """Start the supervisor of a job and return its id; ClusterError if the cluster cannot run the job."""
    cluster = job.cluster
    assert isinstance(cluster, RayCluster)
    output = os.path.join(logs, OUTPUT.format(job.id))
    source = finder_source(
        "tfdistribute.launch.detached.supervisor", (), cluster.rscript, job.environment
    )
    said, address = _call(
        cluster,
        len(cluster.names_of_hosts),
        "start_supervisor",
        name=_name(job.id),
        options=["-I", "-S", "-c", LOADER],
        source=source.decode(),
        directory=job.directory,
        output=output,
    )
    if said is not None and os.path.isdir(job.directory):
        raise _problem(job, str(said).strip())
    # "auto" is another cluster on another machine. Those outside the cluster only reach its address for clients.
    address = cluster.address if cluster.address.startswith("ray://") else address
    return f"{KEY.format(job.id)}{address}"


def _problem(job: Job, said: str) -> ClusterError:
    if said == NOT_SEEN:
        return ClusterError(
            f'{_HEAD} does not see "{job.directory}".',
            "Use a `model_dir`, or for remote storage a working directory, that all nodes share with this machine "
            "under the same path, or wait for the end of the job with `wait = TRUE`.",
            argument="model_dir",
            value=job.model_dir,
        )
    other = OTHER_PACKAGE.search(said)
    if other is not None:
        return version_problem(_HEAD, "tfdistribute", other[1], __version__)
    return ClusterError(f"{_HEAD} cannot start the supervisor: {_last_line(said)}.")


def _last_line(said: str) -> str:
    return said.splitlines()[-1].rstrip(".") if said else "no reason is given"


def queue_entry(key: str) -> QueueEntry | None:
    try:
        return QueueEntry("RUNNING" if _send_signal(key, 0) else "DEAD")
    except ClusterError:
        return None


def signal_batch(key: str, name: str) -> bool:
    return _send_signal(key, getattr(signal, f"SIG{name}"))


def cancel(key: str) -> None:
    signal_batch(key, "TERM")


def _send_signal(key: str, number: int) -> bool:
    name, _, address = key.partition("@")
    if not address:
        raise ClusterError(f"The job {name} is still being submitted.")
    cluster = RayCluster(address=address, workers=1)
    return bool(_call(cluster, 0, "send_signal", name=_name(name), number=int(number)))


def _name(job: str) -> str:
    return f"tfdistribute-{job}"


def _call(cluster: RayCluster, members: int, method: str, **arguments: Any) -> Any:
    request = {
        "engine": _ENGINE,
        "cluster": dataclasses.asdict(cluster),
        "members": members,
        "call": method,
        "arguments": arguments,
    }
    said = ""
    try:
        done = subprocess.run(
            DRIVER,
            input=json.dumps(request) + "\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=_CALL_S[method],
        )
        said = done.stderr.strip()
        for news in map(json.loads, done.stdout.splitlines()):
            if "refusal" in news:
                raise from_values(news["refusal"])
            if "value" in news:
                return news["value"]
    except subprocess.TimeoutExpired:
        said = f"it did not answer in {_CALL_S[method]:g} seconds"
    raise ClusterError(
        f'The connection to Ray at "{cluster.address}" ended: {_last_line(said)}.',
        argument="address",
        value=cluster.address,
    )
