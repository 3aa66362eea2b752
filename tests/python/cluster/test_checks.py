"""Cluster mistakes: each check row reports exactly one of them."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tfdistribute.cluster.addresses import Address, parse_address, resolve_hosts
from tfdistribute.cluster.checks import CLUSTER_CHECKS, check, check_at_start, check_tf_configs
from tfdistribute.cluster.facts import facts_of_cluster
from tfdistribute.cluster.ports import free_ports, listener
from tfdistribute.cluster.spec import ClusterSpec, LocalCluster, Task
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.cluster.tf_config import (
    TfConfig,
    parse_tf_config,
    read_tf_config,
    to_tf_config,
)
from tfdistribute.errors import ClusterError, TfdistributeError
from tfdistribute.rules import Finding

# Documentation addresses: no machine has them, and they need no name lookup.
A, B, C = "192.0.2.1:2222", "192.0.2.2:2222", "192.0.2.3:2222"


def of(cluster: Any, **arguments: Any) -> list[Finding]:
    return check(facts_of_cluster(cluster, **arguments))


def of_text(cluster: Any, task: Any = None) -> list[Finding]:
    return check_tf_configs([json.dumps({"cluster": cluster, "task": task or {}})])


def the_only(findings: list[Finding]) -> tuple[str, str, str]:
    (finding,) = findings
    assert finding.fix.endswith(".")
    return finding.field, finding.severity, finding.message


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.mark.parametrize(
    "cluster",
    [
        ClusterSpec(chief=(A,), worker=(B, C), evaluator=("192.0.2.1",), task=Task("worker", 1)),
        ClusterSpec(chief=(A,), ps=(B,), task=Task("evaluator")),
        ClusterSpec(worker=(A, "[2001:db8::1]:2222")),
        LocalCluster(2, ps=1),
    ],
)
def test_a_cluster_without_mistakes_has_no_rows(cluster: Any):
    assert of(cluster, global_batch_size=6) == []


def test_the_same_address_twice_is_one_row():
    assert the_only(of_text({"chief": [A], "worker": [B, A]})) == (
        "worker 1",
        "error",
        f'The address "{A}" is also the address of chief 0.',
    )


@pytest.mark.parametrize(
    ("addresses", "argument", "problem"),
    [
        (
            {"chief": (A,), "worker": (B, A)},
            "worker",
            f'The address "{A}" is also the address of chief 0.',
        ),
        (
            {"worker": ("a:1", "A:1")},
            "worker",
            'The address "A:1" is also the address of worker 0.',
        ),
        (
            {"chief": ("a:99999",)},
            "chief",
            "`chief` holds 'a:99999', which has no port from 1 to 65535.",
        ),
        (
            {"evaluator": ("a:0",)},
            "evaluator",
            "`evaluator` holds 'a:0', which has no port from 1 to 65535.",
        ),
    ],
)
def test_what_can_never_become_right_is_refused_when_it_is_described(
    addresses: Any, argument: str, problem: str
):
    with pytest.raises(ClusterError) as caught:
        ClusterSpec(**addresses)
    assert (caught.value.argument, caught.value.problem) == (argument, problem)
    # What may be completed later is a row of the table.
    assert ClusterSpec(chief=("a",), worker=("a", "b:"), evaluator=("a",)).tasks


@pytest.mark.parametrize(
    ("devices", "rows"), [((), 0), (("/device:CPU:0",), 1), (("/device:GPU:0", "/device:GPU:1"), 0)]
)
def test_more_devices_than_there_are_is_one_row(devices: tuple[str, ...], rows: int):
    found = of(LocalCluster(2, devices_per_worker=2), devices=devices)
    assert len(found) == rows
    for finding in found:
        assert (finding.field, finding.severity) == ("devices_per_worker", "warning")
        assert finding.message == (
            "`devices_per_worker` is 2, but a process of this machine has 1 (CPU:0)."
        )


def test_names_of_the_loopback_are_the_same_address():
    (port,) = free_ports(1)
    found = of(ClusterSpec(chief=(f"localhost:{port}",), worker=(f"127.0.0.1:{port}",)))
    assert the_only(found)[0] == "worker 0"


def test_localhost_among_remote_hosts_is_one_row():
    (port,) = free_ports(1)
    field, severity, message = the_only(of(ClusterSpec(chief=(f"localhost:{port}",), worker=(B,))))
    assert (field, severity) == ("chief 0", "error")
    assert '"localhost" means another machine on every machine' in message


@pytest.mark.parametrize("address", ["192.0.2.2", "192.0.2.2:", "192.0.2.2:0", "192.0.2.2:70000"])
def test_a_missing_port_is_one_row(address: str):
    field, severity, message = the_only(of_text({"chief": [A], "worker": [address]}))
    assert (field, severity) == ("worker 0", "error")
    assert message == f'The address "{address}" has no port from 1 to 65535.'


def test_a_taken_port_is_one_row_with_its_owner(taken_port: int):
    field, severity, message = the_only(of(ClusterSpec(chief=(f"localhost:{taken_port}",))))
    assert (field, severity) == ("chief 0", "error")
    assert message.startswith(f'Port {taken_port} of "localhost" is taken by ')
    assert message.endswith(f"(pid {os.getpid()}).")


def test_a_port_that_is_taken_on_another_machine_is_not_looked_for(taken_port: int):
    assert of(ClusterSpec(chief=(f"192.0.2.1:{taken_port}",))) == []


def test_a_missing_chief_for_parameter_servers_is_one_row():
    field, _, message = the_only(of(ClusterSpec(worker=(A,), ps=(B,))))
    assert field == "chief"
    assert "needs a chief" in message


def test_two_chiefs_are_one_row():
    field, _, message = the_only(of(ClusterSpec(chief=(A, B))))
    assert field == "chief"
    assert "2 chiefs" in message


def test_an_evaluator_inside_the_cluster_is_one_row():
    field, _, message = the_only(of_text({"chief": [A], "evaluator": [B]}))
    assert field == "evaluator"
    assert "is listed in the `cluster`" in message


def test_two_evaluators_are_one_row():
    cluster = ClusterSpec(chief=(A,), evaluator=("192.0.2.2", "192.0.2.3"))
    assert the_only(of(cluster))[0] == "evaluator"


@pytest.mark.parametrize("index", [2, -1])
def test_an_index_out_of_range_is_one_row(index: int):
    found = of_text({"chief": [A], "worker": [B, C]}, {"type": "worker", "index": index})
    assert the_only(found) == (
        "task",
        "error",
        f"This process is worker {index}, but the cluster has 2 tasks of this role.",
    )


def test_an_unknown_role_is_one_row():
    assert the_only(of_text({"worker": [A], "master": [B]})) == (
        "master",
        "error",
        '"master" is not a role of a cluster.',
    )
    assert the_only(of_text({"worker": [A]}, {"type": "boss", "index": 0}))[0] == "task"


def test_a_cluster_without_tasks_is_one_row():
    assert the_only(of_text({}))[0] == "cluster"


def test_tasks_with_different_clusters_are_one_row():
    first = {"cluster": {"worker": [A, B]}, "task": {"type": "worker", "index": 0}}
    same = {**first, "task": {"type": "worker", "index": 1}}
    other = {"cluster": {"worker": [A, C]}, "task": {"type": "worker", "index": 1}}
    texts = [json.dumps(each) for each in (first, same, other)]
    assert check_tf_configs(texts[:2]) == []
    field, severity, message = the_only(check_tf_configs(texts))
    assert (field, severity) == ("worker 1", "error")
    assert C in message


def test_a_host_that_is_not_found_is_one_row():
    cluster = ClusterSpec(chief=("host.invalid:2222",), worker=("host.invalid:2223",))
    assert the_only(of(cluster)) == (
        "chief 0",
        "warning",
        'The host "host.invalid" cannot be found from this machine.',
    )


def test_a_name_service_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(5) or [])
    started = time.monotonic()
    assert resolve_hosts([Address("a.invalid", 1), Address("b.invalid", 1)], timeout_s=0.1) == {}
    assert time.monotonic() - started < 4


def test_text_that_is_not_json_is_one_row_with_its_place():
    field, severity, message = the_only(check_tf_configs(['{"cluster": {"chief": [a]}}']))
    assert (field, severity) == ("TF_CONFIG", "error")
    assert "not JSON" in message
    assert "line 1, column 24" in message


def test_tf_config_after_tensorflow_was_started_is_one_row():
    text = json.dumps({"cluster": {"chief": [A]}, "task": {"type": "chief", "index": 0}})
    found = check_tf_configs([text], tf_config_is_late=True)
    assert the_only(found)[0] == "TF_CONFIG"
    assert "after TensorFlow was started" in found[0].message


def test_tensorflow_remembers_the_tf_config_of_its_start(run_python: Callable[..., Any]):
    pytest.importorskip("tensorflow")
    finished = run_python(
        "import os\n"
        "from tfdistribute import engine\n"
        "from tfdistribute.bridge import call\n"
        f"""text = '{{"cluster": {{"chief": ["{A}"]}}}}'\n"""
        "def rows(): return call('check_tf_config', dict(texts=text, devices_per_worker=1.0,\n"
        "                        of_this_process=True))['value']\n"
        "before = len(rows())\n"
        "engine.tf\n"
        "os.environ['TF_CONFIG'] = text\n"
        "print(before, [row['field'] for row in rows()])\n"
    )
    assert finished.stdout.strip() == "0 ['TF_CONFIG']"


def test_a_batch_that_cannot_be_divided_is_one_row():
    cluster = ClusterSpec(chief=(A,), worker=(B, C))
    assert the_only(of(cluster, global_batch_size=128)) == (
        "batch_size",
        "error",
        "A batch of 128 examples cannot be split evenly over 3 replicas (3 processes with 1 each).",
    )
    assert of(LocalCluster(3, devices_per_worker=2), global_batch_size=128)[0].fix == (
        "Use 126 or 132."
    )
    assert (
        of(ClusterSpec(chief=(A,), worker=(B, C), ps=("192.0.2.4:1",)), global_batch_size=8) == []
    )


def test_a_batch_is_divided_by_every_number_of_workers():
    cluster = SshCluster(hosts=("a", "b", "c", "d"), workers=(2, 4), devices_per_worker=2)
    assert of(cluster, global_batch_size=48) == []
    assert of(cluster, global_batch_size=32)[0].message == (
        "A batch of 32 examples cannot be split evenly over every number of workers from 2 to 4."
    )
    assert of(cluster, global_batch_size=32)[0].fix == "Use a multiple of 24, or a smaller range."


def test_all_mistakes_are_found_at_once():
    found = of_text({"chief": [A, A], "boss": ["192.0.2.9"]}, {"type": "chief", "index": 5})
    assert [finding.field for finding in found] == ["boss", "chief", "task", "boss 0", "chief 1"]


def test_every_check_says_what_must_hold():
    assert all(each.rule.endswith(".") for each in CLUSTER_CHECKS)


SHELL = " \t\n\r;|&$`\"'\\<>(){}*?!#~=%^,@/+"


def words(count: int) -> Iterator[str]:
    """Random strings with at least one character special to a shell, ssh or a path."""
    source = random.Random(7)
    letters = "abcXYZ019.-:[]" + SHELL
    for _ in range(count):
        word = [source.choice(letters) for _ in range(source.randint(0, 12))]
        word.insert(source.randint(0, len(word)), source.choice(SHELL))
        yield "".join(word)


def test_host_names_with_shell_characters_are_refused():
    for word in [
        *words(2000),
        "-oProxyCommand=x",
        "a:1\n",
        "\u00e4:1",
        "a:\u0661",
        "",
        ":1",
        "::1",
    ]:
        assert parse_address(word) is None, word
        with pytest.raises(TfdistributeError, match="not an address|non-empty"):
            ClusterSpec(chief=(word,))
        with_text = {"cluster": {"chief": [word or " "]}}
        assert the_only(check_tf_configs([json.dumps(with_text)]))[0] == "chief 0"


def test_a_listener_is_found_until_it_is_closed():
    with socket.socket(socket.AF_INET6) as server:
        server.bind(("::1", 0))
        server.listen()
        port = server.getsockname()[1]
        owner = listener(port)
        assert owner is not None
        assert owner.pid == os.getpid()
    assert listener(port) is None


def test_free_ports_are_free_and_all_different():
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(listener(port) is None for port in ports)


def test_what_is_written_for_a_task_is_read_back():
    addresses = {
        Task(role, 0): f"127.0.0.1:{port}"
        for port, role in enumerate(("chief", "worker", "ps"), start=1)
    }
    cluster = ClusterSpec.of(addresses)
    for task in cluster.tasks:
        found = read_tf_config({"TF_CONFIG": to_tf_config(cluster, task)})
        assert found is not None
        assert found.task == str(task)
        assert found.cluster == {
            "chief": ("127.0.0.1:1",),
            "worker": ("127.0.0.1:2",),
            "ps": ("127.0.0.1:3",),
        }
    with pytest.raises(ClusterError, match="worker 7, which the cluster does not have"):
        to_tf_config(cluster, Task("worker", 7))


@pytest.mark.parametrize(
    ("cluster", "task", "words"),
    [
        ({"chief": ["$(touch x):1"], "worker": [A]}, "chief", "is not an address"),
        ({"chief": [A], "worker": ["192.0.2.2:0"]}, "chief", "has no port from 1 to 65535"),
        ({"chief": [A], "worker": ["192.0.2.2:99999"]}, "chief", "has no port from 1 to 65535"),
        ({"chief": [A], "master": [B]}, "chief", '"master" is not a role'),
        ({"chief": [A], "worker": [B]}, "helper", '"helper" is not a role'),
        ({}, "chief", "has no task that trains"),
        ({"chief": [A], "worker": [A]}, "chief", "is also the address of chief 0"),
        ({"chief": [A, B]}, "chief", "2 chiefs"),
    ],
)
def test_a_task_refuses_a_mistaken_cluster_before_it_trains(
    cluster: dict[str, list[str]], task: str, words: str
):
    roles = {role: tuple(each) for role, each in cluster.items()}
    with pytest.raises(ClusterError) as caught:
        check_at_start(TfConfig(roles, task, 0))
    assert words in caught.value.problem
    assert caught.value.argument == "TF_CONFIG"


def test_a_task_does_not_refuse_what_may_only_look_wrong_from_here(taken_port: int):
    # The port may be held by this process, in its second training.
    own = {"chief": (f"127.0.0.1:{taken_port}",), "worker": ("127.0.0.1:1",)}
    check_at_start(TfConfig(own, "chief", 0))
    check_at_start(TfConfig({"chief": ("no-such-host.invalid:1",)}, "chief", 0))


def test_a_huge_cluster_is_refused_at_once():
    addresses = [f"host-{number}:2222" for number in range(600_000)]
    text = json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": 0}})
    began = time.monotonic()
    (finding,) = check_tf_configs([text, text])
    assert finding.message == "The cluster has 600000 tasks, and this package supports 10000."
    config = parse_tf_config(text)
    assert config is not None
    with pytest.raises(ClusterError, match="600000 tasks"):
        check_at_start(config)
    assert time.monotonic() - began < 10


def test_a_check_takes_less_than_a_second_of_the_processor():
    text = json.dumps({"cluster": {"worker": [A], "ps": [B]}})
    code = f"from tfdistribute.cluster.checks import check_tf_configs as check\nprint(check([{text!r}]))"
    before = os.times()
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    after = os.times()
    assert "needs a chief to create its variables" in done.stdout
    # Importing TensorFlow alone would take several. Other load on the machine does not count.
    user, system = (
        after.children_user - before.children_user,
        after.children_system - before.children_system,
    )
    assert user + system < 1
