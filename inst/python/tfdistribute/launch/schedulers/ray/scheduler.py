"""Supervisors in detached actors on the head node of Ray, from outside."""

import dataclasses
import json
import os
import signal
import subprocess
from typing import Any

from tfdistribute import __version__
from tfdistribute.cluster.frameworks.ray import RayCluster
from tfdistribute.cluster.spec import Cluster
from tfdistribute.errors import ClusterError, from_values
from tfdistribute.launch.frameworks.gang import DRIVER
from tfdistribute.launch.frameworks.ray_supervisor import NOT_SEEN
from tfdistribute.launch.host import processes
from tfdistribute.launch.job import Job
from tfdistribute.launch.places.transport import (
    LOADER,
    OTHER_PACKAGE,
    finder_source,
    version_problem,
)
from tfdistribute.launch.schedulers.scheduler import QueueEntry, Scheduler, Start

_FRAMEWORK = "tfdistribute.launch.frameworks.ray_supervisor:RaySupervisors"
_CALL_S = {"start_supervisor": 90.0, "send_signal": 60.0}
_HEAD = "The head node of Ray"


class RayScheduler(Scheduler):
    name = "Ray"
    output = "ray-{}.out"

    def takes(self, cluster: Cluster) -> bool:
        return isinstance(cluster, RayCluster) and cluster.detached

    def submit(self, job: Job, logs: str) -> str:
        cluster = job.cluster
        assert isinstance(cluster, RayCluster)
        output = os.path.join(logs, self.output.format(job.id))
        source = finder_source(
            "tfdistribute.launch.schedulers.supervisor", ("ray",), cluster.rscript, job.environment
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
        return f"{self.early_key(job.id)}{address}"

    def entry(self, key: str) -> QueueEntry | None:
        try:
            return QueueEntry("runs") if _send_signal(key, 0) else QueueEntry("ended", "DEAD")
        except ClusterError:
            return None

    def signal(self, key: str, name: str) -> bool:
        return _send_signal(key, getattr(signal, f"SIG{name}"))

    def cancel(self, key: str) -> None:
        self.signal(key, "TERM")

    def begin(self, job: Job, where: str) -> Start:
        # In a process of the actor.
        processes.die_with_parent(os.getppid())
        assert isinstance(job.cluster, RayCluster)
        # The address that the session uses may not be known here.
        cluster = dataclasses.replace(job.cluster, address=where)
        return Start(cluster, f"{self.early_key(job.id)}{where}")

    def early_key(self, job_id: str) -> str:
        # Without the address of the cluster, which is not known before the supervisor is there.
        return f"{job_id}@"

    def number(self, key: str) -> str:
        return key.partition("@")[0]


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
        "framework": _FRAMEWORK,
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
