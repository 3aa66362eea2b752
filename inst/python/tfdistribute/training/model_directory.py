"""What stands in model_dir: whose checkpoints they are, and whether they can be used."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import ModelDirectoryError

SIGNATURE = "tfdistribute-model.json"


def latest_checkpoint(model_dir: str) -> str | None:
    """Find the newest complete checkpoint.

    Args:
        model_dir: Directory of one model.

    Returns:
        The checkpoint's prefix such as ``model_dir/model.ckpt-200``, or None.

    Source:
        The text file ``checkpoint`` that tf.compat.v1.train.Saver keeps; read without TensorFlow.
    """
    state = Path(model_dir) / "checkpoint"
    if not state.is_file():
        return None
    found = re.search(
        r'^model_checkpoint_path: "(.*)"', state.read_text(encoding="utf-8"), re.MULTILINE
    )
    if found is None:
        return None
    prefix = os.path.join(model_dir, found.group(1))
    return prefix if os.path.exists(prefix + ".index") else None


def check_writable(model_dir: str) -> None:
    """Make model_dir and see that files can be written there.

    Raises:
        ModelDirectoryError: it cannot be made or written.
    """
    try:
        os.makedirs(model_dir, exist_ok=True)
        with tempfile.TemporaryFile(dir=model_dir):
            pass
    except OSError as error:
        raise ModelDirectoryError(
            f'`model_dir` "{model_dir}" cannot be written: {error.strerror}.',
            "Choose a directory that you may write to.",
            argument="model_dir",
            value=model_dir,
        ) from error


def require_checkpoint(model_dir: str, checkpoint_path: str | None, verb: str) -> str:
    """Find the checkpoint that a verb is to use.

    Args:
        model_dir: Directory of the model.
        checkpoint_path: A checkpoint's prefix chosen by the user, or None for the newest.
        verb: The verb, for the error.

    Returns:
        The checkpoint's prefix.

    Raises:
        ModelDirectoryError: there is none.
    """
    if checkpoint_path is not None:
        if not os.path.exists(checkpoint_path + ".index"):
            raise ModelDirectoryError(
                f'`checkpoint_path` "{checkpoint_path}" is no checkpoint: there is no "{checkpoint_path}.index".',
                "Give the path without its ending, as latest_checkpoint() returns it.",
                argument="checkpoint_path",
                value=checkpoint_path,
            )
        return checkpoint_path
    found = latest_checkpoint(model_dir)
    if found is None:
        raise ModelDirectoryError(
            f'{verb} needs a trained model, but `model_dir` "{model_dir}" holds no checkpoint.',
            "Call train() first, or give the `model_dir` of a trained model.",
            argument="model_dir",
            value=model_dir,
        )
    return found


def check_owner(model_dir: str, structure: Mapping[str, Any], *, for_training: bool) -> None:
    """See that the checkpoints in model_dir are this model's.

    Args:
        model_dir: Directory of the model.
        structure: Plain values that identify what a checkpoint of the model holds.
        for_training: Whether the optimizer matters, whose variables only training reads.

    Raises:
        ModelDirectoryError: they belong to a model of another structure.
    """
    known = read_signature(model_dir)
    if known is None or latest_checkpoint(model_dir) is None:
        return
    wanted = _plain(structure)
    unread = set() if for_training else {name for name in wanted if name.endswith("optimizer")}
    for name in sorted(
        (set(known) | set(wanted)) - unread, key=lambda name: (name != "kind", name)
    ):
        if known.get(name) != wanted.get(name):
            its, own = _shown(known.get(name)), _shown(wanted.get(name))
            raise ModelDirectoryError(
                f'`model_dir` "{model_dir}" holds another model: '
                f"its {name} is {its}, this model's is {own if own != its else 'set otherwise'}.",
                "Use another `model_dir`, or delete this one if its model is not needed.",
                argument="model_dir",
                value=model_dir,
            )


def read_signature(model_dir: str) -> dict[str, Any] | None:
    """Read whose checkpoints stand in model_dir.

    Returns:
        The structure that was signed, or None where this package never trained.
    """
    signed = _read_signed(model_dir).get("model")
    return signed if isinstance(signed, dict) else None


def read_features(model_dir: str) -> dict[str, ColumnFacts] | None:
    """Read what is known of the features that the model was trained on.

    Returns:
        Features by name, or None where the training did not know them.
    """
    signed = _read_signed(model_dir).get("features")
    if not isinstance(signed, list):
        return None
    features = [ColumnFacts(each["name"], each["type"], tuple(each["shape"])) for each in signed]
    return {feature.name: feature for feature in features}


def sign(
    model_dir: str, structure: Mapping[str, Any], features: Mapping[str, ColumnFacts] | None = None
) -> None:
    """Note in model_dir whose checkpoints will stand there, and what they are trained on; complete or not at all.

    Args:
        model_dir: Directory of the model.
        structure: Plain values that identify what a checkpoint of the model holds.
        features: What is known of the features; None keeps what is known from before.
    """
    known = features if features is not None else read_features(model_dir)
    noted: dict[str, Any] = {"format": 1, "model": _plain(structure)}
    if known is not None:
        noted["features"] = [
            {"name": each.name, "type": each.type, "shape": list(each.shape)}
            for each in known.values()
        ]
    text = json.dumps(noted, indent=1, sort_keys=True)
    with tempfile.NamedTemporaryFile("w", dir=model_dir, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.replace(file.name, os.path.join(model_dir, SIGNATURE))


def _read_signed(model_dir: str) -> dict[str, Any]:
    path = Path(model_dir) / SIGNATURE
    try:
        signed = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return signed if isinstance(signed, dict) else {}


def _plain(structure: Mapping[str, Any]) -> dict[str, Any]:
    # Through JSON, so that tuples compare with the lists that come back from the file.
    return json.loads(json.dumps(structure))


def _shown(value: Any) -> str:
    if (
        isinstance(value, list)
        and value
        and all(isinstance(item, dict) and "name" in item for item in value)
    ):
        return f"{', '.join(item['name'] for item in value)}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
