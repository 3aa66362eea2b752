"""Choice between starting a job and training in this process."""

from __future__ import annotations

import pytest

from tfdistribute.cluster.spec import ClusterSpec, LocalCluster, Task
from tfdistribute.cluster.tf_config import to_tf_config
from tfdistribute.errors import ClusterError
from tfdistribute.launch.job import must_launch

TWO = ClusterSpec(chief=("192.0.2.1:2222",), worker=("192.0.2.2:2222",))
HERE = ClusterSpec(chief=("localhost:2222",), worker=("127.0.0.1:2223",))


@pytest.mark.parametrize("cluster", [LocalCluster(2), HERE])
def test_a_cluster_of_this_machine_is_a_job(cluster: LocalCluster | ClusterSpec):
    assert must_launch(cluster, {})
    assert must_launch(cluster, {"TF_CONFIG": ""})


def test_tf_config_decides_which_task_a_process_is():
    environment = {"TF_CONFIG": to_tf_config(TWO, Task("worker", 0))}
    for cluster in (LocalCluster(2), HERE, TWO):
        assert not must_launch(cluster, environment)


def test_a_task_of_a_job_starts_no_job():
    """Even the only task of its cluster starts none: jobs would otherwise nest without end."""
    assert not must_launch(LocalCluster(1, evaluator=False), {"TFDISTRIBUTE_JOB": "/tmp/job"})


def test_a_cluster_that_names_this_process_is_trained_in_here():
    with_task = ClusterSpec(chief=TWO.chief, worker=TWO.worker, task=Task("chief", 0))
    assert not must_launch(with_task, {})


def test_other_machines_start_their_own_tasks():
    with pytest.raises(ClusterError, match=r"tasks on 192\.0\.2\.1") as caught:
        must_launch(TWO, {})
    assert "as_tf_config(cluster, task)" in (caught.value.remedy or "")
