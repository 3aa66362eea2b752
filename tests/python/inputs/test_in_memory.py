"""Columns in memory: values, order, and graph size."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfdistribute.columns import ColumnFacts
from tfdistribute.descriptions import read
from tfdistribute.errors import InputError, ShardingError
from tfdistribute.inputs import Column, InMemory, Input
from tfdistribute.inputs.packed.packing import pack


def number(name: str, values: Any, type: str = "float", shape: tuple[int, ...] = ()) -> Column:  # noqa: A002
    return Column(name, type, lambda: np.asarray(values), shape)


def strings(name: str, values: Sequence[str]) -> Column:
    labels = sorted(set(values))
    codes = np.array([labels.index(value) for value in values], dtype=np.int32)
    return Column(name, "string", lambda: {"codes": codes, "labels": np.array(labels, object)})


def rows_input(rows: int, **settings: Any) -> InMemory:
    """An input whose feature `id` is the row number, and whose label is 10 times that."""
    ids = np.arange(rows)
    return InMemory(
        (number("id", ids, "integer"), number("y", 10.0 * ids)), response="y", **settings
    )


def context(pipelines: int, pipeline: int, replicas: int) -> SimpleNamespace:
    return SimpleNamespace(
        num_input_pipelines=pipelines, input_pipeline_id=pipeline, num_replicas_in_sync=replicas
    )


def ids(dataset: Any) -> list[list[int]]:
    return [
        (element[0] if isinstance(element, tuple) else element)["id"].tolist()
        for element in dataset.as_numpy_iterator()
    ]


def in_graph(tf: Any, make: Callable[[], Any]) -> tuple[list[Any], Any]:
    """All elements of a dataset as a session returns them, and the graph's definition."""
    elements = []
    with tf.Graph().as_default() as graph:
        iterator = tf.compat.v1.data.make_initializable_iterator(make())
        element = iterator.get_next()
        with tf.compat.v1.Session() as session:
            session.run(iterator.initializer)
            while True:
                try:
                    elements.append(session.run(element))
                except tf.errors.OutOfRangeError:
                    return elements, graph.as_graph_def()


ALL_TYPES = (
    number("float", [0.5, 1e9, -1.0]),
    number("integer", [1, -2, 2**31 - 1], "integer"),
    number("logical", [0, 1, 1], "logical"),
    number("date", [0, 18262, -1], "date"),
    number("datetime", [1577836800.25, 0.0, -1.0], "datetime"),
    Column("integer64", "integer64", lambda: np.array([2**60 + 1, 5, -7]).view(np.float64)),
    strings("string", ["b", "größe", "b"]),
    number("row", [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], shape=(2,)),
    number("image", np.arange(12).reshape(3, 2, 2), shape=(2, 2)),
)


@pytest.mark.parametrize("graph_mode", [True, False])
def test_every_type_arrives_exactly_with_its_dtype_and_shape(
    tensorflow: ModuleType, graph_mode: bool
):
    source = InMemory(ALL_TYPES, batch_size=2)
    make = source.input_fn("evaluate")
    batches = in_graph(tensorflow, make)[0] if graph_mode else list(make().as_numpy_iterator())
    assert [len(batch["float"]) for batch in batches] == [2, 1]
    joined = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
    assert set(joined) == {column.name for column in ALL_TYPES}
    assert {name: values.dtype.name for name, values in joined.items() if name != "string"} == {
        "float": "float32",
        "integer": "int32",
        "logical": "int32",
        "date": "float32",
        "datetime": "float64",
        "integer64": "int64",
        "row": "float32",
        "image": "float32",
    }
    assert joined["float"].tolist() == [0.5, 1e9, -1.0]
    assert joined["integer"].tolist() == [1, -2, 2**31 - 1]
    assert joined["logical"].tolist() == [0, 1, 1]
    assert joined["date"].tolist() == [0, 18262, -1]
    assert joined["datetime"].tolist() == [1577836800.25, 0.0, -1.0]
    assert joined["integer64"].tolist() == [2**60 + 1, 5, -7]
    assert [text.decode() for text in joined["string"]] == ["b", "größe", "b"]
    assert joined["row"].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert joined["image"].tolist() == np.arange(12).reshape(3, 2, 2).tolist()


def test_a_matrix_in_fortran_order_keeps_its_rows(tensorflow: ModuleType):
    """R's arrays are in Fortran order."""
    image = np.asfortranarray(np.arange(24.0).reshape(4, 3, 2))
    source = InMemory((number("image", image, shape=(3, 2)),), batch_size=4)
    (batch,) = source.input_fn("evaluate")().as_numpy_iterator()
    assert batch["image"].tolist() == image.tolist()


def test_columns_computed_of_all_rows_follow_their_rows(tensorflow: ModuleType):
    words = strings("word", ["b", "a", "b", "c"] * 3)
    own = InMemory((words, number("y", range(12))), response="y", batch_size=12)

    def compute(rows: int, read: Any, label: str | None) -> dict[str, Any]:
        assert (rows, label, read("word", slice(1, 3)).tolist()) == (12, "y", ["a", "b"])
        return {"word": np.arange(12, dtype=np.int32), "tens": np.arange(0, 120, 10)}

    ((features, label),) = own.with_codes(compute).input_fn("train")().as_numpy_iterator()
    assert label.tolist() != list(range(12))
    assert features["word"].tolist() == label.tolist()
    assert features["tens"].tolist() == (10 * label).tolist()
    # The input itself is as before.
    assert own.facts().features == {"word": words.facts}


def test_names_may_be_any_text(tensorflow: ModuleType):
    source = InMemory((number("petal length", [1.0]), number("größe", [2.0])), response="größe")
    ((features, label),) = source.input_fn("train")().as_numpy_iterator()
    assert features["petal length"].tolist() == [1]
    assert label.tolist() == [2]


def test_facts_need_no_tensorflow(run_python: Callable[..., Any]):
    run_python(
        """
import sys
import numpy as np
from tfdistribute.descriptions import read
from tfdistribute.inputs import Input
columns = [{"name": "x", "type": "float", "values": lambda: np.arange(3.0)}]
assert read(Input, {"kind": "in_memory", "columns": columns}).facts().rows == 3
assert "tensorflow" not in sys.modules
"""
    )


def test_facts_say_what_is_known():
    facts = read(
        Input,
        {
            "kind": "in_memory",
            "columns": [
                {"name": "x", "type": "float", "shape": 2.0, "values": lambda: np.zeros((3, 2))},
                {"name": "y", "type": "integer", "values": lambda: np.array([4, 2, 3])},
            ],
            "response": "y",
            "batch_size": 2.0,
            "epochs": None,
        },
    ).facts()
    assert facts.features == {"x": ColumnFacts("x", "float", (2,))}
    assert facts.label == ColumnFacts("y", "integer")
    assert (facts.rows, facts.epochs, facts.global_batch_size) == (3, None, 2)
    assert facts.label_range == (2.0, 4.0)


def test_labels_of_strings_have_levels_and_no_range():
    labels = {"codes": np.array([0, 1, 0]), "labels": np.array(["no", "yes"], object)}
    column = Column("y", "string", lambda: labels, levels=("no", "yes", "never"))
    facts = InMemory((number("x", [1, 2, 3]), column), response="y").facts()
    assert facts.label is not None
    assert facts.label.levels == ("no", "yes", "never")
    assert facts.label_range is None


def test_arrays_of_the_caller_are_not_kept():
    """They may be R's memory, which must not be freed on other threads and may change."""
    handed_over: list[weakref.ref[np.ndarray]] = []

    def values() -> np.ndarray:
        array = np.arange(1000.0)
        handed_over.append(weakref.ref(array))
        return array

    source = InMemory((Column("x", "float", values), Column("z", "float", values)))
    function = weakref.ref(values)
    del values
    assert source.facts().rows == 1000
    gc.collect()
    assert [reference() for reference in handed_over] == [None, None]
    assert function() is None


def test_one_copy_is_kept_as_32_bit_numbers():
    packed = pack([number(f"x{index}", np.arange(100.0)) for index in range(20)])
    (matrix,) = packed.matrices
    assert matrix.dtype == np.float32
    assert matrix.flags.c_contiguous
    assert matrix.shape == (100, 20)
    assert packed.layout.row_bytes == 80


def test_the_data_stays_out_of_the_graph(tensorflow: ModuleType):
    """from_tensor_slices stores the data in the graph, which is limited to 2 GB."""
    words = [f"a rather long word, number {index}" for index in range(5000)]
    source = InMemory((number("x", np.arange(5000.0)), strings("s", words)), batch_size=512)
    elements, graph = in_graph(tensorflow, source.input_fn("evaluate"))
    assert [text.decode() for batch in elements for text in batch["s"]] == words
    definition = graph.SerializeToString()
    assert len(definition) < 30_000
    assert b"a rather long word" not in definition


def test_training_shuffles_each_epoch_with_the_seed(tensorflow: ModuleType):
    source = rows_input(40, batch_size=8, epochs=2)
    read_ids = ids(source.input_fn("train", 1)())
    assert all(len(batch) == 8 for batch in read_ids)
    stream = [row for batch in read_ids for row in batch]
    assert sorted(stream[:40]) == sorted(stream[40:]) == list(range(40))
    assert len({tuple(stream[:40]), tuple(stream[40:]), tuple(range(40))}) == 3
    assert ids(source.input_fn("train", 1)()) == read_ids
    assert ids(source.input_fn("train", 2)()) != read_ids


def test_features_and_labels_stay_together(tensorflow: ModuleType):
    for features, label in rows_input(40, batch_size=8).input_fn("train", 1)().as_numpy_iterator():
        assert label.tolist() == (10 * features["id"]).tolist()


def test_the_inputs_own_seed_comes_first(tensorflow: ModuleType):
    own = rows_input(40, seed=3)
    assert ids(own.input_fn("train", 1)()) == ids(own.input_fn("train", 2)())
    assert ids(own.input_fn("train", 1)()) == ids(rows_input(40).input_fn("train", 3)())


@pytest.mark.parametrize(
    ("purpose", "shuffle", "in_order"),
    [
        ("train", None, False),
        ("train", False, True),
        ("evaluate", None, True),
        ("evaluate", True, False),
        ("predict", None, True),
        ("predict", True, True),
    ],
)
def test_the_purpose_decides_about_shuffling(
    tensorflow: ModuleType, purpose: Any, shuffle: bool | None, in_order: bool
):
    source = rows_input(40, batch_size=16, shuffle=shuffle)
    stream = [row for batch in ids(source.input_fn(purpose, 1)()) for row in batch]
    assert sorted(stream) == list(range(40))
    assert (stream == list(range(40))) == in_order


@pytest.mark.parametrize("epochs", [None, 1, 3])
def test_predicting_takes_one_pass_and_drops_the_response(
    tensorflow: ModuleType, epochs: int | None
):
    source = rows_input(5, batch_size=2, epochs=epochs)
    batches = list(source.input_fn("predict")().as_numpy_iterator())
    assert [list(batch) for batch in batches] == [["id"]] * 3
    assert [batch["id"].tolist() for batch in batches] == [[0, 1], [2, 3], [4]]


def test_an_endless_input_does_not_end(tensorflow: ModuleType):
    dataset = rows_input(3, batch_size=2, epochs=None).input_fn("train", 1)()
    stream = [row for batch in ids(dataset.take(30)) for row in batch]
    assert np.bincount(stream).tolist() == [20, 20, 20]


@pytest.mark.parametrize(("pipelines", "replicas"), [(1, 2), (2, 2), (2, 4)])
def test_replicas_and_workers_see_the_global_batches_of_one_device(
    tensorflow: ModuleType, pipelines: int, replicas: int
):
    source = rows_input(48, batch_size=8, epochs=2)
    alone = ids(source.input_fn("train", 1)())
    make = source.input_fn("train", 1)
    slices = [ids(make(context(pipelines, index, replicas))) for index in range(pipelines)]
    own = replicas // pipelines
    together = [
        [row for part in slices for batch in part[step * own : (step + 1) * own] for row in batch]
        for step in range(len(alone))
    ]
    assert together == alone


def test_chunks_are_limited_in_bytes(tensorflow: ModuleType):
    wide = number("x", np.zeros((64, 50_000), np.float32), shape=(50_000,))
    source = InMemory((wide, number("id", np.arange(64), "integer")), batch_size=16)
    assert ids(source.input_fn("evaluate")()) == np.arange(64).reshape(4, 16).tolist()


def test_chunks_count_strings_that_are_kept_as_codes():
    """Codes become strings while many batches are in one chunk."""
    numbers, words = number("x", np.arange(10.0)), ["a" * 900, "b" * 1100] * 5
    without = pack([numbers]).layout
    layout = pack([numbers, strings("s", words)]).layout
    assert without.tensor_row_bytes == without.row_bytes == 4
    assert layout.row_bytes == 8
    assert 1008 <= layout.tensor_row_bytes <= 1040


def test_an_uneven_batch_size_is_refused_before_the_dataset_is_made():
    with pytest.raises(ShardingError, match="10 examples cannot be split evenly over 4 replicas"):
        rows_input(40, batch_size=10).input_fn("train")(context(1, 0, 4))


@pytest.mark.parametrize(
    ("columns", "response", "message"),
    [
        ((), None, "The input has no columns."),
        ((number("x", [1]), number("x", [1])), None, "The input has two columns `x`."),
        ((number("x", [1]),), "y", "The response `y` is not a column."),
        ((number("x", [1, 2]), number("z", [1])), None, "The column `z` has shape"),
        ((number("x", [[1, 2]]),), None, "The column `x` has shape"),
    ],
)
def test_columns_that_do_not_fit_are_refused(
    columns: tuple[Column, ...], response: str | None, message: str
):
    with pytest.raises(InputError) as caught:
        InMemory(columns, response=response).facts()
    assert caught.value.problem.startswith(message)
    assert caught.value.remedy


def count_rows(tf: Any, rows: int) -> Callable[..., Any]:
    """A model that counts how often it sees each row, over all replicas."""

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        counts = tf.compat.v1.get_variable(
            "counts",
            shape=[rows],
            dtype=tf.float32,
            initializer=tf.compat.v1.zeros_initializer(),
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
        here = tf.reduce_sum(tf.one_hot(features["id"], rows), 0)
        step = tf.compat.v1.train.get_or_create_global_step()
        train_op = tf.group(counts.assign_add(here), step.assign_add(1))
        return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_sum(labels), train_op=train_op)

    return model_fn


@pytest.mark.parametrize("rows", [56, 8, 2, 18, 53])
@pytest.mark.parametrize("epochs", [1, 2])
def test_mirrored_training_sees_every_row_once_per_epoch(
    tensorflow: Any, logical_cpus: list[str], tmp_path: Path, rows: int, epochs: int
):
    """TensorFlow drops the last step if a replica has no batch, and with it possibly all rows."""
    tf = tensorflow
    config = tf.estimator.RunConfig(
        train_distribute=tf.distribute.MirroredStrategy(logical_cpus[:2]),
        session_config=tf.compat.v1.ConfigProto(device_count={"CPU": len(logical_cpus)}),
        save_summary_steps=None,
        log_step_count_steps=None,
    )
    estimator = tf.estimator.Estimator(count_rows(tf, rows), str(tmp_path), config)
    source = rows_input(rows, batch_size=8, epochs=epochs)
    estimator.train(source.input_fn("train", 1))
    assert estimator.get_variable_value("counts").tolist() == [epochs] * rows


def test_an_estimator_that_does_not_count_rows_gets_a_repeated_one(
    tensorflow: Any, logical_cpus: list[str], tmp_path: Path
):
    tf = tensorflow
    config = tf.estimator.RunConfig(
        train_distribute=tf.distribute.MirroredStrategy(logical_cpus[:2])
    )
    estimator = tf.estimator.Estimator(count_rows(tf, 1), str(tmp_path), config)
    estimator.train(rows_input(1, batch_size=8).input_fn("train", 1))
    assert estimator.get_variable_value("counts").tolist() == [2]


def test_a_part_of_the_rows_shares_the_memory_of_all(tensorflow: ModuleType):
    whole = rows_input(9, batch_size=2, shuffle=False)
    part = whole.subset(np.array([7, 2, 5, 1])).subset(np.array([0, 1, 3]))
    shared = [
        each for each in part.packed.matrices if np.shares_memory(each, whole.packed.matrices[0])
    ]
    assert len(shared) == 1
    facts = part.facts()
    assert (facts.rows, facts.label_range) == (3, (10.0, 70.0))
    assert part.packed.values("y", slice(1, None)).tolist() == [20.0, 10.0]
    assert ids(part.input_fn("evaluate")()) == [[7, 2], [1]]
    rows = part.resident_rows("evaluate")
    assert [chunk.ravel().tolist() for chunk in rows.row_numbers()] == [[7, 2], [1]]
    # Codes of levels belong to the same rows.
    coded = part.with_codes(lambda rows, values, _: {"code": 100 + np.arange(rows)})
    assert coded.packed.values("code", slice(None)).tolist() == [100, 101, 102]
    assert coded.packed.gather(np.array([[2]]))[-1].tolist() == [[[102]]]
    assert part.packed.checksum() != whole.packed.checksum()
