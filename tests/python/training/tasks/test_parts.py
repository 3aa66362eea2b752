"""The parts of a task of a cluster, one by one and in one process."""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import cluster_task

from tfdistribute import checkpoints, engine, task_events
from tfdistribute.cluster import peers
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import Task
from tfdistribute.descriptions import read
from tfdistribute.errors import LostPeerError, ModelDirectoryError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.model_directory import latest_checkpoint
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.tasks import parameter_server, progress_file
from tfdistribute.training.tasks.assignment import Work
from tfdistribute.training.tasks.evaluator import _Evaluator
from tfdistribute.training.tasks.history import TaskHistory
from tfdistribute.training.tasks.peer_watch import Reach
from tfdistribute.training.train import train

CLUSTER = {"chief": ("127.0.0.1:1",), "worker": ("127.0.0.1:2", "127.0.0.1:3")}
CHIEF = Member(CLUSTER, Task("chief"))
EVALUATOR = Member(CLUSTER, Task("evaluator"))


def member(role: str, index: int = 0, **more: tuple[str, ...]) -> Member:
    return Member({**CLUSTER, **more}, Task(role, index))


def test_a_member_knows_whom_it_needs() -> None:
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
    alone = Member.here({"TF_CONFIG": text})
    assert alone is not None
    assert alone.is_alone
    assert Member.here({"TF_CONFIG": ""}) is None


def test_waiting_ends_when_all_answer_or_at_the_deadline() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        there = (Task("chief"), f"127.0.0.1:{server.getsockname()[1]}")
        missing = (Task("worker"), "127.0.0.1:1")
        assert peers.wait_for([there], 5) == []
        told: list[Any] = []
        assert peers.wait_for([there, missing], 0.3, told.append) == [missing]
        assert told == [[missing]]
        began = time.monotonic()
        peers.wait_for([missing], 60, should_stop=lambda: True)
        assert time.monotonic() - began < 5


def test_sessions_without_a_step_between_them_end_in_an_error(
    tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del tensorflow
    # Everybody answers, and nothing goes on: TensorFlow would make a session after the other for ever.
    monkeypatch.setattr(peers, "is_listening", lambda address: True)
    reach = Reach(CHIEF, str(tmp_path), True, 1.5, lambda: False)
    with pytest.raises(LostPeerError, match="lost its connection .* before its first step"):
        for _ in range(100):
            reach.before_session()
    reach = Reach(CHIEF, str(tmp_path), True, 60, lambda: False)
    reach.before_session()
    reach.note_step(7)
    # In step, a session that is made anew has lost the others.
    with pytest.raises(LostPeerError, match="lost its connection to the other tasks after step 7"):
        reach.before_session()


def test_a_worker_that_takes_long_to_end_is_not_told_that_the_data_was_short(
    tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del tensorflow
    monkeypatch.setattr("tfdistribute.training.tasks.peer_watch._QUIET_S", 0.0)
    monkeypatch.setattr(peers, "is_listening", lambda address: True)
    worker = member("worker")
    progress_file.finish(str(tmp_path), progress_file.begin(str(tmp_path), CHIEF, 0), 8)
    for last_step, gives_up in ((8, False), (9, True), (None, True)):
        reach = Reach(worker, str(tmp_path), True, 60, lambda: False, last_step)
        reach.note_step(8)
        assert reach.has_given_up() == gives_up
    assert "chief 0 ran out of data after step 8" in str(reach.verdict)


def test_workers_look_often_whether_the_chief_is_ready(tensorflow: Any) -> None:
    with tensorflow.Graph().as_default():
        creator = engine.tasks.session._Worker(tensorflow.compat.v1.train.Scaffold())
        assert creator._get_session_manager()._recovery_wait_secs <= 1


def test_hooks_of_other_tasks_than_the_chief_write_nothing(tensorflow: Any, tmp_path: Path) -> None:
    tf = tensorflow
    summaries = tf.estimator.SummarySaverHook(
        save_steps=1, output_dir=str(tmp_path), scaffold=tf.compat.v1.train.Scaffold()
    )
    elsewhere = engine.hooks.savers.SaveElsewhere(lambda saver: None)
    other = tf.estimator.SessionRunHook()
    kept = engine.tasks.hooks.quietened([summaries, elsewhere, other])
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
    mark = progress_file.begin(str(tmp_path), CHIEF, 100)
    assert progress_file.first_step(str(tmp_path), CHIEF, 130) == 130
    monkeypatch.setenv(task_events.ATTEMPT, "1")
    assert progress_file.first_step(str(tmp_path), CHIEF, 130) == 100
    another = Member({"chief": ("127.0.0.1:9",)}, Task("chief"))
    assert progress_file.first_step(str(tmp_path), another, 130) == 130
    progress_file.finish(str(tmp_path), mark, 150)
    assert progress_file.read_mark(str(tmp_path)) == replace(mark, finished_step=150)


def test_a_chief_without_workers_trains_alone_and_leaves_evaluating_to_the_evaluator(
    tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del tensorflow
    tf_config = {"cluster": {"chief": ["127.0.0.1:1"]}, "task": {"type": "chief", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(tf_config))
    events = tmp_path / "events"
    monkeypatch.setenv(task_events.EVENTS, str(events))
    config = {"train_distribute": {"kind": "multi_worker"}}
    answer = cluster_task.train(tmp_path, "linear", {"config": config, "max_steps": 12})
    assert "value" in answer, answer["error"]["traceback"]
    assert answer["value"]["training"]["step"].tolist() == [1, 10, 12]
    assert answer["value"]["evaluation"] == []
    told = [json.loads(line)["event"] for line in events.read_text(encoding="utf-8").splitlines()]
    assert told.count("checkpoint") == 3
    assert told[-1] == "finished"


class Exporter:
    """Notes what it is given, as a tf.estimator.Exporter."""

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


def looking(model: Model, exporter: Any = None) -> _Evaluator:
    spec = EvalSpec(
        read(Input, cluster_task.source(1)),
        exporters=[] if exporter is None else [exporter],
        start_delay_s=0,
        throttle_s=0,
    )
    work = Work(
        "train_and_evaluate",
        model,
        RunSettings(),
        TrainSpec(read(Input, cluster_task.source(1))),
        spec,
    )
    return _Evaluator(work, spec, EVALUATOR, TaskHistory(None, None, None, False, None))


def test_the_evaluator_ends_with_the_last_checkpoint_and_not_by_an_old_mark(
    trained: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter = Exporter()
    looks = looking(trained, exporter)
    old = progress_file.begin(trained.model_dir, CHIEF, 0)
    progress_file.finish(trained.model_dir, old, 8)
    # What an earlier training with the same addresses left.
    monkeypatch.setattr(progress_file, "_PROCESS_BEGAN", time.time())
    assert not looks.look()
    assert not looks.look()
    assert exporter.final == [False]
    mark = progress_file.begin(trained.model_dir, CHIEF, 8)
    assert not looks.look()
    progress_file.finish(trained.model_dir, mark, 8)
    # The last one was evaluated already.
    assert looks.look()
    assert exporter.final == [False]
    again = looking(trained, exporter)
    # The training that was seen to its end does not end the next one.
    assert not again.look()
    assert exporter.final == [False, False]


def test_a_server_ends_though_the_chief_was_gone_before_it_came(
    tensorflow: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a script of several trainings, of which the last ones are short."""
    model = {"kind": "baseline_regressor", "model_dir": str(tmp_path)}
    strategy = {"kind": "multi_worker", "timeout_s": 0.2}
    work = Work(
        "train",
        read(Model, model),
        read(RunSettings, {"train_distribute": strategy}),
        TrainSpec(read(Input, cluster_task.source(1))),
    )
    monkeypatch.setattr(parameter_server, "listen", lambda member: None)
    monkeypatch.setattr(parameter_server, "_POLL_S", 0.01)
    monkeypatch.setattr(parameter_server, "_LINGER_S", 0.01)
    server = member("ps", ps=("127.0.0.1:4",))
    progress_file.finish(str(tmp_path), progress_file.begin(str(tmp_path), server, 0), 8)
    assert parameter_server.serve(work, server).steps == []
    # What was served to its end is not the end of the next training.
    with pytest.raises(LostPeerError, match=r"ps 0 has waited .* chief 0 .*, which never came"):
        parameter_server.serve(work, server)
    progress_file.finish(str(tmp_path), progress_file.begin(str(tmp_path), server, 8), 16)
    # What an earlier run with the same addresses left says nothing.
    monkeypatch.setattr(progress_file, "_PROCESS_BEGAN", time.time() + 60)
    with pytest.raises(LostPeerError, match="which never came"):
        parameter_server.serve(work, server)


def test_a_checkpoint_that_is_deleted_while_it_is_read_is_passed_over(
    trained: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = looking(trained)
    assert not looks.look()
    assert looks._prepared is not None  # pyright: ignore[reportPrivateUsage]
    estimator = looks._prepared.estimator  # pyright: ignore[reportPrivateUsage]
    evaluate = estimator.evaluate
    looks._evaluated = None  # pyright: ignore[reportPrivateUsage]

    def deleting(*args: Any, checkpoint_path: str, **kwargs: Any) -> Any:
        for file in Path(trained.model_dir).glob(f"{Path(checkpoint_path).name}.*"):
            file.rename(file.with_suffix(file.suffix + ".gone"))
        return evaluate(*args, checkpoint_path=checkpoint_path, **kwargs)

    monkeypatch.setattr(estimator, "evaluate", deleting)
    assert not looks.look()
    for file in Path(trained.model_dir).glob("*.gone"):
        file.rename(file.with_suffix(""))
    monkeypatch.setattr(estimator, "evaluate", evaluate)
    assert not looks.look()
    found = looks._history.evaluations  # pyright: ignore[reportPrivateUsage]
    assert [each["global_step"] for each in found] == [8, 8]


def test_a_checkpoint_that_was_cut_off_is_not_evaluated_until_another_one_is_whole(
    trained: Model,
) -> None:
    newest = latest_checkpoint(trained.model_dir)
    assert newest is not None
    checkpoints.note(trained.model_dir, newest)
    data = Path(f"{newest}.data-00000-of-00001")
    whole = data.read_bytes()
    data.write_bytes(whole[:-8])
    looks = looking(trained)
    found = looks._history.evaluations  # pyright: ignore[reportPrivateUsage]
    assert not looks.look()
    assert found == []
    data.write_bytes(whole)
    assert not looks.look()
    assert [each["global_step"] for each in found] == [8]
    # Nobody writes another one after the training has ended.
    data.write_bytes(whole[:-8])
    progress_file.finish(trained.model_dir, progress_file.begin(trained.model_dir, CHIEF, 8), 8)
    with pytest.raises(ModelDirectoryError, match="holds no whole checkpoint to evaluate"):
        looking(trained).look()


def test_a_training_that_saved_nothing_leaves_nothing_to_evaluate(
    tensorflow: ModuleType, tmp_path: Path
) -> None:
    del tensorflow
    model = read(Model, {**cluster_task.MODELS["linear"](tmp_path), "model_dir": str(tmp_path)})
    progress_file.finish(str(tmp_path), progress_file.begin(str(tmp_path), CHIEF, 0), 0)
    with pytest.raises(ModelDirectoryError, match="holds no .*checkpoint to evaluate"):
        looking(model).look()


def test_the_seed_of_an_input_is_the_same_in_every_task(monkeypatch: pytest.MonkeyPatch) -> None:
    source = read(Input, cluster_task.source(1))
    model = read(Model, {**cluster_task.MODELS["linear"](Path()), "model_dir": "m"})
    work = Work("train", model, RunSettings(tf_random_seed=None), TrainSpec(source))
    seeds = {work.run_seed(member("worker", index)) for index in (0, 1)}
    assert seeds == {work.run_seed(CHIEF)}
    monkeypatch.setenv(task_events.JOB, os.path.join("private", "job-1"))
    assert work.run_seed(CHIEF) not in seeds
    settings = RunSettings(tf_random_seed=3)
    assert replace(work, settings=settings).run_seed(CHIEF) == 3


def test_sparse_gradients_are_summed_otherwise_between_processes_only():
    from tfdistribute.engine.repairs import sparse_all_reduce

    spans = sparse_all_reduce._spans_processes
    assert spans("/job:chief/replica:0/task:0/device:CPU:0")
    assert not spans("/job:localhost/replica:0/task:0/device:CPU:0")
    assert not spans("/replica:0/task:0/device:CPU:1")
