"""Clusters read from the variables of Slurm and Vertex AI."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from tfdistribute.bridge.clusters import read_cluster
from tfdistribute.cluster.slurm_environment import expand_nodes, read_slurm
from tfdistribute.cluster.tf_config import read_cluster_spec
from tfdistribute.errors import ClusterError

STEP = {
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "0",
    "SLURM_PROCID": "0",
    "SLURM_NTASKS": "4",
    "SLURM_STEP_NODELIST": "n[1-2]",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
}
SPEC = {
    "cluster": {"workerpool0": ["a:1"], "workerpool1": ["b:1", "c:1"], "workerpool2": ["d:1"]},
    "task": {"type": "workerpool1", "index": 1, "trial": "x"},
}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[1-2],m", ["n1", "n2", "m"]),
        ("n[09-11,7]", ["n09", "n10", "n11", "n7"]),
        ("r[1-2]c[1-2]", ["r1c1", "r1c2", "r2c1", "r2c2"]),
        ("gpu-[1,3]-ib", ["gpu-1-ib", "gpu-3-ib"]),
    ],
)
def test_a_list_of_nodes_is_expanded(text: str, names: list[str]):
    assert expand_nodes(text) == names


@pytest.mark.skipif(shutil.which("scontrol") is None, reason="needs Slurm")
@pytest.mark.cluster
@pytest.mark.parametrize("text", ["n[1-2]", "a[01-03,7],b1,r[1-2]c[08-10]", "x1,x2"])
def test_a_list_of_nodes_is_expanded_as_by_scontrol(
    text: str, monkeypatch: pytest.MonkeyPatch, tmp_path
):
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=x\nSlurmctldHost=x\nNodeName=x\nPartitionName=x Nodes=x\n"
    )
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    done = subprocess.run(
        ["scontrol", "show", "hostnames", text],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == expand_nodes(text)


@pytest.mark.parametrize("text", ["", "n[1-2", "n[a-b]", "n[]", "n1,,n2"])
def test_what_is_no_list_of_nodes_is_refused(text: str):
    with pytest.raises(ClusterError, match=r"SLURM_STEP_NODELIST"):
        expand_nodes(text)


def test_all_tasks_of_a_step_read_the_same_addresses():
    found = [read_slurm({**STEP, "SLURM_PROCID": str(rank)}) for rank in range(4)]
    assert len({json.dumps(each.cluster) for each in found}) == 1
    assert [each.task for each in found] == ["chief 0", "worker 0", "worker 1", "worker 2"]
    addresses = [*found[0].cluster["chief"], *found[0].cluster["worker"]]
    assert [each.split(":")[0] for each in addresses] == ["n1", "n1", "n2", "n2"]
    assert len(set(addresses)) == 4


def test_elements_of_an_array_and_steps_of_a_job_have_ports_of_their_own():
    steps = [
        read_slurm({**STEP, "SLURM_JOB_ID": str(job), "SLURM_STEP_ID": str(step)})
        for job in range(4711, 4731)
        for step in range(2)
    ]
    used = [address for each in steps for role in each.cluster.values() for address in role]
    assert len(set(used)) == len(used)
    assert all(20000 <= int(each.split(":")[1]) < 32000 for each in used)


def test_a_process_alone_is_no_cluster():
    assert read_slurm({}) is None
    one = {**STEP, "SLURM_STEP_NODELIST": "n1", "SLURM_STEP_TASKS_PER_NODE": "1"}
    assert read_slurm(one) is None
    assert read_slurm({"SLURM_JOB_ID": "1", "SLURM_NTASKS": "1"}) is None


def test_a_script_that_srun_did_not_start_is_refused():
    with pytest.raises(ClusterError, match=r"not one of the 4 tasks of Slurm job 4711") as caught:
        read_slurm({"SLURM_JOB_ID": "4711", "SLURM_NTASKS": "4", "SLURM_PROCID": "0"})
    assert "srun Rscript" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("SLURM_PROCID", "9"),
        ("SLURM_PROCID", "x"),
        ("SLURM_JOB_ID", "x"),
        ("SLURM_STEP_TASKS_PER_NODE", "2"),
        ("SLURM_STEP_TASKS_PER_NODE", "two"),
    ],
)
def test_variables_that_do_not_fit_are_named(name: str, text: str):
    with pytest.raises(ClusterError) as caught:
        read_slurm({**STEP, name: text})
    assert caught.value.argument == name


def test_pools_of_vertex_ai_are_roles():
    found = read_cluster_spec({"CLUSTER_SPEC": json.dumps(SPEC)})
    assert found.cluster == {"chief": ("a:1",), "worker": ("b:1", "c:1"), "ps": ("d:1",)}
    assert found.task == "worker 1"


def test_the_evaluator_of_vertex_ai_is_not_part_of_the_cluster_that_trains():
    content = {
        "cluster": {**SPEC["cluster"], "workerpool3": ["e:1"]},
        "task": {"type": "workerpool3", "index": 0},
    }
    found = read_cluster_spec({"CLUSTER_SPEC": json.dumps(content)})
    assert found.task == "evaluator 0"
    assert "evaluator" not in found.cluster


@pytest.mark.parametrize(
    "content",
    [
        "no JSON",
        [],
        {},
        {"cluster": {"workerpool0": ["a:1"]}},
        {**SPEC, "task": {"type": "worker", "index": 0}},
        {**SPEC, "task": {"type": "workerpool0", "index": "first"}},
        {"cluster": {"workerpool0": "a:1"}, "task": SPEC["task"]},
        {"cluster": {"workerpool9": ["a:1"]}, "task": {"type": "workerpool0", "index": 0}},
    ],
)
def test_another_form_of_cluster_spec_is_refused(content: object):
    text = content if isinstance(content, str) else json.dumps(content)
    with pytest.raises(ClusterError, match=r"not the form of Vertex AI"):
        read_cluster_spec({"CLUSTER_SPEC": text})


def test_tf_config_comes_before_slurm_and_slurm_before_cluster_spec():
    tf_config = {"cluster": {"chief": ["x:1"], "worker": ["y:1"]}, "task": {"type": "worker"}}
    everything = {
        "TF_CONFIG": json.dumps(tf_config),
        **STEP,
        "CLUSTER_SPEC": json.dumps(SPEC),
    }
    order = []
    while everything:
        found = read_cluster(everything)
        if found is None:
            break
        order.append(found["source"])
        everything = {
            name: text
            for name, text in everything.items()
            if name != found["source"] and not (order[-1] == "SLURM_JOB_ID" and "SLURM" in name)
        }
    assert order == ["TF_CONFIG", "SLURM_JOB_ID", "CLUSTER_SPEC"]


def test_a_single_replica_of_vertex_ai_is_no_cluster():
    alone = {"cluster": {"workerpool0": ["a:1"]}, "task": {"type": "workerpool0", "index": 0}}
    assert read_cluster_spec({"CLUSTER_SPEC": json.dumps(alone)}) is None
