"""Functions called by TensorFlow's threads, served on the thread that waits for TensorFlow."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import pytest

from tfdistribute import engine


@pytest.fixture
def served(tensorflow: Any) -> Any:
    return engine.r_thread.main_thread_calls


def numbers(tf: Any, call: Callable[[], int]) -> Any:
    """The next number from `call`, read by TensorFlow in the default graph."""

    def generator() -> Any:
        while True:
            yield call()

    dataset = tf.data.Dataset.from_generator(
        generator, output_signature=tf.TensorSpec([], tf.int32)
    )
    return tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()


def exchanged(tf: Any) -> tuple[Any, Any]:
    session = tf.compat.v1.Session
    return session._call_tf_sessionrun, session.close


class Counter:
    """A function that counts its calls and records the calling threads."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.calls = 0
        self.fails_at = fails_at
        self.threads: set[threading.Thread] = set()

    def __call__(self) -> int:
        self.calls += 1
        self.threads.add(threading.current_thread())
        if self.calls == self.fails_at:
            raise KeyError("no such number")
        return self.calls


def test_the_function_runs_on_the_thread_that_waits(tensorflow: Any, served: Any) -> None:
    counter = Counter()
    function = served.ServedFunction(counter)
    with tensorflow.Graph().as_default() as graph:
        number = numbers(tensorflow, function.in_graph(graph))
        with function.serving(), tensorflow.compat.v1.Session() as session:
            drawn = [int(session.run(number)) for _ in range(5)]
    assert drawn == [1, 2, 3, 4, 5]
    assert counter.threads == {threading.current_thread()}


def test_it_serves_on_a_thread_that_is_not_the_main_one(tensorflow: Any, served: Any) -> None:
    counter = Counter()
    drawn: list[int] = []

    def work() -> None:
        function = served.ServedFunction(counter)
        with tensorflow.Graph().as_default() as graph:
            number = numbers(tensorflow, function.in_graph(graph))
            with function.serving(), tensorflow.compat.v1.Session() as session:
                drawn.append(int(session.run(number)))

    # A daemon, because a thread that hangs would keep Python from ending.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(30)
    assert drawn == [1]
    assert counter.threads == {thread}


def test_tensorflow_is_changed_only_while_something_is_served(tensorflow: Any, served: Any) -> None:
    before = exchanged(tensorflow)
    one, two = served.ServedFunction(Counter()), served.ServedFunction(Counter())
    one.in_graph(tensorflow.Graph())
    assert exchanged(tensorflow) == before
    first, second = one.serving(), two.serving()
    first.__enter__()
    second.__enter__()
    during = exchanged(tensorflow)
    # Predictions that are read batch by batch may end in any order.
    first.__exit__(None, None, None)
    assert exchanged(tensorflow) == during
    second.__exit__(None, None, None)
    assert during[0] is not before[0]
    assert exchanged(tensorflow) == before


def test_an_error_in_the_block_leaves_tensorflow_as_it_was(tensorflow: Any, served: Any) -> None:
    before = exchanged(tensorflow)
    with pytest.raises(ZeroDivisionError), served.ServedFunction(Counter()).serving():
        _ = 1 / 0
    assert exchanged(tensorflow) == before


def test_sessions_of_other_graphs_run_as_before(
    tensorflow: Any, served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served._Dispatcher, "serve_during", None)
    function = served.ServedFunction(Counter())
    function.in_graph(tensorflow.Graph())
    with tensorflow.Graph().as_default(), function.serving():
        seven = tensorflow.constant(7)
        with tensorflow.compat.v1.Session() as session:
            assert session.run(seven) == 7


def test_the_functions_own_error_is_raised(tensorflow: Any, served: Any) -> None:
    counter = Counter(fails_at=3)
    function = served.ServedFunction(counter)
    drawn: list[int] = []
    with tensorflow.Graph().as_default() as graph:
        number = numbers(tensorflow, function.in_graph(graph))
        with (
            pytest.raises(KeyError, match="no such number") as raised,
            function.serving(),
            tensorflow.compat.v1.Session() as session,
        ):
            drawn.extend(int(session.run(number)) for _ in range(5))
    assert drawn == [1, 2]
    assert isinstance(raised.value.__cause__, tensorflow.errors.OpError)
    assert counter.calls == 3


def test_another_error_of_the_block_is_not_hidden(tensorflow: Any, served: Any) -> None:
    function = served.ServedFunction(Counter(fails_at=1))
    with tensorflow.Graph().as_default() as graph:
        number = numbers(tensorflow, function.in_graph(graph))
        with pytest.raises(ZeroDivisionError), function.serving():
            with (
                tensorflow.compat.v1.Session() as session,
                pytest.raises(Exception, match="no such"),
            ):
                session.run(number)
            _ = 1 / 0


def test_a_call_that_nobody_serves_is_refused(tensorflow: Any, served: Any) -> None:
    function = served.ServedFunction(Counter())
    call = function.in_graph(tensorflow.Graph())
    with pytest.raises(served.CallRefusedError):
        call()
    with function.serving():
        pass
    with pytest.raises(served.CallRefusedError):
        call()


def test_a_call_that_waits_is_refused_when_serving_ends(tensorflow: Any, served: Any) -> None:
    function = served.ServedFunction(Counter())
    call = function.in_graph(tensorflow.Graph())
    ends: list[BaseException] = []

    def wait() -> None:
        try:
            call()
        except (RuntimeError, CancelledError) as error:
            ends.append(error)

    with function.serving():
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
    thread.join(5)
    assert not thread.is_alive()
    assert len(ends) == 1


def test_helper_threads_end_with_serving(tensorflow: Any, served: Any) -> None:
    function = served.ServedFunction(Counter())
    with tensorflow.Graph().as_default() as graph:
        number = numbers(tensorflow, function.in_graph(graph))
        with function.serving(), tensorflow.compat.v1.Session() as session:
            session.run(number)
            helpers = [t for t in threading.enumerate() if t.name == "tfdistribute-session"]
    assert len(helpers) == 1
    helpers[0].join(5)
    assert not helpers[0].is_alive()


def test_a_served_function_can_run_a_session_that_is_served_itself(
    tensorflow: Any, served: Any
) -> None:
    inner_graph = tensorflow.Graph()
    # TensorFlow reads ahead, so only a constant gives a predictable result.
    inner = served.ServedFunction(lambda: 7)
    with inner_graph.as_default():
        inner_number = numbers(tensorflow, inner.in_graph(inner_graph))

    def tenfold() -> int:
        with inner.serving(), tensorflow.compat.v1.Session(graph=inner_graph) as session:
            return 10 * int(session.run(inner_number))

    outer = served.ServedFunction(tenfold)
    with tensorflow.Graph().as_default() as graph:
        number = numbers(tensorflow, outer.in_graph(graph))
        with outer.serving(), tensorflow.compat.v1.Session() as session:
            assert [int(session.run(number)) for _ in range(3)] == [70, 70, 70]


TEAR_DOWN = """
import gc, threading
import tensorflow as tf
from tfdistribute import engine

calls = []
function = engine.r_thread.main_thread_calls.ServedFunction(lambda: calls.append(1) or len(calls))
with function.serving():
    for how in ("close", "collect", "keep"):
        with tf.Graph().as_default() as graph:
            call = function.in_graph(graph)
            def generator():
                while True:
                    yield call()
            dataset = tf.data.Dataset.from_generator(
                generator, output_signature=tf.TensorSpec([], tf.int32)
            ).prefetch(50)
            iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
            session = tf.compat.v1.Session()
            session.run(iterator.initializer)
            session.run(iterator.get_next())
            if how == "close":
                session.close()
            if how != "keep":
                del session, iterator, dataset
                gc.collect()
# With a session left open, Python itself does not always end: TensorFlow's threads then wait for it.
session.close()
del session, iterator, dataset
gc.collect()
print("ended", len(calls) > 2)
"""


def test_tearing_the_graph_down_while_data_is_drawn_does_not_hang(
    run_python: Callable[..., Any],
) -> None:
    assert run_python(TEAR_DOWN, timeout_s=60).stdout.strip() == "ended True"
