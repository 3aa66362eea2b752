"""Contents of checkpoints, verified by their checksums."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.checkpoints import flip

from tfdistribute.checkpoints import contents
from tfdistribute.checkpoints.contents import is_whole


def test_every_kind_of_tensor_that_tensorflow_writes_is_verified(
    tensorflow: Any, tmp_path: Path
) -> None:
    tf = tensorflow
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        make = tf.compat.v1.get_variable
        sliced = tf.compat.v1.fixed_size_partitioner(3)
        make("sliced", initializer=tf.random.normal([300, 4]), partitioner=sliced)
        make("scalar", initializer=tf.constant(7, tf.int64))
        make("empty", initializer=tf.zeros([0, 3]))
        make("text", initializer=tf.constant(["", "a" * 300, "ü"] * 200))
        make("flags", initializer=tf.constant([[True], [False]]))
        make("half", initializer=tf.ones([3], tf.bfloat16))
        session.run(tf.compat.v1.global_variables_initializer())
        saver = tf.compat.v1.train.Saver(sharded=True)
        prefix = saver.save(session, str(tmp_path / "model.ckpt"), global_step=1)
    assert is_whole(prefix)
    objects = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(str(tmp_path / "objects"))
    assert is_whole(objects)


def test_one_flipped_byte_anywhere_is_noticed(model_dir: str) -> None:
    prefix = os.path.join(model_dir, "model.ckpt-30")
    for ending in ("index", "data-00000-of-00001"):
        path = Path(f"{prefix}.{ending}")
        size = path.stat().st_size
        # The footer of an index holds padding.
        places = range(0, size - 48 if ending == "index" else size, 7)
        for place in (*places, size - 1):
            flip(path, place)
            assert not is_whole(prefix), f"byte {place} of {path.name}"
            flip(path, place)
    assert is_whole(prefix)


@pytest.mark.parametrize("ending", ["index", "data-00000-of-00001"])
def test_a_file_that_is_cut_or_missing_is_noticed(model_dir: str, ending: str) -> None:
    prefix = os.path.join(model_dir, "model.ckpt-30")
    path = Path(f"{prefix}.{ending}")
    whole = path.read_bytes()
    for kept in (0, 1, 40, len(whole) - 1):
        path.write_bytes(whole[:kept])
        assert not is_whole(prefix), f"{kept} bytes"
    path.unlink()
    assert not is_whole(prefix)
    path.write_bytes(whole)
    assert is_whole(prefix)


def test_a_checkpoint_is_read_once_while_its_files_stay_the_same(
    model_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    verify = contents._verify
    monkeypatch.setattr(contents, "_verify", lambda prefix: (read.append(prefix), verify(prefix)))
    prefix = os.path.join(model_dir, "model.ckpt-20")
    assert is_whole(prefix)
    assert is_whole(prefix)
    assert read == [prefix]
    path = Path(f"{prefix}.data-00000-of-00001")
    path.write_bytes(path.read_bytes())
    assert is_whole(prefix)
    assert read == [prefix, prefix]


def test_files_of_the_same_size_and_time_are_told_apart(model_dir: str) -> None:
    prefix = os.path.join(model_dir, "model.ckpt-20")
    before = contents.signature_of(prefix)
    assert contents.signature_of(prefix) == before
    path = Path(f"{prefix}.data-00000-of-00001")
    status = path.stat()
    # As archivers and `cp -p` write over a file.
    flip(path, 3)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    assert contents.signature_of(prefix) != before


@pytest.mark.timeout(60)
@pytest.mark.parametrize("ending", ["index", "data-00000-of-00001"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(model_dir: str, ending: str) -> None:
    prefix = os.path.join(model_dir, "model.ckpt-30")
    os.unlink(f"{prefix}.{ending}")
    os.mkfifo(f"{prefix}.{ending}")
    assert not is_whole(prefix)
