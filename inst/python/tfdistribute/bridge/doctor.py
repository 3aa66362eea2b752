"""Report on this Python: versions, devices, missing packages."""

import os
import platform
import sys
from typing import Any

from tfdistribute import engine, gpus, versions
from tfdistribute.errors import BackendError

# Libraries of other versions, for example.
_UNSEEN = {
    "problem": "TensorFlow sees none of this machine's GPUs.",
    "fix": "Run `python -c \"import tensorflow as tf; tf.config.list_physical_devices('GPU')\"`, which prints why.",
}


def report(start_tensorflow: bool = True) -> dict[str, Any]:
    """Describe this Python for tfdistribute_sitrep(). Never raises.

    ``start_tensorflow`` imports it to count its devices. In the result, ``packages`` has versions by name, None if
    missing, ``problems`` mappings with ``problem`` and ``fix``, ``gpus`` is the number that TensorFlow sees, and
    ``nvidia_gpus`` is explained in ``gpus.report``.
    """
    packages = versions.packages()
    nvidia = gpus.report_of(sys.executable)
    answer: dict[str, Any] = {
        "python": platform.python_version(),
        "executable": sys.executable,
        "packages": packages,
        "problems": [
            *({"problem": each.message, "fix": each.fix} for each in versions.problems()),
            *nvidia["problems"],
        ],
        "nvidia_gpus": nvidia["gpus"],
        "cpus": None,
        "gpus": None,
        "tensorflow_error": None,
    }
    if start_tensorflow and packages["tensorflow"] is not None:
        try:
            answer["cpus"], answer["gpus"] = os.cpu_count(), engine.devices.gpu_count()
            if nvidia["gpus"] and not (answer["gpus"] or nvidia["problems"] or gpus.are_hidden()):
                answer["problems"].append(_UNSEEN)
        except BackendError as error:
            # A problem that is known already is not told twice.
            answer["tensorflow_error"] = None if answer["problems"] else error.problem
        else:
            answer["problems"] += _missing_parts()
    return answer | {"patches": engine.patches.list_patches()}


def _missing_parts() -> list[dict[str, str]]:
    """List the parts of TensorFlow that patches need and this version lacks; optional and Keras's are not loaded."""
    fix = f"Use TensorFlow {versions.TESTED[-1]}."
    return [
        {
            "problem": f"TensorFlow has no {part}. Without the patch {patch.name}: {patch.why}",
            "fix": fix,
        }
        for patch in engine.patches.PATCHES
        if not patch.optional and patch.targets[0].startswith("tensorflow.python")
        for part in engine.patches.list_missing(patch.name)
    ]
