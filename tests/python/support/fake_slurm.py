"""Programs that answer as those of Slurm do."""

from __future__ import annotations

from pathlib import Path


class FakeSlurm:
    """Programs that print what the test says, and note their arguments."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.says("sbatch", "7;cluster")
        self.says("squeue", "PENDING|Resources|")
        self.says("scancel")
        self.says("scontrol")

    def says(self, program: str, text: str = "", error: str = "", code: int = 0) -> None:
        path = self.directory / program
        script = f"""#!/bin/sh
echo "$@" >> '{path}.asked'
[ {program} = sbatch ] && cat > '{path}.input'
# The comments of all jobs: that of the last one.
case "$*" in *--format=%k) exec sed -n 's/^#SBATCH --comment=//p' '{self.directory}/sbatch.input' 2> /dev/null;; esac
printf '%s\\n' '{text}'
printf '%s' '{error}' >&2
exit {code}
"""
        path.write_text(script)
        path.chmod(0o755)

    def asked(self, program: str) -> list[str]:
        path = self.directory / f"{program}.asked"
        return path.read_text().splitlines() if path.exists() else []
