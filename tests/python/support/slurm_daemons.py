"""A real Slurm with two nodes on this machine, for the time of a test run."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.cluster_job import free_ports

NODES = ("n1", "n2")
# How long a job may run on when Slurm has chosen its nodes for an urgent one.
GRACE_S = 90
_PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"

# Slurm keeps a job that it queued again from starting until credentials have expired: two minutes by default.
_CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool-%n
SlurmctldPidFile={home}/control.pid
SlurmdPidFile={home}/%n.pid
SlurmctldLogFile={home}/control.log
SlurmdLogFile={home}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MessageTimeout=5
JobRequeue=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=10
InactiveLimit=0
SlurmdTimeout={node_timeout_s}
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first_port} CPUs=4 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second_port} CPUs=4 State=UNKNOWN
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES:4 GraceTime={grace_s}
PartitionName=urgent Nodes=n1,n2 MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""


@dataclass
class Slurm:
    """A running Slurm.

    Args:
        home: Its directory.
        daemons: Its processes by name: "munge", "control", and the nodes.
    """

    home: Path
    daemons: dict[str, subprocess.Popen[bytes]]

    def run(self, *command: str) -> str:
        """Run one of Slurm's programs."""
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout.strip()

    def field(self, job: str, name: str) -> str:
        """A field of ``scontrol show job``."""
        shown = self.run("scontrol", "-o", "show", "job", job).split()
        return next(each.partition("=")[2] for each in shown if each.startswith(f"{name}="))

    def start_node(self, name: str) -> None:
        """Start the daemon of a node."""
        options = ["-D", "-N", name, "-f", str(self.home / "slurm.conf")]
        self.daemons[name] = _daemon(self.home / f"{name}.out", "slurmd", *options)

    def freeze_node(self, name: str) -> None:
        """Stop everything on a node without an end of any connection, as a power failure does."""
        for pid in self._processes_of(name):
            _signal(pid, signal.SIGSTOP)

    def kill_node(self, name: str) -> None:
        """Kill everything on a node."""
        self.freeze_node(name)
        for pid in self._processes_of(name):
            _signal(pid, signal.SIGKILL)
        self.daemons[name].wait()

    def end_jobs(self) -> None:
        """Cancel all jobs, and wait until nothing is left of them."""
        subprocess.run(["scancel", "--user=root"], check=False, timeout=30)
        _wait(lambda: not self.run("squeue", "--noheader"), self)

    def _processes_of(self, node: str) -> list[int]:
        """The daemon of a node, what runs there, and the daemons of these steps."""
        tasks = [pid for pid in _pids() if f"SLURMD_NODENAME={node}\0" in _text(pid, "environ")]
        parents = {int(_text(pid, "stat").rpartition(")")[2].split()[1]) for pid in tasks}
        steps = [pid for pid in parents if _text(pid, "comm").startswith("slurmstepd")]
        return [self.daemons[node].pid, *steps, *tasks]


def has_slurm() -> bool:
    return os.geteuid() == 0 and all(shutil.which(each, path=_PATH) for each in _PROGRAMS)


@contextlib.contextmanager
def real_slurm(home: Path, node_timeout_s: int = 60) -> Iterator[Slurm]:
    """Start Slurm's daemons, and wait until both nodes are idle. SLURM_CONF names its configuration meanwhile."""
    conf = _write_conf(home, node_timeout_s)
    slurm = Slurm(home, {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(conf))
        try:
            _start(slurm, conf)
            yield slurm
            slurm.end_jobs()
        finally:
            for process in slurm.daemons.values():
                _signal(process.pid, signal.SIGKILL)
                process.wait()


def _write_conf(home: Path, node_timeout_s: int) -> Path:
    for name in ("state", *(f"spool-{node}" for node in NODES)):
        (home / name).mkdir()
    ports = dict(zip(("control_port", "first_port", "second_port"), free_ports(3), strict=True))
    conf = home / "slurm.conf"
    host = socket.gethostname()
    known = {"home": home, "host": host, "node_timeout_s": node_timeout_s, "grace_s": GRACE_S}
    conf.write_text(_CONF.format(**known, **ports))
    if _version() >= (24, 5):
        # It would need the machine's cgroups, which a container may not have.
        (home / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
    (home / "munge.key").write_bytes(os.urandom(128))
    (home / "munge.key").chmod(0o600)
    return conf


def _version() -> tuple[int, ...]:
    slurmd = shutil.which("slurmd", path=_PATH) or "slurmd"
    said = subprocess.run((slurmd, "-V"), capture_output=True, text=True, check=True, timeout=30)
    return tuple(map(int, said.stdout.split()[1].split(".")[:2]))


def _start(slurm: Slurm, conf: Path) -> None:
    home = slurm.home
    files = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log"}
    munge = [f"--{name}={home}/munge.{end}" for name, end in files.items()]
    munge.append(f"--seed-file={home}/munge.seed")
    slurm.daemons["munge"] = _daemon(home / "munge.out", "munged", "-F", "--force", *munge)
    _wait(lambda: (home / "munge.socket").exists(), slurm)
    control = _daemon(home / "control.out", "slurmctld", "-D", "-i", "-f", str(conf))
    slurm.daemons["control"] = control
    for node in NODES:
        slurm.start_node(node)
    _wait(lambda: _idle_nodes() == len(NODES), slurm)


def _idle_nodes() -> int:
    command = ["sinfo", "-h", "-N", "-o", "%N %T"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    # One line for each partition.
    lines = {line for line in done.stdout.splitlines() if line.split()[1] == "idle"}
    return len(lines)


def _wait(is_true: object, slurm: Slurm) -> None:
    assert callable(is_true)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if is_true():
            return
        time.sleep(0.1)
    outputs = [each.read_text(errors="replace")[-2000:] for each in slurm.home.glob("*.out")]
    raise AssertionError("\n".join(outputs))


def _daemon(output: Path, program: str, *options: str) -> subprocess.Popen[bytes]:
    path = shutil.which(program, path=_PATH)
    assert path is not None
    with output.open("ab") as log:
        return subprocess.Popen(
            [path, *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def _text(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
    except OSError:
        return ") Z 0"


if __name__ == "__main__":
    # For the tests of R: ends with its standard input.
    with real_slurm(Path(sys.argv[1])):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.read()
