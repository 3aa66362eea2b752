"""Jobs whose tasks run a script that reads its cluster from TF_CONFIG."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfdistribute.cluster.frameworks.ray import RayCluster
from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.managed import ManagedCluster
from tfdistribute.cluster.spec import Cluster, LocalCluster
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.errors import ArgumentError, ClusterError
from tfdistribute.files import absolute_path
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.job import Job
from tfdistribute.launch.platforms import managed_job
from tfdistribute.launch.schedulers.registry import scheduler_of
from tfdistribute.launch.start import new_directory, start_job

_PROGRAMS = {".py": "python", ".r": "Rscript"}
# Clusters that need no R, beside those of schedulers.
_CLUSTERS = (LocalCluster, SshCluster, RayCluster, ManagedCluster)


def launch_script(
    script: str, cluster: Cluster, arguments: Sequence[str] = (), *, model_dir: str | None = None
) -> dict[str, Any]:
    """Start a script in every task of a cluster, and return the handle of the job.

    A job on this machine or on hosts of ssh ends with this process. Wait with ``job_handle.wait_for_job()``, which also
    stops the job on Ctrl-C; ``job_state()``, ``job_logs()`` and ``stop_job()`` take the handle, too.

    Args:
        script: Path of a script in R or Python, with the ending .R or .py, of which hosts and containers get a copy.
        cluster: On this machine, hosts of ssh, Slurm, Ray, or a managed platform.
        arguments: Passed to the script.
        model_dir: The script's model_dir. Logs go there, and no other job may use it.

    Raises ArgumentError for another kind of script or without Rscript, ClusterError for another kind of cluster, and
    what starts and submissions raise.
    """
    program = _PROGRAMS.get(Path(script).suffix.lower())
    if program is None or not os.path.isfile(script):
        raise ArgumentError(
            f'`script` is "{script}", which is not a file in R (.R) or Python (.py).',
            "Use the path of a script.",
            value=script,
        )
    if not isinstance(cluster, _CLUSTERS) and scheduler_of(cluster) is None:
        raise ClusterError(
            f"Scripts cannot be started in a cluster of the kind {cluster.kind}.",
            "Use another cluster, or train from R.",
            value=cluster.kind,
        )
    model_dir = None if model_dir is None else absolute_path(model_dir)
    directory = new_directory(cluster, model_dir)
    fields: dict[str, Any] = {
        "verb": "script",
        "directory": directory,
        "working_directory": os.getcwd(),
        "model_dir": model_dir,
    }
    try:
        command = (*_command(script, program, cluster, directory), *arguments)
        if isinstance(cluster, ManagedCluster):
            id_ = private_directory.job_id(directory)
            job = managed_job.describe_job(cluster, id_, command=list(command), **fields)
            handle = managed_job.submit(job)
            private_directory.remove(directory)
            return handle
        job = Job(
            id=private_directory.job_id(directory),
            cluster=cluster,
            command=command,
            environment=_environment(cluster),
            parent_pid=os.getpid(),
            **fields,
        )
        return start_job(job)
    except BaseException:
        private_directory.remove(directory)
        raise


def _command(script: str, program: str, cluster: Cluster, directory: str) -> list[str]:
    is_r = program == "Rscript"
    name = os.path.basename(script)
    if isinstance(cluster, ManagedCluster):
        shutil.copyfile(script, os.path.join(directory, name))
        return [program, name]
    if isinstance(cluster, HostsCluster):
        sent = os.path.join(directory, "script", name)
        os.mkdir(os.path.dirname(sent), 0o700)
        shutil.copyfile(script, sent)
        python = "python3" if isinstance(cluster, SshCluster) else sys.executable
        return [cluster.rscript if is_r else cluster.python or python, sent]
    path = shutil.which("Rscript") if is_r else sys.executable
    if path is None:
        raise ArgumentError("Rscript is not on the PATH.", "Install R, or add it to the PATH.")
    return [path, os.path.abspath(script)]


def _environment(cluster: Cluster) -> dict[str, str]:
    given = cluster.environment if isinstance(cluster, HostsCluster) else {}
    if isinstance(cluster, SshCluster):
        return given
    known = os.environ.get("PYTHONPATH", "") if isinstance(cluster, LocalCluster) else ""
    paths = [str(Path(__file__).parents[2]), *filter(None, known.split(os.pathsep))]
    return {"PYTHONPATH": os.pathsep.join(paths), **given}
