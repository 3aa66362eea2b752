"""Parts of canned models as statements of Keras: the linear part, hidden layers, and predictions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfdistribute.models.conversion.features import Features
from tfdistribute.models.conversion.program import Program, Read, Result

if TYPE_CHECKING:
    from tfdistribute.models.feature_columns.description import FeatureColumn

_INPUT = "dnn/input_from_feature_columns/input_layer"


def linear(
    features: Features,
    columns: "Sequence[FeatureColumn]",
    units: int,
    combiner: str,
    scope: str = "linear/linear_model",
) -> Result:
    program = features.program
    dense = [each for each in columns if not each.is_categorical]
    sparse = [each for each in columns if each.is_categorical]
    parts: list[Result] = []
    if dense:
        names = [each.scope for each in dense]
        numbers = [each.numbers(features, "linear", scope) for each in dense]
        parts.append(
            program.layer(
                "Dense",
                program.concatenate(numbers),
                lambda read: _kernel(read, scope, names),
                units=units,
                kernel_initializer="zeros",
                name="linear",
            )
        )
    for column in sparse:
        variable = f"{scope}/{column.scope}/weights"
        parts.append(
            features.combine(
                f"linear_{column.scope}",
                column,
                units,
                lambda read, variable=variable: read(variable),
                combiner,
                embeddings_initializer="zeros",
            )
        )
    if not dense:
        ids = sparse[0].categories(features).ids
        parts.append(bias(program, ids, units, f"{scope}/bias_weights"))
    return program.add(parts)


def _kernel(read: Read, scope: str, names: Sequence[str]) -> list[Any]:
    weights = [read(f"{scope}/{name}/weights") for name in names]
    return [np.concatenate(weights), read(f"{scope}/bias_weights")]


def bias(program: Program, tensor: Result, units: int, variable: str) -> Result:
    """Make a bias alone, which is the only row of an embedding in Keras."""
    zeros = program.op("zeros_like", tensor, dtype="int32")
    vectors = program.layer(
        "Embedding",
        zeros,
        lambda read: [read(variable)],
        input_dim=1,
        output_dim=units,
        embeddings_initializer="zeros",
        name="bias",
    )
    return program.op("mean", vectors, axis=-2)


def deep(
    features: Features,
    columns: "Sequence[FeatureColumn]",
    units: int,
    hidden_units: Sequence[int],
    activation: Any,
    dropout: float | None,
    batch_norm: bool,
) -> Result:
    program = features.program
    columns = sorted(columns, key=lambda column: column.build().name)
    net = program.concatenate([each.numbers(features, "dnn", _INPUT) for each in columns])
    for index, width in enumerate(hidden_units):
        name = f"hiddenlayer_{index}"
        is_name = isinstance(activation, str)
        settings = {"activation": activation} if is_name else {}
        net = program.layer(
            "Dense", net, _weights(f"dnn/{name}", "kernel bias"), units=width, name=name, **settings
        )
        if not is_name:
            net = program.user_function(activation, net, "activation_fn")
        if dropout is not None:
            net = program.layer("Dropout", net, rate=dropout)
        if batch_norm:
            own = f"batchnorm_{index}"
            read = _weights(f"dnn/{name}/{own}", "gamma beta moving_mean moving_variance")
            net = program.layer("BatchNormalization", net, read, momentum=0.999, name=own)
    name = "dnn_logits"
    return program.layer(
        "Dense", net, _weights("dnn/logits", "kernel bias"), units=units, name=name
    )


def _weights(scope: str, names: str) -> Any:
    return lambda read: [read(f"{scope}/{name}") for name in names.split()]


def class_outputs(program: Program, logits: Result, n_classes: int) -> dict[str, Result]:
    """Return the predictions of a classifier, named as by ``predict()``."""
    if n_classes == 2:
        logistic = program.op("sigmoid", logits)
        none = program.op("zeros_like", logits)
        chosen = program.op("greater", logits, 0.0)
        both = program.op("concatenate", [none, logits], axis=-1)
        probabilities = program.op("softmax", both)
        outputs = {"logistic": logistic}
    else:
        probabilities, outputs = program.op("softmax", logits), {}
        chosen = _largest(program, logits, n_classes)
    return {
        "logits": logits,
        **outputs,
        "probabilities": probabilities,
        "class_ids": program.op("cast", chosen, "int64"),
    }


def _largest(program: Program, logits: Result, n_classes: int) -> Result:
    if not program.is_portable:
        return program.op("argmax", logits, axis=-1, keepdims=True)
    # Keras's argmax() compares the bits of numbers, for which ONNX has no operation.
    largest = program.op("equal", logits, program.op("max", logits, axis=-1, keepdims=True))
    numbers = program.op("where", largest, np.arange(n_classes, dtype="int32"), n_classes)
    return program.op("min", numbers, axis=-1, keepdims=True)
