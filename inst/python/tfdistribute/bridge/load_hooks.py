"""R's hooks for the import of Python modules.

After the import of a module, reticulate asks R for the hooks (``py_register_load_hook()``) of it and of each module
that it imported: 2,700 times for TensorFlow, an eighth of its import.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

# Fewer modules are not worth a call.
_FEW = 10


def ask_at_once(hooked: Callable[[list[str]], Sequence[str]]) -> None:
    """Let R say at once which of the modules of an import have hooks, so that reticulate asks for those only.

    Call it on R's thread. It does nothing in a process without R, or if reticulate keeps its list in another way.

    Args:
        hooked: Function of names of modules that returns those that have hooks.
    """
    loader: Any = sys.modules.get("rpytools.loader")
    run_hooks = getattr(loader, "_maybe_run_hooks", None)
    is_known = all(hasattr(loader, name) for name in ("_imported_packages", "_recursion_depth"))
    if run_hooks is None or not is_known:
        return
    r_thread = threading.get_ident()

    def run_hooks_at_once() -> Any:
        names: list[str] = loader._imported_packages
        is_over = loader._recursion_depth == 0 and threading.get_ident() == r_thread
        if is_over and len(names) > _FEW:
            # A hook that is registered from here on runs at once: its module is imported. If R cannot answer, it is
            # asked for each.
            with contextlib.suppress(Exception):
                names[:] = hooked(list(names))
        return run_hooks()

    loader._maybe_run_hooks = run_hooks_at_once
