"""Facts about a file on any storage."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Status:
    size: int
    modified_ns: int  # On the clock of the storage, since 1970.
    is_directory: bool = False
    identity: int = 0  # Differs between two files of one name on this machine; 0 on remote storage.
    changed_ns: int = 0  # Unlike ``modified_ns``, programs cannot set it; 0 on remote storage.
