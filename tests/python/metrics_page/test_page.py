"""The page that shows losses and metrics."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
from support.metrics_pages import shown

from tfdistribute.metrics_page import Metrics, MetricsPage, thin, title_of


def test_numbers_that_json_does_not_have_are_null(tmp_path: Path):
    metrics = Metrics(
        "Training in cars",
        "training",
        examples_per_second=math.nan,
        losses=[(1, math.inf), (2, 0.5)],
        evaluations=[{"global_step": 2, "auc": math.nan}],
        tasks=[("chief 0", "training", 2, math.nan)],
    )
    MetricsPage(str(tmp_path)).write(metrics)
    assert (tmp_path / "index.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    values = shown(tmp_path)
    assert values["losses"] == [[1, None], [2, 0.5]]
    assert values["evaluations"] == [{"global_step": 2, "auc": None}]
    assert values["tasks"] == [["chief 0", "training", 2, None]]
    assert values["examples_per_second"] is None


def test_a_page_whose_directory_is_gone_does_not_end_the_training(tmp_path: Path):
    page = MetricsPage(str(tmp_path / "gone"))
    assert page.is_due
    page.write(Metrics("Training", "training"))
    assert not page.is_due
    assert list(tmp_path.iterdir()) == []


def test_a_long_training_is_shown_by_losses_from_all_of_it():
    losses = [(step, 1 / step) for step in range(1, 100_001)]
    few = thin(losses, 500)
    assert (len(few), few[0], few[-1]) == (500, losses[0], losses[-1])
    gaps = {later[0] - earlier[0] for earlier, later in itertools.pairwise(few)}
    assert gaps <= {200, 201}
    assert thin(losses[:500], 500) == losses[:500]


def test_the_heading_names_the_model_directory():
    assert title_of("/runs/cars/") == "Training in cars"
    assert title_of("gs://bucket/runs/cars") == "Training in cars"
    assert title_of(None) == title_of("/tmp/tfdistribute-model-1f2e") == "Training"


def test_a_model_directory_in_the_home_directory_is_shown_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    model_dir = str(tmp_path / "runs" / "cars")
    MetricsPage(str(tmp_path)).write(Metrics("Training in cars", "done", model_dir=model_dir))
    assert shown(tmp_path)["model_dir"] == "~/runs/cars"


def test_the_temporary_directory_of_a_model_is_not_shown(tmp_path: Path):
    model_dir = "/tmp/Rtmp1/tfdistribute-model-1f2e"
    MetricsPage(str(tmp_path)).write(Metrics("Training", "done", model_dir=model_dir))
    assert shown(tmp_path)["model_dir"] is None
