"""The choice of a tabular model from its rows: its parts, and the end of its training."""

import math
import time
from dataclasses import replace
from typing import Any

from tfdistribute import engine
from tfdistribute.checkpoints.newest import newest_step
from tfdistribute.errors import ArgumentError
from tfdistribute.inputs import Input
from tfdistribute.models import Model, Tabular
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import Listener
from tfdistribute.training.model_directory import ModelDirectory, as_trained
from tfdistribute.training.specs import Start
from tfdistribute.training.tabular.parts import Choice, learned_again
from tfdistribute.training.tabular.progress import Progress
from tfdistribute.training.tabular.trees import can_grow, has_library
from tfdistribute.training.tabular.trials import Judgment, LogitsOf, Team, Train, Trials

# Share of the time limit in which steps are timed, for a training whose end is not chosen.
_TIMED = 0.05
# The checkpoint at the end of each training is enough.
_RARELY_S = 86_400.0


def choose_end(
    model: Tabular,
    settings: RunSettings,
    source: Input,
    train: Train,
    logits_of: LogitsOf,
    listener: Listener | None = None,
    validation: Input | None = None,
    team: Team | None = None,
) -> tuple[Tabular, Start | None]:
    """Complete a model from its directory or from the rows, with the step at which its training ends.

    A model that is at its end trains again: with the columns of its first training, and for as many epochs, or its own.

    Parts of another model learn from a part of the rows, or with rows for ``validation`` from all of them: a linear
    model, layers in a temporary directory, one cycle of the rate after the other until a cycle ends hardly better than
    one before, and trees. The other rows choose the weights of the parts, and a temperature of class probabilities. The
    model is then complete, and returned as the start of a training without steps. A training that chooses no end gets
    fewer steps if its time limit allows no more. ``logits_of`` returns the logits of a trained model. A ``team`` trains
    the layers, if they need not learn again from all rows.

    Raises InputError if the rows are not in memory or have other columns than the model, and ArgumentError if the model
    does not choose its end by ``validation``.
    """
    if validation is not None and not model.validates:
        own = "`validation` 0" if model.epochs is None else f"`epochs` {model.epochs}"
        raise _no_choice(f"a model with {own}")
    known = as_trained(model)
    source = known.learning(source)
    completed: Any = known.complete_from_input(source.facts())
    completed.check(source.facts())
    source = completed.reading(source)
    trials = Trials(quiet(settings), train, logits_of, Progress(listener), team)
    table = completed.table
    if table.end is None:
        directory = ModelDirectory(model.model_dir)
        directory.check_owner(completed.structure(), for_training=True)
        return Choice(completed, trials, source, validation).choose()
    table.check_columns(source.facts(), model.weight_column)
    is_again = newest_step(model.model_dir) >= table.end
    if is_again and validation is not None:
        raise _no_choice("a trained model")
    if is_again and "layers" not in table.weights:
        return learned_again(completed, settings, source)
    if is_again:
        completed = completed.trained_again(source.facts().rows or 1)
    if completed.time_limit_s is not None and (is_again or known.table is None):
        completed = _in_time(completed, trials, source)
    return completed, None


def _in_time(model: Tabular, trials: Trials, source: Input) -> Tabular:
    """Time some steps, and let the model train the steps for which there is time."""
    table, limit_s = model.table, model.time_limit_s
    assert table is not None and table.end is not None and limit_s is not None
    length = table.end - table.begin
    # TensorFlow is loaded before the time is taken.
    engine.tf.config.list_physical_devices("CPU")
    ends, times = [2**n for n in range(length.bit_length())], [time.monotonic()]

    def is_enough(*_: Any) -> bool:
        times.append(time.monotonic())
        return times[-1] - times[1] >= _TIMED * limit_s

    timed_model = model.with_table(begin=0, weights={"layers": 1.0})
    trials.run(timed_model, source, Judgment(ends, is_enough))
    began, first, *_, last = [*times, times[-1]]
    timed = ends[len(times) - 2]
    # The training starts as slowly as the trial.
    rest_s = limit_s - (last - began) - (first - began)
    fits = math.inf if timed == 1 else rest_s * (timed - 1) / (last - first)
    if fits >= length:
        return model
    steps = max(timed, math.floor(fits))
    return model.with_table(steps=steps, end=table.begin + steps)


def check_trains(
    verb: str, model: Model, steps: int | None = None, max_steps: int | None = None
) -> None:
    """Raise ArgumentError if a verb would choose the end of a tabular model, which chooses it itself."""
    if not isinstance(model, Tabular):
        return
    if verb == "train_and_evaluate":
        raise ArgumentError(
            "train_and_evaluate() does not train tabular models, which choose the end of their training themselves.",
            "Call train() with the rows of the training, and then evaluate() with others.",
            argument="object",
            value=model.kind,
        )
    for name, value in {"steps": steps, "max_steps": max_steps}.items():
        if value is not None:
            raise ArgumentError(
                f"`{name}` is {value}, but a tabular model chooses the end of its training.",
                "Leave it out, or set `epochs` of the model, as in tabular_regressor(epochs = 20).",
                argument=name,
                value=str(value),
            )


def _no_choice(of: str) -> ArgumentError:
    return ArgumentError(
        f"`validation` of train() chooses the end of a first training, and this is {of}.",
        "Leave it out, or train a new model, in another `model_dir`, with neither `epochs` nor validation = 0.",
        argument="validation",
    )


def quiet(settings: RunSettings) -> RunSettings:
    """Return settings of a training in whose losses and checkpoints nobody looks."""
    return replace(
        settings,
        model_dir=None,
        track=None,
        save_summary_steps=None,
        log_step_count_steps=None,
        save_checkpoints_steps=None,
        save_checkpoints_secs=_RARELY_S,
        keep_checkpoint_max=1,
    )


# Names of losses, and of parts.
_LOSSES = {
    "log_loss": "log loss",
    "squared_error": "root mean squared error",
    "poisson": "Poisson loss",
    "quantile": "quantile loss",
}
_PARTS = {"linear": "a linear model", "layers": "layers", "trees": "trees"}


def training_note(model: Tabular, is_chosen: bool) -> str:
    """Return sentences about the length of a training, or about a model that is chosen."""
    table, done = model.table, newest_step(model.model_dir)
    assert table is not None and table.end is not None
    bounds = ""
    if model.limits is not None:
        low, high = model.limits
        bounds = f" Its predictions stay between {low:.4g} and {high:.4g}, the responses of the training, see `clip`."
    if is_chosen:
        return f"{_of_choice(model)}{bounds}"
    if done >= table.end:
        return (
            f"The model is at step {table.end:,}, the end of its training, and trains no further."
        )
    length = f"The model trains {table.end - table.begin:,} steps of {table.batch_size} rows"
    if done > table.begin:
        return f"The model continues its training to step {table.end:,}, in steps of {table.batch_size} rows."
    if table.begin > 0:
        kept = "with the columns, levels and scales of its first training"
        return f"{length} after step {table.begin:,}, {kept}.{bounds}"
    limit = "" if model.time_limit_s is None else ", as many as `time_limit_s` allows"
    return f"{length}{limit}.{bounds}"


def _of_choice(model: Tabular) -> str:
    table = model.table
    assert table is not None and table.validation is not None and table.end is not None
    found, name = table.validation, model.row_loss[0]

    def shown(loss: float) -> str:
        return f"{math.sqrt(loss) if name == 'squared_error' else loss:.4g}"

    if table.begin > 0:
        return f"The model learned again from all rows, without layers, to step {table.end:,}."
    parts = [f"{_PARTS[part]} (weight {weight:.2g})" for part, weight in table.weights.items()]
    alone = [f"{shown(loss)} with {_PARTS[part]} alone" for part, loss in found.losses.items()]
    text = (
        f"The model is {' and '.join(parts)}, because its {_LOSSES[name]} on {found.rows:,} validation rows is "
        f"{shown(found.loss)}, and {', '.join(alone)}."
    )
    if "layers" in table.weights:
        cycles = ", ".join(map(shown, table.losses))
        text += f" The layers learned in {table.end:,} steps of {table.batch_size} rows. After cycles: {cycles}."
    if table.temperature is not None:
        text += f" The temperature of its logits is {table.temperature:.3g}."
    if "trees" in model.parts and can_grow(model) and not has_library():
        text += " It has no trees, which need ydf: run install_tfdistribute(trees = TRUE) and restart R."
    return text
