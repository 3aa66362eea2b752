"""Opening of the hosts of a job: connections, checks and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.errors import ClusterError
from tfdistribute.launch.job import Job
from tfdistribute.launch.places.preflight import Needs, check_hosts
from tfdistribute.launch.places.remote import CONNECT_S, FILES_S, RemotePlace
from tfdistribute.rules import Finding

# The environment variable with the Python of R's tasks.
PYTHON = "RETICULATE_PYTHON"
# Mistakes that one error lists.
_MOST_LINES = 8
# What this machine keeps in a job's private directory for itself.
_OWN = (
    *("lock", "job.json", "state.json", "supervisor.log", "events", "tmp"),
    *("submission.json", "progress.json"),
)


def open_hosts(
    hosts: Sequence[RemotePlace], job: Job, is_over: Callable[[], bool]
) -> list[str] | None:
    """Connect, check and send the job's files; as ``places.open_places``."""
    assert isinstance(job.cluster, HostsCluster)
    files = list(_files_to_send(job.directory))
    found = connect(hosts, is_over)
    connected = [host for host in hosts if host.is_connected]
    if is_over():
        return None
    found += check_hosts(connected, _needs(job, job.cluster, files))
    errors = [each for each in found if each.severity == "error"]
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
    return [f"{each.message} {each.fix}".rstrip() for each in found]


def connect(hosts: Sequence[RemotePlace], is_over: Callable[[], bool]) -> list[Finding]:
    for host in hosts:
        try:
            host.connect()
        except ClusterError as error:
            return [_finding(error)]

    def is_settled() -> bool:
        return is_over() or all(host.is_connected or host.lost is not None for host in hosts)

    hosts[0].wait(is_settled, CONNECT_S)
    return [_finding(host.problem()) for host in hosts if not host.is_connected]


def _finding(error: ClusterError) -> Finding:
    return Finding(error.argument or "hosts", error.problem, error.remedy or "")


def _needs(job: Job, cluster: HostsCluster, files: Sequence[str]) -> Needs:
    is_r = job.digest is not None
    training = {
        host: sum(cluster.host_of(task) == host for task in job.tasks if task.trains)
        for host in cluster.names_of_hosts
    }
    return Needs(
        model_dir=job.local_model_dir,
        input_files=job.input_files,
        rscript=job.command[0] if is_r else None,
        python=job.environment.get(PYTHON) if is_r else None,
        environment=job.environment,
        tensorflow=job.tensorflow,
        host_addresses=cluster.given_addresses,
        takes_addresses=isinstance(cluster, SshCluster),
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
