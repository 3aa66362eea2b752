"""Fake servers of tasks, so that tasks agree and watch each other in one process, without TensorFlow's servers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from tfdistribute.cluster.member import Member
from tfdistribute.training.multi_worker import peers
from tfdistribute.training.multi_worker.peers import Peers


@dataclass
class FakeServers:
    """The servers of all tasks.

    Args:
        answer_s: How long a frozen server is waited for.
        frozen: Addresses that accept connections and do not answer.
        away: Addresses at which nothing listens.
    """

    answer_s: float = 0.0
    frozen: set[str] = field(default_factory=set)
    away: set[str] = field(default_factory=set)
    texts: dict[str, dict[str, str]] = field(default_factory=dict)

    def peers(self, member: Member, process: str | None = None) -> Peers:
        """Make the peers of a task, in its first training."""
        made = Peers(member, self.connect)
        made.training = 1
        made.process = process or str(member.task)
        return made

    def connect(self, target: str, timeout_s: float) -> _FakeStore:
        return _FakeStore(self, target.partition("://")[2])


@dataclass
class _FakeStore:
    servers: FakeServers
    address: str

    def write(self, texts: dict[str, str]) -> bool:
        if not self.answers():
            return False
        self.servers.texts.setdefault(self.address, {}).update(texts)
        return True

    def read(self, keys: Sequence[str]) -> list[str] | None:
        if not self.answers():
            return None
        texts = self.servers.texts.get(self.address, {})
        return [texts.get(key, "") for key in keys]

    def close(self) -> None:
        pass

    def answers(self) -> bool:
        if self.address in self.servers.frozen:
            time.sleep(self.servers.answer_s)
            return False
        return self.address not in self.servers.away


def fake_servers(monkeypatch: pytest.MonkeyPatch) -> FakeServers:
    servers = FakeServers()
    monkeypatch.setattr(peers, "is_listening", lambda address: address not in servers.away)
    monkeypatch.setattr(
        peers,
        "connection_error",
        lambda address: ConnectionRefusedError() if address in servers.away else None,
    )
    return servers
