"""Places where tasks run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.slurm import SlurmCluster
from tfdistribute.cluster.spec import Cluster, Task
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.launch.job import Job
from tfdistribute.launch.places import srun, ssh
from tfdistribute.launch.places.local import LocalPlace
from tfdistribute.launch.places.opening import PYTHON, connect, open_hosts
from tfdistribute.launch.places.place import Place
from tfdistribute.launch.places.preflight import Needs, check_hosts
from tfdistribute.launch.places.remote import RemotePlace
from tfdistribute.launch.places.transport import Transport
from tfdistribute.rules import Finding

# How long an agent that started nothing may take to end.
_CLOSE_S = 2.0

__all__ = ["LocalPlace", "Place", "check_ssh_cluster", "open_places", "places_of"]


def check_ssh_cluster(
    cluster: SshCluster, environment: Mapping[str, str], tensorflow: str | None
) -> list[Finding]:
    together: list[RemotePlace] = []
    for host in dict.fromkeys(cluster.hosts):
        RemotePlace(host, ssh.transport_to(host, cluster), "", together)
    needs = Needs(
        rscript=cluster.rscript,
        python=environment.get(PYTHON),
        environment=environment,
        tensorflow=tensorflow,
        host_addresses=cluster.host_addresses,
    )
    try:
        found = connect(together, lambda: False)
        return found + check_hosts([each for each in together if each.is_connected], needs)
    finally:
        for place in together:
            place.end()
        for place in together:
            place.close(_CLOSE_S)


def places_of(job: Job, place: LocalPlace) -> Mapping[Task, Place]:
    """Return the place of each task of a job; ``place`` is this machine."""
    cluster = job.cluster
    if not isinstance(cluster, HostsCluster):
        return dict.fromkeys(job.tasks, place)
    hosts = {task: cluster.host_of(task) for task in job.tasks}
    together: list[RemotePlace] = []
    places = {
        host: RemotePlace(host, _transport_to(host, cluster), job.directory, together)
        for host in dict.fromkeys(hosts.values())
    }
    return {task: places[host] for task, host in hosts.items()}


def _transport_to(host: str, cluster: Cluster) -> Transport:
    if isinstance(cluster, SshCluster):
        return ssh.transport_to(host, cluster)
    assert isinstance(cluster, SlurmCluster)
    return srun.transport_to(host, cluster)


def open_places(places: Iterable[Place], job: Job, is_over: Callable[[], bool]) -> list[str] | None:
    """Open the places of a job, and return notes for the user; None if ``is_over`` became true before.

    Raises:
        ClusterError: hosts cannot be used. All that is wrong is in its text.
    """
    hosts = [each for each in places if isinstance(each, RemotePlace)]
    return open_hosts(hosts, job, is_over) if hosts else []
