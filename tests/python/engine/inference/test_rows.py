"""Evaluations and predictions of rows in memory, against those of sessions with hooks."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.inputs import Factor, in_memory
from support.sampling import sampled

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.errors import InputError, ModelDirectoryError, TfdistributeError
from tfdistribute.inputs import Input
from tfdistribute.models import Model, Wrapped
from tfdistribute.run_config import RunSettings
from tfdistribute.training import (
    EvalSpec,
    TrainSpec,
    concatenate,
    evaluate,
    predict,
    train,
    train_and_evaluate,
)
from tfdistribute.training.preparation import prepare_estimator

# A prime number of rows, so that the last batch is smaller.
ROWS = 103
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=ROWS)
CODES = RANDOM.integers(0, 3, ROWS).astype(np.int32)
Y = (X + CODES > 1).astype(float)
SETTINGS = RunSettings()
COLUMNS = [
    {"kind": "numeric", "key": "x"},
    {
        "kind": "indicator",
        "categorical_column": {
            "kind": "categorical_with_hash_bucket",
            "key": "f",
            "hash_bucket_size": 20,
        },
    },
]


@pytest.fixture
def built(tensorflow: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The sessions that were built, with small batches and none cached by other tests."""
    from tfdistribute.engine.estimator import estimator
    from tfdistribute.engine.inference import GRAPHS, session

    made: list[Any] = []

    class Counted(session.InferenceSession):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            if not any(isinstance(each, Watch) for each in self._parts.hooks):
                made.append(self)

    monkeypatch.setattr(session, "MOST_ROWS", 20)
    monkeypatch.setattr(estimator, "InferenceSession", Counted)
    GRAPHS.clear()
    yield made
    GRAPHS.clear()


def rows(levels: Any = ("a", "b", "c"), chosen: Any = slice(None)) -> Input:
    return in_memory(
        {"x": X[chosen], "f": Factor(CODES[chosen], levels), "y": Y[chosen]}, batch_size=10
    )


def classifier(folder: Path, columns: Any = COLUMNS, **fields: Any) -> Model:
    described = {
        "kind": "dnn_classifier",
        "hidden_units": [4],
        "feature_columns": columns,
        "model_dir": str(folder / "model"),
        **fields,
    }
    return read(Model, described)


class Watch(engine.tf.estimator.SessionRunHook):
    """With a hook that sees each batch, TensorFlow's own ``session.run`` is used."""

    def after_run(self, run_context: Any, run_values: Any) -> None:
        pass


def in_session(model: Model, source: Input) -> tuple[Any, Any]:
    hooks = [Watch()]
    predicted = concatenate(predict(model, SETTINGS, source, hooks=hooks))
    return predicted, evaluate(model, SETTINGS, source, hooks=hooks)


def in_callables(model: Model, source: Input) -> tuple[Any, Any]:
    predicted = concatenate(predict(model, SETTINGS, source.in_large_batches()))
    return predicted, evaluate(model, SETTINGS, source)


def check_equal(found: tuple[Any, Any], expected: tuple[Any, Any]) -> None:
    assert found[0].keys() == expected[0].keys()
    for name, values in expected[0].items():
        if values.dtype.kind == "f":
            assert np.allclose(found[0][name], values, rtol=1e-6, atol=1e-7)
        else:
            assert np.array_equal(found[0][name], values)
    assert found[1] == pytest.approx(expected[1], rel=1e-6)
    counted = ("accuracy", "precision", "recall", "global_step")
    assert {each: found[1][each] for each in counted} == {
        each: expected[1][each] for each in counted
    }


def test_results_are_those_of_ordinary_sessions_whatever_changes_between_verbs(
    tmp_path: Path, built: list[Any]
):
    model = classifier(tmp_path)
    train(model, SETTINGS, rows(), steps=3)
    check_equal(in_callables(model, rows()), in_session(model, rows()))
    check_equal(in_callables(model, rows()), in_session(model, rows()))
    assert len(built) == 2
    # Other strings behind the same codes, and fewer of them.
    check_equal(
        in_callables(model, rows(["p", "q", "r"])), in_session(model, rows(["p", "q", "r"]))
    )
    fewer = rows(["z"], np.flatnonzero(CODES == 0))
    check_equal(in_callables(model, fewer), in_session(model, fewer))
    # Other weights.
    train(model, SETTINGS, rows(), steps=20)
    check_equal(in_callables(model, rows()), in_session(model, rows()))


def test_an_evaluation_counts_no_row_of_the_one_before(tmp_path: Path, built: list[Any]):
    model = classifier(tmp_path)
    train(model, SETTINGS, rows(), steps=1)
    few = rows(chosen=slice(20))
    alone = evaluate(model, SETTINGS, few)
    assert evaluate(model, SETTINGS, rows()) != alone
    assert evaluate(model, SETTINGS, few) == alone
    assert len(built) == 1


NAMED = {"steps": 3, "name": "first_rows"}


@pytest.mark.versions
@sampled("fields", [{}, NAMED], check=[NAMED])
def test_the_evaluations_of_a_training_share_a_graph(
    tmp_path: Path, built: list[Any], fields: dict[str, Any]
):
    model, settings = classifier(tmp_path), RunSettings(save_checkpoints_steps=3)
    specs = TrainSpec(rows(), max_steps=9), EvalSpec(rows(), throttle_secs=0, **fields)
    found = train_and_evaluate(model, settings, *specs).evaluations
    assert [each["global_step"] for each in found] == [3, 6, 9]
    assert len(built) == 1
    # Each has the weights of its own checkpoint.
    for each in found:
        path = f"{model.model_dir}/model.ckpt-{each['global_step']:.0f}"
        expected = evaluate(
            model, settings, rows(), checkpoint_path=path, hooks=[Watch()], **fields
        )
        assert each == pytest.approx(expected, rel=1e-5)
    folder = Path(model.model_dir) / ("eval_first_rows" if fields else "eval")
    assert list(folder.glob("events*"))
    # The model is at its last step: it is only evaluated.
    (again,) = train_and_evaluate(model, settings, *specs).evaluations
    assert again == pytest.approx(found[-1], rel=1e-6)


def test_a_graph_is_built_again_for_another_model_or_other_outputs(
    tmp_path: Path, built: list[Any]
):
    model, other = classifier(tmp_path), classifier(tmp_path / "other", hidden_units=[5])
    for each in (model, other):
        train(each, SETTINGS, rows(), steps=2)
        evaluate(each, SETTINGS, rows())
    assert len(built) == 2
    for keys, sessions in ((["logistic"], 3), (["logits"], 4), (["logits"], 4)):
        assert set(concatenate(predict(model, SETTINGS, rows(), predict_keys=keys))) == set(keys)
        assert len(built) == sessions
    # Without a response, the batches are others.
    source = in_memory({"x": X, "f": Factor(CODES, ["a", "b", "c"])}, None)
    expected = concatenate(predict(model, SETTINGS, rows(), predict_keys=["logits"]))
    found = concatenate(predict(model, SETTINGS, source, predict_keys=["logits"]))
    assert np.allclose(found["logits"], expected["logits"], rtol=1e-6)


@pytest.mark.full
def test_a_number_that_keras_keeps_for_the_process_is_part_of_the_graph(
    tmp_path: Path, built: list[Any]
):
    model, backend = classifier(tmp_path), engine.keras2.backend
    train(model, SETTINGS, rows(), steps=2)
    evaluate(model, SETTINGS, rows())
    before = backend.epsilon()
    backend.set_epsilon(0.01)
    try:
        evaluate(model, SETTINGS, rows())
    finally:
        backend.set_epsilon(before)
    assert len(built) == 2


@pytest.mark.full
def test_a_file_of_categories_is_read_by_every_verb(tmp_path: Path, built: list[Any]):
    file = tmp_path / "levels.txt"
    file.write_text("a\nb\nc\n", encoding="utf-8")
    column = {
        "kind": "categorical_with_vocabulary_file",
        "key": "f",
        "vocabulary_file": str(file),
        "vocabulary_size": 3,
    }
    columns = [COLUMNS[0], {"kind": "indicator", "categorical_column": column}]
    model = classifier(tmp_path, columns)
    train(model, SETTINGS, rows(), steps=20)
    check_equal(in_callables(model, rows()), in_session(model, rows()))
    file.write_text("c\nb\na\n", encoding="utf-8")
    with pytest.raises(ModelDirectoryError, match="vocabulary file"):
        evaluate(model, SETTINGS, rows())


def test_a_function_of_the_user_is_called_by_every_verb(tmp_path: Path, built: list[Any]):
    shift = 0.0
    column = {**COLUMNS[0], "normalizer_fn": lambda x: x + shift}
    model = classifier(tmp_path, [column])
    train(model, SETTINGS, rows(), steps=2)
    before = evaluate(model, SETTINGS, rows())
    shift = 1.0
    after = evaluate(model, SETTINGS, rows())
    assert after["loss"] != pytest.approx(before["loss"], rel=1e-6)
    check_equal(in_callables(model, rows()), in_session(model, rows()))


@pytest.mark.full
def test_an_existing_estimator_is_evaluated_under_its_own_strategy(
    tmp_path: Path, built: list[Any]
):
    on_two = read(RunSettings, {"eval_distribute": {"kind": "mirrored", "devices": 2}})
    made = prepare_estimator("train_and_evaluate", classifier(tmp_path), on_two)
    existing = Wrapped(made.model_dir, made)
    train(existing, SETTINGS, rows(), steps=2)
    found = evaluate(existing, SETTINGS, rows())
    assert built == []
    on_one = evaluate(Wrapped(made.model_dir, made, keeps_config=False), SETTINGS, rows())
    assert found["loss"] == pytest.approx(on_one["loss"], rel=1e-6)
    assert len(built) == 1


def test_a_wrong_label_is_an_error_and_the_next_verb_is_right(tmp_path: Path, built: list[Any]):
    model = classifier(tmp_path, [COLUMNS[0]])
    train(model, SETTINGS, in_memory({"x": X, "y": Y}), steps=2)
    right = evaluate(model, SETTINGS, in_memory({"x": X, "y": Y}))
    assert len(built) == 1
    weighted = classifier(tmp_path, [COLUMNS[0]], weight_column="w")
    with pytest.raises(TfdistributeError):
        evaluate(weighted, SETTINGS, in_memory({"x": X, "y": Y}))
    assert evaluate(model, SETTINGS, in_memory({"x": X, "y": Y})) == right


def test_batches_are_those_of_the_input_if_they_are_asked_for(tmp_path: Path, built: list[Any]):
    model = classifier(tmp_path)
    train(model, SETTINGS, rows(), steps=2)
    sizes = [len(each["logits"]) for each in predict(model, SETTINGS, rows())]
    assert sizes == [10] * 10 + [3]
    sizes = [len(each["logits"]) for each in predict(model, SETTINGS, rows().in_large_batches())]
    assert sizes == [20] * 5 + [3]


def test_predictions_for_no_rows_have_types_and_widths(tmp_path: Path, built: list[Any]):
    model = classifier(tmp_path)
    train(model, SETTINGS, rows(), steps=1)
    for hooks in ([], [Watch()]):
        some = concatenate(predict(model, SETTINGS, rows(), hooks=hooks))
        none = concatenate(predict(model, SETTINGS, rows(chosen=slice(0)), hooks=hooks))
        assert {name: (0, *each.shape[1:], each.dtype) for name, each in some.items()} == {
            name: (*each.shape, each.dtype) for name, each in none.items()
        }
    for verb in (train, evaluate):
        with pytest.raises(InputError, match="The input has no rows"):
            verb(model, SETTINGS, rows(chosen=slice(0)))


def test_a_prediction_that_is_given_up_leaves_no_session(tmp_path: Path, built: list[Any]):
    model = classifier(tmp_path)
    train(model, SETTINGS, rows(), steps=2)
    batches = predict(model, SETTINGS, rows())
    next(batches)
    batches.close()  # pyright: ignore[reportAttributeAccessIssue] - it is a generator
    expected = concatenate(predict(model, SETTINGS, rows()))["logits"]
    assert len(built) == 2
    assert len(expected) == ROWS


def test_rows_are_neither_copied_nor_kept(tmp_path: Path, built: list[Any]):
    model, source = classifier(tmp_path), rows()
    train(model, SETTINGS, source, steps=2)
    evaluate(model, SETTINGS, source)
    found = source.resident_rows("evaluate")
    whole = found.matrices
    batches = list(engine.inference.fed_rows.batches_of(found, 20))
    pairs = [pair for batch in batches for pair in zip(batch, whole, strict=True)]
    assert all(np.shares_memory(*pair) for pair in pairs)
    assert sum(len(batch[0]) for batch in batches) == ROWS
    alive = weakref.ref(whole[0])
    del source, found, whole, batches, pairs
    gc.collect()
    assert alive() is None


def test_wide_models_get_smaller_batches(
    tmp_path: Path, built: list[Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tfdistribute.engine.inference.session.MOST_BYTES", 4 * 300 * 7)
    model = classifier(tmp_path, hidden_units=[300])
    train(model, SETTINGS, rows(), steps=1)
    evaluate(model, SETTINGS, rows())
    assert built[0]._batch_rows == 7
