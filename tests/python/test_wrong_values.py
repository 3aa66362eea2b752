"""Wrong values of the fields of descriptions: values beyond limits, and values of other types."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tfdistribute.bridge import functions
from tfdistribute.cluster.spec import Cluster
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.descriptions import Description, read
from tfdistribute.descriptions.constraints import Fact, Ge, Gt, Le, Lt, MinLen
from tfdistribute.descriptions.fields import Option, fields_of
from tfdistribute.errors import TfdistributeError
from tfdistribute.inputs import Input
from tfdistribute.launch.schedulers.slurm.cluster import SlurmCluster
from tfdistribute.models import FeatureColumn, Model
from tfdistribute.run_config import RunSettings
from tfdistribute.strategies import Strategy
from tfdistribute.trackers import Tracker
from tfdistribute.training.hooks import Hook

# All descriptions are known.
assert functions

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
# Values of required fields.
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
    value: Any

    def __str__(self) -> str:
        return f"{self.constructor}({self.argument} = {str(self.value)[:50]})"


def constructors() -> Iterator[tuple[str, type[Description]]]:
    yield "run_config", RunSettings
    for pattern, family in FAMILIES.items():
        for kind, member in family.kinds.items():
            name = pattern.format(kind)
            is_own = member.__module__.startswith("tfdistribute.")
            if is_own and issubclass(member, family) and name not in NOT_CONSTRUCTED:
                yield RENAMED.get(name, name), member


def error_in_python(call: Call) -> TfdistributeError | None:
    model_dir = {"model_dir": "m"} if issubclass(call.of, Model) else {}
    fields = {**model_dir, **VALID.get(call.constructor, {}), call.argument: call.value}
    try:
        read(call.of, {"kind": call.of.kind, **fields})
    except TfdistributeError as error:
        return error
    return None


def root(argument: str | None) -> str | None:
    return None if argument is None else argument.partition("$")[0]


def limits_of(option: Option) -> Iterator[tuple[Any, Any]]:
    """Yield a value within each limit of a field, and a value beyond it."""
    step = 1 if option.kind == "integer" else 1e-9
    for limit in option.marks:
        for of, within, beyond in ((Ge, 0, -1), (Le, 0, 1), (Gt, 1, 0), (Lt, -1, 0)):
            if isinstance(limit, of):
                yield limit.bound + within * step, limit.bound + beyond * step
        if isinstance(limit, MinLen):
            yield None, ""
    for choice in option.choices:
        yield choice, f"{choice}s"


def limited_fields() -> Iterator[tuple[Call, Call]]:
    """Yield the calls with a value within and beyond each limit."""
    for name, of in constructors():
        for argument, field in fields_of(of).items():
            for within, beyond in [each for option in field.options for each in limits_of(option)]:
                yield Call(name, of, argument, within), Call(name, of, argument, beyond)


def test_a_value_beyond_a_limit_is_refused_and_a_value_within_is_not() -> None:
    for within, beyond in limited_fields():
        error = error_in_python(beyond)
        assert error is not None, beyond
        assert root(error.argument) == beyond.argument, beyond
        if within.value is not None:
            # A rule between fields may reject it.
            error = error_in_python(within)
            assert error is None or " must be " not in error.problem, within


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
        yield Call(name, of, field, draw.choice(ODD))


def test_an_odd_value_of_any_field_is_read_or_refused_by_a_short_error_that_names_it() -> None:
    for call in odd_calls(3000):
        error = error_in_python(call)
        if error is not None:
            label = str(call)
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
            assert error_in_python(Call(name, of, argument, value)) is not None, argument


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
