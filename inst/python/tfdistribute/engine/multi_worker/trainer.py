"""Training of an Estimator as a task: its hooks, and which task writes what.

TensorFlow's coordinator (``tf.estimator.train_and_evaluate``) lets every worker write directories of its own, writes
no checkpoints without summaries, and looks for the chief every 30 seconds. This trainer takes the same steps, and
does none of that.
"""

import contextlib
import functools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

import tensorflow as tf
from tensorflow.python.training import monitored_session, session_manager

from tfdistribute.checkpoints.mirror import is_mirror
from tfdistribute.cluster.member import Member
from tfdistribute.engine import patches
from tfdistribute.engine.multi_worker import collective_savers
from tfdistribute.engine.multi_worker.hooks import (
    AbortOnLostPeer,
    EndBarrier,
    ReportSaves,
    ReportSteps,
    start_closing,
)
from tfdistribute.engine.multi_worker.server import worker_context
from tfdistribute.engine.step.all_reduce import AllReduce
from tfdistribute.engine.step.consensus import CollectiveConsensus
from tfdistribute.engine.step.program import StepProgram
from tfdistribute.engine.step.runs import StepRuns, StepsPerRun

_POLL_S = 0.5
# Time to close a session; it takes milliseconds if nothing is wrong.
_CLOSE_S = 5.0


class PeerMonitor(Protocol):
    """Liveness of the other tasks, as a training checks it."""

    def before_session(self) -> None: ...

    @property
    def sockets(self) -> list[str]: ...

    def before_run(self, steps: int) -> None: ...

    def after_step(self, step: int) -> None: ...

    def is_lost(self) -> bool: ...

    def disconnect_servers(self) -> None: ...

    def give_up(self) -> None: ...

    def training_peers(self) -> set[str]: ...


class TrainingObserver(Protocol):
    def session_started(self, step: int) -> None: ...

    def steps_taken(self, step: int, count: int) -> None: ...

    def checkpoint_saved(self, step: int) -> None: ...

    def note(self, text: str) -> None:
        """Report, in one sentence, why the training takes one step per run, or shares no memory, after all."""


class TaskTrainer:
    """Trains an Estimator as a task, whose server is already listening."""

    def __init__(
        self,
        estimator: Any,
        member: Member,
        peers: PeerMonitor,
        observer: TrainingObserver,
        steps_per_run: StepsPerRun = 1,
        sums: AllReduce | None = None,
    ) -> None:
        self._estimator = estimator
        self._member = member
        self._peers = peers
        self._observer = observer
        self._steps_per_run: StepsPerRun = steps_per_run
        self._sums = sums
        self._abort = AbortOnLostPeer(
            peers.is_lost, self._disconnect, peers.give_up, until_closed=bool(member.servers)
        )

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Train as a task inside the block; hooks that write files only write in the chief."""
        config = self._estimator.config
        context: Any = contextlib.nullcontext()
        if config.train_distribute is not None and not self._member.is_alone:
            context = worker_context(self._member, config.train_distribute, config.session_config)
        try:
            with context, self._estimator.train_with(self._train):
                yield
        finally:
            self._abort.stop()

    def _train(
        self,
        train: Any,
        spec: Any,
        worker_hooks: list[Any],
        hooks: Sequence[Any],
        global_step: Any,
        saving_listeners: Sequence[Any],
    ) -> Any:
        _complete_graph(self._estimator, spec)
        user_hooks = [*worker_hooks, *hooks, *spec.training_hooks]
        if self._member.is_chief:
            user_hooks += spec.training_chief_hooks
        loss = None
        with tf.compat.v1.train.MonitoredSession(
            session_creator=self._session_creator(spec),
            hooks=self._all_hooks(spec, user_hooks, saving_listeners),
        ) as session:
            while not session.should_stop():
                _, loss = session.run([spec.train_op, spec.loss])
        return loss

    def _all_hooks(self, spec: Any, user_hooks: list[Any], listeners: Sequence[Any]) -> list[Any]:
        member, config = self._member, self._estimator.config
        own: list[Any] = [
            tf.compat.v1.train.NanTensorHook(spec.loss),
            ReportSteps(self._observer.session_started, self._steps_taken),
            self._abort,
        ]
        if member.servers:
            own.append(EndBarrier(str(member.task), member.is_chief, self._peers.training_peers))
        own += collective_savers.summary_hooks(
            config, spec.scaffold, member.in_step, member.is_chief
        )
        savers = [hook for hook in user_hooks if isinstance(hook, tf.estimator.CheckpointSaverHook)]
        others = [hook for hook in user_hooks if hook not in savers]
        if not member.is_chief:
            others = collective_savers.silence(others)
        # The savers come last: at the end of training they write what the other hooks have left.
        hooks = [*others, *own, *self._savers(savers, spec.scaffold, listeners)]
        return [*hooks, *self._step_runs(spec, hooks)]

    def _steps_taken(self, step: int, count: int) -> None:
        self._peers.after_step(step)
        self._observer.steps_taken(step, count)

    def _step_runs(self, spec: Any, hooks: list[Any]) -> list[Any]:
        member = self._member
        if self._steps_per_run == 1 or member.servers:
            return []
        decision = None
        if not member.is_alone:
            strategy = self._estimator._train_distribution
            tasks = len(member.training_tasks)
            decision = CollectiveConsensus(strategy, member.rank, tasks, self._peers.before_run)
        return [StepRuns(self._steps_per_run, spec, [hooks], self._observer.note, decision)]

    def _savers(self, savers: list[Any], scaffold: Any, listeners: Sequence[Any]) -> list[Any]:
        member, config = self._member, self._estimator.config
        hooks = savers if member.is_chief else []
        hooks = hooks or collective_savers.checkpoint_hooks(
            config, scaffold, member.in_step, member.is_chief
        )
        report = ReportSaves(self._observer.checkpoint_saved)
        for hook in hooks[:1] if member.is_chief else ():
            hook._listeners.extend([report, *listeners])
        return hooks

    def _disconnect(self) -> None:
        if self._sums is not None:
            self._sums.close()
        self._peers.disconnect_servers()

    def _before_session(self, spec: Any) -> None:
        self._peers.before_session()
        if self._sums is not None:
            note = self._sums.run(StepProgram(spec.train_op, spec.loss), self._peers.sockets)
            if note is not None:
                self._observer.note(note)

    def _session_creator(self, spec: Any) -> Any:
        make: Any = (
            functools.partial(
                cast("Any", _ChiefSessionCreator), checkpoint_dir=self._estimator.model_dir
            )
            if self._member.in_step or self._member.is_chief
            else _WorkerSessionCreator
        )
        config = self._estimator._session_config
        creator = make(scaffold=spec.scaffold, master=self._member.target, config=config)
        creator.before_session = functools.partial(self._before_session, spec)
        creator.abort = self._abort
        return creator


class _PeerAwareCreator:
    before_session: Callable[[], None]
    abort: AbortOnLostPeer

    def create_session(self) -> Any:
        self.before_session()
        # Variables are initialised by a step of all tasks, so the session is watched before it is complete.
        with _observe_sessions(self.abort.watch):
            session = super().create_session()  # type: ignore[misc]
        session.close = functools.partial(_close, session)
        return session


def _observe_sessions(note: Callable[[Any], None]) -> Any:
    class Observed(tf.compat.v1.Session):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            note(self)

    return patches.patch_temporarily("observed_sessions", types.SimpleNamespace(Session=Observed))


def _close(session: Any) -> None:
    """Close a session within seconds, then go on without TensorFlow.

    It waits forever for a frozen parameter server, and up to a minute for the thread that tunes a user's dataset.
    """
    start_closing(session).join(_CLOSE_S)


class _ChiefSessionCreator(_PeerAwareCreator, monitored_session.ChiefSessionCreator):
    """Creates sessions in which this task initializes the variables."""


class _WorkerSessionCreator(_PeerAwareCreator, monitored_session.WorkerSessionCreator):
    """Creates sessions in which the chief initializes the variables; it polls often for that."""

    def _get_session_manager(self) -> session_manager.SessionManager:
        manager = super()._get_session_manager()
        manager._recovery_wait_secs = _POLL_S
        return manager


def variable_shapes() -> dict[str, list[int | None]]:
    variables = tf.compat.v1.trainable_variables()
    return {
        each.op.name: list(each.shape.as_list()) if each.shape.rank is not None else []
        for each in variables
        if "/replica_" not in each.op.name
    }


def _complete_graph(estimator: Any, spec: Any) -> None:
    v1 = tf.compat.v1
    if estimator._warm_start_settings and not tf.train.latest_checkpoint(estimator.model_dir):
        v1.train.warm_start(*estimator._warm_start_settings)
    summaries = v1.get_collection(v1.GraphKeys.SUMMARIES)
    if not any(summary.op.name == "loss" for summary in summaries):
        v1.summary.scalar("loss", spec.loss)
    v1.add_to_collection(v1.GraphKeys.LOSSES, spec.loss)
    if not (spec.scaffold.saver or v1.get_collection(v1.GraphKeys.SAVERS)):
        config = estimator.config
        saver = v1.train.Saver(
            # Parameter servers on other machines would write their shards there.
            sharded=not is_mirror(estimator.model_dir),
            max_to_keep=config.keep_checkpoint_max,
            keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
            defer_build=True,
            save_relative_paths=True,
        )
        v1.add_to_collection(v1.GraphKeys.SAVERS, saver)
