"""The command lines of ssh, and what it says when something is wrong."""

from __future__ import annotations

import shlex
import subprocess

from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.launch.places.ssh import ssh_command, transports
from tfdistribute.launch.places.transport import agent_command


def test_options_of_the_user_cannot_weaken_those_that_protect():
    command = ssh_command(
        ["ssh", "-F", "/dev/null", "-o", "StrictHostKeyChecking=no", "-o", "BatchMode=no", "-G"],
        "node-a",
        ["true"],
    )
    assert command[-3:] == ["--", "node-a", "true"]
    # ssh itself says which options count.
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout
    options = dict(line.split(" ", 1) for line in shown.splitlines() if " " in line)
    assert options["stricthostkeychecking"] == "true"
    assert options["batchmode"] == "yes"
    assert options["forwardagent"] == "no"
    assert options["clearallforwardings"] == "yes"


def test_the_command_is_one_argument_that_any_shell_splits_as_meant():
    agent = agent_command("/opt/my python/bin/python3", 30, "tfdistribute-job-x")
    command = ssh_command(["ssh"], "node-a", agent)
    assert shlex.split(command[-1]) == agent
    # csh expands exclamation marks even inside quotes, and no shell may see a line break.
    assert not {"!", "\n", '"'} & set(command[-1])


def test_what_ssh_says_is_explained():
    refused = "ssh: connect to host a port 22: Connection refused"
    transport = transports(SshCluster(hosts=("a",), workers=1))("a")
    assert transport.explain("a", refused) == (
        "no sshd listens there",
        "Start sshd on the host, or give its Port in ~/.ssh/config.",
    )
    assert transport.explain("a", "something else") is None
