"""Batches from a function in every verb, and the function's errors and interrupts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.sampling import sampled

from tfdistribute.columns import ColumnFacts
from tfdistribute.descriptions import read
from tfdistribute.errors import CallbackError, InputError
from tfdistribute.inputs import Input
from tfdistribute.inputs.functions.generator import _Slices
from tfdistribute.inputs.packed.layout import Layout
from tfdistribute.inputs.packed.packing import PackedColumns
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.sharding import Shard
from tfdistribute.training import concatenate, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train import train
from tfdistribute.training.train_and_evaluate import train_and_evaluate
from tfdistribute.training.variables import variable_value

WEIGHTS = "linear/linear_model/x/weights"
MIRRORED = {"kind": "mirrored", "devices": 2}


def column(name: str, values: Any, type: str = "float", **fields: Any) -> dict[str, Any]:  # noqa: A002
    return {"name": name, "type": type, "values": np.asarray(values), **fields}


def words(name: str, values: Sequence[str], **fields: Any) -> dict[str, Any]:
    labels = sorted(set(values))
    codes = np.array([labels.index(value) for value in values])
    return {
        "name": name,
        "type": "string",
        "values": {"codes": codes, "labels": np.array(labels, object)},
        **fields,
    }


def batch(number: int, rows: int = 8) -> dict[str, Any]:
    x = np.random.default_rng(number).normal(size=rows)
    word = ["even" if value > 0 else "odd" for value in x]
    return {"columns": [column("x", x), words("word", word), column("y", 2 * x + 1)]}


class Source:
    """The two functions that R passes; they count their calls and check the thread."""

    def __init__(
        self,
        answers: Sequence[Any] | Callable[[int], Any],
        restarts: bool = False,
        thread: threading.Thread | None = None,
    ) -> None:
        self.answers = answers
        self.restarts = restarts
        self.thread = thread or threading.current_thread()
        self.position = self.drawn = self.passes = 0

    def begin(self) -> bool:
        assert threading.current_thread() is self.thread
        self.passes += 1
        if self.restarts:
            self.position = 0
        return self.restarts

    def next_batch(self) -> Any:
        assert threading.current_thread() is self.thread
        self.position += 1
        self.drawn += 1
        if callable(self.answers):
            answer = self.answers(self.position)
        else:
            answer = self.answers[self.position - 1] if self.position <= len(self.answers) else None
        if isinstance(answer, BaseException):
            raise answer
        return answer


def described(source: Source, **fields: Any) -> Any:
    functions = {"begin": source.begin, "next_batch": source.next_batch}
    return read(Input, {"kind": "generator", "response": "y", **functions, **fields})


def batches(count: int, rows: int = 8) -> list[Any]:
    return [batch(number, rows) for number in range(count)]


def model(directory: Path) -> Model:
    word = {
        "kind": "categorical_with_vocabulary_list",
        "key": "word",
        "vocabulary_list": ["even", "odd"],
    }
    sgd = {"kind": "named", "name": "sgd", "settings": {"learning_rate": 0.05}}
    columns = [{"kind": "numeric", "key": "x"}, word]
    fields = {"feature_columns": columns, "optimizer": sgd, "model_dir": str(directory)}
    return read(Model, {"kind": "linear_regressor", **fields})


def settings(strategy: Mapping[str, Any] | None = None, **fields: Any) -> RunSettings:
    return read(RunSettings, {"strategy": strategy, "save_summary_steps": None, **fields})


def weights_by_hand(count: int, rows: int = 8) -> tuple[float, dict[str, float], float]:
    """The same training in NumPy: mean squared error, gradient descent at 0.05."""
    weight, intercept, by_word = 0.0, 0.0, {"even": 0.0, "odd": 0.0}
    for number in range(count):
        x = np.random.default_rng(number).normal(size=rows)
        word = np.where(x > 0, "even", "odd")
        offsets = np.array([by_word[each] for each in word])
        error = weight * x + offsets + intercept - (2 * x + 1)
        step = 0.05 * 2 * error / rows
        weight -= float(np.sum(step * x))
        intercept -= float(np.sum(step))
        for each in by_word:
            by_word[each] -= float(np.sum(step[word == each]))
    return weight, by_word, intercept


@sampled(
    "strategy",
    [None, {"kind": "one_device", "device": "/cpu:0"}, MIRRORED],
    check=[None, MIRRORED],
)
def test_every_strategy_learns_what_arithmetic_says(
    tensorflow: Any, tmp_path: Path, strategy: Any
) -> None:
    history = train(model(tmp_path), settings(strategy), described(Source(batches(12))))
    weight, by_word, intercept = weights_by_hand(12)
    assert history.steps[-1] == 12
    assert variable_value(str(tmp_path), WEIGHTS).item() == pytest.approx(weight, abs=1e-5)
    assert variable_value(
        str(tmp_path), "linear/linear_model/bias_weights"
    ).item() == pytest.approx(intercept, abs=1e-5)
    learnt = variable_value(str(tmp_path), "linear/linear_model/word/weights").ravel()
    np.testing.assert_allclose(learnt, [by_word["even"], by_word["odd"]], atol=1e-5)


def test_evaluating_counts_every_row_once(tensorflow: Any, tmp_path: Path) -> None:
    train(model(tmp_path), settings(), described(Source(batches(2))))
    sizes = (5, 8, 1)
    answers = [batch(number, rows) for number, rows in enumerate(sizes)]
    metrics = evaluate(model(tmp_path), settings(), described(Source(answers)))
    labels = np.concatenate([answer["columns"][2]["values"] for answer in answers])
    assert metrics["label/mean"] == pytest.approx(labels.mean(), rel=1e-5)


def test_predicting_gives_one_row_per_row_in_order(tensorflow: Any, tmp_path: Path) -> None:
    train(model(tmp_path), settings(), described(Source(batches(5))))
    features = {"columns": [column("x", [3.0, -1.0, 2.0]), words("word", ["even", "odd", "even"])]}
    more = {"columns": [column("x", [0.5]), words("word", ["even"])]}
    source = described(Source([features, more]), response=None)
    predictions = concatenate(predict(model(tmp_path), settings(), source))["predictions"].ravel()
    weight, by_word, intercept = weights_by_hand(5)
    expected = [
        weight * x + by_word[word] + intercept
        for x, word in ((3.0, "even"), (-1.0, "odd"), (2.0, "even"), (0.5, "even"))
    ]
    np.testing.assert_allclose(predictions, expected, atol=1e-5)


def test_predicting_ignores_the_response(tensorflow: Any, tmp_path: Path) -> None:
    train(model(tmp_path), settings(), described(Source(batches(2))))
    predictions = concatenate(predict(model(tmp_path), settings(), described(Source(batches(3)))))
    assert predictions["predictions"].shape == (24, 1)


def test_an_abandoned_prediction_releases_tensorflow(tensorflow: Any, tmp_path: Path) -> None:
    session = tensorflow.compat.v1.Session
    before = session._call_tf_sessionrun
    train(model(tmp_path), settings(), described(Source(batches(2))))
    predicted: Any = predict(
        model(tmp_path), settings(), described(Source(lambda number: batch(number)))
    )
    next(predicted)
    assert session._call_tf_sessionrun is not before
    predicted.close()
    assert session._call_tf_sessionrun is before


def test_a_function_of_functions_starts_every_epoch_anew(tensorflow: Any, tmp_path: Path) -> None:
    source = Source(batches(4), restarts=True)
    history = train(model(tmp_path), settings(), described(source, epochs=3))
    assert history.steps[-1] == 12
    assert source.passes == 3


def test_without_end_the_steps_end_the_training(tensorflow: Any, tmp_path: Path) -> None:
    source = described(Source(batches(2), restarts=True), epochs=None)
    assert train(model(tmp_path), settings(), source, steps=7).steps[-1] == 7


def test_training_and_evaluating_read_two_generators(tensorflow: Any, tmp_path: Path) -> None:
    evaluated = Source(batches(2), restarts=True)
    history = train_and_evaluate(
        model(tmp_path),
        settings(MIRRORED, save_checkpoints_steps=4),
        TrainSpec(described(Source(batches(8))), max_steps=8),
        EvalSpec(described(evaluated), throttle_secs=0, start_delay_secs=0),
    )
    assert [entry["global_step"] for entry in history.evaluations] == [4, 8]
    assert evaluated.passes == 2


def test_a_second_evaluation_of_one_pass_is_refused(tensorflow: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has ended and cannot start again"):
        train_and_evaluate(
            model(tmp_path),
            settings(save_checkpoints_steps=4),
            TrainSpec(described(Source(batches(8))), max_steps=8),
            EvalSpec(described(Source(batches(2))), throttle_secs=0, start_delay_secs=0),
        )


@pytest.mark.parametrize("strategy", [None, MIRRORED])
@pytest.mark.parametrize("fails_at", [1, 4])
def test_an_error_of_the_function_stops_the_training(
    tensorflow: Any, tmp_path: Path, strategy: Any, fails_at: int
) -> None:
    def draw(number: int) -> Any:
        return KeyError("lost") if number == fails_at else batch(number)

    # With two replicas, TensorFlow mistook a failed generator for the end of the data half of the time.
    for _ in range(1 if strategy is None or fails_at == 1 else 4):
        with pytest.raises(CallbackError, match=f"failed at batch {fails_at}: KeyError: 'lost'"):
            train(model(tmp_path), settings(strategy), described(Source(draw)))


@pytest.mark.parametrize("verb", [evaluate, predict])
def test_an_error_stops_the_other_verbs(tensorflow: Any, tmp_path: Path, verb: Any) -> None:
    train(model(tmp_path), settings(), described(Source(batches(2))))
    source = described(Source([batch(1), batch(2), OSError("no connection")]))
    with pytest.raises(CallbackError, match="failed at batch 3: OSError: no connection"):
        list(verb(model(tmp_path), settings(), source))


def test_a_failed_iterator_keeps_failing() -> None:
    def draw(*_: Any) -> Any:
        raise RuntimeError("lost")

    slices = _Slices(draw, 1, Shard())
    for _ in range(3):
        with pytest.raises(RuntimeError, match="lost"):
            next(slices)


def test_an_ended_iterator_is_not_called_again() -> None:
    asked: list[Any] = []
    slices = _Slices(lambda *arguments: asked.append(arguments), 2, Shard(replicas=3))
    assert list(slices) == []
    assert list(slices) == []
    assert asked == [(2,)]


def slices_of(shard: Shard, sizes: Sequence[int]) -> list[tuple[list[int], Any]]:
    rows = iter(np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]))

    def draw(*_: Any) -> Any:
        values = next(rows, None)
        if values is None:
            return None
        return PackedColumns((values[:, np.newaxis],), Layout((values.dtype,), (1,), {}))

    return [(matrices[0].ravel().tolist(), rows) for matrices, _, rows in _Slices(draw, 1, shard)]


def test_replicas_get_nearly_equal_slices_of_each_batch() -> None:
    own = slices_of(Shard(replicas=2), (5, 2))
    assert own == [([0, 1, 2], 3), ([3, 4], 2), ([5], 1), ([6], 1)]


def test_replicas_without_rows_repeat_one_that_counts_nothing() -> None:
    assert slices_of(Shard(replicas=3), (2,)) == [([0], 1), ([1], 1), ([0], 0)]


def test_workers_share_each_batch() -> None:
    own = [slices_of(Shard(2, worker, 4), (6, 4)) for worker in range(2)]
    rows = [[batch for batch, _ in each] for each in own]
    assert rows == [[[0, 1], [2, 3], [6], [7]], [[4], [5], [8], [9]]]


def test_workers_out_of_step_take_batches_in_turns() -> None:
    own = [slices_of(Shard(2, worker, 1), (2, 1, 2)) for worker in range(2)]
    assert own == [[([0, 1], 2), ([3, 4], 2)], [([2], 1)]]


OTHERS = {
    "The column `word` of the first batch is missing": [column("x", [1.0]), column("y", [1.0])],
    "There is a column `z`, which the first": [*batch(1)["columns"], column("z", np.ones(8))],
    "The column `x` has type integer, in the first batch float": [
        column("x", [1], "integer"),
        words("word", ["odd"]),
        column("y", [1.0]),
    ],
    "The column `x` has shape 2, in the first batch none": [
        column("x", [[1.0, 2.0]], shape=[2]),
        words("word", ["odd"]),
        column("y", [1.0]),
    ],
    "The column `word` has levels odd, in the first batch none": [
        column("x", [1.0]),
        words("word", ["odd"], levels="odd"),
        column("y", [1.0]),
    ],
    "The column `y` has shape \\[2\\]": [
        column("x", [1.0]),
        words("word", ["odd"]),
        column("y", [1.0, 2.0]),
    ],
}


@pytest.mark.parametrize("text", OTHERS)
def test_a_batch_unlike_the_first_is_refused_by_number_and_column(
    tensorflow: Any, tmp_path: Path, text: str
) -> None:
    source = described(Source([batch(1), batch(2), {"columns": OTHERS[text]}]))
    with pytest.raises(InputError, match=f"Batch 3 cannot be used: {text}"):
        train(model(tmp_path), settings(), source)


def test_columns_may_come_in_another_order(tensorflow: Any, tmp_path: Path) -> None:
    answers = [batch(0), {"columns": batch(1)["columns"][::-1]}]
    train(model(tmp_path), settings(), described(Source(answers)))
    weight, _, _ = weights_by_hand(2)
    assert variable_value(str(tmp_path), WEIGHTS).item() == pytest.approx(weight, abs=1e-5)


def test_refusals_of_r_are_raised_with_the_number_of_the_batch() -> None:
    refusal = {
        "problem": "The column `x` has 2 missing values.",
        "remedy": "Fill.",
        "argument": "x",
    }
    with pytest.raises(InputError) as raised:
        described(Source([refusal])).facts()
    assert (
        str(raised.value) == "Batch 1 cannot be used: The column `x` has 2 missing values.\nFill."
    )
    assert raised.value.argument == "x"


def test_the_first_batch_shows_the_columns_and_is_not_lost() -> None:
    source = Source(
        [{"columns": [column("m", [[1.0, 2.0]], shape=2), words("y", ["a"], levels="a")]}]
    )
    facts = described(source).facts()
    assert facts.features == {"m": ColumnFacts("m", "float", (2,))}
    assert facts.label == ColumnFacts("y", "string", (), ("a",))
    assert (facts.rows, facts.global_batch_size, facts.epochs) == (None, None, 1)


def test_a_generator_without_batches_is_refused() -> None:
    for restarts in (True, False):
        with pytest.raises(InputError, match="ended before its first batch"):
            described(Source([], restarts=restarts)).facts()


@pytest.mark.parametrize("epochs", [2, None])
def test_a_function_of_batches_has_one_epoch(epochs: int | None) -> None:
    with pytest.raises(InputError, match="`epochs` must be 1") as raised:
        described(Source(batches(2)), epochs=epochs).facts()
    assert raised.value.argument == "epochs"


def test_an_interrupt_in_r_ends_the_training_with_its_last_step(
    tensorflow: Any, tmp_path: Path
) -> None:
    source = described(Source([*batches(3), {"interrupted": True}]))
    with pytest.raises(KeyboardInterrupt):
        train(model(tmp_path), settings(), source)
    assert variable_value(str(tmp_path), "global_step") == 3


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
from tfdistribute.descriptions import read
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train
from tfdistribute.training.model_directory import global_step

times, hangs_at, strategy = {times}, {hangs_at}, {strategy}
drawn = 0

def interrupt():
    for _ in range(times):
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

def next_batch():
    global drawn
    drawn += 1
    if drawn == 20:
        threading.Thread(target=interrupt, daemon=True).start()
    if drawn == hangs_at:
        time.sleep(60)
    return dict(columns=[dict(name=n, type="float", values=np.ones(4)) for n in "xy"])

source = dict(kind="generator", begin=lambda: False, next_batch=next_batch, response="y")
directory = {directory!r}
column = dict(kind="numeric", key="x")
model = dict(kind="linear_regressor", feature_columns=[column], model_dir=directory)
started = time.monotonic()
try:
    train(read(Model, model), read(RunSettings, dict(strategy=strategy)), read(Input, source), steps=10**6)
except KeyboardInterrupt:
    print("interrupted", drawn - global_step(directory))
"""


@sampled("strategy", [None, MIRRORED], check=[MIRRORED])
def test_the_first_ctrl_c_keeps_every_step(
    run_python: Callable[..., Any], strategy: Any, tmp_path: Path
) -> None:
    code = INTERRUPTED.format(times=1, hangs_at=None, strategy=strategy, directory=str(tmp_path))
    word, unused = run_python(code, timeout_s=60).stdout.split()
    assert word == "interrupted"
    # All batches are used for training, except those read ahead.
    assert int(unused) <= 6


def test_the_second_ctrl_c_stops_at_once(run_python: Callable[..., Any], tmp_path: Path) -> None:
    code = INTERRUPTED.format(times=2, hangs_at=25, strategy=None, directory=str(tmp_path))
    assert run_python(code, timeout_s=40).stdout.split()[0] == "interrupted"
