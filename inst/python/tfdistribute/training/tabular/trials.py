"""Trainings of layers that are judged on the way, in a temporary directory or by all tasks of a cluster."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tfdistribute import engine
from tfdistribute.checkpoints import mirror
from tfdistribute.errors import InputError
from tfdistribute.inputs import Input
from tfdistribute.inputs.held_rows import split
from tfdistribute.models import Tabular
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import History, Listener
from tfdistribute.training.specs import Training, TrainSpec
from tfdistribute.training.tabular.progress import Progress

Train = Callable[..., Any]
LogitsOf = Callable[..., Any]
Judge = Callable[[Tabular], bool]


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

    def run(self, model: Tabular, source: Input, ends: list[int], judge: Judge) -> History:
        """Train a model, and call ``judge`` at the ``ends``, until it returns True."""
        with tempfile.TemporaryDirectory(prefix="tfdistribute-validation-") as directory:
            return self.train(self._training(model, source, ends, judge, directory))

    def run_by_team(self, model: Tabular, source: Input, ends: list[int], judge: Judge) -> History:
        team = self.team
        if team is None:
            return self.run(model, source, ends, judge)
        with team.directory(model, ends) as directory:
            return team.train(self._training(model, source, ends, team.told(judge), directory))

    def _training(
        self, model: Tabular, source: Input, ends: list[int], judge: Judge, directory: str
    ) -> Training:
        candidate = replace(model, model_dir=directory)
        # A checkpoint is judged before it is uploaded.
        here = replace(model, model_dir=mirror.local_directory(directory))
        hook = engine.hooks.SaveAtSteps(here.model_dir, ends, lambda: judge(here))
        return training_of_layers(
            candidate, self.settings, source, ends, hook, self.progress.of_layers(ends)
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
