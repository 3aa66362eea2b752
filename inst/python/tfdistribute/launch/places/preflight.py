"""Checks of all hosts at the same time before tasks are started there."""

import contextlib
import functools
import os
import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfdistribute import __version__, gpus, versions
from tfdistribute.errors import ClusterError
from tfdistribute.launch.places.remote import RemotePlace
from tfdistribute.launch.places.transport import SPACE_REMEDY, version_problem
from tfdistribute.rules import Finding

# How long a file in model_dir may take to be seen by all hosts, and R to start.
_SHARED_S = 5.0
_VERSIONS_S = 75.0
_MAX_CLOCK_S = 60.0

# R starts fast without packages; the version is read from the file DESCRIPTION.
_R_CODE = (
    'cat("\\n", tryCatch(as.character(utils::packageVersion("tfdistribute")), error = function(e) "none"), "\\n", '
    'sep = "")'
)
_PYTHON_CODE = """
import sys
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
print()
print(next((found for each in sys.argv[1:] if (found := version(each))), "none"))
"""


@dataclass(frozen=True)
class Needs:
    """Requirements of a job for its hosts.

    Args:
        model_dir: Directory that this machine and all hosts share; None if it is remote or unknown.
        tensorflow: Version that the hosts must have; None for any.
        bytes: Size of the files that are sent to each host.
    """

    model_dir: str | None = None
    input_files: tuple[str, ...] = ()
    tensorflow: str | None = None
    host_addresses: Mapping[str, str] = field(default_factory=dict[str, str])
    bytes: int = 0
    devices: Mapping[str, int] = field(default_factory=dict[str, int])


def check_hosts(hosts: Sequence[RemotePlace], needs: Needs) -> list[Finding]:
    """List everything that is wrong with connected hosts, and learn their facts and addresses."""
    findings: list[Finding] = []
    with _file_in(needs.model_dir) as shared:
        checks = [_Check(host, needs, findings) for host in hosts]
        for check in checks:
            check.ask_more(shared)
        _conclude(checks, needs, findings)
    boots = {str(host.facts.get("boot")) + str(host.facts.get("addresses")): host for host in hosts}
    for host in hosts:
        same = boots[str(host.facts.get("boot")) + str(host.facts.get("addresses"))]
        if same is not host and host.facts and host.transport.when_twice:
            text = f"{host.host} and {same.host} are the same machine: their tasks share its cores and GPUs."
            findings.append(Finding("hosts", text, host.transport.when_twice, "warning"))
    return findings


def check_addresses(hosts: Sequence[RemotePlace], needs: Needs) -> list[Finding]:
    """Learn the facts and addresses of checked hosts again, and list what is wrong with them."""
    findings: list[Finding] = []
    _conclude([_Check(host, needs, findings) for host in hosts], needs, findings)
    return findings


def _conclude(checks: "Sequence[_Check]", needs: Needs, findings: list[Finding]) -> None:
    try:
        for check in checks:
            check.take_answers()
        listening = [check for check in checks if check.port is not None]
        _find_addresses(listening, needs, findings)
    finally:
        for check in checks:
            check.end()


def as_finding(error: ClusterError) -> Finding:
    return Finding(error.argument or "hosts", error.problem, error.remedy or "")


class _Check:
    def __init__(self, host: RemotePlace, needs: Needs, findings: list[Finding]) -> None:
        self.host, self.needs, self.findings = host, needs, findings
        self.word = secrets.token_hex(8)
        self.port: int | None = None
        self.callbacks: dict[int, Callable[[Any], None]] = {}
        self._ask(self._take_facts, "facts")
        self._ask(self._take_port, "listen", self.word)

    def ask_more(self, shared: str | None) -> None:
        """Ask for what does not change while a job runs."""
        needs = self.needs
        self._ask(self._take_paths, "paths", needs.input_files)
        if shared is not None:
            self._ask(self._take_shared, "shared", shared, _SHARED_S)
        rscript, python = self.host.transport.rscript, self.host.transport.python
        self._ask(self._take_gpus, "gpus", python)
        if rscript is not None:
            take = functools.partial(self._take_version, "rscript", "tfdistribute", __version__)
            self._ask(take, "output", rscript, "--vanilla", "-e", _R_CODE)
            take = functools.partial(self._take_version, "python", "TensorFlow", needs.tensorflow)
            self._ask(take, "output", python, "-c", _PYTHON_CODE, *versions.TENSORFLOWS)

    def _ask(self, take: Callable[[Any], None], question: str, *arguments: Any) -> None:
        self.callbacks[self.host.ask(question, *arguments)] = take

    def end(self) -> None:
        for number in self.callbacks:
            self.host.send("end", number)

    def take_answers(self) -> None:
        # A missing answer is a finding, once.
        for number, take in self.callbacks.items():
            try:
                take(self.host.answer(number, _VERSIONS_S))
            except ClusterError as error:
                if as_finding(error) not in self.findings:
                    self.findings.append(as_finding(error))

    def _say(self, field: str, message: str, fix: str, severity: str = "error") -> None:
        self.findings.append(Finding(field, f"{self.host.host} {message}", fix, severity))

    def _take_facts(self, facts: dict[str, Any]) -> None:
        self.host.facts = facts
        ahead = self.host.clock_ahead_s
        if abs(ahead) > _MAX_CLOCK_S:
            way = "ahead of" if ahead > 0 else "behind"
            text = f"has a clock that is {abs(ahead):.0f} s {way} this machine's."
            self._say("hosts", text, "Let the hosts set their clocks by NTP.", "warning")
        free, needed = facts["free_bytes"], self.needs.bytes
        if free < 2 * needed:
            text = f"has {free >> 20} MB free in {facts['temporary']}, and the job's data has {needed >> 20} MB."
            self._say("hosts", text, SPACE_REMEDY)
        wanted = self.needs.devices.get(self.host.host, 0)
        visible = self.host.gpus(self.host.transport.environment)
        if visible and wanted > len(visible):
            text = f"has {len(visible)} GPUs for tasks that want {wanted}: they share them."
            self._say("devices_per_worker", text, "Use fewer tasks there.", "warning")

    def _take_gpus(self, report: dict[str, Any]) -> None:
        if report["gpus"]:
            names = ", ".join(gpus.described(each) for each in report["gpus"])
            self._say("hosts", f"has these GPUs: {names}.", "", "note")
        for each in report["problems"]:
            text = f"cannot train on its GPUs: {each['problem']}"
            self._say("hosts", text, each["fix"], "warning")

    def _take_port(self, port: int) -> None:
        self.port = port

    def _take_paths(self, readable: list[bool]) -> None:
        files = zip(self.needs.input_files, readable, strict=True)
        missing = [path for path, is_readable in files if not is_readable]
        if missing:
            more = f" and {len(missing) - 1} more input files" if len(missing) > 1 else ""
            fix = "Put the input files where all hosts find them under the same path."
            self._say("hosts", f'cannot read "{missing[0]}"{more}.', fix)

    def _take_shared(self, is_shared: bool) -> None:
        if not is_shared:
            self._say(
                "model_dir",
                f'does not see what this machine wrote into `model_dir` "{self.needs.model_dir}", or may not write '
                "there.",
                "Use a directory that this machine and all hosts share under one path.",
            )

    def _take_version(
        self, program: str, package: str, wanted: str | None, answer: dict[str, str]
    ) -> None:
        if "problem" in answer:
            fix = f"Give the path on the hosts as `{program}`."
            self._say(program, f"cannot run the tasks: {answer['problem']}.", fix)
            return
        version = ["none", *answer["output"].split()][-1]
        if wanted not in (None, version):
            error = version_problem(self.host.host, package, version, str(wanted))
            self.findings.append(as_finding(error))


def _find_addresses(checks: Sequence[_Check], needs: Needs, findings: list[Finding]) -> None:
    host_addresses = needs.host_addresses
    if len(checks) == 1:
        # No other host reaches it.
        checks[0].host.address = host_addresses.get(checks[0].host.host, "127.0.0.1")
        return
    candidates = {
        check: [host_addresses[check.host.host]]
        if check.host.host in host_addresses
        else check.host.facts.get("addresses", [])
        for check in checks
    }
    targets = [(check, address) for check in checks for address in candidates[check]]
    words = [[address, other.port, other.word] for other, address in targets]
    numbers = {check: check.host.ask("reach", words) for check in checks}
    reached: dict[tuple[_Check, _Check], list[str]] = {}
    for check, number in numbers.items():
        for (other, address), is_reached in zip(targets, check.host.answer(number), strict=True):
            reached.setdefault((check, other), []).extend([address] if is_reached else [])
    for check in checks:
        others = [each for each in checks if each is not check]
        by_all = (
            address
            for address in candidates[check]
            if all(address in reached[other, check] for other in others)
        )
        check.host.address = next(by_all, "")
        if not check.host.address:
            who = [each.host.host for each in others if not reached[each, check]]
            tried = ", ".join(candidates[check]) or "none is known"
            subject, name = " and ".join(who) or "No single address", check.host.host
            text = f"{subject} cannot reach {name} (its addresses: {tried})."
            is_given = check.host.transport.argument == "hosts"
            more = ", or give `host_addresses`." if is_given else "."
            fix = f"Let the hosts connect to each other's ports (firewall){more}"
            findings.append(Finding("host_addresses", text, fix))


@contextlib.contextmanager
def _file_in(directory: str | None) -> Generator[str | None]:
    if directory is None:
        yield None
        return
    path = os.path.join(directory, f".shared-{secrets.token_hex(8)}")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
