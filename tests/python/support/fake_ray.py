"""A Ray that answers what the test says, for the supervisors in its actors."""

from __future__ import annotations

from typing import Any

import pytest

from tfdistribute.launch.schedulers import client
from tfdistribute.launch.schedulers.ray import scheduler


class FakeRay:
    """Answers of Ray by the method that is called; an error is raised, and a function called."""

    def __init__(self, **answers: Any) -> None:
        started = (None, "head:6379")
        self.answers: dict[str, Any] = {"start_supervisor": started, "send_signal": True, **answers}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    @classmethod
    def installed(cls, monkeypatch: pytest.MonkeyPatch) -> FakeRay:
        made = cls()
        monkeypatch.setattr(scheduler, "_call", made)
        monkeypatch.setattr(client, "_answers", {})
        monkeypatch.setattr(client, "_FRESH_S", 0.0)
        monkeypatch.setattr(client, "_VISIBLE_S", 1.0)
        return made

    def __call__(self, _: Any, __: int, method: str, **arguments: Any) -> Any:
        self.asked.append((method, arguments))
        answer = self.answers[method]
        if isinstance(answer, Exception):
            raise answer
        return answer(**arguments) if callable(answer) else answer
