"""Memory that is left for processes that only wait."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tfdistribute.launch.host import hardware


def written(root: Path, texts: Mapping[str, str]) -> Path:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def machine(available: int) -> dict[str, str]:
    return {"proc/meminfo": f"MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: {available} kB\n"}


def test_nothing_is_prepared_while_most_of_the_memory_is_in_use(tmp_path: Path):
    assert not hardware.has_spare_memory(written(tmp_path, machine(available=200)))
    assert hardware.has_spare_memory(written(tmp_path, machine(available=300)))
    assert hardware.has_spare_memory(tmp_path / "missing")


def test_memory_is_scarce_below_a_tenth(tmp_path: Path):
    assert hardware.is_memory_scarce(written(tmp_path, machine(available=90)))
    assert not hardware.is_memory_scarce(written(tmp_path, machine(available=110)))
    assert not hardware.is_memory_scarce(tmp_path / "missing")


@pytest.mark.parametrize(
    ("own", "limited", "limit", "used", "from_files"),
    [
        ("0::/", "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        ("0::/user/task", "sys/fs/cgroup/user", "memory.max", "memory.current", "inactive_file"),
        (
            "4:memory:/docker/1ec6",
            "sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ],
)
def test_the_limit_of_a_container_counts_too(
    tmp_path: Path, own: str, limited: str, limit: str, used: str, from_files: str
):
    group = f"{limited}/{limit}", f"{limited}/{used}", f"{limited}/memory.stat"
    root = written(tmp_path, machine(available=900) | {"proc/self/cgroup": f"1:cpu:/\n{own}\n"})
    written(root, dict(zip(group, ("1000\n", "900\n", f"anon 5\n{from_files} 100\n"), strict=True)))
    assert not hardware.has_spare_memory(root)
    written(root, {group[2]: f"anon 5\n{from_files} 300\n"})
    assert hardware.has_spare_memory(root)
    written(root, {group[0]: "max\n", group[2]: f"{from_files} 0\n"})
    assert hardware.has_spare_memory(root)
