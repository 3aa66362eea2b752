"""Connections of this process to another task."""

from __future__ import annotations

import os
import socket

from tfdistribute.cluster.peers import disconnect, is_listening


def test_only_the_connections_to_one_address_are_shut_down():
    ours, theirs = socket.socketpair()
    with (
        ours,
        theirs,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        port, other_port = server.getsockname()[1], other.getsockname()[1]
        with (
            socket.create_connection(("127.0.0.1", port), timeout=5) as lost,
            socket.create_connection(("127.0.0.1", other_port), timeout=5) as kept,
        ):
            disconnect(f"localhost:{port}")
            assert lost.recv(1) == b""
            accepted, _ = other.accept()
            with accepted:
                accepted.send(b"x")
                assert kept.recv(1) == b"x"
        ours.send(b"y")
        assert theirs.recv(1) == b"y"
        assert is_listening(f"localhost:{port}")


def test_an_address_that_cannot_be_read_has_no_connections():
    disconnect("$(x):1")
    disconnect("no-such-host.invalid:1")


def test_looking_for_connections_leaves_no_file_open():
    before = len(os.listdir("/proc/self/fd"))
    # Called every second until TensorFlow has closed a session; each call would double the files.
    disconnect("127.0.0.1:9")
    assert len(os.listdir("/proc/self/fd")) == before
