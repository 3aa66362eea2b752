"""Canned models, compared with hand-made ones, and the repairs to them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.sampling import sampled

from tfdistribute import engine
from tfdistribute.callbacks import Callback
from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.descriptions import read
from tfdistribute.errors import ArgumentError, InputError, ModelError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.models.canned.parts import find_activation
from tfdistribute.models.feature_columns.initializers import NAMES as NAMES_OF_INITIALIZERS
from tfdistribute.models.optimizers import OPTIMIZERS
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train

SGD = {"kind": "named", "name": "sgd", "settings": {"learning_rate": 0.05}}
NUMBER = {"kind": "numeric", "key": "x"}
WORD = {
    "kind": "categorical_with_vocabulary_list",
    "key": "word",
    "vocabulary_list": ["a", "b", "c"],
}
EMBEDDED = {"kind": "embedding", "categorical_column": WORD, "dimension": 2}
WIDE: dict[str, Any] = {"feature_columns": [NUMBER, WORD], "optimizer": SGD}
DEEP: dict[str, Any] = {
    "feature_columns": [NUMBER, EMBEDDED],
    "hidden_units": [4, 3],
    "optimizer": SGD,
}
BOTH: dict[str, Any] = {
    "linear_feature_columns": [WORD],
    "linear_optimizer": SGD,
    "dnn_feature_columns": [NUMBER, EMBEDDED],
    "dnn_hidden_units": [4],
    "dnn_optimizer": SGD,
    "batch_norm": True,
}
NAMES = ["no", "perhaps", "yes"]
FIELDS: dict[str, dict[str, Any]] = {
    "linear_regressor": WIDE,
    "linear_classifier": {**WIDE, "n_classes": 3, "label_vocabulary": NAMES},
    "dnn_regressor": {**DEEP, "activation_fn": "tanh"},
    "dnn_classifier": DEEP,
    "dnn_linear_combined_regressor": BOTH,
    "dnn_linear_combined_classifier": {**BOTH, "n_classes": 3},
    "baseline_regressor": {"optimizer": SGD},
    "baseline_classifier": {"n_classes": 3, "label_vocabulary": NAMES, "optimizer": SGD},
}


def model(kind: str, model_dir: str | Path = "models/m", **fields: Any) -> Any:
    return read(
        Model, {"kind": kind, "model_dir": str(model_dir), **FIELDS.get(kind, {}), **fields}
    )


def by_hand(tf: Any, kind: str, model_dir: Path) -> Any:
    """The same models in plain TensorFlow."""
    number = tf.feature_column.numeric_column("x")
    word = tf.feature_column.categorical_column_with_vocabulary_list("word", ["a", "b", "c"])
    dense = [number, tf.feature_column.embedding_column(word, 2)]
    sgd = lambda: tf.keras.optimizers.legacy.SGD(0.05)  # noqa: E731 - one optimizer per graph
    common = {"model_dir": str(model_dir), "config": configuration(tf)}
    wide = {"feature_columns": [number, word], "optimizer": sgd, **common}
    deep = {"feature_columns": dense, "optimizer": sgd, "hidden_units": [4, 3], **common}
    both = {
        "linear_feature_columns": [word],
        "linear_optimizer": sgd,
        "dnn_feature_columns": dense,
        "dnn_optimizer": sgd,
        "dnn_hidden_units": [4],
        "batch_norm": True,
        **common,
    }
    named = {"n_classes": 3, "label_vocabulary": NAMES}
    library = tf.estimator
    makers: dict[str, Callable[[], Any]] = {
        "linear_regressor": lambda: library.LinearRegressor(**wide),
        "linear_classifier": lambda: library.LinearClassifier(**named, **wide),
        "dnn_regressor": lambda: library.DNNRegressor(activation_fn=tf.nn.tanh, **deep),
        "dnn_classifier": lambda: library.DNNClassifier(**deep),
        "dnn_linear_combined_regressor": lambda: library.DNNLinearCombinedRegressor(**both),
        "dnn_linear_combined_classifier": lambda: library.DNNLinearCombinedClassifier(
            n_classes=3, **both
        ),
        "baseline_regressor": lambda: library.BaselineRegressor(optimizer=sgd, **common),
        "baseline_classifier": lambda: library.BaselineClassifier(optimizer=sgd, **named, **common),
    }
    return makers[kind]()


def configuration(tf: Any, replicas: int = 1) -> Any:
    session = tf.compat.v1.ConfigProto(device_count={"CPU": 3})
    strategy = None
    if replicas > 1:
        # Collectives refuse sparse gradients whose number of rows varies between steps.
        reduction = tf.distribute.ReductionToOneDevice()
        devices = [f"/cpu:{index}" for index in range(replicas)]
        strategy = tf.distribute.MirroredStrategy(devices, cross_device_ops=reduction)
    return tf.estimator.RunConfig(
        tf_random_seed=11, session_config=session, train_distribute=strategy
    )


def input_fn(
    tf: Any, kind: str, features: tuple[str, ...] = ("x", "word"), batch: int = 8
) -> Callable[[], Any]:
    generator = np.random.default_rng(1)
    known = {
        "x": generator.normal(size=48).astype("float32"),
        "word": generator.choice(["a", "b", "c"], size=48),
    }
    classes = generator.integers(0, 3, size=48)
    label: Any = classes.astype("float32")
    if FIELDS[kind].get("label_vocabulary"):
        label = np.array(NAMES)[classes]
    elif kind == "dnn_classifier":
        label = classes % 2
    elif kind.endswith("classifier"):
        label = classes
    chosen = {name: known[name] for name in features}
    return lambda: tf.data.Dataset.from_tensor_slices((chosen, label)).batch(batch)


def variables(estimator: Any) -> dict[str, Any]:
    # The optimizer's variables are below "training/"; replicas' copies are saved but not restored.
    names = [
        name
        for name in estimator.get_variable_names()
        if not name.startswith("training/") and "/replica_" not in name
    ]
    return {name: estimator.get_variable_value(name) for name in names}


@sampled("kind", FIELDS, check=["linear_classifier", "dnn_linear_combined_regressor"])
def test_a_model_learns_the_same_as_the_one_made_by_hand(
    tensorflow: Any, tmp_path: Path, kind: str
) -> None:
    # TensorFlow's baseline fails on more than one feature.
    features = ("x",) if kind.startswith("baseline") else ("x", "word")
    ours = model(kind, tmp_path / "ours").build(configuration(tensorflow))
    theirs = by_hand(tensorflow, kind, tmp_path / "theirs")
    for estimator in (ours, theirs):
        estimator.train(input_fn(tensorflow, kind, features))
    expected = variables(theirs)
    found = variables(ours)
    assert found.keys() == expected.keys()
    assert len(expected) > 1
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    evaluated = [
        estimator.evaluate(input_fn(tensorflow, kind, features)) for estimator in (ours, theirs)
    ]
    assert evaluated[0] == evaluated[1]


@sampled(
    "kind",
    ["linear_regressor", "dnn_linear_combined_classifier", "baseline_classifier"],
    check=["dnn_linear_combined_classifier"],
)
def test_two_replicas_learn_the_same_as_one_device_in_two_trainings(
    tensorflow: Any, tmp_path: Path, kind: str
) -> None:
    # Normalising over a replica's batch differs from normalising over the whole batch.
    alike = {"batch_norm": False} if kind.startswith("dnn") else {}
    one = model(kind, tmp_path / "one", **alike).build(configuration(tensorflow))
    two = model(kind, tmp_path / "two", **alike).build(configuration(tensorflow, replicas=2))
    for _ in range(2):
        one.train(input_fn(tensorflow, kind, batch=8))
        two.train(input_fn(tensorflow, kind, batch=4))
    expected = variables(one)
    assert expected["global_step"] == 12
    for name, value in variables(two).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_baseline_learns_from_inputs_with_several_features(
    tensorflow: Any, tmp_path: Path
) -> None:
    kind = "baseline_regressor"
    several = model(kind, tmp_path / "several").build(configuration(tensorflow))
    single = model(kind, tmp_path / "single").build(configuration(tensorflow))
    several.train(input_fn(tensorflow, kind, ("x", "word")))
    single.train(input_fn(tensorflow, kind, ("x",)))
    np.testing.assert_array_equal(
        several.get_variable_value("baseline/bias"), single.get_variable_value("baseline/bias")
    )


def test_without_the_repair_a_baseline_fails_on_several_features(
    tensorflow: Any, tmp_path: Path
) -> None:
    bare = by_hand(tensorflow, "baseline_regressor", tmp_path)
    with pytest.raises(tensorflow.errors.FailedPreconditionError):
        bare.train(input_fn(tensorflow, "baseline_regressor", ("x", "word")))


@pytest.mark.parametrize("kind", ["linear_regressor", "dnn_regressor"])
def test_names_that_scopes_refuse_reach_trained_variables(
    tensorflow: Any, tmp_path: Path, kind: str
) -> None:
    awkward = {"petal length": "x", "größe": "word", "_w/1": "x", "%": "x"}
    plain = {"a": "x", "b": "word", "w": "x", "p": "x"}

    def trained(names: dict[str, str], model_dir: Path) -> Any:
        columns = []
        for name, role in names.items():
            text = {**WORD, "key": name}
            boxed = text if kind.startswith("linear") else {**EMBEDDED, "categorical_column": text}
            columns.append({"kind": "numeric", "key": name} if role == "x" else boxed)
        built = model(
            kind, model_dir, feature_columns=columns[:3], weight_column=list(names)[3]
        ).build(configuration(tensorflow))
        generator = np.random.default_rng(2)
        data = {
            name: generator.uniform(size=16).astype("float32")
            if role == "x"
            else np.array(["a", "b"] * 8)
            for name, role in names.items()
        }
        built.train(
            lambda: tensorflow.data.Dataset.from_tensor_slices(
                (data, np.ones(16, "float32"))
            ).batch(8)
        )
        return built.evaluate(
            lambda: tensorflow.data.Dataset.from_tensor_slices(
                (data, np.ones(16, "float32"))
            ).batch(8)
        )

    first = trained(awkward, tmp_path / "awkward")
    assert first["global_step"] == 2
    if kind.startswith("linear"):
        # Deep models start from random weights, which depend on variable names.
        # Columns are summed in name order, so the last digit may differ.
        assert first == pytest.approx(trained(plain, tmp_path / "plain"), rel=1e-6)


def test_a_classifier_takes_classes_as_doubles_and_as_flags(
    tensorflow: Any, tmp_path: Path
) -> None:
    data = {"x": np.linspace(-1, 1, 16).astype("float32"), "word": np.array(["a", "b"] * 8)}

    def biases(dtype: str) -> Any:
        estimator = model("linear_classifier", tmp_path / dtype, label_vocabulary=None).build(
            configuration(tensorflow)
        )
        labels = (np.arange(16) % 3 == 1).astype(dtype)
        estimator.train(lambda: tensorflow.data.Dataset.from_tensor_slices((data, labels)).batch(8))
        return estimator.get_variable_value("linear/linear_model/bias_weights")

    whole = biases("int64")
    assert np.any(whole != 0)
    np.testing.assert_array_equal(biases("float32"), whole)
    np.testing.assert_array_equal(biases("bool"), whole)


def test_a_classifier_stops_at_fractional_classes(tensorflow: Any, tmp_path: Path) -> None:
    estimator = model("dnn_classifier", tmp_path).build(configuration(tensorflow))
    data = {"x": np.zeros(4, "float32"), "word": np.array(["a", "b"] * 2)}
    labels = np.array([0, 1, 0.5, 1], "float32")
    with pytest.raises(tensorflow.errors.InvalidArgumentError, match="must be whole numbers"):
        estimator.train(lambda: tensorflow.data.Dataset.from_tensor_slices((data, labels)).batch(4))


@sampled(
    "kind", ["dnn_linear_combined_classifier", "baseline_classifier"], check=["baseline_classifier"]
)
def test_an_exported_model_reads_examples_by_the_names_of_the_data(
    tensorflow: Any, tmp_path: Path, kind: str
) -> None:
    described = model(kind, tmp_path / "model")
    estimator = described.build(configuration(tensorflow))
    estimator.train(input_fn(tensorflow, kind))
    path = estimator.export_saved_model(
        str(tmp_path / "export"), described.serving_input_receiver_fn()
    )
    loaded = tensorflow.saved_model.load(path.decode())
    feature = tensorflow.train.Feature
    example = tensorflow.train.Example()
    example.features.feature["x"].CopyFrom(
        feature(float_list=tensorflow.train.FloatList(value=[0.5]))
    )
    example.features.feature["word"].CopyFrom(
        feature(bytes_list=tensorflow.train.BytesList(value=[b"a"]))
    )
    answer = loaded.signatures["predict"](
        examples=tensorflow.constant([example.SerializeToString()] * 2)
    )
    assert answer["probabilities"].shape == (2, 3)


def test_a_model_says_what_its_checkpoints_hold_in_plain_values() -> None:
    for kind in FIELDS:
        structure = model(kind).structure()
        assert json.loads(json.dumps(structure)) == structure
        assert structure["kind"] == kind
        assert "optimizer" in structure


def test_a_learning_rate_is_no_part_of_what_checkpoints_hold_but_momentum_is() -> None:
    def structure(**settings: Any) -> Any:
        optimizer = {"kind": "named", "name": "SGD", "settings": settings}
        return model("linear_regressor", optimizer=optimizer).structure()

    assert structure(learning_rate=0.1) == structure(learning_rate=0.2)
    assert structure(momentum=0.9) != structure()


def test_names_of_classes_come_from_the_levels_of_the_label() -> None:
    facts = InputFacts(label=ColumnFacts("answer", "string", (), ("no", "yes")))
    described = model("dnn_classifier")
    assert described.label_vocabulary is None
    assert described.complete_from_input(facts).label_vocabulary == ("no", "yes")
    assert described.complete_from_input(facts).structure()["label_vocabulary"] == ["no", "yes"]
    three = InputFacts(label=ColumnFacts("answer", "string", (), ("no", "perhaps", "yes")))
    with pytest.raises(
        ModelError, match=r"`n_classes` is 2, but the response \"answer\" has 3 levels"
    ):
        described.complete_from_input(three)


def test_names_of_classes_come_back_from_the_signature_of_a_trained_model() -> None:
    trained = model("dnn_classifier", label_vocabulary=["no", "yes"])
    later = model("dnn_classifier").complete_from_signature(trained.structure())
    assert later == trained
    assert model("dnn_classifier").complete_from_signature(None) == model("dnn_classifier")
    # The user's setting wins.
    other = model("dnn_classifier", label_vocabulary=["a", "b"])
    assert other.complete_from_signature(trained.structure()) == other


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("dnn_regressor", {"feature_columns": [WORD]}, r"categorical column \"word\""),
        (
            "dnn_linear_combined_regressor",
            {"dnn_feature_columns": [WORD]},
            "`dnn_feature_columns` has the categorical",
        ),
        ("linear_regressor", {"feature_columns": []}, "`feature_columns` is empty"),
        (
            "dnn_linear_combined_regressor",
            {"dnn_feature_columns": [], "linear_feature_columns": []},
            "is empty",
        ),
        (
            "linear_classifier",
            {"n_classes": 4},
            r"`n_classes` is 4, but `label_vocabulary` names 3",
        ),
    ],
)
def test_a_model_without_usable_columns_is_refused_when_it_is_described(
    kind: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        model(kind, **fields)
    assert caught.value.remedy


def test_an_unknown_activation_is_refused(tensorflow: Any, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match='`activation_fn` "rulu" is not known'):
        model("dnn_regressor", tmp_path, activation_fn="rulu").build(configuration(tensorflow))


def test_a_missing_vocabulary_file_is_named_before_tensorflow_starts() -> None:
    column = {
        "kind": "categorical_with_vocabulary_file",
        "key": "word",
        "vocabulary_file": "no/such.txt",
    }
    boxed = {"kind": "indicator", "categorical_column": column}
    with pytest.raises(
        InputError, match=r"`vocabulary_file` \"no/such.txt\" of word does not exist"
    ):
        model("dnn_regressor", feature_columns=[boxed]).check(InputFacts())


def test_functions_from_r_are_found_wherever_they_stand() -> None:
    callback = Callback(lambda x: {"value": x}, ("x",))
    assert not model("dnn_regressor").has_callbacks()
    assert model("dnn_regressor", activation_fn=callback).has_callbacks()
    assert model(
        "dnn_regressor", feature_columns=[{**NUMBER, "normalizer_fn": callback}]
    ).has_callbacks()
    wire = {"call": lambda: {"value": None}, "formals": []}
    assert model("dnn_regressor", optimizer={"kind": "function", "function": wire}).has_callbacks()


def test_the_model_directory_is_no_part_of_the_model() -> None:
    described = model("linear_regressor")
    assert replace(described, model_dir="elsewhere").structure() == described.structure()


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(ArgumentError, match="'boosted_trees_regressor' is not a kind of Model"):
        model("boosted_trees_regressor")


def names_in_r(file: str, variable: str) -> list[str]:
    """Strings of a character vector, or names of a list, in the R sources."""
    text = (Path(__file__).parents[4] / "R" / file).read_text(encoding="utf-8")
    body = re.search(rf"^{variable} <- (c|list)\((.*?)^\)", text, re.MULTILINE | re.DOTALL)
    assert body is not None
    return re.findall(r'^  "?(\w+)"?(?:,$|$| = c)', body.group(2), re.MULTILINE)


def test_r_and_python_know_the_same_names(tensorflow: Any) -> None:
    assert names_in_r("estimator-optimizer.R", "optimizer_settings") == list(OPTIMIZERS)
    assert names_in_r("estimator-optimizer.R", "schedule_names") == list(
        engine.optimizers.SCHEDULES
    )
    assert names_in_r("feature-columns-initializer.R", "initializer_names") == list(
        NAMES_OF_INITIALIZERS
    )
    activations = names_in_r("estimator.R", "activations")
    assert len(activations) > 10
    assert all(callable(find_activation(name)) for name in activations)


def test_keras_models_of_the_user_outlive_a_training(tensorflow: Any, tmp_path: Path):
    rows = np.ones([4, 1], "float32")
    mine = tensorflow.keras.Sequential([tensorflow.keras.layers.Dense(1, input_shape=(1,))])
    before = mine(rows).numpy()
    columns = [
        {"name": "x", "type": "float", "values": lambda: rows[:, 0]},
        {"name": "y", "type": "float", "values": lambda: rows[:, 0]},
    ]
    source = read(Input, {"kind": "in_memory", "columns": columns, "response": "y"})
    deep = {
        "kind": "dnn_regressor",
        "hidden_units": 2,
        "feature_columns": {"kind": "numeric", "key": "x"},
    }
    train(read(Model, {**deep, "model_dir": str(tmp_path)}), RunSettings(), source)
    np.testing.assert_array_equal(mine(rows).numpy(), before)


def test_the_code_of_ready_made_models_is_not_rewritten_under_a_strategy(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """AutoGraph would take three quarters of the time to the first step; it is not used without a strategy either."""
    from tensorflow.python.autograph.impl import api

    rewritten: list[str] = []
    convert = getattr(api, "_convert_actual")  # noqa: B009

    def noting(entity: Any, context: Any) -> Any:
        rewritten.append(f"{entity.__module__}.{getattr(entity, '__qualname__', '')}")
        return convert(entity, context)

    monkeypatch.setattr(api, "_convert_actual", noting)
    fields = {"kind": "linear_regressor", "feature_columns": [NUMBER], "optimizer": SGD}
    values = np.arange(8, dtype="float32")
    columns = [{"name": name, "type": "float", "values": lambda: values} for name in ("x", "y")]
    source = {"kind": "in_memory", "columns": columns, "response": "y", "batch_size": 4}

    def of_models(strategy: Any) -> set[str]:
        rewritten.clear()
        model = read(Model, {**fields, "model_dir": str(tmp_path / str(strategy is None))})
        train(model, read(RunSettings, {"train_distribute": strategy}), read(Input, source))
        return {name for name in rewritten if ".canned." in name}

    assert of_models({"kind": "mirrored", "devices": 2}) == of_models(None)
