"""Messages of TensorFlow's start, which users need not see."""

import subprocess
import sys

import pytest

MESSAGE = "I0000 00:00:1.5 7853 port.cc:153] oneDNN custom operations are on."
ERROR = "E0000 00:00:1.5 7853 cuda.cc:1] no device"


def stderr_of(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    return done.stderr


@pytest.mark.parametrize("end", ["", "os.abort()", "os._exit(1)", "raise ImportError"])
def test_errors_remain_and_messages_do_not(end: str) -> None:
    shown = stderr_of(
        "import os\n"
        "from tfdistribute.engine.start_messages import hidden\n"
        "with hidden():\n"
        f"    os.write(2, {f'{MESSAGE}{chr(10)}{ERROR}{chr(10)}'.encode()!r})\n"
        f"    {end}\n"
        "os.write(2, b'after')\n"
    )
    assert ERROR in shown
    assert MESSAGE not in shown
    assert ("after" in shown) == (end == "")


def test_a_process_without_standard_error_starts() -> None:
    code = (
        "import os\n"
        "os.close(2)\n"
        "from tfdistribute.engine.start_messages import hidden\n"
        "with hidden():\n"
        "    pass\n"
        "print('done')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, timeout=120, check=False
    )
    assert done.stdout == "done\n"


@pytest.mark.smoke
def test_tensorflow_starts_without_a_message() -> None:
    assert stderr_of("from tfdistribute import engine; engine.tf") == ""
