"""What counts as code in the description of a model."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from typing import Any, cast

import pytest

from tfdistribute.bridge import functions
from tfdistribute.bridge.code_fields import code_in, files_in
from tfdistribute.descriptions import Description, read
from tfdistribute.descriptions.constraints import Fact
from tfdistribute.descriptions.fields import fields_of, is_closed
from tfdistribute.models import FeatureColumn, Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.specs import read_estimator

# Families that are not part of a model, but of a verb, a job or the backend itself; and those of `cluster`, which as a
# whole is code.
ELSEWHERE = {
    *("Column", "EvalSpec", "Hook", "Input", "Job", "Manifest", "TrainSpec", "TrainingRun"),
    *("Workload", "Cluster", "Task", "Tracker"),
}
HARMLESS = (int, float, bool, type(None), Ellipsis)
NUMERIC = {"kind": "numeric", "key": "x"}
LINEAR = {"kind": "linear_regressor", "model_dir": "/m", "feature_columns": [NUMERIC]}
CONFIG = {
    "strategy": {"kind": "mirrored", "devices": 2},
    "session_config": {"gpu_options": {"allow_growth": True}, "device_count": {"CPU": 2}},
    "save_summary_steps": 10,
    "precision": "mixed_bfloat16",
}


def members(family: type[Description]) -> list[type[Description]]:
    return [each for each in family.kinds.values() if issubclass(each, family)] or [family]


def parts(hint: Any) -> list[Any]:
    return [part for each in typing.get_args(hint) for part in parts(each)] or [hint]


def is_code(of: type[Description], name: str) -> bool:
    return Fact.CODE in fields_of(of)[name].facts


def described(hint: Any) -> list[type[Description]]:
    found = (part for part in parts(hint) if isinstance(part, type))
    return [part for part in found if issubclass(part, Description)]


def fields_of_models() -> dict[type[Description], dict[str, Any]]:
    """Types of the fields of all descriptions in a model, without those within a field that is code."""
    found: dict[type[Description], dict[str, Any]] = {}
    pending = [*members(Model), RunSettings]
    while pending:
        one = pending.pop()
        if one not in found:
            hints = typing.get_type_hints(one)
            found[one] = {
                each.name: hints[each.name] for each in dataclasses.fields(cast(Any, one))
            }
            inner = (hint for name, hint in found[one].items() if not is_code(one, name))
            pending += [each for hint in inner for one in described(hint) for each in members(one)]
    return found


def test_every_field_that_can_hold_text_or_functions_is_judged():
    wrong: list[str] = []
    for one, hints in fields_of_models().items():
        for name, hint in hints.items():
            inner = described(hint)
            must_be_judged = [each for each in parts(hint) if each not in (*inner, *HARMLESS)]
            judged = {Fact.CODE, Fact.NAME, Fact.FILE} & set(fields_of(one)[name].facts)
            if is_closed(fields_of(one)[name].options):
                continue
            if {Fact.NAME, Fact.CODE} <= judged or (must_be_judged and not judged):
                wrong.append(f"{one.__name__}.{name}")
    assert not wrong, "annotate each of them by a Fact"


def test_every_family_is_part_of_models_or_known_to_be_elsewhere():
    # All modules that R can reach are imported.
    assert functions
    own = (each for each in Description.__subclasses__() if each.__module__.startswith("tfd"))
    in_models = {owner.__name__ for one in fields_of_models() for owner in one.__mro__}
    assert {each.__name__ for each in own} - in_models == ELSEWHERE


def test_a_model_of_numbers_names_and_settings_holds_no_code():
    word = {
        "kind": "categorical_with_vocabulary_file",
        "key": "word",
        "vocabulary_file": "/m/vocabularies/1.txt",
    }
    columns = [
        {**NUMERIC, "center": [1, 2], "scale": 2.5, "shape": 2},
        {"kind": "crossed", "keys": ["a", "b"], "hash_bucket_size": 10},
        {"kind": "embedding", "categorical_column": word, "dimension": 2},
    ]
    optimizer = {
        "kind": "named",
        "name": "adam",
        "settings": {"learning_rate": {"schedule": "cosine_decay", "decay_steps": 3}},
    }
    model, settings = read_estimator(
        {**LINEAR, "feature_columns": columns, "optimizer": optimizer, "config": CONFIG}
    )
    assert code_in(model) == code_in(settings) == []
    assert list(files_in(model)) == [("vocabulary_file", "/m/vocabularies/1.txt")]


PROGRAMS = {
    "ssh": {"kind": "ssh", "hosts": "a", "workers": 1, "ssh": ["ssh", "-oProxyCommand=touch x"]},
    "ssh of hosts only": {"kind": "ssh", "hosts": "a", "workers": 1},
    "slurm": {"kind": "slurm", "nodes": 1, "workers": 1, "setup": "touch x"},
    "kubernetes": {"kind": "kubernetes", "image": "i", "workers": 1, "kubectl": "touch"},
    "vertex": {
        "kind": "vertex",
        "image": "i",
        "workers": 1,
        "project": "my-project",
        "location": "europe-west4",
        "staging": "gs://bucket/jobs",
    },
    "local": {"kind": "local", "workers": 2, "network": "open"},
    "addresses": {"kind": "addresses", "worker": ["a:1", "b:1"]},
}


@pytest.mark.parametrize("cluster", PROGRAMS)
def test_a_cluster_is_code(cluster: str):
    settings = read(RunSettings, {**CONFIG, "cluster": PROGRAMS[cluster]})
    assert code_in(settings) == ["cluster"]


def function(*_: Any) -> None: ...


HELD: list[tuple[dict[str, Any], str]] = [
    (
        {"feature_columns": [{**NUMERIC, "normalizer_fn": function}]},
        "feature_columns$normalizer_fn",
    ),
    ({"optimizer": {"kind": "function", "function": function}}, "optimizer$function"),
    (
        {"warm_start_from": {"ckpt_to_initialize_from": "/elsewhere"}},
        "warm_start_from$ckpt_to_initialize_from",
    ),
    (
        {"kind": "dnn_regressor", "hidden_units": [2], "activation_fn": function},
        "activation_fn",
    ),
    (
        {"optimizer": {"kind": "named", "name": "adam", "settings": {"learning_rate": function}}},
        "optimizer$settings",
    ),
]


@pytest.mark.parametrize(("fields", "place"), HELD, ids=[place for _, place in HELD])
def test_functions_and_paths_are_code(fields: dict[str, Any], place: str):
    assert code_in(read(Model, {**LINEAR, **fields})) == [place]


def test_a_keras_model_is_code_and_a_file():
    model = read(Model, {"kind": "keras", "model_dir": "/m", "path": "/m/keras/model.h5"})
    assert code_in(model) == ["path"]
    assert list(files_in(model)) == [("path", "/m/keras/model.h5")]


def test_text_in_a_field_that_nobody_has_judged_is_code():
    @dataclass(frozen=True)
    class Newer(FeatureColumn):
        key: str = "x"
        size: int = 3
        share: float | None = 0.5

    assert code_in(Newer()) == ["key"]
