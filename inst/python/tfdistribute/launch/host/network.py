"""Private networks, in which only the processes of one job can reach its ports."""

import ctypes
import errno
import mmap
import os
import re
import socket
import struct
import sys
from pathlib import Path

from tfdistribute.cluster.ports import listener

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
    "plan_training() shows firewall rules that let only the hosts connect."
)

NODES_RISK = (
    "TensorFlow's ports on the nodes of this job are open: anyone who can reach a port can run programs as you. Ask "
    "the administrators of the cluster whether its users reach each other's ports."
)

if sys.platform == "linux":
    _libc = ctypes.CDLL(None, use_errno=True)


def why_not_private() -> str | None:
    """Return why the kernel allows no private network, as a child process finds out; None if it does."""
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


def named_services(path: str) -> tuple[str, ...]:
    """Find addresses with a listening program on this machine, such as "localhost:5000", in a file of the tasks."""
    hosts = rb"localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1\]|" + re.escape(
        socket.gethostname().encode()
    )
    if os.path.getsize(path) == 0:
        return ()
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = re.findall(rb"(?<![\w.-])(?:" + hosts + rb"):\d{2,5}(?!\d)", content)
    addresses = dict.fromkeys(each.decode() for each in found)
    return tuple(each for each in addresses if listener(int(each.rpartition(":")[2])) is not None)


def enter_private() -> None:
    """Move this process forever into a network with only a loopback interface.

    The process must have one thread. Raises OSError if the kernel does not allow it.
    """
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    user, group = os.geteuid(), os.getegid()
    # In a user namespace, root would lose its access to other users' files.
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
