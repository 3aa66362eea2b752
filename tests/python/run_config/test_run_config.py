"""Run settings, and the RunConfig made from them."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from tfdistribute import engine
from tfdistribute.cluster.member import Member
from tfdistribute.descriptions import read
from tfdistribute.errors import ArgumentError, RunConfigError, StrategyError, TfdistributeError
from tfdistribute.run_config import Devices, RunSettings, build, build_run_config
from tfdistribute.strategies import (
    CentralStorage,
    Mirrored,
    MultiWorker,
    OneDevice,
    ParameterServer,
    Strategy,
)

ONE = Devices()


def built(**settings: Any) -> Any:
    return build_run_config(RunSettings(**settings))


def test_every_setting_of_tensorflow_is_there_with_its_default(tensorflow: Any):
    parameters = inspect.signature(tensorflow.estimator.RunConfig.__init__).parameters
    names = set(parameters) - {"self"}
    ours = RunSettings()
    renamed = {"train_distribute": "strategy", "tf_random_seed": "seed"}
    added = {"cluster", "steps_per_run", "precision", "micro_batches", "compile", "track"}
    assert set(vars(ours)) == {renamed.get(name, name) for name in names} | added
    here, theirs = build(ours, ONE), tensorflow.estimator.RunConfig()
    different = {
        name
        for name in names - {"experimental_distribute"}
        if getattr(here, f"_{name}") != getattr(theirs, f"_{name}")
    }
    # Runs are reproducible unless the user asks otherwise.
    assert different == {"tf_random_seed"}
    assert here.tf_random_seed == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_dir", "somewhere"),
        ("seed", None),
        ("save_summary_steps", 7),
        ("save_checkpoints_steps", 7),
        ("save_checkpoints_secs", 7.5),
        ("keep_checkpoint_max", 7),
        ("keep_checkpoint_every_n_hours", 0.5),
        ("log_step_count_steps", 7),
        ("protocol", "grpc"),
        ("session_creation_timeout_secs", 7.5),
        ("experimental_max_worker_delay_secs", 0),
        ("checkpoint_save_graph_def", False),
    ],
)
def test_each_setting_reaches_tensorflow(tensorflow: Any, name: str, value: Any):
    config = built(**{name: value})
    assert isinstance(config, tensorflow.estimator.RunConfig)
    assert getattr(config, "_tf_random_seed" if name == "seed" else f"_{name}") == value


def test_checkpoints_by_steps_switch_off_those_by_seconds(tensorflow: Any):
    config = built(save_checkpoints_steps=10)
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs) == (10, None)
    never = built(save_checkpoints_secs=None)
    assert (never.save_checkpoints_steps, never.save_checkpoints_secs) == (None, None)
    by_default = built()
    assert (by_default.save_checkpoints_steps, by_default.save_checkpoints_secs) == (None, 600)


def test_a_models_directory_goes_before_the_settings_own(tensorflow: Any):
    settings = RunSettings(model_dir="a")
    assert build(settings, ONE, "b").model_dir == "b"
    assert build(settings, ONE).model_dir == "a"


def test_strategies_are_built_and_shared_where_they_are_the_same(logical_cpus: list[str]):
    config = built(strategy=Mirrored(2), eval_distribute=Mirrored(2))
    assert config.train_distribute.num_replicas_in_sync == 2
    assert config.eval_distribute is config.train_distribute
    other = built(strategy=Mirrored(2), eval_distribute=OneDevice("CPU:1"))
    assert other.eval_distribute.num_replicas_in_sync == 1
    assert other.session_config.device_count["CPU"] == 2


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, {"CPU": 2}),
        ({"device_count": {"CPU": 1, "GPU": 0}}, {"CPU": 2, "GPU": 0}),
        ({"device_count": {"CPU": 5.0}}, {"CPU": 5}),
        ({"placement_period": 1}, {"CPU": 2}),
    ],
)
def test_the_session_gets_the_cpus_that_the_strategy_names(
    logical_cpus: list[str], given: Any, expected: Any
):
    # With fewer, mirrored training hangs.
    config = built(strategy=Mirrored(2), session_config=given)
    assert dict(config.session_config.device_count) == expected
    assert config.session_config.placement_period == (given or {}).get("placement_period", 0)
    assert built(strategy=Mirrored(1)).session_config is None


def test_a_device_function_of_the_user_places_operations(tensorflow: Any, tmp_path: Any):
    asked: list[str] = []

    def to_second_cpu(op: Any) -> str:
        asked.append(op.type)
        return "/device:CPU:1"

    config = built(
        device_fn=lambda anything: to_second_cpu(anything),
        session_config={"device_count": {"CPU": 2}},
    )
    estimator = tensorflow.estimator.LinearRegressor(
        [tensorflow.feature_column.numeric_column("x")], str(tmp_path), config=config
    )
    estimator.train(lambda: tensorflow.data.Dataset.from_tensors(({"x": [[1.0]]}, [[1.0]])))
    assert "VarHandleOp" in asked


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({"save_summary_steps": -1}, "save_summary_steps"),
        ({"log_step_count_steps": 0}, "log_step_count_steps"),
        ({"steps_per_run": 0}, "steps_per_run"),
        ({"steps_per_run": "many"}, "steps_per_run"),
        ({"keep_checkpoint_every_n_hours": 0.0}, "keep_checkpoint_every_n_hours"),
        ({"session_creation_timeout_secs": -2.0}, "session_creation_timeout_secs"),
        ({"model_dir": ""}, "model_dir"),
        ({"protocol": "http"}, "protocol"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(settings: dict[str, Any], argument: str):
    with pytest.raises(ArgumentError, match=rf"^`{argument}`") as caught:
        RunSettings(**settings)
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("settings", "kind", "argument"),
    [
        (
            {"save_checkpoints_steps": 1, "save_checkpoints_secs": 600.0},
            RunConfigError,
            "save_checkpoints_steps",
        ),
        ({"experimental_distribute": {}}, RunConfigError, "experimental_distribute"),
        ({"device_fn": print, "strategy": Mirrored()}, StrategyError, "device_fn"),
    ],
)
def test_settings_that_exclude_each_other_are_refused(
    settings: dict[str, Any], kind: type[TfdistributeError], argument: str
):
    with pytest.raises(kind) as caught:
        RunSettings(**settings)
    assert caught.value.argument == argument


def test_settings_are_read_as_r_sends_them():
    settings = read(
        RunSettings,
        {
            "strategy": {"kind": "central_storage", "devices": ["GPU:0", "gpu:1"]},
            "seed": None,
            "save_checkpoints_steps": 5.0,
            "save_checkpoints_secs": None,
            "session_config": {"gpu_options": {"allow_growth": True}},
        },
    )
    assert settings == RunSettings(
        strategy=CentralStorage(("GPU:0", "GPU:1")),
        seed=None,
        save_checkpoints_steps=5,
        session_config={"gpu_options": {"allow_growth": True}},
    )


def test_a_verb_looks_only_at_the_strategies_that_it_uses():
    settings = RunSettings(strategy=Mirrored(2), eval_distribute=Mirrored(3))
    used = {
        verb: (settings.for_verb(verb).strategy, settings.for_verb(verb).eval_distribute)
        for verb in ("train", "evaluate", "train_and_evaluate", "predict", "export")
    }
    assert used == {
        "train": (Mirrored(2), None),
        "evaluate": (None, Mirrored(3)),
        "train_and_evaluate": (Mirrored(2), Mirrored(3)),
        "predict": (None, None),
        "export": (None, None),
    }


# session_config ---------------------------------------------------------------------------------


@pytest.mark.versions
def test_session_settings_are_added_to_tensorflows_default(tensorflow: Any):
    from tensorflow_estimator.python.estimator.run_config import get_default_session_config

    config = built(
        session_config={
            "gpu_options": {"allow_growth": True, "per_process_gpu_memory_fraction": 0.5},
            "intra_op_parallelism_threads": 2.0,
            "graph_options": {"optimizer_options": {"global_jit_level": "ON_1"}},
            "device_filters": "/job:ps",
            "isolate_session_state": True,
            "experimental": {"collective_group_leader": "/job:worker"},
            "session_inter_op_thread_pool": [{"num_threads": 3}],
        }
    ).session_config
    expected = get_default_session_config()
    expected.gpu_options.allow_growth = True
    expected.gpu_options.per_process_gpu_memory_fraction = 0.5
    expected.intra_op_parallelism_threads = 2
    expected.graph_options.optimizer_options.global_jit_level = 1
    expected.device_filters.append("/job:ps")
    expected.isolate_session_state = True
    expected.experimental.collective_group_leader = "/job:worker"
    expected.session_inter_op_thread_pool.add(num_threads=3)
    assert config == expected
    assert config.allow_soft_placement


def test_a_default_can_be_switched_off_by_name(tensorflow: Any):
    assert not built(
        session_config={"allow_soft_placement": False}
    ).session_config.allow_soft_placement


def test_a_cluster_keeps_its_device_filters(tensorflow: Any, monkeypatch: pytest.MonkeyPatch):
    cluster = {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}
    task = {"type": "worker", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    settings = RunSettings(
        session_config={"log_device_placement": False, "device_filters": ["/job:ps"]}
    )
    default = tensorflow.estimator.RunConfig().session_config
    member = Member.here()
    ours = build(settings, ONE, member=member).session_config
    assert list(default.device_filters) == ["/job:ps", "/job:worker/task:0"]
    assert ours == default
    alone = tensorflow.estimator.RunConfig(session_config=tensorflow.compat.v1.ConfigProto())
    assert not alone.session_config.device_filters


@pytest.mark.parametrize(
    ("strategy", "other"), [(MultiWorker(), "worker"), (ParameterServer(), "ps")]
)
def test_a_task_uses_the_threads_of_its_server(
    tensorflow: Any, monkeypatch: pytest.MonkeyPatch, strategy: Strategy, other: str
):
    threads = {"inter_op_parallelism_threads": 2}
    assert build(RunSettings(session_config=threads), ONE).session_config.use_per_session_threads
    settings = RunSettings(strategy=strategy, session_config=threads)
    cluster = {"chief": ["a:1"], other: ["b:1"]}
    task = {"type": "chief", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    member = Member.here()
    devices = Devices(train=(("/device:CPU:0",),))
    of_task = build(settings, devices, member=member).session_config
    assert of_task.inter_op_parallelism_threads == 2
    # With threads of its own for a session, tasks would wait for each other for ever.
    assert not of_task.use_per_session_threads


@pytest.mark.parametrize(
    ("settings", "message", "argument"),
    [
        (
            {"gpu_options": {"allow_growht": True}},
            "`session_config$gpu_options` has no field `allow_growht`",
            "session_config$gpu_options$allow_growht",
        ),
        ({"threads": 1}, "`session_config` has no field `threads`", "session_config$threads"),
        (
            {"gpu_options": {"allow_growth": 1}},
            "must be TRUE or FALSE, not 1.",
            "session_config$gpu_options$allow_growth",
        ),
        (
            {"intra_op_parallelism_threads": 1.5},
            "must be a whole number, not 1.5.",
            "session_config$intra_op_parallelism_threads",
        ),
        ({"gpu_options": 1}, "must be a named list, not 1.", "session_config$gpu_options"),
        (
            {"device_count": {"CPU": "two"}},
            "must be a whole number, not 'two'.",
            "session_config$device_count$CPU",
        ),
        ({"device_filters": [1]}, "must be a string, not 1.", "session_config$device_filters"),
        (
            {"graph_options": {"optimizer_options": {"opt_level": "L9"}}},
            "must be one of L1, L0, not 'L9'.",
            "session_config$graph_options$optimizer_options$opt_level",
        ),
    ],
)
def test_what_is_no_session_setting_is_refused_by_its_path(
    tensorflow: Any, settings: dict[str, Any], message: str, argument: str
):
    with pytest.raises(RunConfigError) as caught:
        built(session_config=settings)
    assert message in caught.value.problem
    assert caught.value.argument == argument


def test_the_field_that_was_meant_is_suggested(tensorflow: Any):
    with pytest.raises(RunConfigError) as caught:
        engine.session_config.make({"gpu_optons": {}})
    assert caught.value.remedy == "Did you mean `gpu_options`?"


def test_a_malformed_device_count_is_refused_if_a_strategy_needs_it():
    settings = RunSettings(session_config={"device_count": 2})
    with pytest.raises(RunConfigError, match="must be a named list of counts, not 2"):
        settings.with_cpu_devices(2)
