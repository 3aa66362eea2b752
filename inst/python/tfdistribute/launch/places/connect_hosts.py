"""Connections to the hosts of a job, checks there, and its files."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.spec import Task
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.errors import ClusterError
from tfdistribute.launch.frameworks import gang
from tfdistribute.launch.job import Job
from tfdistribute.launch.places import ssh
from tfdistribute.launch.places.place import Place
from tfdistribute.launch.places.preflight import Needs, as_finding, check_addresses, check_hosts
from tfdistribute.launch.places.remote import FILES_S, RemotePlace
from tfdistribute.launch.places.transport import Transport
from tfdistribute.launch.schedulers.registry import scheduler_of
from tfdistribute.rules import Finding

_PYTHON = "RETICULATE_PYTHON"
# How long an agent that started nothing may take to end.
_CLOSE_S = 2.0
# Maximum number of mistakes in one error.
_MOST_LINES = 8
# Files in a job's private directory that only this machine needs.
_OWN = (
    *("lock", "job.json", "state.json", "supervisor.log", "events", "tmp"),
    *("submission.json", "progress.json"),
)


def check_hosts_cluster(
    cluster: HostsCluster,
    environment: Mapping[str, str],
    tensorflow: str | None,
    is_over: Callable[[], bool] = lambda: False,
) -> list[Finding]:
    together = _remote_places(cluster, cluster.names_of_hosts, environment)
    needs = Needs(tensorflow=tensorflow, host_addresses=cluster.given_addresses)
    try:
        findings = _connect(together, is_over)
        return findings + check_hosts([each for each in together if each.is_connected], needs)
    finally:
        for place in together:
            place.end()
        for place in together:
            place.close(_CLOSE_S)


def places_of(job: Job, place: Place) -> Mapping[Task, Place]:
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
    transport_to = _transports(cluster)
    for host in dict.fromkeys(hosts):
        transport = dataclasses.replace(
            transport_to(host),
            python=cluster.python or environment.get(_PYTHON) or "python3",
            rscript=cluster.rscript if is_r else None,
            environment=environment,
            temporary=cluster.environment.get("TMPDIR"),
            lease_s=cluster.lease_s,
        )
        RemotePlace(host, transport, home, together)
    return together


def _transports(cluster: Any) -> Callable[[str], Transport]:
    """Return how the hosts of a cluster are reached: by ssh, by their scheduler, or by a framework."""
    if isinstance(cluster, SshCluster):
        return ssh.transports(cluster)
    its = scheduler_of(cluster)
    own = None if its is None else its.transports(cluster)
    return gang.transports(cluster) if own is None else own


def open_places(places: Iterable[Place], job: Job, is_over: Callable[[], bool]) -> list[str] | None:
    """Connect and check a job's hosts, and return notes for the user, or None if ``is_over``.

    Raises ClusterError with all problems of the hosts.
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
    _raise_errors(findings)
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


def learn_addresses(places: Iterable[Place], job: Job) -> None:
    """Find the addresses of a job's connected hosts again; ClusterError if they do not reach each other."""
    hosts = [each for each in dict.fromkeys(places) if isinstance(each, RemotePlace)]
    if hosts and isinstance(job.cluster, HostsCluster):
        findings = check_addresses(hosts, Needs(host_addresses=job.cluster.given_addresses))
        _raise_errors(findings)


def too_few_hosts(lost: Iterable[Place], left: int, fewest: int) -> ClusterError:
    hosts = [each for each in lost if isinstance(each, RemotePlace)]
    names = ", ".join(f"{each.host} ({each.why_lost()[0]})" for each in hosts)
    return ClusterError(
        f"The lost hosts leave {left} worker{'' if left == 1 else 's'}, and the job needs at least {fewest}: {names}.",
        f"{hosts[0].why_lost()[1]} Train again to continue from the last checkpoint.",
        argument="workers",
        value=str(fewest),
    )


def _connect(hosts: Sequence[RemotePlace], is_over: Callable[[], bool]) -> list[Finding]:
    for host in hosts:
        host.is_over = is_over
        try:
            host.connect()
        except ClusterError as error:
            return [as_finding(error)]

    seconds = hosts[0].transport.connect_s
    hosts[0].wait(lambda: is_over() or all(each.is_settled for each in hosts), seconds)
    # A framework that starts no host is one mistake.
    found = [as_finding(host.problem()) for host in hosts if not host.is_connected]
    return list(dict.fromkeys(found))


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


def _raise_errors(findings: Sequence[Finding]) -> None:
    errors = [each for each in findings if each.severity == "error"]
    if not errors:
        return
    if len(errors) == 1:
        raise ClusterError(errors[0].message, errors[0].fix, argument=errors[0].field)
    lines = [f"- {each.message} {each.fix}" for each in errors[:_MOST_LINES]]
    if len(errors) > _MOST_LINES:
        lines.append(f"and {len(errors) - _MOST_LINES} more.")
    raise ClusterError(
        "\n".join([f"{len(errors)} things prevent this cluster from training:", *lines])
    )
