"""The remedies of errors in the sources, as templates in which ``{}`` stands for values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tfdistribute import errors

_CLASSES = {name for name, value in vars(errors).items() if isinstance(value, type)}
_NAMES = re.compile("remed|fix$|advice|restart", re.IGNORECASE)


def remedies(package: Path) -> list[str]:
    """Return the remedies of all modules in a folder."""
    found = (_in_module(ast.parse(path.read_text(encoding="utf-8"))) for path in _modules(package))
    return list(dict.fromkeys(text for texts in found for text in texts if " " in text))


def _modules(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def _in_module(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name in _CLASSES and len(node.args) > 1:
                yield from _texts(node.args[1])
            for keyword in node.keywords:
                if _NAMES.search(keyword.arg or ""):
                    yield from _texts(keyword.value)
        elif isinstance(node, ast.Assign) and _NAMES.search(ast.unparse(node.targets[0])):
            yield from _texts(node.value)
        elif isinstance(node, ast.FunctionDef) and _NAMES.search(node.name):
            yield from (text for each in node.body for text in _texts(each))


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        yield "".join(map(str, parts))
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield from _texts(part.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)
