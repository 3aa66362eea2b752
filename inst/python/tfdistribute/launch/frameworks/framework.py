"""Contract of frameworks, such as Ray."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Each member runs `python -I -S -c HOME` with the Python of the framework, and reads a text from its standard input.
HOME = Path(__file__).with_name("home.py").read_text(encoding="utf-8")
OPTIONS = ("-I", "-S", "-c", HOME)


class Framework(ABC):
    """Access to a framework in the process of ``driver``, given the fields of the cluster and the number of members.

    All methods raise ClusterError with the framework's own reason. After that, only ``end`` is called.
    """

    def __init__(self, fields: Mapping[str, Any], members: int) -> None:
        self.fields, self.members = fields, members

    @abstractmethod
    def connect(self) -> str:
        """Reach the framework, check that it can ever start the members, and return the address at which they call."""

    @abstractmethod
    def start(self, texts: list[str]) -> None:
        """Start the members as one gang, each with its text, without waiting for them."""

    @abstractmethod
    def watch(self) -> str | None:
        """Replace lost members every second, unless the framework does so; return why some do not run yet."""

    def leaving(self) -> list[int]:
        """Return the members whose nodes the framework is going to take away."""
        return []

    @abstractmethod
    def end(self) -> None:
        """End the members, which also end when nobody listens, and leave the framework."""
