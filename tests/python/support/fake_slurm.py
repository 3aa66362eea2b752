"""Programs that answer as those of Slurm do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tfdistribute.launch.schedulers import client


class FakeSlurm:
    """Programs that print what the test says, and note their arguments."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.says("sbatch", "7;cluster")
        self.says("squeue", "PENDING|Resources|")
        self.says("scancel")
        self.says("scontrol")

    @classmethod
    def on_path(
        cls, directory: Path, monkeypatch: pytest.MonkeyPatch, **queued_s: float
    ) -> FakeSlurm:
        """Put the programs first on the PATH. Nothing that Slurm said before is known, and times are short."""
        programs = directory / "bin"
        programs.mkdir()
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setattr(client, "_answers", {})
        for name, seconds in queued_s.items():
            monkeypatch.setattr(client, name, seconds)
        return cls(programs)

    def says(
        self, program: str, text: str = "", error: str = "", code: int = 0, refuses_test: str = ""
    ) -> None:
        path = self.directory / program
        script = f"""#!/bin/sh
echo "$@" >> '{path}.asked'
[ {program} = sbatch ] && cat > '{path}.input'
# The comments of all jobs: that of the last one.
case "$*" in *--format=%k) exec sed -n 's/^#SBATCH --comment=//p' '{self.directory}/sbatch.input' 2> /dev/null;; esac
case "{refuses_test} $*" in *?" --test-only") echo 'sbatch: error: {refuses_test}' >&2; exit 1;; esac
printf '%s\\n' '{text}'
printf '%s' '{error}' >&2
exit {code}
"""
        path.write_text(script)
        path.chmod(0o755)

    def asked(self, program: str) -> list[str]:
        path = self.directory / f"{program}.asked"
        return path.read_text().splitlines() if path.exists() else []
