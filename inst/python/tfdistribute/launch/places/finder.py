"""Program that finds this package on a host, and becomes one of its modules there, such as the agent.

The Python of the host may be too old for the package, so this uses the standard library of Python 3.6 only.
"""

import contextlib
import importlib
import os
import subprocess
import sys
from typing import Any

R_CODE = 'cat(system.file("python", package = "tfdistribute"))'
PYTHON_CODE = """
import importlib.util, os
found = importlib.util.find_spec("tfdistribute")
print(os.path.dirname(os.path.dirname(found.origin)) if found and found.origin else "")
"""


def find(paths: Any, rscript: Any, environment: Any) -> Any:
    """Return the first path with the package, or the path where Python or R finds it; None if it is not installed."""
    for path in paths:
        if os.path.isfile(os.path.join(path, "tfdistribute", "__init__.py")):
            return path
    variables = dict(os.environ, **environment)
    for command in ([sys.executable, "-c", PYTHON_CODE], [rscript, "--vanilla", "-e", R_CODE]):
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            said = subprocess.check_output(command, stdin=subprocess.DEVNULL, env=variables)
            if said.strip():
                return said.decode().splitlines()[-1]
    return None


def become(module: Any, arguments: Any, version: Any, oldest: Any, **where: Any) -> None:
    """Run a module of the package, or end and print its other version."""
    if sys.version_info < oldest:
        sys.exit("found Python " + sys.version.split()[0])
    path = find(**where)
    if path is None:
        sys.exit("found tfdistribute none")
    sys.path.insert(0, path)
    found = importlib.import_module("tfdistribute").__version__
    if found != version:
        sys.exit("found tfdistribute " + found)
    importlib.import_module(module).main(*sys.argv[1:], *arguments)
