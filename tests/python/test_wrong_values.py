"""Contract with R: the constructors of both languages accept and refuse the same values, with the same errors."""

from __future__ import annotations

import json
import math
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tfdistribute.bridge import functions
from tfdistribute.cluster.slurm import SlurmCluster
from tfdistribute.cluster.spec import Cluster
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.descriptions import Description, read
from tfdistribute.descriptions.constraints import Fact
from tfdistribute.descriptions.fields import Field, Option, fields_of
from tfdistribute.errors import TfdistributeError
from tfdistribute.inputs import Input
from tfdistribute.models import FeatureColumn, Model
from tfdistribute.run_config import RunSettings
from tfdistribute.strategies import Strategy
from tfdistribute.trackers import Tracker
from tfdistribute.training.hooks import Hook

# All descriptions are known.
assert functions

SCRIPT = Path(__file__).parent / "support" / "wrong-values.R"
X = {"kind": "numeric", "key": "x"}
WORDS = {"kind": "categorical_with_hash_bucket", "key": "word", "hash_bucket_size": 10}
FILES = {"paths": "a"}
PARTS = {"dnn_hidden_units": 4, "dnn_feature_columns": X}
DEEP = {"hidden_units": 4, "feature_columns": X}

FAMILIES: dict[str, type[Description]] = {
    "strategy_{}": Strategy,
    "{}_cluster": Cluster,
    "track_{}": Tracker,
    "hook_{}": Hook,
    "column_{}": FeatureColumn,
    "input_{}": Input,
    "{}": Model,
}
RENAMED = {"addresses_cluster": "address_cluster"}
# Values of required fields, as in wrong-values.R.
VALID: dict[str, dict[str, Any]] = {
    "address_cluster": {"chief": "a:1"},
    "local_cluster": {"workers": 2},
    "ssh_cluster": {"hosts": "a", "workers": 2},
    "slurm_cluster": {"nodes": 2, "workers": 2},
    "ray_cluster": {"workers": 2},
    "mirai_cluster": {"workers": 2},
    "spark_cluster": {"sc": "sc://localhost:15002", "workers": 2},
    "kubernetes_cluster": {"image": "a", "workers": 2},
    "vertex_cluster": {
        "project": "ab",
        "location": "a1",
        "image": "a",
        "staging": "gs://b/c",
        "workers": 2,
    },
    "strategy_one_device": {"device": "CPU:0"},
    "hook_checkpoint_saver": {"every_n_steps": 10},
    "hook_summary_saver": {"every_n_steps": 10},
    "hook_logging_tensor": {"tensors": {"loss": "loss"}, "every_n_steps": 10, "show": print},
    "hook_stop_at_step": {"num_steps": 10},
    "hook_step_counter": {"every_n_steps": 100},
    "hook_profiler": {"steps": [10, 12]},
    "hook_global_step_waiter": {"wait_until_step": 10},
    "column_numeric": {"key": "x"},
    "column_categorical_with_vocabulary_list": {"key": "word", "vocabulary_list": ["a", "b"]},
    "column_categorical_with_vocabulary_file": {"key": "word", "vocabulary_file": "words.txt"},
    "column_categorical_with_hash_bucket": {"key": "word", "hash_bucket_size": 10},
    "column_categorical_with_identity": {"key": "k", "num_buckets": 3},
    "column_bucketized": {"source_column": X, "boundaries": [0, 1]},
    "column_crossed": {"keys": ["a", "b"], "hash_bucket_size": 10},
    "column_categorical_weighted": {"categorical_column": WORDS, "weight_feature_key": "w"},
    "column_indicator": {"categorical_column": WORDS},
    "column_embedding": {"categorical_column": WORDS, "dimension": 2},
    "dnn_regressor": DEEP,
    "dnn_classifier": DEEP,
    "dnn_linear_combined_regressor": PARTS,
    "dnn_linear_combined_classifier": PARTS,
    "linear_regressor": {"feature_columns": X},
    "linear_classifier": {"feature_columns": X},
    "input_csv": FILES,
    "input_arrow": FILES,
    "input_parquet": FILES,
    "input_tfrecord": FILES,
}
# Values in both languages.
VALUES: list[tuple[str, Any]] = [
    ("NULL", None),
    ("TRUE", True),
    ("FALSE", False),
    ("0", 0.0),
    ("-1", -1.0),
    ("0.5", 0.5),
    ("1", 1.0),
    ("2", 2.0),
    ("3L", 3),
    ("1001", 1001.0),
    ("1e300", 1e300),
    ("-1e300", -1e300),
    ("Inf", math.inf),
    ("-Inf", -math.inf),
    ("NaN", math.nan),
    ('""', ""),
    ('" "', " "),
    ('"auto"', "auto"),
    ('"no such thing"', "no such thing"),
    ('"a\\nb"', "a\nb"),
    ('"a\\tb"', "a\tb"),
    ('"a\\u2028b"', "a\u2028b"),
    ('"~/a"', "~/a"),
    ('"a*b"', "a*b"),
    ('"-a"', "-a"),
    ('"$(x)"', "$(x)"),
    ('"\\u00e4"', "\u00e4"),
    ('"a:1"', "a:1"),
    ('"a:99999"', "a:99999"),
    ('"[1:2]:1"', "[1:2]:1"),
    ('"[::1]:1"', "[::1]:1"),
    ('"CPU:0"', "CPU:0"),
    ('"GPU"', "GPU"),
    ('"gs://b/c"', "gs://b/c"),
    ('"relu"', "relu"),
    ('"sum"', "sum"),
    ('"string"', "string"),
    ('"val_loss"', "val_loss"),
    ("character()", []),
    ('c("a", "b")', ["a", "b"]),
    ('c("a", "a")', ["a", "a"]),
    ('c("a:1", "b:2")', ["a:1", "b:2"]),
    ('c("CPU:0", "cpu:0")', ["CPU:0", "cpu:0"]),
    ('c("a", "")', ["a", ""]),
    ("c(1, 2)", [1.0, 2.0]),
    ("c(2, 1)", [2.0, 1.0]),
    ("c(1, 1)", [1.0, 1.0]),
    ("c(1, 2, 3)", [1.0, 2.0, 3.0]),
    ("c(1, 0.5)", [1.0, 0.5]),
    ("c(1, Inf)", [1.0, math.inf]),
    ('list("a", 1)', ["a", 1.0]),
    ("list()", []),
    ('list(a = "b")', {"a": "b"}),
    ("list(a = 1)", {"a": 1.0}),
    ('list(a = "float")', {"a": "float"}),
    ('list(a = "float32")', {"a": "float32"}),
]
# Fields whose values R gives other forms, or that only one language has, with the reason.
BY_HAND = {
    "sc": "R reads the address of a connection",
    "session_config": "the form of nested lists is checked by TensorFlow in Python",
    "task": 'R takes text such as "worker 1" apart',
    "time_limit": "the form of Slurm is checked in Python",
    "options": "the form of Slurm is checked in Python",
    "strategy": "descriptions are lists with classes in R",
    "eval_distribute": "descriptions are lists with classes in R",
    "cluster": "descriptions are lists with classes in R",
    "track": "descriptions are lists with classes in R",
    "experimental_distribute": "no field",
    "model_dir": "the directory of checkpoints is an argument of all models in R",
    "optimizer": "R reads names and lists",
    "linear_optimizer": "R reads names and lists",
    "dnn_optimizer": "R reads names and lists",
    "initializer": "R reads names and lists",
    "feature_columns": "R reads formulas and lists",
    "linear_feature_columns": "R reads formulas and lists",
    "dnn_feature_columns": "R reads formulas and lists",
    "source_column": "R makes a column for each of a list",
    "categorical_column": "R makes a column for each of a list",
    "keys": "R reads lists of columns",
    "key": "R selects names",
    "warm_start_from": "R reads paths, models and lists",
    "tensors": "R names tensors",
    "loss_tensor": "R names tensors",
    "summary_op": "R names tensors",
    "impute": "R turns dates into numbers",
    "directory": "no field",
    "vocabulary_list": "R reads factors and lists",
    "saver": "Python cannot tell which objects TensorFlow accepts",
    "scaffold": "Python cannot tell which objects TensorFlow accepts",
    "summary_writer": "Python cannot tell which objects TensorFlow accepts",
    "listeners": "Python cannot tell which objects TensorFlow accepts",
    "dnn_hidden_units": "R ignores it without columns",
    "hook_step_counter.every_s": "it replaces the default of `every_n_steps` in R",
}
CLUSTER_OF_ADDRESSES = (
    "R's constructor leaves the form of IP addresses and missing tasks to check_cluster()"
)
# Calls that differ, with the reason.
DIFFERENT = {
    **{
        ("address_cluster", role, code): CLUSTER_OF_ADDRESSES
        for role in ("chief", "worker", "ps", "evaluator")
        for code in ("NULL", "character()", "list()", '"[1:2]:1"')
    },
}
DIFFERENT |= {
    ("column_numeric", "default_value", code): "tabular models mark missing numbers by NaN"
    for code in ("NaN", "Inf", "-Inf", "c(1, Inf)")
}
# Of R alone or Python alone.
NOT_CONSTRUCTED = {
    *("input_in_memory", "input_mapped", "input_dataset_function", "input_serialized_dataset"),
    *("input_generator", "input_transformed", "custom", "training_loop", "keras", "wrapped"),
}


@dataclass(frozen=True)
class Call:
    constructor: str
    of: type[Description]
    argument: str
    code: str
    value: Any

    def __str__(self) -> str:
        return f"{self.constructor}({self.argument} = {self.code})"


def constructors() -> Iterator[tuple[str, type[Description]]]:
    yield "run_config", RunSettings
    for pattern, family in FAMILIES.items():
        for kind, member in family.kinds.items():
            name = pattern.format(kind)
            is_own = member.__module__.startswith("tfdistribute.")
            if is_own and issubclass(member, family) and name not in NOT_CONSTRUCTED:
                yield RENAMED.get(name, name), member


def beyond(option: Option) -> Iterator[tuple[str, Any]]:
    """Values at and beyond the limits of a field."""
    for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if keyword in option:
            for number in (option[keyword], option[keyword] - 1, option[keyword] + 1):
                yield repr(float(number)), float(number)
    for choice in option.get("enum", ()):
        if isinstance(choice, str):
            yield json.dumps(choice), choice
            yield json.dumps(choice.upper()), choice.upper()
    for part in items(option):
        yield from beyond(part)


def all_calls() -> Iterator[Call]:
    for name, of in constructors():
        for argument, field in fields_of(of).items():
            if {argument, f"{name}.{argument}"} & BY_HAND.keys() or Fact.INTERNAL in field.facts:
                continue
            own = [each for option in field.options for each in beyond(option)]
            for code, value in [*VALUES, *own]:
                if (name, argument, code) not in DIFFERENT and not is_own_form(value, field):
                    yield Call(name, of, argument, code, value)


def is_own_form(value: Any, field: Field) -> bool:
    """Return whether R has no such value: its vectors may have names, and its whole numbers end at 2^31."""
    types = {part.get("type") for each in field.options for part in (each, *items(each))}
    is_huge = isinstance(value, float) and math.isfinite(value) and abs(value) >= 2**31
    return (isinstance(value, dict) and "array" in types) or (is_huge and "integer" in types)


def items(option: Option) -> list[Option]:
    return option.get("items", {}).get("anyOf", [])


def errors_in_r(calls: list[Call], tmp_path: Path) -> list[Any]:
    described = [
        {"constructor": each.constructor, "argument": each.argument, "value": each.code}
        for each in calls
    ]
    (tmp_path / "calls.json").write_text(json.dumps(described), encoding="utf-8")
    command = ["Rscript", "--vanilla", str(SCRIPT), str(tmp_path / "calls.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def error_in_python(call: Call) -> TfdistributeError | None:
    fields = {**VALID.get(call.constructor, {}), call.argument: call.value}
    if issubclass(call.of, Model):
        fields["model_dir"] = "m"
    try:
        read(call.of, {"kind": call.of.kind, **fields})
    except TfdistributeError as error:
        return error
    return None


def root(argument: str | None) -> str | None:
    return None if argument is None else argument.partition("$")[0]


def differences(calls: list[Call], tmp_path: Path) -> list[str]:
    found: list[str] = []
    for call, in_r in zip(calls, errors_in_r(calls, tmp_path), strict=True):
        if in_r == "no argument":
            continue
        error = error_in_python(call)
        in_python = None if error is None else (error.kind, root(error.argument))
        expected = None if in_r is None else (in_r["kind"], root(in_r.get("argument")))
        if in_python != expected:
            found.append(f"{call}: Python {in_python}, R {expected}")
    return found


@pytest.mark.slow
def test_a_sample_of_values_is_accepted_or_refused_by_both_languages(tmp_path: Path) -> None:
    calls = random.Random(20261127).sample(list(all_calls()), 2000)
    assert differences(calls, tmp_path) == []


@pytest.mark.full
def test_all_values_are_accepted_or_refused_by_both_languages(tmp_path: Path) -> None:
    assert differences(list(all_calls()), tmp_path) == []


# Values of any other type -----------------------------------------------------------------------

ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    0.5,
    2**63,
    1e300,
    math.inf,
    math.nan,
    "",
    "no such thing",
    "x" * 100_000,
    "\ud800",
    "a\nb",
    [],
    [None],
    [1, "a"],
    ["a", "a"],
    ["y" * 1000] * 100,
    list(range(100_000)),
    {},
    {"a": 1},
    {"kind": "no such kind"},
    {"kind": "y" * 100_000},
    {1: 2},
    [[[[]]]],
    b"bytes",
    object(),
    print,
)


def odd_calls(number: int) -> Iterator[Call]:
    """Draw a field of a description and an odd value."""
    pairs = [
        (name, of, field.name)
        for name, of in constructors()
        for field in fields_of(of).values()
        if Fact.INTERNAL not in field.facts
    ]
    draw = random.Random(7)
    for _ in range(number):
        name, of, field = draw.choice(pairs)
        yield Call(name, of, field, "", draw.choice(ODD))


def test_an_odd_value_of_any_field_is_read_or_refused_by_a_short_error_that_names_it() -> None:
    for call in odd_calls(3000):
        error = error_in_python(call)
        if error is not None:
            label = f"{call}{str(call.value)[:50]}"
            assert len(str(error).encode(errors="replace")) < 2000, label
            # What is wrong in a mapping is a field of the mapping.
            named = f"`{call.argument}" in str(error) or root(error.argument) == call.argument
            assert named or isinstance(call.value, dict), label


CLUSTERS = [(name, of) for name, of in constructors() if issubclass(of, Cluster)]


def with_line_break(value: Any, hint: Any) -> Any:
    text = "a\nb" if not isinstance(value, str) else f"{value}\nb"
    return {"A": text} if "dict" in str(hint) else text


@pytest.mark.parametrize(("name", "of"), CLUSTERS)
def test_no_text_of_a_cluster_has_a_line_break(name: str, of: type[Description]) -> None:
    """Every field gets into a script, a manifest or a command line."""
    for argument, field in fields_of(of).items():
        # Lines of shell; and what this package fills in.
        if "str" in str(field.hint) and argument not in ("setup", "source"):
            value = with_line_break(VALID[name].get(argument), field.hint)
            assert error_in_python(Call(name, of, argument, "", value)) is not None, argument


def test_lines_of_shell_are_separated_by_line_breaks_only() -> None:
    lines = "module load R\n\tmodule load cuda"
    assert SlurmCluster(nodes=1, workers=1, setup=(lines,)).setup == (lines,)
    with pytest.raises(TfdistributeError, match="`setup` must be text"):
        SlurmCluster(nodes=1, workers=1, setup=("module load R\r\n",))


def test_a_value_of_a_variable_is_not_shown() -> None:
    with pytest.raises(TfdistributeError) as caught:
        SshCluster(hosts=("a",), workers=1, environment={"KEY": "secret\n"})
    assert "secret" not in str(caught.value)
    assert caught.value.argument == "environment$KEY"
