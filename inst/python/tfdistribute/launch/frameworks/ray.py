"""Ray: actors in a placement group, which Ray restarts when they or their nodes are lost."""

import contextlib
import importlib
import re
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tfdistribute.errors import ClusterError
from tfdistribute.launch.frameworks.framework import OPTIONS, Framework

_ANSWER_S = 5.0
# Ray's own clients wait for a minute before they give up a head node.
_GONE_S = 5.0
_END_S = 3.0
_CLIENT = "ray://"
_VERSIONS = re.compile(r"Ray: (\S+)\s+Python: (\S+)")


class Member:
    def stay(self, options: Sequence[str], text: str) -> int:
        return subprocess.run(
            [sys.executable, *options], input=text.encode(), check=False
        ).returncode


class RayFramework(Framework):
    def __init__(self, fields: Mapping[str, Any], members: int) -> None:
        super().__init__(fields, members)
        self._address = str(fields["address"])
        self._head: tuple[str, int] | None = None
        self._ray: Any = None
        self._group: Any = None
        self._actors: list[Any] = []
        self._staying: list[Any] = []
        self._answered_at, self._is_silent = time.monotonic(), False

    def connect(self) -> str:
        ray = self._import()
        own = ""
        if self._address != "auto":
            host, _, port = self._address.removeprefix(_CLIENT).rpartition(":")
            self._head = (host.strip("[]"), int(port))
            own = self._reach()
        try:
            # Other programs on the cluster keep their own settings.
            found = ray.init(
                address=self._address,
                log_to_driver=False,
                logging_level="ERROR",
                configure_logging=False,
            )
        except Exception as error:
            raise self._explain(str(error)) from error
        self._ray = ray
        if not self._address.startswith(_CLIENT):
            host, _, port = str(found.address_info["gcs_address"]).rpartition(":")
            self._head = (host, int(port))
            own = str(found.address_info["node_ip_address"])
        self._check_resources([each["Resources"] for each in ray.nodes() if each["Alive"]])
        return own

    def _import(self) -> Any:
        try:
            return importlib.import_module("ray")
        except ImportError as error:
            raise self._error(
                f'The Python of this session, "{sys.executable}", does not have the package ray, which `ray_cluster()` '
                "needs.",
                'Install the version of the Ray cluster there, such as pip install "ray==2.49.0".',
            ) from error

    def _error(self, problem: str, remedy: str) -> ClusterError:
        return ClusterError(problem, remedy, argument="address", value=self._address)

    def _reach(self) -> str:
        # Returns the address of this machine from which the head node is reached.
        assert self._head is not None
        try:
            with socket.create_connection(self._head, _ANSWER_S) as connection:
                self._answered_at, self._is_silent = time.monotonic(), False
                return str(connection.getsockname()[0])
        except OSError as error:
            raise self._error(
                f'No Ray cluster answers at "{self._address}": {error.strerror or error}.',
                'Check the address with "ray status" on the head node, and the firewall.',
            ) from error

    def _explain(self, said: str) -> ClusterError:
        versions = _VERSIONS.findall(said)
        if len(versions) == 2:
            (theirs, their_python), (ours, our_python) = versions
            return self._error(
                f'The Ray cluster at "{self._address}" has Ray {theirs} with Python {their_python}, and this session '
                f"has Ray {ours} with Python {our_python}.",
                "Use a Python with the same versions in this session.",
            )
        first = next(iter(said.strip().splitlines()), "no reason is given")
        return self._error(
            f'Ray cannot be used at "{self._address}": {first.rstrip(".")}.',
            'Run this session on a node of the cluster, or use "ray://host:10001".',
        )

    @property
    def _bundle(self) -> dict[str, float]:
        bundle = {"CPU": float(self.fields["cpus_per_worker"])}
        if self.fields["gpus_per_worker"]:
            bundle["GPU"] = float(self.fields["gpus_per_worker"])
        return bundle

    def _check_resources(self, nodes: list[dict[str, float]]) -> None:
        if fits(self._bundle, self.members, nodes, self.fields["placement"]) or self._may_grow():
            return
        has = "; ".join(_show(each) for each in nodes)
        raise ClusterError(
            f"The Ray cluster can never start {self.members} actors with {_show(self._bundle)} each and the placement "
            f'"{self.fields["placement"]}": its nodes have {has}.',
            "Use fewer workers, a smaller `cpus_per_worker` or `gpus_per_worker`, or another `placement`.",
            argument="workers",
            value=str(self.members),
        )

    def _may_grow(self) -> bool:
        # The head node has the configuration of an autoscaler, which may add nodes.
        with contextlib.suppress(Exception):
            state = importlib.import_module("ray._private.state").state
            return state.get_cluster_config() is not None
        return False

    def start(self, texts: list[str]) -> None:
        ray, bundle = self._ray, self._bundle
        groups = importlib.import_module("ray.util.placement_group")
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        # The nodes have no module of this package.
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        self._group = groups.placement_group(
            [bundle] * self.members, strategy=self.fields["placement"].upper()
        )
        actor = ray.remote(
            num_cpus=bundle["CPU"],
            num_gpus=bundle.get("GPU", 0),
            max_restarts=-1,
            max_task_retries=-1,
        )(Member)
        for index in range(self.members):
            where = strategies.PlacementGroupSchedulingStrategy(
                self._group, placement_group_bundle_index=index
            )
            self._actors.append(actor.options(scheduling_strategy=where).remote())
        self._staying = [
            each.stay.remote(OPTIONS, text) for each, text in zip(self._actors, texts, strict=True)
        ]

    def watch(self) -> str | None:
        try:
            self._reach()
        except ClusterError:
            self._is_silent = True
            if time.monotonic() - self._answered_at > _GONE_S:
                self._ray = None
                raise
            return None
        for each in self._ray.wait(self._staying, num_returns=self.members, timeout=0)[0]:
            try:
                self._ray.get(each)
            except Exception as error:
                first = str(error).strip().splitlines()[0]
                raise self._error(
                    f"Ray does not start the actors again: {first.rstrip('.')}.",
                    'See "ray status" and the logs of Ray.',
                ) from error
        if self._group.wait(0):
            return None
        free = _show(self._ray.available_resources())
        return f"Ray has no room yet for {self.members} actors with {_show(self._bundle)} each: {free} are free"

    def leaving(self) -> list[int]:
        if self._is_silent:
            # Ray's client would wait for it.
            return []
        # Old versions of Ray and its clients do not report it.
        with contextlib.suppress(Exception):
            draining = importlib.import_module("ray._private.state").state.get_draining_nodes()
            if not draining:
                return []
            groups = importlib.import_module("ray.util.placement_group")
            nodes = groups.placement_group_table(self._group)["bundles_to_node_id"]
            return [index for index in range(self.members) if nodes[index] in draining]
        return []

    def end(self) -> None:
        if self._ray is None:
            return
        with contextlib.suppress(Exception):
            # Nobody listens to them any more.
            self._ray.wait(self._staying, num_returns=len(self._staying), timeout=_END_S)
            for actor in self._actors:
                self._ray.kill(actor)
            importlib.import_module("ray.util.placement_group").remove_placement_group(self._group)
        self._ray.shutdown()


def fits(
    bundle: Mapping[str, float], count: int, nodes: Sequence[Mapping[str, float]], placement: str
) -> bool:
    room = [
        int(min(node.get(name, 0) // amount for name, amount in bundle.items())) for node in nodes
    ]
    if placement == "strict_pack":
        return max(room, default=0) >= count
    if placement == "strict_spread":
        return sum(each > 0 for each in room) >= count
    return sum(room) >= count


def _show(resources: Mapping[str, float]) -> str:
    shown = [f"{resources.get(name, 0):g} {name}" for name in ("CPU", "GPU") if name in resources]
    return " and ".join(shown) or "no CPU"
