"""Trainings of layers that are judged on the way, in a temporary directory or by all tasks of a cluster."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from tfdistribute import engine
from tfdistribute.errors import InputError
from tfdistribute.inputs import Input
from tfdistribute.inputs.held_rows import split
from tfdistribute.models import Tabular
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import History, Listener
from tfdistribute.training.hooks import Hook, HookContext
from tfdistribute.training.specs import Training, TrainSpec
from tfdistribute.training.tabular.progress import Progress

Train = Callable[..., Any]
LogitsOf = Callable[..., Any]
# Gets logits of the rows that judge, if the session can compute them, and the directory of the newest checkpoint.
Judge = Callable[[Any, str], bool]


class Team(Protocol):
    """The tasks of a cluster, which train the layers of a large table together."""

    def directory(self, model: Tabular, ends: Sequence[int]) -> AbstractContextManager[str]:
        """Tell the others which layers they train, and hold the directory of that training inside the block."""
        ...

    def train(self, training: Training) -> History: ...

    def told(self, judge: Judge) -> Judge:
        """Return a judge whose verdicts the others hear."""
        ...


@dataclass(frozen=True)
class Trials:
    """Trainings of layers, in temporary directories or by a team."""

    settings: RunSettings
    train: Train
    logits_of: LogitsOf
    progress: Progress
    team: Team | None = None

    def run(self, model: Tabular, source: Input, judgment: "Judgment") -> History:
        """Train a model until the judge says that it is enough."""
        with tempfile.TemporaryDirectory(prefix="tfdistribute-validation-") as directory:
            return self.train(self._training(model, source, judgment, directory))

    def run_by_team(self, model: Tabular, source: Input, judgment: "Judgment") -> History:
        team = self.team
        if team is None:
            return self.run(model, source, judgment)
        told = replace(judgment, judge=team.told(judgment.judge))
        with team.directory(model, judgment.ends) as directory:
            return team.train(self._training(model, source, told, directory))

    def _training(
        self, model: Tabular, source: Input, judgment: "Judgment", directory: str
    ) -> Training:
        candidate, ends = replace(model, model_dir=directory), judgment.ends
        return training_of_layers(
            candidate, self.settings, source, ends, judgment, self.progress.of_layers(ends)
        )


@dataclass(frozen=True)
class Judgment(Hook):
    """The judgment of a training at the ``ends`` of its cycles.

    The session computes logits of ``rows``, which are some of the rows in memory that others of them train.
    """

    may_differ: ClassVar[str | None] = "Only the chief judges."

    ends: Sequence[int]
    judge: Judge
    rows: Input | None = None

    def session_hook(self, context: HookContext) -> Any:
        directory, read = context.model_dir, context.read_rows
        assert directory is not None and read is not None
        rows = None if self.rows is None else read(self.rows.in_large_batches())
        return engine.tabular.JudgeCycles(
            directory, self.ends, rows, lambda logits: self.judge(logits, directory)
        )


def training_of_layers(
    model: Tabular,
    settings: RunSettings,
    source: Input,
    ends: Sequence[int],
    hook: Any,
    listener: Listener | None = None,
) -> Training:
    assert model.table is not None
    spec = TrainSpec(source.repeated(model.table.batch_size), ends[-1], (hook,))
    return Training("train", model, settings, spec, listener=listener)


def split_rows(
    model: Tabular, settings: RunSettings, source: Input, validation: Input | None
) -> tuple[Input, Input]:
    """Return the rows that parts learn from, and the rows that judge them."""
    facts, table = source.facts(), model.table
    assert table is not None and facts.label is not None and facts.rows is not None
    if validation is not None:
        held = model.learning(validation)
        model.check(held.facts())
        return source, held
    if facts.rows < 2:
        raise InputError(
            "The input has one row, and a tabular model sets rows apart to choose the end of its training.",
            "Give more rows, or the number of epochs, as in tabular_regressor(epochs = 20).",
        )
    classes = None if table.limits else facts.values_of(facts.label.name)
    learned, held = split(facts.rows, model.validation, settings.seed or 0, classes)
    return source.subset(learned), source.subset(held)
