"""Table files, and the rows or errors that inputs read from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tfdistribute.errors import InputError
from tfdistribute.inputs import Input


def written(folder: Path, text: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def rows_of(tf: Any, source: Input, purpose: Any = "evaluate") -> dict[str, list[Any]]:
    """All rows by column; the label is "label"."""
    columns: dict[str, list[Any]] = {}
    with tf.Graph().as_default(), source.serving():
        dataset = source.input_fn(purpose, 1)()
        element = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
        with tf.compat.v1.Session() as session:
            while True:
                try:
                    batch = session.run(element)
                except tf.errors.OutOfRangeError:
                    return columns
                features, label = batch if isinstance(batch, tuple) else (batch, None)
                if label is not None:
                    features = {**features, "label": label}
                for name, values in features.items():
                    columns.setdefault(name, []).extend(values.tolist())


def refusal(source: Input) -> InputError:
    with pytest.raises(InputError) as caught:
        source.facts()
    return caught.value


def refusal_when_read(tf: Any, source: Input) -> InputError:
    with pytest.raises(InputError) as caught:
        rows_of(tf, source)
    return caught.value
