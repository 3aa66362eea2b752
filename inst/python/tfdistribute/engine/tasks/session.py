"""Training as a task of a cluster: the session, what takes part in it, and who writes.

TensorFlow's own way (``tf.estimator.train_and_evaluate`` and its coordinator) lets every worker write summaries and
checkpoints into directories of its own, forgets checkpoints where no summaries are wanted, looks for the chief every
30 seconds, and makes a new session for ever when another task is gone. The same steps are taken here, without those.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import tensorflow as tf
from tensorflow.python.training import monitored_session, session_manager

from tfdistribute.cluster.member import Member
from tfdistribute.engine.many_steps.consensus import CollectiveConsensus
from tfdistribute.engine.many_steps.runs import StepRuns, StepsPerRun
from tfdistribute.engine.tasks import hooks as cluster_hooks
from tfdistribute.engine.tasks.server import worker_context

_POLL_S = 0.5


@dataclass(frozen=True)
class Calls:
    """What the training tells, and asks, on its way.

    Args:
        before_session: Called before each session is made; it waits for the other tasks, and raises where they do not
            come.
        before_close: Called before a session is closed; it waits for those who must know, and raises where they do not
            come.
        at_session: Called with the global step at which a session begins.
        before_run: Called with the number of steps that all tasks are about to take in one run.
        after_step: Called with the global step after one or several steps of this task, and with their number.
        after_save: Called with a checkpoint's prefix and its step, in the chief.
        has_given_up: Asked from another thread whether the step under way can never end.
        others_train: Names the tasks that still train, as far as can be seen from outside; for the chief's end.
        note: Told, in one sentence, why each step is taken by itself after all.
    """

    before_session: Callable[[], None]
    before_close: Callable[[], None]
    at_session: Callable[[int], None]
    before_run: Callable[[int], None]
    after_step: Callable[[int, int], None]
    after_save: Callable[[str, int], None]
    has_given_up: Callable[[], bool]
    others_train: Callable[[], set[str]]
    note: Callable[[str], Any]


def train(
    estimator: Any,
    member: Member,
    calls: Calls,
    input_fn: Callable[..., Any],
    max_steps: int | None,
    hooks: Sequence[Any],
    saving_listeners: Sequence[Any] = (),
    steps_per_run: StepsPerRun = 1,
) -> None:
    """Train as a task, until the steps are done or the input ends.

    Args:
        estimator: A ``tf.estimator.Estimator`` whose configuration is the task's.
        member: The task; its server listens.
        calls: What is told.
        input_fn: What the estimator is to draw from.
        max_steps: Global step to stop at; None for no limit.
        hooks: ``tf.estimator.SessionRunHook`` objects. In tasks that are not the chief, those that write files write
            nothing.
        saving_listeners: ``tf.estimator.CheckpointSaverListener`` objects, for the chief.
        steps_per_run: Steps of one run, or "auto" to let time decide; one where tasks do not train in step.

    Raises:
        TfdistributeError: what ``calls.before_session`` raised.
        tf.errors.OpError: a step failed.
    """
    training = _Training(estimator, member, calls, tuple(saving_listeners), steps_per_run)
    with training.in_place():
        estimator.train(input_fn, max_steps=max_steps, hooks=list(hooks))


class _Training:
    """One training of one estimator."""

    def __init__(
        self,
        estimator: Any,
        member: Member,
        calls: Calls,
        listeners: tuple[Any, ...],
        steps_per_run: StepsPerRun,
    ) -> None:
        self._estimator = estimator
        self._member = member
        self._calls = calls
        self._listeners = listeners
        self._steps_per_run: StepsPerRun = steps_per_run
        self._watch = cluster_hooks.GiveUp(calls.has_given_up)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the estimator train here instead of in TensorFlow's session."""
        strategy = self._estimator.config.train_distribute
        context: Any = contextlib.nullcontext()
        if strategy is not None and not self._member.is_alone:
            context = worker_context(self._member, strategy, self._estimator.config.session_config)
        try:
            with context, self._estimator.train_with(self._run):
                yield
        finally:
            self._watch.stop()

    def _run(
        self,
        train: Any,
        spec: Any,
        worker_hooks: list[Any],
        hooks: Sequence[Any],
        global_step: Any,
        saving_listeners: Any,
    ) -> Any:
        """Do what ``Estimator._train_with_estimator_spec`` does."""
        del train, global_step, saving_listeners
        _prepare_graph(self._estimator, spec)
        given = [*worker_hooks, *hooks, *spec.training_hooks]
        if self._member.is_chief:
            given += spec.training_chief_hooks
        loss = None
        with tf.compat.v1.train.MonitoredSession(
            session_creator=self._creator(spec.scaffold), hooks=self._all_hooks(spec, given)
        ) as session:
            while not session.should_stop():
                _, loss = session.run([spec.train_op, spec.loss])
        return loss

    def _all_hooks(self, spec: Any, given: list[Any]) -> list[Any]:
        member, config = self._member, self._estimator.config
        own: list[Any] = [
            tf.compat.v1.train.NanTensorHook(spec.loss),
            cluster_hooks.NoteSteps(self._calls.at_session, self._calls.after_step),
            self._watch,
        ]
        if member.servers:
            own.append(
                cluster_hooks.EndTogether(
                    str(member.task), member.is_chief, self._calls.others_train
                )
            )
        quiet = not member.is_chief
        own += cluster_hooks.summaries(config, spec.scaffold, member.in_step, quiet)
        savers = [hook for hook in given if isinstance(hook, tf.estimator.CheckpointSaverHook)]
        others = [hook for hook in given if hook not in savers]
        if quiet:
            others = cluster_hooks.quietened(others)
        # The savers after them: when training ends, they write what all others have left.
        hooks = [*others, *own, *self._savers(savers, spec.scaffold)]
        return [*hooks, *self._step_runs(spec, hooks)]

    def _step_runs(self, spec: Any, hooks: list[Any]) -> list[Any]:
        member = self._member
        if self._steps_per_run == 1 or member.servers:
            return []
        decision = None
        if not member.is_alone:
            strategy = self._estimator._train_distribution
            decision = CollectiveConsensus(
                strategy, member.rank, len(member.training_tasks), self._calls.before_run
            )
        return [StepRuns(self._steps_per_run, spec, [hooks], self._calls.note, decision)]

    def _savers(self, given: list[Any], scaffold: Any) -> list[Any]:
        config = self._estimator.config
        if not self._member.is_chief:
            return cluster_hooks.beside_the_chief(config, scaffold) if self._member.in_step else []
        savers = given or cluster_hooks.of_the_chief(config, scaffold, self._member.in_step)
        told = cluster_hooks.TellSaves(self._estimator.model_dir, self._calls.after_save)
        for saver in savers[:1]:
            saver._listeners.extend([told, *self._listeners])
        return savers

    def _creator(self, scaffold: Any) -> Any:
        make: Any = (
            functools.partial(cast("Any", _Chief), checkpoint_dir=self._estimator.model_dir)
            if self._member.in_step or self._member.is_chief
            else _Worker
        )
        config = self._estimator._session_config
        creator = make(scaffold=scaffold, master=self._member.target, config=config)
        creator.calls = self._calls
        return creator


class _Reaching:
    """Mixed into what makes sessions: the other tasks must be there when one is made, and when it is closed."""

    calls: Calls

    def create_session(self) -> Any:
        """Make a session when the others are there."""
        self.calls.before_session()
        session = super().create_session()  # type: ignore[misc]
        session.close = functools.partial(_close, session, self.calls.before_close)
        return session


def _close(session: Any, before_close: Callable[[], None]) -> None:
    """Close a session, but not where TensorFlow would wait for ever for a parameter server that is gone."""
    try:
        before_close()
    except Exception:
        # Its end would wait as well.
        session._session, session._closed = None, True
        raise
    type(session).close(session)


class _Chief(_Reaching, monitored_session.ChiefSessionCreator):
    """Makes sessions whose variables this task gives their values."""


class _Worker(_Reaching, monitored_session.WorkerSessionCreator):
    """Makes sessions whose variables the chief gives their values; it looks often whether it has."""

    def _get_session_manager(self) -> session_manager.SessionManager:
        manager = super()._get_session_manager()
        manager._recovery_wait_secs = _POLL_S
        return manager


def _prepare_graph(estimator: Any, spec: Any) -> None:
    """Add what Estimator adds before it makes a session."""
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
            sharded=True,
            max_to_keep=config.keep_checkpoint_max,
            keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
            defer_build=True,
            save_relative_paths=True,
        )
        v1.add_to_collection(v1.GraphKeys.SAVERS, saver)
