"""The registry of changes to TensorFlow, Keras and reticulate from outside, and the only place that makes them.

``TFDISTRIBUTE_WITHOUT_PATCHES=name,...`` leaves patches out, for tests and bug reports. This module does not need
TensorFlow.
"""

import contextlib
import functools
import importlib
import inspect
import os
from collections.abc import Iterator
from typing import Any

from tfdistribute import versions
from tfdistribute.engine.patches.patch_list import PATCHES
from tfdistribute.errors import ArgumentError, BackendError

VARIABLE = "TFDISTRIBUTE_WITHOUT_PATCHES"

_BY_NAME = {each.name: each for each in PATCHES}
# Names of the patches that this process has used.
_used: set[str] = set()


def is_on(name: str) -> bool:
    """Return whether a patch is to be made; ArgumentError if the variable names one that does not exist."""
    text = os.environ.get(VARIABLE, "")
    without = {each.strip() for each in text.split(",")} - {""}
    if unknown := sorted(without - set(_BY_NAME)):
        raise ArgumentError(
            f"{VARIABLE} names {unknown[0]!r}, which is not a patch.",
            f"Patches are {', '.join(_BY_NAME)}.",
            argument=VARIABLE,
            value=text,
        )
    if name in without:
        return False
    _used.add(_BY_NAME[name].name)
    return True


def install(name: str, *replacements: Any) -> None:
    """Replace the targets of a patch for the rest of the process. A second call changes nothing.

    A replacement of a function gets the original first. BackendError if TensorFlow lacks a target.
    """
    for owner, attribute, new in _new_values(name, replacements):
        setattr(owner, attribute, new)


@contextlib.contextmanager
def patch_temporarily(name: str, *replacements: Any) -> Iterator[None]:
    """Replace the targets of a patch inside the block; see ``install``."""
    with contextlib.ExitStack() as stack:
        for owner, attribute, new in _new_values(name, replacements):
            stack.callback(setattr, owner, attribute, getattr(owner, attribute))
            setattr(owner, attribute, new)
        yield


def put(name: str, owner: Any, attribute: str, value: Any) -> None:
    if is_on(name):
        setattr(owner, attribute, value)


def list_missing(name: str) -> list[str]:
    patch = _BY_NAME[name]
    parts = [each for each in (*patch.targets, *patch.needs) if ":" in each]
    return [each for each in parts if _find(each) is None]


def list_patches() -> list[dict[str, Any]]:
    """List all patches as plain values, with whether this process has ``used`` each."""
    return [
        {
            "name": each.name,
            "why": each.why,
            "source": each.source,
            "versions": each.versions,
            "target": ", ".join(each.targets),
            "used": each.name in _used,
        }
        for each in PATCHES
    ]


def _new_values(name: str, replacements: tuple[Any, ...]) -> list[tuple[Any, str, Any]]:
    if not is_on(name):
        return []
    patch, values = _BY_NAME[name], list[tuple[Any, str, Any]]()
    for target, replacement in zip(patch.targets, replacements, strict=True):
        location = _find(target)
        if location is None and not patch.optional:
            raise BackendError(
                f"TensorFlow {versions.tensorflow()} has no {target}, which tfdistribute replaces. Without this patch: "
                f"{patch.why}",
                f"Use a version of TensorFlow that tfdistribute is tested with: {', '.join(versions.TESTED)}; or set "
                f"{VARIABLE}={name} to do without.",
            )
        if location is not None and getattr(location[2], _MARK, None) != name:
            values.append((location[0], location[1], _wrap(name, location[2], replacement)))
    return values


_MARK = "_tfdistribute_patch"


def _wrap(name: str, original: Any, replacement: Any) -> Any:
    if not inspect.isroutine(original):
        return replacement

    @functools.wraps(original)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        return replacement(original, *args, **kwargs)

    vars(replaced).update({**vars(replacement), _MARK: name})
    return replaced


def _find(target: str) -> tuple[Any, str, Any] | None:
    module, _, paths = target.partition(":")
    values = (_find_path(module, path) for path in paths.split("|"))
    return next((each for each in values if each is not None), None)


def _find_path(module: str, path: str) -> tuple[Any, str, Any] | None:
    *owners, attribute = path.split(".")
    try:
        owner: Any = importlib.import_module(module)
        for name in owners:
            owner = getattr(owner, name.removesuffix("()"))
            owner = owner() if name.endswith("()") else owner
        return owner, attribute, getattr(owner, attribute)
    except (ImportError, AttributeError):
        return None
