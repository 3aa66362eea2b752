"""A real Ray with two nodes on this machine, for the time of a test run."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from support.remote_hosts import end_with_input

# Two nodes until the end of the input, and one more for each line.
_NODES = r"""
import sys
from ray.cluster_utils import Cluster

node = {"num_cpus": 1, "object_store_memory": 10**8}
cluster = Cluster(
    initialize_head=True,
    head_node_args={**node, "include_dashboard": False},
)
cluster.add_node(**node)
cluster.wait_for_nodes()
print(cluster.address, file=sys.__stderr__, flush=True)
for _ in sys.stdin:
    cluster.add_node(**node)
cluster.shutdown()
"""


class RayNodes:
    """Two nodes with one core each.

    Args:
        address: That of the head node.
    """

    def __init__(self, home: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _NODES],
            # Nodes do not have this package where Ray looks for modules.
            env={**os.environ, "RAY_TMPDIR": home, "TMPDIR": home, "PYTHONPATH": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.address = self._answer()

    def _answer(self) -> str:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            # Ray warns there, too.
            if line.startswith(("127.", "10.", "172.", "192.")):
                return line.strip()
        raise AssertionError("The nodes of Ray did not start.")

    def add_node(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("add\n")
        self._process.stdin.flush()

    def end(self) -> None:
        end_with_input(self._process)


def has_ray() -> bool:
    return importlib.util.find_spec("ray") is not None


@contextlib.contextmanager
def ray_nodes() -> Iterator[RayNodes]:
    # The paths of its sockets must be short.
    home = tempfile.mkdtemp(prefix="tfd-ray-", dir="/tmp")
    nodes = RayNodes(home)
    try:
        yield nodes
    finally:
        nodes.end()
        shutil.rmtree(home, ignore_errors=True)


def actors_of(address: str) -> list[str]:
    """The actors and placement groups that a Ray has, by their state."""
    code = """
import sys, ray
from ray._private.state import state
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
print([each["State"] for each in state.actor_table(None).values() if each["State"] != "DEAD"]
      + [each["state"] for each in ray.util.placement_group_table().values() if each["state"] != "REMOVED"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, address],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = done.stdout.splitlines()[-1]
    return [] if found == "[]" else [found]
