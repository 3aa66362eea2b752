"""Place of the files that AutoGraph generates.

AutoGraph deletes them when Python exits, but a Python inside R does not exit. So all of them go into one directory,
which is deleted with the R session or with the process.
"""

import atexit
import os
import shutil
import sys
import tempfile
from typing import Any

from tfdistribute.engine import patches

NAME = "tfdistribute-generated"
# R's own temporary directory, which R deletes when it ends. A child process of R inherits the variable.
_OF_R = "R_SESSION_TMPDIR"

_made: list[str] = []


def install() -> None:
    patches.install("generated_files", _InDirectory)


class _InDirectory:
    @staticmethod
    def NamedTemporaryFile(**options: Any) -> Any:  # noqa: N802 - Python's name
        return tempfile.NamedTemporaryFile(dir=_directory(), **options)


def _directory() -> str:
    session = os.environ.get(_OF_R)
    if session is not None and "rpycall" in sys.modules:
        directory = os.path.join(session, NAME)
    else:
        if not _made:
            _made.append(tempfile.mkdtemp(prefix=f"{NAME}-"))
            atexit.register(shutil.rmtree, _made[0], ignore_errors=True)
        directory = _made[0]
    # A program that cleans the temporary directory may have deleted it.
    os.makedirs(directory, mode=0o700, exist_ok=True)
    return directory
