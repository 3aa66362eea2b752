"""Parts of a cluster task, tested one by one in one process."""

from __future__ import annotations

import json
import os
import time
import traceback
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import cluster_task
from support.fake_peers import fake_servers

import tfdistribute
from tfdistribute import engine, history_file, task_events
from tfdistribute.checkpoints.newest import newest_checkpoint
from tfdistribute.cluster.member import Member, enter_cluster
from tfdistribute.cluster.spec import Task
from tfdistribute.cluster.tf_config import read_tf_config
from tfdistribute.descriptions import read
from tfdistribute.errors import ClusterError, LostPeerError, ModelDirectoryError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.multi_worker import handshake, parameter_server, resume
from tfdistribute.training.multi_worker.assignment import TaskAssignment
from tfdistribute.training.multi_worker.evaluator import _Evaluator, evaluate_checkpoints
from tfdistribute.training.multi_worker.history import TaskHistory
from tfdistribute.training.multi_worker.peers import FACTS, Peers
from tfdistribute.training.multi_worker.resume import ProgressFile
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train import train

CLUSTER = {"chief": ("127.0.0.1:1",), "worker": ("127.0.0.1:2", "127.0.0.1:3")}
CHIEF = Member(CLUSTER, Task("chief"))
EVALUATOR = Member(CLUSTER, Task("evaluator"))


def member(role: str, index: int = 0, **more: tuple[str, ...]) -> Member:
    return Member({**CLUSTER, **more}, Task(role, index))


def record_training(model_dir: str, member: Member, first_step: int, last_step: int) -> None:
    """Record a complete training as its chief would."""
    file = ProgressFile(model_dir, member)
    file.finish(file.start(first_step), last_step)


def test_a_member_knows_the_tasks_that_it_needs() -> None:
    worker = member("worker", 1)
    assert worker.rank == 2
    assert [str(task) for task, _ in worker.needed] == ["chief 0", "worker 0"]
    with_servers = member("worker", 1, ps=("127.0.0.1:4",))
    assert [str(task) for task, _ in with_servers.needed] == ["ps 0", "chief 0"]
    assert not worker.is_chief
    without_chief = Member({"worker": CLUSTER["worker"]}, Task("worker"))
    assert without_chief.is_chief
    assert EVALUATOR.evaluates
    assert not EVALUATOR.task.trains
    text = json.dumps({"cluster": {"chief": ["a:1"]}, "task": {"type": "chief", "index": 0}})
    alone = Member.of(read_tf_config({"TF_CONFIG": text}))
    assert alone is not None
    assert alone.is_alone
    assert Member.of(read_tf_config({"TF_CONFIG": ""})) is None


def test_workers_look_often_whether_the_chief_is_ready(tensorflow: Any) -> None:
    with tensorflow.Graph().as_default():
        creator = engine.multi_worker.trainer._WorkerSessionCreator(
            tensorflow.compat.v1.train.Scaffold()
        )
        assert creator._get_session_manager()._recovery_wait_secs <= 1


def test_hooks_of_other_tasks_than_the_chief_write_nothing(tensorflow: Any, tmp_path: Path) -> None:
    tf = tensorflow
    summaries = tf.estimator.SummarySaverHook(
        save_steps=1, output_dir=str(tmp_path), scaffold=tf.compat.v1.train.Scaffold()
    )
    elsewhere = engine.hooks.savers.SaveElsewhere(lambda saver: None)
    other = tf.estimator.SessionRunHook()
    kept = engine.multi_worker.collective_savers.silence([summaries, elsewhere, other])
    assert kept == [summaries, other]
    with tf.Graph().as_default():
        tf.compat.v1.train.create_global_step()
        tf.compat.v1.summary.scalar("a", 1.0)
        with tf.compat.v1.train.SingularMonitoredSession(hooks=kept) as session:
            session.run(tf.compat.v1.train.get_global_step())
    assert list(tmp_path.iterdir()) == []


def test_a_restarted_job_counts_from_where_it_began(
    tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del tensorflow
    file = ProgressFile(str(tmp_path), CHIEF)
    record = file.start(100)
    assert file.first_step(130) == 130
    monkeypatch.setenv(task_events.ATTEMPT, "1")
    assert file.first_step(130) == 100
    another = Member({"chief": ("127.0.0.1:9",)}, Task("chief"))
    assert ProgressFile(str(tmp_path), another).first_step(130) == 130
    file.finish(record, 150)
    assert file.read() == replace(record, finished_step=150)


def test_a_chief_without_workers_trains_and_the_evaluator_evaluates(
    tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del tensorflow
    tf_config = {"cluster": {"chief": ["127.0.0.1:1"]}, "task": {"type": "chief", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(tf_config))
    events = tmp_path / "events"
    monkeypatch.setenv(task_events.EVENTS, str(events))
    config = {"strategy": {"kind": "multi_worker"}}
    answer = cluster_task.train(tmp_path, "linear", {"config": config, "max_steps": 12})
    assert "value" in answer, answer["error"]["traceback"]
    assert answer["value"]["training"]["step"].tolist() == [1, 10, 12]
    assert answer["value"]["evaluation"] == []
    emitted = [
        json.loads(line)["event"] for line in events.read_text(encoding="utf-8").splitlines()
    ]
    assert emitted.count("checkpoint") == 3
    assert emitted[-1] == "finished"


def test_a_task_reaches_its_session_within_seven_frames_of_the_package(
    tensorflow: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    frames: list[str] = []

    class Frames(tensorflow.estimator.SessionRunHook):
        def begin(self) -> None:
            """Run while the session is created."""
            frames.extend(
                f"{Path(frame.filename).stem}.{frame.name}"
                for frame in traceback.extract_stack()
                if frame.filename.startswith(os.path.dirname(tfdistribute.__file__))
            )

    tf_config = {"cluster": {"chief": ["127.0.0.1:1"]}, "task": {"type": "chief", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(tf_config))
    monkeypatch.setenv(task_events.EVENTS, str(tmp_path / "events"))
    options = {"verb": "train", "steps": 1, "hooks": [Frames()]}
    answer = cluster_task.train(tmp_path, "linear", options)
    assert "value" in answer, answer["error"]["traceback"]
    assert frames[0] == "__init__.call"
    assert "perform.perform" in frames
    assert len(frames[1:]) <= 7, frames


def test_a_task_trains_only_where_its_job_holds_the_lock(
    tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del tensorflow
    tf_config = {"cluster": {"chief": ["127.0.0.1:1"]}, "task": {"type": "chief", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(tf_config))
    monkeypatch.setenv(task_events.EVENTS, str(tmp_path / "events"))
    monkeypatch.setenv(task_events.MODEL_DIR, str(tmp_path / "locked"))
    answer = cluster_task.train(tmp_path, "linear", {"max_steps": 1})
    assert answer["error"]["kind"] == "model_directory"
    assert f'which has locked "{tmp_path / "locked"}"' in answer["error"]["problem"]
    # Another name of the same directory is not another directory.
    (tmp_path / "locked").symlink_to(tmp_path / "linear" / "model")
    assert "value" in cluster_task.train(tmp_path, "linear", {"max_steps": 1})


def test_a_process_that_does_not_know_its_task_does_not_train_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"chief": ["a:1"], "worker": ["b:1"]}}))
    with pytest.raises(ClusterError, match="does not say which of them this process is"):
        enter_cluster(None)


def test_an_address_that_would_abort_the_process_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # gRPC aborts on it, and R with it.
    cluster = {"chief": ["$(touch x):1"], "worker": ["b:1"]}
    task = {"type": "chief", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    with pytest.raises(ClusterError, match="is not an address"):
        enter_cluster(None)


def test_deadlines_come_from_the_strategy_or_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    def deadlines(**settings: Any) -> tuple[float, float]:
        model = read(Model, {"kind": "baseline_regressor", "model_dir": "m"})
        training = TrainSpec(read(Input, cluster_task.source(1)))
        run = read(RunSettings, settings)
        assignment = TaskAssignment("train", model, run, training, member=CHIEF)
        return assignment.start_timeout_s, assignment.stall_timeout_s

    addresses = {"kind": "addresses", "chief": ["a:1"], "start_timeout_s": 5, "stall_timeout_s": 9}
    assert deadlines() == (60, 300)
    assert deadlines(cluster=addresses) == (5, 9)
    assert deadlines(cluster=addresses, strategy={"kind": "multi_worker", "timeout_s": 3}) == (3, 3)
    monkeypatch.setenv(task_events.JOB, "private")
    # The supervisor judges earlier.
    assert deadlines(cluster={"kind": "local", "workers": 2}) == (300, 300)


class Exporter:
    """A tf.estimator.Exporter that records its arguments."""

    name = "noted"

    def __init__(self) -> None:
        self.final: list[bool] = []

    def export(self, is_the_final_export: bool, **given: Any) -> None:
        assert given["export_path"].endswith("export/noted")
        self.final.append(is_the_final_export)


@pytest.fixture
def trained(tensorflow: ModuleType, tmp_path: Path) -> Model:
    del tensorflow
    model = read(Model, {**cluster_task.MODELS["linear"](tmp_path), "model_dir": str(tmp_path)})
    train(model, RunSettings(save_checkpoints_steps=5), read(Input, cluster_task.source(1)))
    return model


def evaluator(model: Model, exporter: Any = None) -> _Evaluator:
    spec = EvalSpec(
        read(Input, cluster_task.source(1)),
        exporters=() if exporter is None else (exporter,),
        start_delay_secs=0,
        throttle_secs=0,
    )
    assignment = TaskAssignment(
        "train_and_evaluate",
        model,
        RunSettings(),
        TrainSpec(read(Input, cluster_task.source(1))),
        spec,
        member=EVALUATOR,
    )
    # Earlier checkpoints were evaluated.
    history_file.append(model.model_dir, history_file.EVALUATIONS, [{"global_step": 7.0}])
    return _Evaluator(assignment, spec, TaskHistory(), Peers(EVALUATOR))


def test_the_evaluator_ends_with_the_last_checkpoint_and_not_by_an_old_record(
    trained: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter = Exporter()
    polling = evaluator(trained, exporter)
    record_training(trained.model_dir, CHIEF, 0, 8)
    # Left by an earlier training with the same addresses.
    monkeypatch.setattr(resume, "_PROCESS_BEGAN", time.time())
    assert not polling.poll()
    assert not polling.poll()
    assert exporter.final == [False]
    file = ProgressFile(trained.model_dir, CHIEF)
    record = file.start(8)
    assert not polling.poll()
    file.finish(record, 8)
    # The last one was already evaluated.
    assert polling.poll()
    assert exporter.final == [False]
    again = evaluator(trained, exporter)
    # A completed training does not end the next one.
    assert not again.poll()
    assert exporter.final == [False, False]


def test_an_evaluator_that_is_restarted_keeps_the_best_export(
    trained: Model, tensorflow: ModuleType
) -> None:
    def never(best_eval_result: Any, current_eval_result: Any) -> bool:
        return False

    base = Path(trained.model_dir) / "export" / "best"
    exports: list[list[str]] = []
    for _ in range(2):
        exporter = tensorflow.estimator.BestExporter(
            "best", trained.serving_input_receiver_fn(), compare_fn=never
        )
        polling = evaluator(trained, exporter)
        polling._history.model_dir = trained.model_dir
        polling.poll()
        exports.append(sorted(os.listdir(base)))
    assert exports[0] == exports[1]
    assert len(exports[0]) == 1


def test_a_server_ends_though_the_chief_was_gone_before_it_came(
    tensorflow: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a script with several short trainings."""
    model = {"kind": "baseline_regressor", "model_dir": str(tmp_path)}
    strategy = {"kind": "multi_worker", "timeout_s": 0.2}
    server = member("ps", ps=("127.0.0.1:4",))
    assignment = TaskAssignment(
        "train",
        read(Model, model),
        read(RunSettings, {"strategy": strategy}),
        TrainSpec(read(Input, cluster_task.source(1))),
        member=server,
    )
    monkeypatch.setattr(parameter_server, "start_server", lambda member: None)
    monkeypatch.setattr(parameter_server, "_POLL_S", 0.01)
    monkeypatch.setattr(parameter_server, "_LINGER_S", 0.01)
    servers = fake_servers(monkeypatch)
    servers.away.add(CLUSTER["chief"][0])
    record_training(str(tmp_path), server, 0, 8)
    peers = servers.peers(server)
    assert parameter_server.serve_variables(assignment, peers).steps == []
    # Serving one training to its end does not end the next.
    with pytest.raises(LostPeerError, match=r"ps 0 has waited .* chief 0 .*, which never came"):
        parameter_server.serve_variables(assignment, peers)
    record_training(str(tmp_path), server, 8, 16)
    # A file left by an earlier run with the same addresses is ignored.
    monkeypatch.setattr(resume, "_PROCESS_BEGAN", time.time() + 60)
    with pytest.raises(LostPeerError, match="which never came"):
        parameter_server.serve_variables(assignment, servers.peers(server))


@pytest.mark.parametrize("role", ["evaluator", "ps"])
def test_a_task_without_a_session_sees_that_the_directory_is_not_the_chiefs(
    tensorflow: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    del tensorflow
    monkeypatch.setattr(handshake, "SHARE_S", 0.1)
    monkeypatch.setattr(parameter_server, "start_server", lambda member: None)
    monkeypatch.setattr(parameter_server, "_POLL_S", 0.01)
    servers = fake_servers(monkeypatch)
    task = member(role, ps=("127.0.0.1:4",))
    chief = servers.peers(member("chief", ps=("127.0.0.1:4",)))
    chief.publish(FACTS, chief.facts(model_dir="/elsewhere", mark="m").as_text())
    model = read(Model, {**cluster_task.MODELS["linear"](tmp_path), "model_dir": str(tmp_path)})
    training = TrainSpec(read(Input, cluster_task.source(1)))
    spec = EvalSpec(read(Input, cluster_task.source(1)), start_delay_secs=0, throttle_secs=0)
    assignment = TaskAssignment(
        "train_and_evaluate", model, RunSettings(), training, spec, member=task
    )
    perform_task = {"evaluator": evaluate_checkpoints, "ps": parameter_server.serve_variables}[role]
    with pytest.raises(ModelDirectoryError, match=rf"{role} 0 .* does not see .*/elsewhere"):
        perform_task(assignment, servers.peers(task))


def test_a_checkpoint_that_is_deleted_while_it_is_read_is_passed_over(
    trained: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    polling = evaluator(trained)
    assert not polling.poll()
    evaluation = polling._evaluation  # pyright: ignore[reportPrivateUsage]
    assert evaluation is not None
    estimator = evaluation.prepared.estimator
    evaluate = estimator.evaluate_rows
    polling._evaluated = None  # pyright: ignore[reportPrivateUsage]

    def deleting(rows: Any, key: Any, checkpoint: str, *others: Any) -> Any:
        for file in Path(trained.model_dir).glob(f"{Path(checkpoint).name}.*"):
            file.rename(file.with_suffix(file.suffix + ".gone"))
        return evaluate(rows, key, checkpoint, *others)

    monkeypatch.setattr(estimator, "evaluate_rows", deleting)
    assert not polling.poll()
    for file in Path(trained.model_dir).glob("*.gone"):
        file.rename(file.with_suffix(""))
    monkeypatch.setattr(estimator, "evaluate_rows", evaluate)
    assert not polling.poll()
    found = polling._history.evaluations  # pyright: ignore[reportPrivateUsage]
    assert [each["global_step"] for each in found] == [8, 8]


def test_the_evaluations_of_an_evaluator_share_a_graph(
    trained: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tfdistribute.engine.estimator import estimator as estimators
    from tfdistribute.engine.inference import GRAPHS, InferenceSession

    made: list[Any] = []

    def counted(*args: Any) -> Any:
        made.append(args)
        return InferenceSession(*args)

    GRAPHS.clear()
    monkeypatch.setattr(estimators, "InferenceSession", counted)
    polling = evaluator(trained)
    assert not polling.poll()
    train(trained, RunSettings(), read(Input, cluster_task.source(1)))
    found = polling._history.evaluations  # pyright: ignore[reportPrivateUsage]
    while found[-1]["global_step"] < 16 and len(found) < 9:
        assert not polling.poll()
    assert found[0]["global_step"] == 8
    assert found[-1]["global_step"] == 16
    assert found[0]["loss"] != found[-1]["loss"]
    assert len(made) == 1


def test_an_incomplete_checkpoint_is_not_evaluated(
    trained: Model,
) -> None:
    newest = newest_checkpoint(trained.model_dir)
    data = Path(f"{newest}.data-00000-of-00001")
    whole = data.read_bytes()
    data.write_bytes(whole[:-8])
    polling = evaluator(trained)
    found = polling._history.evaluations  # pyright: ignore[reportPrivateUsage]
    assert not polling.poll()
    assert found == []
    data.write_bytes(whole)
    assert not polling.poll()
    assert [each["global_step"] for each in found] == [8]
    # After training, nobody writes another one.
    data.write_bytes(whole[:-8])
    record_training(trained.model_dir, CHIEF, 8, 8)
    with pytest.raises(ModelDirectoryError, match="holds no whole checkpoint to evaluate"):
        evaluator(trained).poll()


def test_a_training_that_saved_nothing_leaves_nothing_to_evaluate(
    tensorflow: ModuleType, tmp_path: Path
) -> None:
    del tensorflow
    model = read(Model, {**cluster_task.MODELS["linear"](tmp_path), "model_dir": str(tmp_path)})
    record_training(str(tmp_path), CHIEF, 0, 0)
    with pytest.raises(ModelDirectoryError, match="holds no .*checkpoint to evaluate"):
        evaluator(model).poll()


def test_the_seed_of_an_input_is_the_same_in_every_task(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = RunSettings(seed=None)
    seeds = {settings.input_seed(member("worker", index).job_name) for index in (0, 1)}
    assert seeds == {settings.input_seed(CHIEF.job_name)}
    monkeypatch.setenv(task_events.JOB, os.path.join("private", "job-1"))
    assert settings.input_seed(CHIEF.job_name) not in seeds
    assert RunSettings(seed=3).input_seed(CHIEF.job_name) == 3


def test_sparse_gradients_are_summed_otherwise_between_processes_only():
    from tfdistribute.engine.repairs import all_reduce

    spans = all_reduce._spans_processes
    assert spans("/job:chief/replica:0/task:0/device:CPU:0")
    assert not spans("/job:localhost/replica:0/task:0/device:CPU:0")
    assert not spans("/replica:0/task:0/device:CPU:1")
