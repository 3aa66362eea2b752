"""Connections to a store that break or do not answer: the process survives, and failures are classed errors in time."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from support import hooks, strategies
from support.buckets import Store
from support.checkpoints import assert_identical, variables
from support.proxy import Proxy, proxy_of

from tfdistribute import storage
from tfdistribute.checkpoints.newest import broken_newest, newest_step
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.storage.deadline import READ_S
from tfdistribute.training import evaluate, train

every_store, first_store = (
    pytest.mark.parametrize("served", ["s3", other], indirect=True, scope="module")
    for other in ("az", pytest.param("az", marks=pytest.mark.full))
)

SETTINGS = strategies.settings("none", save_checkpoints_steps=10)
OLD, NEW = b"old" * 1_000_000, b"new" * 1_000_000


@pytest.fixture
def proxy(bucket: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with proxy_of(bucket) as proxy:
        for name, value in proxy.environment.items():
            monkeypatch.setenv(name, value)
        yield proxy


@every_store
def test_a_read_that_breaks_goes_on_or_is_an_error_in_time(bucket: Store, proxy: Proxy) -> None:
    bucket.write("read/file", OLD)
    path = f"{bucket.root}/read/file"
    with storage.of(path).open(path) as file:
        assert file.read(3) == b"old"
        proxy.limit, begun = 100, time.monotonic()
        with pytest.raises(OSError, match=path):
            file.read()
        assert time.monotonic() - begun < READ_S
    proxy.limit, proxy.once = 1_500_000, True
    assert storage.read_bytes(path) == OLD
    assert proxy.limit is None


@every_store
def test_a_write_that_breaks_leaves_the_old_file(bucket: Store, proxy: Proxy) -> None:
    bucket.write("write/file", OLD)
    path = f"{bucket.root}/write/file"
    assert storage.exists(path)
    proxy.limit, begun = 100_000, time.monotonic()
    with pytest.raises(OSError, match=path):
        storage.of(path).write(path, NEW)
    assert time.monotonic() - begun < READ_S
    assert (bucket.read("write/file"), bucket.names("write/")) == (OLD, ["write/file"])
    proxy.limit = None
    storage.of(path).write(path, NEW)
    assert bucket.read("write/file") == NEW


@pytest.mark.full
@first_store
def test_a_training_whose_connection_breaks_in_an_upload_ends_with_an_error_and_continues(
    bucket: Store, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = hooks.models.line(f"{bucket.root}/broken", optimizer=hooks.models.sgd(0.1))
    train(model, SETTINGS, hooks.source(), steps=10)
    copy = storage.copy

    def cut(path: str, to: str) -> None:
        if "ckpt-20.data" in to:
            proxy.limit = 100
        copy(path, to)

    with monkeypatch.context() as patches:
        patches.setattr(storage, "copy", cut)
        with pytest.raises(ModelDirectoryError, match="cannot be written") as caught:
            train(model, SETTINGS, hooks.source(), steps=10)
    assert "the connection to its storage" in str(caught.value.remedy)
    with pytest.raises(ModelDirectoryError, match="cannot be read"):
        evaluate(model, SETTINGS, hooks.source(1))
    proxy.limit = None
    assert (newest_step(model.model_dir), broken_newest(model.model_dir)) == (10, None)
    train(model, SETTINGS, hooks.source(), steps=10)
    here = hooks.model("here")
    for _ in range(2):
        train(here, SETTINGS, hooks.source(), steps=10)
    assert_identical(variables(model.model_dir), variables(here.model_dir))


@first_store
def test_a_store_that_does_not_answer_is_an_error_in_time(bucket: Store, proxy: Proxy) -> None:
    path = f"{bucket.root}/stalled"
    storage.of(path).write(path, b"content")
    proxy.stalls, begun = True, time.monotonic()
    with pytest.raises(OSError, match=path):
        storage.read_bytes(path)
    assert time.monotonic() - begun < READ_S
    proxy.stalls = False
    assert storage.read_bytes(path) == b"content"
