"""The network between hosts, as the hosts measure it."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest
from support.hosts import Host, can_have_networks, several_hosts

from tfdistribute.launch.places.channel import CommandChannel
from tfdistribute.launch.places.preflight import Needs, check_hosts
from tfdistribute.launch.places.remote import RemotePlace
from tfdistribute.launch.places.transport import Transport

pytestmark = pytest.mark.jobs


def place_on(host: Host, together: list[RemotePlace]) -> RemotePlace:
    transport = Transport(
        lambda command: CommandChannel([*host.prefix, *command]), python=sys.executable
    )
    return RemotePlace(host.address, transport, "", together)


@pytest.mark.skipif(not can_have_networks(), reason="needs network namespaces")
def test_hosts_measure_the_rate_of_their_links() -> None:
    with several_hosts(2) as hosts, contextlib.ExitStack() as stack:
        for host in hosts:
            shaping = ("root", "tbf", "rate", "100mbit", "burst", "64kb", "latency", "50ms")
            command = [*host.prefix, "tc", "qdisc", "add", "dev", "eth0", *shaping]
            subprocess.run(command, check=True, timeout=20)
        together: list[RemotePlace] = []
        places = [place_on(host, together) for host in hosts]
        for place in places:
            stack.callback(place.close, 5)
            stack.callback(place.end)
            place.connect()
        assert places[0].wait(lambda: all(each.is_settled for each in places), 30)
        findings = check_hosts(places, Needs(measures_network=True))
        assert [each for each in findings if each.severity == "error"] == []
        for place in places:
            assert 0 < place.facts["round_trip_s"] < 0.05
            assert place.facts["bytes_per_s"] == pytest.approx(100e6 / 8, rel=0.2)
