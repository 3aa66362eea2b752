"""Connections to the hosts of a job, checks there, and its files."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.spec import Task
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.errors import ClusterError
from tfdistribute.launch.job import Job
from tfdistribute.launch.places import srun, ssh
from tfdistribute.launch.places.place import Place
from tfdistribute.launch.places.preflight import Needs, as_finding, check_hosts
from tfdistribute.launch.places.remote import CONNECT_S, FILES_S, RemotePlace
from tfdistribute.rules import Finding

# The environment variable with the Python of R's tasks.
_PYTHON = "RETICULATE_PYTHON"
# How long an agent that started nothing may take to end.
_CLOSE_S = 2.0
# Mistakes that one error lists.
_MOST_LINES = 8
# What this machine keeps in a job's private directory for itself.
_OWN = (
    *("lock", "job.json", "state.json", "supervisor.log", "events", "tmp"),
    *("submission.json", "progress.json"),
)


def check_ssh_cluster(
    cluster: SshCluster, environment: Mapping[str, str], tensorflow: str | None
) -> list[Finding]:
    together = _remote_places(cluster, cluster.hosts, environment)
    needs = Needs(tensorflow=tensorflow, host_addresses=cluster.host_addresses)
    try:
        findings = _connect(together, lambda: False)
        return findings + check_hosts([each for each in together if each.is_connected], needs)
    finally:
        for place in together:
            place.end()
        for place in together:
            place.close(_CLOSE_S)


def places_of(job: Job, place: Place) -> Mapping[Task, Place]:
    """Return the place of each task of a job; ``place`` is this machine."""
    cluster = job.cluster
    if not isinstance(cluster, HostsCluster):
        return dict.fromkeys(job.tasks, place)
    hosts = {task: cluster.host_of(task) for task in job.tasks}
    is_r = job.digest is not None
    together = _remote_places(cluster, hosts.values(), job.environment, job.directory, is_r)
    places = {each.host: each for each in together}
    return {task: places[host] for task, host in hosts.items()}


def _remote_places(
    cluster: HostsCluster,
    hosts: Iterable[str],
    environment: Mapping[str, str],
    home: str = "",
    is_r: bool = True,
) -> list[RemotePlace]:
    together: list[RemotePlace] = []
    for host in dict.fromkeys(hosts):
        is_ssh = isinstance(cluster, SshCluster)
        transport = dataclasses.replace(
            ssh.transport_to(host, cluster) if is_ssh else srun.transport_to(host),
            python=cluster.python or environment.get(_PYTHON) or "python3",
            rscript=cluster.rscript if is_r else None,
            environment=environment,
            temporary=cluster.environment.get("TMPDIR"),
            lease_s=cluster.lease_s,
        )
        RemotePlace(host, transport, home, together)
    return together


def open_places(places: Iterable[Place], job: Job, is_over: Callable[[], bool]) -> list[str] | None:
    """Open the places of a job, and return notes for the user; None if ``is_over`` became true before.

    Hosts are connected and checked, and get the job's files.

    Raises:
        ClusterError: hosts cannot be used. All that is wrong is in its text.
    """
    hosts = [each for each in places if isinstance(each, RemotePlace)]
    if not hosts:
        return []
    assert isinstance(job.cluster, HostsCluster)
    files = list(_files_to_send(job.directory))
    findings = _connect(hosts, is_over)
    if is_over():
        return None
    connected = [host for host in hosts if host.is_connected]
    findings += check_hosts(connected, _needs(job, job.cluster, files))
    errors = [each for each in findings if each.severity == "error"]
    if errors:
        raise _as_error(errors)
    for host in hosts:
        host.put(files)

    def is_settled() -> bool:
        return is_over() or all(each.has_files() or each.lost is not None for each in hosts)

    hosts[0].wait(is_settled, FILES_S)
    if is_over():
        return None
    without = next((each for each in hosts if not each.has_files()), None)
    if without is not None:
        raise without.problem()
    return [f"{each.message} {each.fix}".rstrip() for each in findings]


def _connect(hosts: Sequence[RemotePlace], is_over: Callable[[], bool]) -> list[Finding]:
    for host in hosts:
        try:
            host.connect()
        except ClusterError as error:
            return [as_finding(error)]

    hosts[0].wait(lambda: is_over() or all(each.is_settled for each in hosts), CONNECT_S)
    return [as_finding(host.problem()) for host in hosts if not host.is_connected]


def _needs(job: Job, cluster: HostsCluster, files: Sequence[str]) -> Needs:
    training = {
        host: sum(cluster.host_of(task) == host for task in job.tasks if task.trains)
        for host in cluster.names_of_hosts
    }
    return Needs(
        model_dir=job.local_model_dir,
        input_files=job.input_files,
        tensorflow=job.tensorflow,
        host_addresses=cluster.given_addresses,
        bytes=sum(os.path.getsize(path) for path in files),
        devices={host: count * cluster.devices_per_worker for host, count in training.items()},
    )


def _files_to_send(directory: str) -> Iterator[str]:
    for folder, folders, names in os.walk(directory):
        if folder == directory:
            folders[:] = [name for name in folders if name not in _OWN]
        for name in names:
            if folder != directory or name not in _OWN:
                yield os.path.join(folder, name)


def _as_error(errors: Sequence[Finding]) -> ClusterError:
    if len(errors) == 1:
        return ClusterError(errors[0].message, errors[0].fix, argument=errors[0].field)
    lines = [f"- {each.message} {each.fix}" for each in errors[:_MOST_LINES]]
    if len(errors) > _MOST_LINES:
        lines.append(f"and {len(errors) - _MOST_LINES} more.")
    return ClusterError(
        "\n".join([f"{len(errors)} things prevent this cluster from training:", *lines])
    )
