"""Rows that steps gather in memory: the same batches as those of the dataset."""

from __future__ import annotations

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support.inputs import Factor, in_memory

from tfdistribute.engine.step.resident_rows import BatchCursor, ResidentRows, RowReader

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")

ROWS = 23
numbers = np.random.default_rng(7)
X = numbers.normal(size=(ROWS, 3)).astype("float32")
Y = np.arange(ROWS)
WORDS = np.array(["red", "green", "blue"], object)
CODES = numbers.integers(0, 3, ROWS)


def resident(
    batch_size: int,
    epochs: int | None = 3,
    pipelines: int = 1,
    pipeline: int = 0,
    replicas: int = 1,
    done: int = 0,
) -> ResidentRows:
    data = in_memory(
        {"x": X, "word": Factor(CODES, WORDS), "y": Y}, batch_size=batch_size, epochs=epochs
    )
    context = tf.distribute.InputContext(pipelines, pipeline, replicas)
    return data.starting_at(0, done).input_fn("train", 5, packed=True)(context)


def labels_of_dataset(rows: ResidentRows) -> list[list[int]]:
    with tf.Graph().as_default(), v1.Session() as session:
        iterator = v1.data.make_initializable_iterator(rows.as_dataset())
        _, label = iterator.get_next()
        session.run(iterator.initializer)
        found: list[list[int]] = []
        while True:
            try:
                found.append(session.run(label).tolist())
            except tf.errors.OutOfRangeError:
                return found


def labels_of_cursor(rows: ResidentRows, most: int) -> list[list[int]]:
    """Read one step, then as many full steps as there are up to ``most``, and so on."""
    cursor, found = BatchCursor(rows), list[list[int]]()
    while True:
        try:
            found += [each.tolist() for each in cursor.next_step()]
        except StopIteration:
            return found
        steps = cursor.full_steps(most)
        if steps:
            replicas = cursor.show(steps)
            found += [each.tolist() for step in zip(*replicas, strict=True) for each in step]
            cursor.advance(steps)


@pytest.mark.parametrize("most", [1, 3, 100])
@pytest.mark.parametrize(
    "shard",
    [
        {},
        {"replicas": 2},
        # The last step has batches of four and three rows: only the first is full.
        {"batch_size": 8, "epochs": 1, "replicas": 2},
        {"pipelines": 2, "pipeline": 1, "replicas": 4},
        {"pipelines": 3, "pipeline": 2},
    ],
)
def test_single_steps_and_runs_together_read_the_batches_of_the_dataset(
    shard: dict[str, int], most: int
):
    rows = resident(**{"batch_size": 4, **shard})
    # A label is the number of its row.
    assert labels_of_cursor(rows, most) == labels_of_dataset(rows)


def test_batches_of_a_continued_training_are_those_of_a_dataset():
    expected = labels_of_dataset(resident(4, replicas=2))[6:]
    rows = resident(4, replicas=2, done=12)
    assert labels_of_cursor(rows, 2) == expected
    assert labels_of_dataset(rows) == expected


def test_an_interrupted_run_continues_with_the_steps_that_it_has_not_taken():
    rows = resident(4)
    cursor = BatchCursor(rows)
    assert cursor.full_steps(5) == 5
    cursor.show(5)
    cursor.advance(2)
    assert cursor.next_step()[0].tolist() == labels_of_dataset(rows)[2]


def test_a_session_shares_the_memory_of_the_rows():
    rows = resident(4, epochs=None)
    with tf.Graph().as_default(), v1.Session() as session:
        reader = RowReader(rows)
        place = v1.placeholder(tf.int32, [])
        (runs,) = reader.placeholders()
        gathered = reader.gather([runs], place)
        reader.after_create_session(session, None)
        before = [matrix.copy() for matrix in rows.matrices]
        try:
            for matrix in rows.matrices:
                matrix[3] = 77
            chosen = np.full([2, 4], 3, np.int32)
            found = session.run(gathered, {runs: chosen, place: 1})
            assert all((each == 77).all() for each in found.values())
        finally:
            for matrix, values in zip(rows.matrices, before, strict=True):
                matrix[...] = values


def test_a_new_session_begins_with_the_first_step():
    rows = resident(4)
    with tf.Graph().as_default():
        reader = RowReader(rows)
        _, label = reader.next_element()
        for _ in range(2):
            with v1.Session() as session:
                reader.after_create_session(session, None)
                assert session.run(label).tolist() == labels_of_dataset(rows)[0]


def test_strings_come_from_the_table():
    rows = resident(4)
    with tf.Graph().as_default(), v1.Session() as session:
        reader = RowReader(rows)
        features, label = reader.next_element()
        reader.after_create_session(session, None)
        words, chosen = session.run([features["columns"]["word"], label])
    assert [word.decode() for word in words] == WORDS[CODES[chosen]].tolist()


def test_a_graph_does_not_hold_the_rows():
    with tf.Graph().as_default() as graph:
        RowReader(resident(4)).next_element()
    assert X.tobytes()[:16] not in graph.as_graph_def().SerializeToString()
