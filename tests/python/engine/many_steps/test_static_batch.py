"""Steps of full batches: fewer operations, the same results to the bit, and no check lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.many_steps import by_row, one_operation, row_rules, static_batch
from tfdistribute.engine.many_steps.by_row import Rows
from tfdistribute.engine.many_steps.vocabularies import vocabularies_of

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")

BATCH = 4
GIVEN = {"rows:0": (tf.float32, [BATCH, 2]), "labels:0": (tf.int32, [BATCH, 1])}
LABELS = np.array([[0], [1], [1], [0], [1], [0], [0]], np.int32)
ROWS = np.arange(14, dtype=np.float32).reshape(7, 2)


def loss_of_two_classes(rows: Any, labels: Any) -> Any:
    weight = tf.constant([[1.0], [-0.5]])
    target = tf.cast(labels, tf.float32)
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=tf.matmul(rows, weight))
    return tf.reduce_sum(losses) / tf.cast(tf.size(losses), tf.float32)


def built(function: Callable[..., Any]) -> Any:
    """Build a step in a graph of its own; return its result."""
    with tf.Graph().as_default():
        rows = v1.placeholder(tf.float32, [None, 2], "rows")
        labels = v1.placeholder(tf.int32, [None, 1], "labels")
        return tf.identity(function(rows, labels), "result")


def simplified_with_kept(
    result: Any, labels: Any = LABELS, rows: Any = ROWS, **others: Any
) -> tuple[Any, dict[str, Any]]:
    whole = result.graph.as_graph_def()
    definition = v1.graph_util.extract_sub_graph(whole, ["result"])
    for node in definition.node:
        node.attr.pop("_class", None)
    kept = [node for node in definition.node if f"{node.name}:0" not in GIVEN]
    step = v1.GraphDef(versions=whole.versions, library=whole.library, node=kept)
    everything = Rows({"rows:0": rows, "labels:0": labels}, **others)
    return static_batch.simplified(step, ["result"], GIVEN, everything)


def simplified(result: Any, *given: Any) -> Any:
    return simplified_with_kept(result, *given)[0]


def computed(definition: Any, batch: Any = slice(BATCH), kept: dict[str, Any] | None = None) -> Any:
    fed = {
        name: values[batch]
        for name, values in {"rows:0": ROWS, "labels:0": LABELS, **(kept or {})}.items()
    }
    with tf.Graph().as_default(), v1.Session() as session:
        inputs = {name: v1.placeholder(each.dtype, each.shape) for name, each in fed.items()}
        read = {name for node in definition.node for name in node.input}
        used = {name: each for name, each in inputs.items() if {name, name[:-2]} & read}
        (result,) = tf.import_graph_def(definition, used, ["result:0"], name="")
        return session.run(result, {inputs[name]: values for name, values in fed.items()})


def types(definition: Any) -> list[str]:
    return [node.op for node in definition.node]


def gradients(rows: Any, labels: Any) -> Any:
    logits = tf.identity(rows)
    return tf.gradients(loss_of_two_classes(logits, labels), logits)[0]


def summed_over_broadcast_rows(rows: Any, labels: Any) -> Any:
    offset = tf.constant([0.5, 2.0])
    return tf.gradients(tf.square(rows + offset) * tf.cast(labels, tf.float32), offset)[0]


@pytest.mark.parametrize("function", [loss_of_two_classes, gradients, summed_over_broadcast_rows])
def test_results_are_the_same_to_the_bit(function: Callable[..., Any]):
    result = built(function)
    with v1.Session(graph=result.graph) as session:
        fed = {"rows:0": ROWS[:BATCH], "labels:0": LABELS[:BATCH]}
        expected = session.run(result, fed)
    np.testing.assert_array_equal(computed(simplified(result)), expected)


def test_nothing_that_depends_on_shapes_alone_is_left():
    left = types(simplified(built(gradients)))
    assert not {"Shape", "Size", "BroadcastGradientArgs", "Tile", "ZerosLike", "Fill"} & set(left)
    # Only sums over rows remain, and none in this one.
    assert "Sum" not in left


def test_sums_over_rows_remain():
    assert types(simplified(built(summed_over_broadcast_rows))).count("Sum") == 1


def test_a_reversed_batch_is_not_taken_for_the_batch():
    result = built(lambda rows, labels: rows[::-1])
    np.testing.assert_array_equal(computed(simplified(result)), ROWS[:BATCH][::-1])


def test_updates_that_a_constant_waits_for_remain():
    def step(rows: Any, labels: Any) -> Any:
        variable = v1.get_variable("v", [], use_resource=True)
        with tf.control_dependencies([variable.assign_add(tf.reduce_sum(rows))]):
            return tf.size(rows)

    assert "AssignAddVariableOp" in types(simplified(built(step)))


# Checks -------------------------------------------------------------------------------------------


def checked(rows: Any, labels: Any) -> Any:
    with tf.control_dependencies([tf.debugging.assert_less(labels, 2)]):
        return tf.reduce_sum(rows)


def checked_in_branch(rows: Any, labels: Any) -> Any:
    passes = tf.reduce_all(labels < 2)
    guard = tf.cond(passes, tf.no_op, lambda: tf.raw_ops.Assert(condition=passes, data=[labels]))
    with tf.control_dependencies([guard]):
        return tf.reduce_sum(rows)


def checked_by_shape(rows: Any, labels: Any) -> Any:
    with tf.control_dependencies(
        [tf.debugging.assert_equal(tf.shape(rows)[0], tf.shape(labels)[0])]
    ):
        return tf.reduce_sum(rows)


def checked_together(rows: Any, labels: Any) -> Any:
    # Holds for all rows together, and not for every batch.
    with tf.control_dependencies([tf.debugging.assert_positive(tf.reduce_sum(labels))]):
        return tf.reduce_sum(rows)


def updated_if(rows: Any, labels: Any) -> Any:
    variable = v1.get_variable("v", [], use_resource=True)
    update = tf.cond(
        tf.reduce_all(labels < 2), lambda: variable.assign(1.0), lambda: variable.assign(0.0)
    )
    with tf.control_dependencies([update]):
        return tf.reduce_sum(rows)


def checks(definition: Any) -> list[str]:
    return [each for each in types(definition) if each in ("Assert", "If", "StatelessIf")]


@pytest.mark.parametrize("function", [checked, checked_in_branch])
def test_a_check_of_labels_is_made_once_for_all_rows(function: Callable[..., Any]):
    left = simplified(built(function))
    assert checks(left) == []
    assert "Less" not in types(left)


@pytest.mark.parametrize("function", [checked, checked_in_branch])
def test_a_check_that_some_row_fails_is_made_in_every_step(function: Callable[..., Any]):
    wrong = LABELS.copy()
    wrong[5] = 2
    assert len(checks(simplified(built(function), wrong))) == 1


def checked_and_used(rows: Any, labels: Any) -> Any:
    with tf.control_dependencies([tf.debugging.assert_less(labels, 2)]):
        classes = tf.identity(labels)
    return tf.reduce_sum(rows) / tf.cast(tf.size(classes) + classes[0, 0], tf.float32)


def test_what_waits_for_a_check_that_some_row_fails_is_simplified_nevertheless():
    wrong = LABELS.copy()
    wrong[5] = 2
    left = simplified(built(checked_and_used), wrong)
    assert len(checks(left)) == 1
    assert "Size" not in types(left)


def test_a_check_of_shapes_is_made_once():
    assert checks(simplified(built(checked_by_shape))) == []


@pytest.mark.parametrize("function", [checked_together, updated_if])
def test_a_condition_on_several_rows_remains(function: Callable[..., Any]):
    assert len(checks(simplified(built(function)))) == 1


# Rows ---------------------------------------------------------------------------------------------

OTHER_ROWS = np.array([6, 1, 3, 0])


def present(rows: Any, labels: Any) -> Any:
    """The labels that are not missing, as feature columns find them."""
    codes = labels[:, 0]
    wide = codes[:, tf.newaxis]
    return tf.gather_nd(wide, tf.where(tf.not_equal(wide, -1)))


def crossed(rows: Any, labels: Any) -> Any:
    """The sums of embeddings of a cross of labels with a column."""
    sparse = []
    for codes in (labels[:, 0], rows[:, 0]):
        each = tf.cast(codes, tf.int64)[:, tf.newaxis]
        places = tf.where(tf.not_equal(each, -1))
        shape = tf.shape(each, out_type=tf.int64)
        sparse.append(tf.SparseTensor(places, tf.gather_nd(each, places), shape))
    crosses = tf.sparse.cross_hashed(sparse, 50)
    table = v1.get_variable("table", [50, 3], use_resource=True, initializer=v1.zeros_initializer())
    return tf.nn.safe_embedding_lookup_sparse(table, crosses, combiner="mean") + tf.cast(
        crosses.values[:, tf.newaxis], tf.float32
    )


def hashed(rows: Any, labels: Any) -> Any:
    return tf.strings.to_hash_bucket_fast(tf.strings.as_string(labels), 1000)


def expected(result: Any, batch: Any) -> Any:
    with v1.Session(graph=result.graph) as session:
        with result.graph.as_default():
            session.run(v1.global_variables_initializer())
        return session.run(result, {"rows:0": ROWS[batch], "labels:0": LABELS[batch]})


def test_values_are_not_searched_for_if_no_row_lacks_one():
    left = simplified(built(present))
    assert not {"NotEqual", "Where", "GatherNd"} & set(types(left))
    np.testing.assert_array_equal(computed(left, OTHER_ROWS), LABELS[OTHER_ROWS, 0])


def test_values_are_searched_for_if_some_row_lacks_one():
    lacking = LABELS.copy()
    lacking[6] = -1
    assert {"NotEqual", "Where", "GatherNd"} <= set(types(simplified(built(present), lacking)))


def test_what_is_true_of_no_row_is_a_constant_too():
    left = simplified(built(lambda rows, labels: tf.where(labels > 5, rows, rows + 1.0)))
    assert not {"Greater", "SelectV2"} & set(types(left))


def test_what_is_true_of_some_rows_is_computed_in_each_step():
    left = simplified(built(lambda rows, labels: tf.where(labels > 0, rows, rows + 1.0)))
    assert {"Greater", "SelectV2"} <= set(types(left))


def test_pairs_of_rows_are_not_taken_for_rows():
    # A shape of [rows, rows]: each result reads two rows.
    left = simplified(built(lambda rows, labels: tf.cast(labels[:, 0] + labels > -1, tf.int32)))
    assert "Greater" in types(left)


@pytest.mark.parametrize("function", [hashed, crossed])
def test_hashes_are_computed_once_and_are_the_same(function: Callable[..., Any]):
    result = built(function)
    definition, kept = simplified_with_kept(result)
    assert len(kept) == 1
    assert not row_rules.HASHING & set(types(definition))
    if function is hashed:
        found = computed(definition, OTHER_ROWS, kept)
        np.testing.assert_array_equal(found, expected(result, OTHER_ROWS))


def test_lookups_of_one_value_in_each_row_need_no_more_than_the_values():
    left = types(simplified(built(crossed)))
    assert not {"Where", "GatherNd", "SparseFillEmptyRows", "SparseReshape", "Tile"} & set(left)
    assert left.count("SparseSegmentMeanWithNumSegments") == 1


def gradients_of_lookups(rows: Any, labels: Any) -> Any:
    """Gradients of the rows of a table, for each row once, as optimizers apply them."""
    indices, places = tf.unique(labels[:, 0])
    table = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    looked_up = tf.gather(table, indices)
    loss = tf.reduce_sum(tf.gather(looked_up, places) * rows)
    gradient = tf.gradients(loss, looked_up)[0]
    gradient = tf.convert_to_tensor(gradient)
    flat = tf.reshape(indices, tf.expand_dims(tf.size(indices), 0))
    again, each = tf.unique(flat)
    summed = tf.math.unsorted_segment_sum(gradient, each, tf.shape(again)[0])
    return tf.concat([tf.cast(again, tf.float32)[:, tf.newaxis], summed], 1)


def test_indices_that_are_unique_are_not_searched_for_equal_ones():
    result = built(gradients_of_lookups)
    left = simplified(result)
    assert types(left).count("Unique") == 1
    np.testing.assert_array_equal(computed(left), expected(result, slice(BATCH)))


def test_indices_that_may_be_equal_are_searched():
    def sums(rows: Any, labels: Any) -> Any:
        indices, places = tf.unique(labels[:, 0])
        return tf.math.unsorted_segment_sum(rows, places, tf.size(indices))

    result = built(sums)
    left = simplified(result)
    assert {"Unique", "UnsortedSegmentSum"} <= set(types(left))
    np.testing.assert_array_equal(computed(left), expected(result, slice(BATCH)))


def test_further_sums_of_unique_indices_stay_zeros():
    def padded(rows: Any, labels: Any) -> Any:
        indices, _ = tf.unique(labels[:, 0])
        again, each = tf.unique(indices)
        values = tf.cast(indices, tf.float32)
        return tf.math.unsorted_segment_sum(values, each, tf.size(again) + 2)

    result = built(padded)
    left = simplified(result)
    np.testing.assert_array_equal(computed(left), expected(result, slice(BATCH)))


def looked_up(rows: Any, labels: Any) -> Any:
    filled = tf.lookup.KeyValueTensorInitializer(tf.constant(["1", "5"]), tf.range(7, 9))
    table = tf.lookup.StaticHashTable(filled, -1)
    return table.lookup(tf.strings.as_string(labels[:, 0]))


def test_words_are_looked_up_once():
    result = built(looked_up)
    found = vocabularies_of(result.graph)
    definition, kept = simplified_with_kept(result, vocabularies=found)
    assert "LookupTableFindV2" not in types(definition)
    (values,) = kept.values()
    np.testing.assert_array_equal(values, np.where(LABELS[:, 0] == 1, 7, -1))
    # What fills the table is not known before the training.
    assert "LookupTableFindV2" in types(simplified(result))


def test_looking_words_up_adds_nothing_to_the_graph_that_is_being_built():
    result = built(looked_up)
    with result.graph.as_default():
        simplified_with_kept(result, vocabularies=vocabularies_of(result.graph))
    initializers = result.graph.get_collection(v1.GraphKeys.TABLE_INITIALIZERS)
    assert [each.type for each in initializers] == ["LookupTableImportV2"]


def test_strings_are_hashed_once_each(monkeypatch: pytest.MonkeyPatch):
    sizes: list[int] = []
    compute = one_operation.compute

    def counted(operation: Any, inputs: Any) -> Any:
        sizes.extend([len(inputs[0])] if operation.type == "StringToHashBucketFast" else [])
        return compute(operation, inputs)

    monkeypatch.setattr(one_operation, "compute", counted)
    words = np.array([b"red", b"green"], object)
    with tf.Graph().as_default():
        v1.placeholder(tf.float32, [None, 2], "rows")
        labels = v1.placeholder(tf.int32, [None, 1], "labels")
        table = v1.placeholder(tf.string, [2], "table")
        wide = tf.gather(table, labels[:, 0])[:, tf.newaxis]
        present = tf.gather_nd(wide, tf.where(tf.not_equal(wide, "")))
        hashes = tf.strings.to_hash_bucket_fast(present, 1000)
        result = tf.identity(hashes, "result")
    left, kept = simplified_with_kept(result, tables={"table:0": words})
    assert sizes == [2]
    assert not {"GatherV2", "Where", "StringToHashBucketFast"} & set(types(left))
    with v1.Session(graph=result.graph) as session:
        expected = session.run(result, {"labels:0": LABELS, "table:0": words})
    np.testing.assert_array_equal(next(iter(kept.values())), expected)


@pytest.mark.parametrize("code", [-1, 2])
def test_a_code_that_is_not_in_its_table_is_left_to_the_step(code: int):
    def looked_up(rows: Any, labels: Any) -> Any:
        words = tf.gather(tf.constant(["red", "green"]), labels[:, 0])
        return tf.strings.to_hash_bucket_fast(words, 1000)

    wrong = LABELS.copy()
    wrong[-1] = code
    left, kept = simplified_with_kept(built(looked_up), wrong)
    assert kept == {}
    assert {"GatherV2", "StringToHashBucketFast"} <= set(types(left))


def test_a_row_that_cannot_be_computed_is_left_to_the_step():
    # Only the last row divides by 0, and no step may come to it.
    result = built(lambda rows, labels: tf.cast(6 // (labels - 2) < 0, tf.float32))
    wrong = LABELS.copy()
    wrong[-1] = 2
    left = simplified(result, wrong)
    assert "FloorDiv" in types(left)
    np.testing.assert_array_equal(computed(left), expected(result, slice(BATCH)))


def test_hashes_of_several_replicas_are_computed_in_each_step():
    # Each replica reads rows of its own: `rows` are those of the first, `labels` of the second.
    _, kept = simplified_with_kept(built(hashed), replicas=2)
    assert kept == {}


def test_hashes_of_too_many_rows_are_computed_in_each_step(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(by_row, "MOST_KEPT", len(LABELS) - 1)
    _, kept = simplified_with_kept(built(hashed))
    assert kept == {}


def test_hashes_of_too_many_columns_are_computed_in_each_step(monkeypatch: pytest.MonkeyPatch):
    def twice(rows: Any, labels: Any) -> Any:
        texts = tf.strings.as_string(labels)
        each = [tf.strings.to_hash_bucket_fast(texts, buckets) for buckets in (100, 1000)]
        return each[0] + each[1]

    result = built(twice)
    monkeypatch.setattr(by_row, "MOST_KEPT_TOGETHER", 2 * len(LABELS))
    assert len(simplified_with_kept(result)[1]) == 2
    monkeypatch.setattr(by_row, "MOST_KEPT_TOGETHER", 2 * len(LABELS) - 1)
    definition, kept = simplified_with_kept(result)
    assert len(kept) == 1
    assert types(definition).count("StringToHashBucketFast") == 1


def test_all_chunks_of_rows_are_looked_at(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(by_row, "_CHUNK", 2)
    result = built(hashed)
    _, kept = simplified_with_kept(result)
    (values,) = kept.values()
    np.testing.assert_array_equal(values, expected(result, slice(None)))
    wrong = LABELS.copy()
    wrong[-1] = 2
    assert len(checks(simplified(built(checked), wrong))) == 1
