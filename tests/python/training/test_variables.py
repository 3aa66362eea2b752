"""Variables of a trained model."""

from __future__ import annotations

from typing import Any

import pytest

from tfdistribute import engine
from tfdistribute.training import variables


def test_weights_are_the_variables_without_those_of_the_optimizer(
    monkeypatch: pytest.MonkeyPatch, tensorflow: Any
):
    kernel = "dnn/hiddenlayer_0/kernel"
    saved = [kernel, f"{kernel}/Adam", f"training/Adam/{kernel}/m", "beta1_power", "global_step"]
    monkeypatch.setattr(variables, "newest_checkpoint", lambda model_dir: "model.ckpt-1")
    monkeypatch.setattr(
        engine.tf.train, "list_variables", lambda prefix: [(name, [2, 16]) for name in saved]
    )
    assert variables.weights("m") == {kernel: (2, 16)}
    monkeypatch.setattr(variables, "newest_checkpoint", lambda model_dir: None)
    assert variables.weights("m") == {}
