"""Base class of model descriptions."""

import dataclasses
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from tfdistribute.callbacks import Callback
from tfdistribute.columns import AcceptedValues, ColumnFacts, InputFacts, ReadTypes
from tfdistribute.descriptions import Description, check_directory
from tfdistribute.descriptions.constraints import Fact, MayDiffer, Text
from tfdistribute.errors import UnsupportedError
from tfdistribute.files import absolute_path
from tfdistribute.inputs import Input
from tfdistribute.models.feature_columns.description import FeatureRequirement
from tfdistribute.models.serving import tensors_receiver
from tfdistribute.models.weights import accepted_weights

LossReduction = Literal["sum_over_batch_size", "sum"]
LOSS_REDUCTIONS: tuple[str, ...] = typing.get_args(LossReduction)


class TrainedFeatures(NamedTuple):
    """Knowledge of a training: features, levels of the factors that are read as codes, and replacements."""

    facts: Mapping[str, ColumnFacts] | None
    levels: Mapping[str, Sequence[str]]
    replacements: Mapping[str, Any]
    is_portable: bool = False  # Whether a conversion may use only operations that ONNX has.


# Makes session hooks from hooks (descriptions or TensorFlow's objects) and a mode.
MakeHooks = Callable[[Sequence[Any], str], list[Any]]


@dataclass(frozen=True)
class Model(Description):
    """Fields that several kinds share.

    Args:
        model_dir: Directory of the model's checkpoints, a string. NULL uses `config$model_dir`, or else a temporary
            directory. A relative path refers to the current working directory, even after [setwd()]. See [estimators].
    """

    in_words: ClassVar[str] = "an estimator"
    # Who trains it: a name in ``TRAINERS`` of ``training.train``.
    trainer: ClassVar[str] = "steps"

    # load_estimator() chooses the directory.
    model_dir: Annotated[Text, Fact.NAME, MayDiffer("Tasks compare what the chief writes there.")]

    def __post_init__(self) -> None:
        # The working directory may change between two verbs.
        super().__post_init__()
        object.__setattr__(self, "model_dir", absolute_path(self.model_dir))
        check_directory("model_dir", self.model_dir)

    def build(self, config: Any) -> Any:
        raise NotImplementedError

    def own_settings(self) -> dict[str, Any]:
        """Return fields of the run settings that the model brings with it, whatever the settings of the verb are."""
        return {}

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        """Raise InputError if the data does not fit the model, as far as this is known before TensorFlow starts."""
        raise NotImplementedError

    def check_verb(self, verb: str) -> None:
        """Check that the model has the functions that a verb needs; ModelError if it has not."""

    def check_cluster(self, on_several_hosts: bool) -> None:
        """Check that the processes of a cluster can train the model; UnsupportedError if they cannot."""

    def check_micro_batches(self) -> None:
        """Check that the loss of a batch follows from the losses of its parts; ModelError if it may not."""

    def structure(self) -> dict[str, Any]:
        """Describe the content of the model's checkpoints for JSON; its ``optimizer`` matters for training only."""
        raise NotImplementedError

    def as_keras_model(self, known: TrainedFeatures, read: Callable[[str], Any]) -> Any:
        """Make the model of Keras with the variables that ``read`` reads from a checkpoint.

        UnsupportedError if Keras has no layers that do the same.
        """
        raise self._no_layers()

    def _no_layers(self) -> UnsupportedError:
        return UnsupportedError(
            f'A model of kind "{self.kind}" cannot be converted to Keras, because its layers are not known.',
            "Use export_savedmodel().",
            argument="object",
            value=self.kind,
        )

    def encoders(self, known: TrainedFeatures) -> Mapping[str, Any]:
        """Return the encoders of a portable ``as_keras_model()`` by input, as in ``conversion.program``."""
        return {}

    def serving_input_receiver_fn(
        self, features: Mapping[str, ColumnFacts] | None = None
    ) -> Callable[[], Any]:
        """Return the function that turns a request to an exported model into a ``ServingInputReceiver``.

        By default, a request holds one tensor per feature; UnsupportedError if the features are unknown.
        """
        if features is None:
            raise UnsupportedError(
                "The features of a request are not known: the model was trained on a function's dataset.",
                "Give `input`, an input_fn() with the features, or `serving_input_receiver_fn`.",
                argument="input",
                value="NULL",
            )
        return tensors_receiver(features)

    def required_features(self) -> tuple[FeatureRequirement, ...]:
        return ()

    def types_read(self) -> ReadTypes:
        """Return the types to read columns in that may hold doubles, as in ``Input.reading``."""
        return {}

    def reading(self, source: Input) -> Input:
        """Return the same rows as the model reads them."""
        return source.reading(self.types_read())

    def accepted_values(self, facts: InputFacts, needs_label: bool) -> AcceptedValues:
        accepted = [
            (each.feature, each.accepted)
            for each in self.required_features()
            if each.accepted is not None
        ]
        weights = self.weights_of(facts) if needs_label else None
        return accepted if weights is None else [*accepted, (weights, accepted_weights(weights))]

    def weights_of(self, facts: InputFacts) -> str | None:
        """Return the name of the column that weighs the losses of rows."""
        return None if facts.weights is None else facts.weights.name

    def reads(self, feature: str) -> bool:
        """Return whether the model reads a feature, or may read it."""
        read = {each.feature for each in self.required_features()}
        return not read or feature in read

    def coded_features(self, factors: Collection[str]) -> set[str]:
        """Return the factors whose codes the model reads instead of their labels."""
        return set()

    def codes_label(self) -> bool:
        return False

    def complete_from_input(self, facts: InputFacts) -> "Model":
        return self

    def complete_from_signature(self, signature: Mapping[str, Any] | None) -> "Model":
        """Complete fields that training took from its data, by the stored ``structure()``, which may be None."""
        return self

    def with_session_hooks(self, make: MakeHooks) -> "Model":
        return self

    def is_v1_canned(self) -> bool:
        return False

    def has_callbacks(self) -> bool:
        """Return whether building the graph calls R functions."""
        return _holds(self, _is_callback)

    def has_functions(self) -> bool:
        """Return whether building the graph calls functions of users, which may differ from call to call."""
        return _holds(self, _is_of_user)


def _holds(value: Any, condition: Callable[[Any], bool]) -> bool:
    if condition(value):
        return True
    parts: Iterable[Any] = ()
    if isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, (tuple, list)):
        parts = value
    elif isinstance(value, Description) and dataclasses.is_dataclass(value):
        parts = [getattr(value, part.name) for part in dataclasses.fields(value)]
    return any(_holds(part, condition) for part in parts)


def _is_callback(value: Any) -> bool:
    # An R function arrives as a mapping with a `call`.
    found = isinstance(value, Mapping) and callable(value.get("call"))
    return found or isinstance(value, Callback)


def _is_of_user(value: Any) -> bool:
    package = str(getattr(value, "__module__", "")).partition(".")[0]
    return callable(value) and package not in ("tensorflow", "keras", "tf_keras")
