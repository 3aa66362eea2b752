"""The end of the input."""

from __future__ import annotations

import time

import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.step import last_step

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")


def test_the_end_of_the_input_changes_no_variable():
    def slow(value: int) -> int:
        # Operations that wait for no rows run meanwhile.
        time.sleep(0.2)
        return value

    with tf.Graph().as_default():
        rows = tf.data.Dataset.range(1).map(lambda each: tf.numpy_function(slow, [each], tf.int64))
        iterator = v1.data.make_one_shot_iterator(rows.skip(1))
        average = v1.get_variable("average", initializer=1.0, use_resource=True)
        decayed = average.assign(average * 0.9)
        row = tf.cast(iterator.get_next(), tf.float32)
        with tf.control_dependencies([decayed]):
            train_op = average.assign_add(row)
        last_step.wait_for_rows(train_op, [])
        with v1.Session() as session:
            session.run(average.initializer)
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(train_op)
            assert session.run(average) == 1.0
