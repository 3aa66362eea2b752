"""Checks of hosts before tasks are started there. All hosts are asked at the same time."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tfdistribute import __version__, gpus, versions
from tfdistribute.errors import ClusterError
from tfdistribute.launch.places.questions import Probe
from tfdistribute.launch.places.remote import RemotePlace
from tfdistribute.launch.places.transport import SPACE_REMEDY
from tfdistribute.rules import Finding

# How long a file in model_dir may take to be seen by all hosts, and R to start.
_SHARED_S = 5.0
_VERSIONS_S = 75.0
_MAX_CLOCK_S = 60.0


@dataclass(frozen=True)
class Needs:
    """What a job needs of its hosts.

    Args:
        model_dir: Directory that this machine and all hosts share; None if it is remote or unknown.
        rscript: Rscript on the hosts; None if the tasks are not R.
        tensorflow: Version of TensorFlow that they must have; None for any.
        host_addresses: Addresses by host; those of others are found.
        takes_addresses: Whether the user can give them.
        bytes: Size of the files that are sent to each host.
    """

    model_dir: str | None = None
    input_files: tuple[str, ...] = ()
    rscript: str | None = None
    python: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    tensorflow: str | None = None
    host_addresses: Mapping[str, str] = field(default_factory=dict[str, str])
    takes_addresses: bool = True
    bytes: int = 0
    devices: Mapping[str, int] = field(default_factory=dict[str, int])


def check_hosts(hosts: Sequence[RemotePlace], needs: Needs) -> list[Finding]:
    """List everything that is wrong with connected hosts, and learn their facts and addresses."""
    found: list[Finding] = []
    with _file_in(needs.model_dir) as shared, contextlib.ExitStack() as stack:
        checks = [_Check(host, needs, shared, found) for host in hosts]
        for check in checks:
            stack.callback(check.end)
        for check in checks:
            check.take_answers()
        _find_addresses([check for check in checks if check.port is not None], needs, found)
    boots = {str(host.facts.get("boot")) + str(host.facts.get("addresses")): host for host in hosts}
    for host in hosts:
        same = boots[str(host.facts.get("boot")) + str(host.facts.get("addresses"))]
        if same is not host and host.facts:
            text = f"{host.host} and {same.host} are the same machine: their tasks share its cores and GPUs."
            found.append(Finding("hosts", text, host.transport.when_twice, "warning"))
    return found


class _Check:
    """The questions to one host, and its answers."""

    def __init__(
        self, host: RemotePlace, needs: Needs, shared: str | None, found: list[Finding]
    ) -> None:
        self.host, self.needs, self.found = host, needs, found
        self.word = secrets.token_hex(8)
        self.port: int | None = None
        questions: dict[str, tuple[Any, ...]] = {
            "facts": (),
            "listen": (self.word,),
            "paths": (list(needs.input_files),),
            "gpus": (needs.python, Path(gpus.__file__).read_text(encoding="utf-8")),
        }
        if shared is not None:
            questions["shared"] = (shared, _SHARED_S)
        if needs.rscript is not None:
            questions["versions"] = (
                needs.rscript,
                needs.python or "python3",
                list(versions.TENSORFLOWS),
            )
        self.probes: dict[str, Probe] = {}
        for question, arguments in questions.items():
            with self.problems_found():
                self.probes[question] = host.begin_probe(
                    question, *arguments, environment=needs.environment
                )

    @contextlib.contextmanager
    def problems_found(self) -> Generator[None]:
        """Make an error a finding, once."""
        try:
            yield
        except ClusterError as error:
            finding = Finding(error.argument or "hosts", error.problem, error.remedy or "")
            if finding not in self.found:
                self.found.append(finding)

    def end(self) -> None:
        for probe in self.probes.values():
            probe.end()

    def take_answers(self) -> None:
        """Wait for the answers, except that of ``reach``."""
        takes: dict[str, Callable[[Any], None]] = {
            "facts": self._take_facts,
            "listen": self._take_port,
            "paths": self._take_paths,
            "shared": self._take_shared,
            "versions": self._take_versions,
            "gpus": self._take_gpus,
        }
        for question, probe in self.probes.items():
            with self.problems_found():
                takes[question](probe.answer(_VERSIONS_S))

    def say(self, field: str, message: str, fix: str, severity: str = "error") -> None:
        self.found.append(Finding(field, f"{self.host.host} {message}", fix, severity))

    def _take_facts(self, facts: dict[str, Any]) -> None:
        self.host.facts = facts
        ahead = self.host.clock_ahead_s
        if abs(ahead) > _MAX_CLOCK_S:
            way = "ahead of" if ahead > 0 else "behind"
            text = f"has a clock that is {abs(ahead):.0f} s {way} this machine's."
            self.say("hosts", text, "Let the hosts set their clocks by NTP.", "warning")
        free, needed = facts["free_bytes"], self.needs.bytes
        if free < 2 * needed:
            text = f"has {free >> 20} MB free in {facts['temporary']}, and the job's data has {needed >> 20} MB."
            self.say("hosts", text, SPACE_REMEDY)
        wanted, visible = (
            self.needs.devices.get(self.host.host, 0),
            self.host.gpus(self.needs.environment),
        )
        if visible and wanted > len(visible):
            text = f"has {len(visible)} GPUs for tasks that want {wanted}: they share them."
            self.say("devices_per_worker", text, "Use fewer tasks there.", "warning")

    def _take_gpus(self, report: dict[str, Any] | None) -> None:
        if report is None:
            return
        if report["gpus"]:
            listed = ", ".join(gpus.described(each) for each in report["gpus"])
            self.say("hosts", f"has these GPUs: {listed}.", "", "note")
        for each in report["problems"]:
            text = f"cannot train on its GPUs: {each['problem']}"
            self.say("hosts", text, each["fix"], "warning")

    def _take_port(self, port: int) -> None:
        self.port = port

    def _take_paths(self, readable: list[bool]) -> None:
        missing = [
            path
            for path, is_readable in zip(self.needs.input_files, readable, strict=True)
            if not is_readable
        ]
        if missing:
            more = f" and {len(missing) - 1} more input files" if len(missing) > 1 else ""
            fix = "Put the input files where all hosts find them under the same path."
            self.say("hosts", f'cannot read "{missing[0]}"{more}.', fix)

    def _take_shared(self, is_shared: bool) -> None:
        if not is_shared:
            self.say(
                "model_dir",
                f'does not see what this machine wrote into `model_dir` "{self.needs.model_dir}", or may not write '
                "there.",
                "Use a directory that this machine and all hosts share under one path.",
            )

    def _take_versions(self, found: dict[str, str]) -> None:
        for name in ("rscript", "python"):
            if name in found:
                self.say(
                    name,
                    f"cannot run the tasks: {found[name]}.",
                    f"Give the path on the hosts as `{name}`.",
                )
        wanted = {"tfdistribute": __version__, "TensorFlow": self.needs.tensorflow}
        fixes = {
            "tfdistribute": "Install the same version in R's library on the host, or name its library as `libraries`.",
            "TensorFlow": "Install the same version on the host, or name another `python`.",
        }
        for package, version in wanted.items():
            if version is not None and found.get(package, version) != version:
                text = f"has {package} {found[package]}, and this machine {version}."
                self.say(
                    "hosts",
                    text.replace("has tfdistribute none", "does not have tfdistribute"),
                    fixes[package],
                )


def _find_addresses(checks: Sequence[_Check], needs: Needs, found: list[Finding]) -> None:
    candidates = {
        check: [given]
        if (given := needs.host_addresses.get(check.host.host))
        else check.host.facts.get("addresses", [])
        for check in checks
    }
    if len(checks) == 1:
        # No other host reaches it.
        checks[0].host.address = needs.host_addresses.get(checks[0].host.host, "127.0.0.1")
        return
    targets = [(check, address) for check in checks for address in candidates[check]]
    reached: dict[tuple[_Check, _Check], list[str]] = {}
    probes = {
        check: check.host.begin_probe(
            "reach", [[address, other.port, other.word] for other, address in targets]
        )
        for check in checks
    }
    for check, probe in probes.items():
        for (other, address), is_reached in zip(targets, probe.answer(), strict=True):
            reached.setdefault((check, other), []).extend([address] if is_reached else [])
    for check in checks:
        by_all = [
            address
            for address in candidates[check]
            if all(address in reached[other, check] for other in checks if other is not check)
        ]
        if by_all:
            check.host.address = by_all[0]
            continue
        who = [each.host.host for each in checks if each is not check and not reached[each, check]]
        tried = ", ".join(candidates[check]) or "none is known"
        found.append(
            Finding(
                "host_addresses",
                f"{' and '.join(who) or 'No single address'} cannot reach {check.host.host} (its addresses: {tried}).",
                "Let the hosts connect to each other's ports (firewall)"
                + (", or give `host_addresses`." if needs.takes_addresses else "."),
            )
        )


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
