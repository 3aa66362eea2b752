"""``tools/setup`` on machines with other Pythons, without root, behind a proxy, with a full disk, and after Ctrl-C.

The machine is a folder of programs: those of this one, and stand-ins for Python, apt, sudo and others.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# This Python under another version, with a pip that only notes its calls.
_PYTHON = """#!/bin/sh
case "$1 $2" in
  "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  "-m pip") echo "pip by 3.{minor} with proxy $https_proxy" >>"$NOTES"; eval "$PIP" ;;
  "-m compileall" | "-c from tfdistribute"*) ;;
  *) exec {python} -c "import sys, types
sys.version_info, sys.modules['pip'] = (3, {minor}, 1, 'final', 0), types.ModuleType('pip')
import sysconfig
sysconfig.get_config_var = dict(Py_ENABLE_SHARED=1).get
$2" ;;
esac
"""
# Forgets the environment, as sudo does, apart from what it is told to keep.
_SUDO = """#!/bin/sh
echo "sudo $*" >>"$NOTES"
case "$1" in -n | -v) exit ;; --preserve-env=*) ;; *) exit 1 ;; esac
kept="$(for name in $(echo "${1#*=}" | tr , ' '); do eval "echo $name=\\$$name"; done)"
shift
exec env -i PATH="$PATH" NOTES="$NOTES" $kept "$@"
"""
_APT = '#!/bin/sh\necho "apt with proxy $https_proxy: $*" >>"$NOTES"\n'
_DPKG_QUERY = """#!/bin/sh
for package; do :; done
case " $MISSING " in *" $package "*) ;; *) printf installed ;; esac
"""
_APT_CACHE = """#!/bin/sh
shift
for package; do
  case " $UNKNOWN " in *" $package "*) ;; *) echo "Package: $package" ;; esac
done
"""
_DF = """#!/bin/sh
echo "Filesystem 1048576-blocks Used Available Capacity Mounted"
echo "/dev/disk 9999 0 $FREE_MB 0% /the/disk"
"""


class Machine:
    """A copy of what ``tools/setup`` reads, and the programs that it finds."""

    def __init__(self, directory: Path, programs: Path) -> None:
        self.project = directory / "project"
        self.notes_file = directory / "notes"
        self.notes_file.touch()
        self._own = directory / "programs"
        self._own.mkdir()
        shutil.copytree(ROOT / "tools", self.project / "tools")
        shutil.copy(ROOT / "DESCRIPTION", self.project)
        self.add("apt-get", _APT)
        self.add("apt-cache", _APT_CACHE)
        self.add("dpkg", _APT)
        self.add("dpkg-query", _DPKG_QUERY)
        self.add("df", _DF)
        self.variables = {
            "PATH": f"{self._own}:{programs}",
            "HOME": str(directory),
            "NOTES": str(self.notes_file),
            "FREE_MB": "9000",
        }
        self.become(0)

    def add(self, name: str, text: str) -> None:
        path = self._own / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def add_python(self, minor: int) -> None:
        self.add("python3", _PYTHON.format(minor=minor, python=sys.executable))

    def become(self, user: int) -> None:
        self.add("id", f"#!/bin/sh\necho {user}\n")

    @property
    def notes(self) -> str:
        return self.notes_file.read_text(encoding="utf-8")

    @property
    def environment(self) -> Path:
        return self.project / ".environment" / "python"

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", str(self.project / "tools" / "setup"), *arguments],
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def set_up(self, *arguments: str) -> tuple[int, str]:
        """Run ``tools/setup``; return its status and its output."""
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=60)
        return process.returncode, output


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This machine's programs, but none of those that have stand-ins."""
    directory = tmp_path_factory.mktemp("programs")
    without = ("python", "apt", "dpkg", "sudo", "pip")
    for program in Path("/usr/bin").iterdir():
        if not program.name.startswith(without):
            (directory / program.name).symlink_to(program)
    return directory


@pytest.fixture
def machine(tmp_path: Path, programs: Path) -> Machine:
    machine = Machine(tmp_path, programs)
    machine.add_python(11)
    return machine


@pytest.mark.parametrize("minor", [10, 11, 12, 13])
def test_whichever_supported_python_is_there_is_used(machine: Machine, minor: int) -> None:
    machine.add_python(minor)
    assert machine.set_up()[0] == 0
    assert f"pip by 3.{minor}" in machine.notes


@pytest.mark.parametrize("minor", [9, 14])
def test_a_python_that_is_not_supported_is_not_used(machine: Machine, minor: int) -> None:
    machine.add_python(minor)
    status, output = machine.set_up()
    assert status == 1
    assert "No Python 3.10 to 3.13" in output
    assert not machine.environment.exists()


def test_a_second_run_does_nothing(machine: Machine) -> None:
    machine.set_up()
    notes = machine.notes
    assert machine.set_up() == (0, "")
    assert machine.notes == notes


def test_without_root_an_administrator_gets_the_line_to_run(machine: Machine) -> None:
    machine.become(1000)
    machine.variables["MISSING"] = "munge pandoc"
    status, output = machine.set_up()
    assert status == 1
    assert "Ask an administrator" in output
    assert output.endswith("apt-get install -y --no-install-recommends munge pandoc\n")
    assert not machine.environment.exists()


def test_root_is_not_needed_where_the_packages_are_there(machine: Machine) -> None:
    machine.become(1000)
    assert machine.set_up()[0] == 0
    assert machine.environment.exists()


def test_apt_and_pip_use_the_proxy_also_by_sudo(machine: Machine) -> None:
    machine.become(1000)
    machine.add("sudo", _SUDO)
    machine.variables |= {"MISSING": "munge", "https_proxy": "http://proxy.example:3128"}
    assert machine.set_up()[0] == 0
    assert "apt with proxy http://proxy.example:3128: install" in machine.notes
    assert "pip by 3.11 with proxy http://proxy.example:3128" in machine.notes


def test_packages_that_the_system_does_not_have_are_named_and_left_out(machine: Machine) -> None:
    machine.variables |= {"MISSING": "munge pandoc", "UNKNOWN": "pandoc"}
    status, output = machine.set_up()
    assert status == 0
    assert "this system has no package pandoc" in output
    assert machine.notes.splitlines()[2].endswith("-o Acquire::Retries=3 munge")


def test_a_demo_needs_no_packages_of_tests_and_the_rest_is_added_later(machine: Machine) -> None:
    shutil.copytree(ROOT / "inst" / "tested-packages", machine.project / "inst" / "tested-packages")
    (machine.project / "NAMESPACE").touch()
    machine.add("R", '#!/bin/sh\nmkdir -p "${3#--library=}/tfdistribute/python"\n')
    machine.variables["MISSING"] = "r-cran-ggplot2 chromium-headless-shell"
    machine.variables["PIP"] = 'for each; do :; done; echo "list $each" >>"$NOTES"'
    assert machine.set_up("demo")[0] == 0
    assert "install" in machine.notes
    assert "r-cran-ggplot2" in machine.notes
    assert "chromium" not in machine.notes
    assert "list inst/tested-packages/2.21.txt" in machine.notes
    assert machine.set_up("demo")[0] == 0
    assert machine.set_up()[0] == 0
    assert machine.notes.splitlines()[-1] == "list tools/python-packages.txt"
    assert "chromium-headless-shell" in machine.notes
    notes = machine.notes
    assert machine.set_up("demo") == (0, "")
    assert machine.notes == notes


def test_too_little_space_is_found_before_anything_is_made(machine: Machine) -> None:
    machine.variables["FREE_MB"] = "700"
    status, output = machine.set_up()
    assert status == 1
    assert "needs 2500 MB, and /the/disk" in output
    assert not machine.environment.exists()


def test_a_disk_that_becomes_full_is_named(machine: Machine) -> None:
    # The disk is full when it is looked at for the second time.
    machine.add("df", _DF.replace("$FREE_MB", '$(cat "$NOTES.free" 2>/dev/null || echo 9000)'))
    machine.variables["PIP"] = 'echo 3 >"$NOTES.free"; echo "No space left on device"; exit 1'
    status, output = machine.set_up()
    assert status == 1
    assert "A disk is full: /the/disk (3 MB free)." in output


def test_an_interrupted_setup_leaves_no_process_and_the_next_one_begins_anew(
    machine: Machine,
) -> None:
    machine.variables["PIP"] = 'echo $$ >"$NOTES.pid"; exec sleep 60'
    process = machine.start()
    pid_file = Path(f"{machine.notes_file}.pid")
    deadline = time.monotonic() + 30
    while not (pid_file.exists() and pid_file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    half_made = machine.environment / "half-made"
    half_made.touch()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 143
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
    machine.variables["PIP"] = ""
    assert machine.set_up()[0] == 0
    assert not half_made.exists()


def test_a_tensorflow_that_the_python_cannot_run_is_named(machine: Machine) -> None:
    assert machine.set_up("fits", "2.15") == (0, "")
    machine.add_python(13)
    status, output = machine.set_up("fits", "2.15")
    assert status == 1
    assert "TensorFlow 2.15 needs Python 3.10 to 3.11, and " in output
    assert "is 3.13" in output
    status, output = machine.set_up("tensorflow", "2.18")
    assert status == 1
    assert "TensorFlow 2.18 needs Python 3.10 to 3.12" in output
