"""Uploads that a kill ends, and credentials that are wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from support import hooks, strategies
from support.buckets import SECRET, Store
from support.checkpoints import assert_identical, variables
from support.sampling import sampled

from tfdistribute.checkpoints.newest import broken_newest, newest_step
from tfdistribute.errors import BackendError, ModelDirectoryError
from tfdistribute.storage import buckets
from tfdistribute.training import evaluate, train

SETTINGS = strategies.settings("none", save_checkpoints_steps=10)

# Uploads half of the data of step 20, says so, and waits to be killed.
KILLED = """
import sys, time
from support import hooks, strategies
from tfdistribute import storage
from tfdistribute.training import train

copy = storage.copy

class Half:
    def __init__(self, content):
        self.left = [content[: len(content) // 2]]

    def read(self, size=-1):
        if not self.left:
            print("uploading", flush=True)
            time.sleep(200)
        return self.left.pop()

def slow(path, to):
    if "ckpt-20.data" in to and "://" in to:
        with open(path, "rb") as file:
            storage.of(to).write(to, Half(file.read()))
    copy(path, to)

storage.copy = slow
model = hooks.models.line(sys.argv[1], optimizer=hooks.models.sgd(0.1))
for _ in range(2):
    train(model, strategies.settings("none", save_checkpoints_steps=10), hooks.source(), steps=10)
"""


@sampled("served", ["s3", "gs", "az"], check=["s3"], indirect=True, scope="module")
def test_a_killed_upload_leaves_the_checkpoint_before_it(bucket: Store, tmp_path: Path) -> None:
    place = f"{bucket.root}/killed-upload"
    path = os.pathsep.join(
        str(Path(__file__).parents[2] / each) for each in (".", "../../inst/python")
    )
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, place],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert process.stdout is not None
    try:
        lines = iter(process.stdout.readline, "")
        assert any(line == "uploading\n" for line in lines)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert (newest_step(place), broken_newest(place)) == (10, None)
    model = hooks.models.line(place, optimizer=hooks.models.sgd(0.1))
    assert evaluate(model, SETTINGS, hooks.source(1))["global_step"] == 10
    # The process that was killed holds no lease any more: it was on this machine.
    train(model, SETTINGS, hooks.source(), steps=10)
    here = hooks.model(tmp_path / "here")
    for _ in range(2):
        train(here, SETTINGS, hooks.source(), steps=10)
    assert_identical(variables(place), variables(here.model_dir))


@pytest.mark.parametrize(
    ("served", "client"),
    [
        ("s3", "pyarrow.fs.S3FileSystem"),
        ("az", "azure.storage.blob.BlobServiceClient.from_connection_string"),
    ],
    indirect=["served"],
    scope="module",
)
def test_an_error_about_credentials_does_not_contain_them(
    bucket: Store, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(f"Error ACCESS_DENIED for 'http://a/b?Signature={SECRET}'")

    monkeypatch.setattr(client, refuse)
    buckets._found.cache_clear()
    with pytest.raises(BackendError, match="cannot be used: Error") as caught:
        train(hooks.models.line(f"{bucket.root}/no"), SETTINGS, hooks.source(), steps=1)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("served", ["az"], indirect=True, scope="module")
@pytest.mark.parametrize("wrong", ["key", "token"])
def test_a_refused_credential_of_azure_is_an_error_without_it(
    bucket: Store, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, secret = bucket.environment["AZURE_STORAGE_CONNECTION_STRING"], f"Wrong{SECRET[::-1]}"
    # A token is a part of addresses.
    token = f"SharedAccessSignature=sv=2021-08-06&sig={secret}&se=2099-01-01&sr=c&sp=rwdl"
    key = f"AccountKey={secret}"
    replaced = text.replace(f"AccountKey={SECRET}=", key if wrong == "key" else token)
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", replaced)
    with pytest.raises(
        ModelDirectoryError, match="cannot be written: Server failed to auth"
    ) as caught:
        train(hooks.models.line(f"{bucket.root}/no"), SETTINGS, hooks.source(), steps=1)
    assert "az login" in str(caught.value.remedy)
    shown = "".join(traceback.format_exception(caught.value))
    assert secret not in shown
    assert SECRET not in shown
