from __future__ import annotations

import _thread
import importlib.util
import re
import sys
import threading

import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.python.util import deprecation

from tfdistribute.engine.repairs import call_location


@pytest.fixture
def tensorflows_own(monkeypatch):
    """TensorFlow's original function, from a fresh copy of its module."""
    spec = importlib.util.find_spec(deprecation.__name__)
    assert spec is not None and spec.loader is not None
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    monkeypatch.setattr(deprecation, "_call_location", fresh._call_location)


@pytest.fixture
def warnings_seen(monkeypatch):
    texts = []
    monkeypatch.setattr(
        deprecation, "_log_deprecation", lambda text, *values: texts.append(text % values)
    )
    monkeypatch.setattr(deprecation, "_PRINTED_WARNING", {})
    # The engine turns warnings off; the user may turn them on again.
    monkeypatch.setattr(deprecation, "_PRINT_DEPRECATION_WARNINGS", True)
    return texts


def call_from_outside_python(function):
    """Call a function from C, as R does, with no Python frame above it."""
    done, errors = threading.Event(), []
    previous = sys.unraisablehook

    def keep(unraisable):
        errors.append(unraisable.exc_value)
        done.set()

    @deprecation.deprecated("2020-01-01", "Use another.")
    def deprecated():
        function()
        done.set()

    sys.unraisablehook = keep
    try:
        _thread.start_new_thread(deprecated, ())
        assert done.wait(10)
    finally:
        sys.unraisablehook = previous
    if errors:
        raise errors[0]


def test_tensorflow_alone_cannot_warn_without_a_python_caller(tensorflows_own, warnings_seen):
    with pytest.raises(AttributeError, match="f_code"):
        call_from_outside_python(lambda: None)


def test_a_deprecated_function_runs_without_a_python_caller(tensorflows_own, warnings_seen):
    called = []
    call_location.install()

    call_from_outside_python(lambda: called.append(True))

    assert called == [True]
    assert warnings_seen[0].startswith("From <outside Python>:0: ")


def test_a_python_caller_is_still_named_with_its_line(tensorflows_own, warnings_seen):
    @deprecation.deprecated("2020-01-01", "Use another.")
    def deprecated():
        pass

    call_location.install()
    deprecated()
    line = sys._getframe().f_lineno - 1

    assert re.match(rf"From \S*test_call_location\.py:{line}: ", warnings_seen[0])


def test_the_outer_caller_is_named_as_tensorflow_names_it(tensorflows_own):
    def locations():
        return [
            place(outer) for place in (original, deprecation._call_location) for outer in (0, 1)
        ]

    original = deprecation._call_location
    call_location.install()
    inner_before, outer_before, inner_after, outer_after = locations()

    assert (inner_after, outer_after) == (inner_before, outer_before)
    assert inner_after != outer_after


def test_installing_twice_is_installing_once(tensorflows_own):
    call_location.install()
    once = deprecation._call_location
    call_location.install()

    assert deprecation._call_location is once
