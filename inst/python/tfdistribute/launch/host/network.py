"""Private networks: only the processes of one job can reach its ports."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import sys
from pathlib import Path

if sys.platform == "linux":
    import fcntl

_NEW_USER = 0x10000000
_NEW_NET = 0x40000000

# linux/sockios.h and linux/if.h
_GET_FLAGS = 0x8913
_SET_FLAGS = 0x8914
_IS_UP = 0x1

OPEN_RISK = (
    "The ports of this job are open: TensorFlow listens on all network interfaces without a password, and anyone "
    "who can reach a port can run programs as you. Use a machine behind a firewall, or one whose kernel allows "
    "private networks."
)

HOSTS_RISK = (
    "TensorFlow's ports on the hosts of this cluster are open: anyone who can reach a port can run programs as you. "
    "plan() shows firewall rules that let only the hosts connect."
)

NODES_RISK = (
    "TensorFlow's ports on the nodes of this job are open: anyone who can reach a port can run programs as you. Ask "
    "the administrators of the cluster whether its users reach each other's ports."
)

if sys.platform == "linux":
    _libc = ctypes.CDLL(None, use_errno=True)


def why_not_private() -> str | None:
    """Test in a child process whether a private network is possible; return the kernel's reason if not."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            enter_private()
            code = 0
        except OSError as error:
            code = error.errno or 1
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return None if code == 0 else os.strerror(code) if code > 0 else "The attempt was killed"


def enter_private() -> None:
    """Move this process and its future children into a private network that has a loopback interface only.

    The process must be single-threaded. It cannot leave the network again.

    Raises:
        OSError: the kernel does not allow or support it.

    Source:
        https://man7.org/linux/man-pages/man7/network_namespaces.7.html and user_namespaces.7.html
    """
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    user, group = os.geteuid(), os.getegid()
    # Root needs no user namespace, and would lose its access to other users' files in one.
    if _libc.unshare(_NEW_NET if user == 0 else _NEW_USER | _NEW_NET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    _bring_loopback_up()


def _bring_loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh22x", b"lo", 0)
        answer = fcntl.ioctl(any_socket, _GET_FLAGS, request)
        (flags,) = struct.unpack_from("16xh", answer)
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh22x", b"lo", flags | _IS_UP))
