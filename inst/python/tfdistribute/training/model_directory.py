"""Model directory: its checkpoints, the signature of their model, and the exclusive use by a training."""

import contextlib
import json
import os
import tempfile
import time
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tfdistribute import engine, history_file, storage, task_events
from tfdistribute.checkpoints.contents import is_whole
from tfdistribute.checkpoints.lock import ModelDirectoryLock
from tfdistribute.checkpoints.mirror import local_checkpoint
from tfdistribute.checkpoints.newest import (
    broken_newest,
    listed_checkpoint,
    newest_checkpoint,
    newest_step,
)
from tfdistribute.columns import KINDS, ColumnFacts, InputFacts
from tfdistribute.descriptions import check_directory
from tfdistribute.environment import describe_process
from tfdistribute.errors import InputError, ModelDirectoryError
from tfdistribute.files import is_remote, is_unnamed_model
from tfdistribute.inputs import position
from tfdistribute.interrupts import end_after_sigterm
from tfdistribute.models import FactorCodes, Model
from tfdistribute.models.differences import find_difference, plain, show
from tfdistribute.training.remote.lease import Lease, check_access, hold_lease, read_error

SIGNATURE = "tfdistribute-model.json"
# What a model is, what it was trained on, and its history.
OWN_FILES = (SIGNATURE, history_file.LOSSES, history_file.EVALUATIONS, position.FILE)

AFRESH = (
    '`model_dir` "{}" was temporary and was deleted when its R session ended: training starts at step 0. '
    "To keep the trained model, use save_estimator() or bundle::bundle(), or give the estimator a `model_dir`."
)

# What a training learned from its rows, beside weights.
_LEARNED = {"kinds", "replacements", "terms"}
_LEARNED_BY_MODEL = {"response_scale", "learned"}


def require_checkpoint(model_dir: str, checkpoint_path: str | None, verb: str) -> str:
    """Return the prefix of a chosen checkpoint, or of the newest whole one, with a warning if a newer one is broken.

    Raises ModelDirectoryError if there is none, or the chosen one is broken.
    """
    if checkpoint_path is not None:
        check_directory("checkpoint_path", checkpoint_path)
        if not storage.is_file(checkpoint_path + ".index"):
            raise ModelDirectoryError(
                f'`checkpoint_path` "{checkpoint_path}" is not a checkpoint: it has no file "{checkpoint_path}.index".',
                "Give the path without its ending, as latest_checkpoint() returns it.",
                value=checkpoint_path,
            )
        if not is_whole(checkpoint_path):
            raise ModelDirectoryError(
                f'`checkpoint_path` "{checkpoint_path}" is broken: its files do not hold what was written.',
                "Give another checkpoint, or NULL for the newest whole one.",
                value=checkpoint_path,
            )
        return checkpoint_path
    checkpoint, broken = newest_checkpoint(model_dir), broken_newest(model_dir)
    refused = read_error(model_dir) if checkpoint is None and is_remote(model_dir) else None
    if refused is not None:
        raise refused
    if checkpoint is None:
        raise _no_checkpoint(model_dir, verb, broken)
    if broken is not None:
        warnings.warn(f"{broken}: {verb}() uses {os.path.basename(checkpoint)}.", stacklevel=2)
    return checkpoint


def global_step(model_dir: str) -> int:
    """Read the global step of a model on this machine; 0 if nothing was trained.

    A broken newest checkpoint is skipped, because a task may ask before the chief has moved it aside.
    """
    prefix = newest_checkpoint(model_dir)
    if prefix is None:
        return 0
    return int(engine.tf.train.load_variable(local_checkpoint(prefix), "global_step"))


def _no_checkpoint(model_dir: str, verb: str, broken: str | None) -> ModelDirectoryError:
    problem = f'{verb}() needs a trained model, but `model_dir` "{model_dir}" holds no checkpoint.'
    remedy = "Call train() first, or give the `model_dir` of a trained model."
    if broken is not None:
        problem = f"{verb}() needs a trained model. {broken}, and no other checkpoint is whole."
        remedy = "Restore `model_dir` from a copy, or train again."
    elif was_temporary(model_dir):
        problem = (
            f'{verb}() needs a trained model, but `model_dir` "{model_dir}" was temporary: it was deleted when its R '
            "session ended."
        )
        remedy = (
            "Train it again, and keep it with save_estimator() or bundle::bundle(), or give the estimator a "
            "`model_dir`."
        )
    return ModelDirectoryError(problem, remedy, argument="model_dir", value=model_dir)


def trained_columns(model_dir: str, verb: str) -> dict[str, Any]:
    """Return the columns of a model's training, as in ``ModelDirectory.trained_columns``, for data without a formula.

    Raises ModelDirectoryError if the model was not trained, and InputError if its training did not know names of
    columns.
    """
    require_checkpoint(model_dir, None, verb)
    columns = ModelDirectory(model_dir).trained_columns
    if columns is None:
        raise InputError(
            f"{verb}() was given data without a formula, and the training of this model did not name its columns.",
            "Give an input, such as input_fn(y ~ x, data).",
            argument="input_fn",
        )
    return columns


def learned(model_dir: str) -> dict[str, Any]:
    """Return what predictions need of a training, with None for other models.

    This is the ``response_scale`` of a regressor, the names of the ``classes`` of a canned classifier, and what a
    tabular model or trees have ``learned``.
    """
    structure = ModelDirectory(model_dir).structure or {}
    classes = structure.get("label_vocabulary")
    if "n_classes" in structure and not classes:
        classes = [str(each) for each in range(structure["n_classes"])]
    found = {name: structure.get(name) for name in ("response_scale", "learned")}
    return {**found, "classes": classes if "n_classes" in structure else None}


def trained_facts(model_dir: str) -> dict[str, Any]:
    """Return the ``step``, and what is known of the rows, the response, the choice and the time of a training."""
    directory, losses = ModelDirectory(model_dir), history_file.read_losses(model_dir).rows
    columns = directory.trained_columns or {}
    kinds = [directory.kinds.get(name, "numbers") for name in columns.get("features", ())]
    return {
        "step": newest_step(model_dir),
        "kinds": kinds,
        "response": columns.get("response"),
        "seconds": losses[-1]["seconds"] if losses else None,
        **directory.training,
        **learned(model_dir),
    }


def as_trained(model: Model) -> Any:
    """Return a model with what its first training learned; itself before."""
    return model.complete_from_signature(ModelDirectory(model.model_dir).structure)


def trained_state(model_dir: str) -> dict[str, Any]:
    """Return the newest ``checkpoint`` of a model, None before its first training, and what that training learned."""
    directory = ModelDirectory(model_dir)
    return {
        "checkpoint": newest_checkpoint(model_dir),
        "terms": directory.terms,
        "replacements": directory.replacements,
    }


def was_temporary(model_dir: str) -> bool:
    return is_unnamed_model(model_dir) and not os.path.exists(os.path.dirname(model_dir))


@contextlib.contextmanager
def exclusive(model_dir: str) -> Iterator[None]:
    """Hold model_dir and turn SIGTERM into a saving end inside the block, as a training outside a cluster."""
    with end_after_sigterm(), hold_model_dir(model_dir, describe_process()):
        yield


@contextlib.contextmanager
def hold_model_dir(model_dir: str, job: str) -> Iterator[Lease | None]:
    """Lock a local directory, or take the lease of a remote one, inside the block.

    The supervisor of a job holds the lock for its tasks. Raises ModelDirectoryError if another training holds it.
    """
    if is_remote(model_dir):
        check_access(model_dir)
        with hold_lease(model_dir, job) as lease:
            yield lease
        return
    if task_events.is_in_job() and _is_locked_by_job(model_dir):
        yield None
        return
    if was_temporary(model_dir):
        warnings.warn(AFRESH.format(model_dir), stacklevel=2)
    is_new = not os.path.isdir(model_dir)
    lock = ModelDirectoryLock(model_dir)
    try:
        yield None
    finally:
        lock.release()
        if is_new:
            # A training that failed before it wrote anything leaves no directory.
            with contextlib.suppress(OSError):
                os.rmdir(model_dir)


def _is_locked_by_job(model_dir: str) -> bool:
    locked = os.environ.get(task_events.MODEL_DIR)
    return bool(locked) and os.path.realpath(locked) == os.path.realpath(model_dir)


class ModelDirectory:
    def __init__(self, path: str) -> None:
        self.path = path
        # An error about the scheme names the directory.
        storage.of(path)
        for name in OWN_FILES:
            storage.check_own(os.path.join(path, name))
        self._signed: dict[str, Any] = storage.read_object(os.path.join(path, SIGNATURE)) or {}
        model = self.structure or {}
        learned = self._signed.keys() & _LEARNED or model.keys() & _LEARNED_BY_MODEL
        if learned and listed_checkpoint(path) is None:
            # Of a training that failed before its first checkpoint.
            self._signed = {k: each for k, each in self._signed.items() if k not in _LEARNED}
            self._signed["model"] = {k: v for k, v in model.items() if k not in _LEARNED_BY_MODEL}

    @property
    def structure(self) -> dict[str, Any] | None:
        structure = self._signed.get("model")
        return structure if isinstance(structure, dict) else None

    @property
    def features(self) -> dict[str, ColumnFacts] | None:
        """Features of the training by name; None if the training did not know them."""
        noted = self._signed.get("features")
        if not isinstance(noted, list):
            return None
        fill = self.replacements
        return {
            each["name"]: ColumnFacts(
                each["name"], each["type"], tuple(each["shape"]), fill=fill.get(each["name"])
            )
            for each in noted
        }

    @property
    def trained_columns(self) -> dict[str, Any] | None:
        """Names of ``features``, ``response`` and ``weights``, ``types`` of the features, and what was learned.

        None if the training did not know its features.
        """
        features = self.features
        if features is None:
            return None
        named = {name: self._signed.get(name) for name in ("response", "weights")}
        types = [feature.type for feature in features.values()]
        learned = {"replacements": self.replacements, "terms": self.terms, "kinds": self.kinds}
        return {"features": list(features), "types": types, **named, **learned}

    @property
    def training(self) -> dict[str, Any]:
        """Number of ``rows`` of the last training, the ``range`` of its response, and when it ``began``, if known."""
        return dict(self._signed.get("training") or {})

    @property
    def kinds(self) -> dict[str, str]:
        """Kinds of the training's features, as in ``columns.KINDS``, as far as they are known."""
        return dict(self._signed.get("kinds") or {})

    @property
    def replacements(self) -> dict[str, Any]:
        """Replacements for missing values that the training computed from its rows, by feature."""
        return dict(self._signed.get("replacements") or {})

    @property
    def terms(self) -> dict[str, str]:
        """R code of computed features and of a computed response, with what the first training learned, by name."""
        return dict(self._signed.get("terms") or {})

    @property
    def codes(self) -> FactorCodes:
        return FactorCodes.from_values(self._signed.get("codes"))

    def with_known_classes(self, facts: InputFacts) -> InputFacts:
        """Read a logical label as numbers if the model was trained, because its classes may be numbers."""
        if self.structure is None or facts.label is None or facts.label.type != "logical":
            return facts
        return replace(facts, label=replace(facts.label, type="integer"))

    def check_writable(self) -> None:
        if is_remote(self.path):
            # hold_model_dir() has written there.
            return
        try:
            os.makedirs(self.path, exist_ok=True)
            try_to_write(self.path)
        except OSError as error:
            raise ModelDirectoryError(
                f'`model_dir` "{self.path}" cannot be written: {error.strerror}.',
                "Choose a directory that you may write to, with space on its disk.",
                value=self.path,
            ) from error

    def check_owner(self, structure: Mapping[str, Any], *, for_training: bool) -> None:
        """Check that the checkpoints belong to a model; the optimizer matters only for training."""
        known = self.structure
        if known is None or listed_checkpoint(self.path) is None:
            return
        wanted = plain(structure)
        # What the model has learned, it has learned here.
        unread = {"learned"}
        unread |= set() if for_training else {name for name in wanted if name.endswith("optimizer")}
        names = (set(known) | set(wanted)) - unread
        for name in sorted(names, key=lambda name: (name != "kind", name)):
            if find_difference(known.get(name), wanted.get(name)) is not None:
                raise ModelDirectoryError(
                    f'`model_dir` "{self.path}" holds another model: {_difference(name, known, wanted)}.',
                    "Use another `model_dir`, or delete this one if its model is not needed.",
                    value=self.path,
                )

    def sign(
        self,
        structure: Mapping[str, Any],
        facts: InputFacts | None = None,
        codes: FactorCodes | None = None,
    ) -> None:
        """Write the signature of the model that trains here; without ``facts``, the previous columns stay."""
        signed: dict[str, Any] = {"format": 1, "model": plain(structure)}
        if facts is None or facts.features is None:
            names = ("features", "response", "weights")
            signed |= {name: self._signed[name] for name in names if name in self._signed}
        else:
            signed["features"] = [
                {"name": each.name, "type": each.type, "shape": list(each.shape)}
                for each in facts.features.values()
            ]
            signed["response"] = facts.label and facts.label.name
            signed["weights"] = facts.weights and facts.weights.name
        signed |= self._learned(facts or InputFacts())
        known = facts or InputFacts()
        signed["training"] = {"rows": known.rows, "range": known.label_range, "began": time.time()}
        if codes is not None and codes != FactorCodes():
            signed["codes"] = codes.as_values()
        self._write(signed)

    def note_unread(self, factors: Collection[str]) -> None:
        unread = frozenset(factors)
        if unread != self.codes.unread:
            codes = replace(self.codes, unread=unread)
            self._write({**self._signed, "codes": codes.as_values()})

    def _write(self, signed: dict[str, Any]) -> None:
        text = json.dumps(signed, indent=1, sort_keys=True)
        path = os.path.join(self.path, SIGNATURE)
        storage.of(path).write(path, text.encode())
        self._signed = signed

    def _learned(self, facts: InputFacts) -> dict[str, Any]:
        """Return what the first training learned from its columns, which later ones keep."""
        known = facts.features or {}
        columns = [*known.values(), *([facts.label] if facts.label is not None else [])]
        kinds = {name: KINDS[each.type] for name, each in known.items() if facts.typed}
        fills = {name: each.fill for name, each in known.items() if each.fill is not None}
        terms = {each.name: each.term for each in columns if each.term is not None}
        learned = {
            "kinds": {**kinds, **self.kinds},
            "replacements": {**fills, **self.replacements},
            "terms": {**terms, **self.terms},
        }
        return {name: values for name, values in learned.items() if values}


def try_to_write(directory: str) -> None:
    with tempfile.TemporaryFile(dir=directory) as file:
        # A file without content needs no space.
        file.write(b"-")


def _difference(name: str, known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    its, own = _format(known.get(name)), _format(wanted.get(name))
    if its != own:
        return f"its {name} is {its}, this model's is {own}"
    if name.endswith("feature_columns"):
        for one, other in zip(known[name], wanted[name], strict=True):
            found = find_difference(one, other)
            if found is not None:
                return found.of_column(other["name"])
    return f"its {name} is {its}, this model's is set otherwise"


def _format(value: Any) -> str:
    if (
        isinstance(value, list)
        and value
        and all(isinstance(item, dict) and "name" in item for item in value)
    ):
        return f"{', '.join(item['name'] for item in value)}"
    return show(value)
