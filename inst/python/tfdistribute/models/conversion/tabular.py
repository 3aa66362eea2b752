"""Layers of tabular models as statements of Keras. ``engine/tabular/network.py`` has the same layers."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfdistribute import engine
from tfdistribute.models.conversion.features import Features
from tfdistribute.models.conversion.parts import linear
from tfdistribute.models.conversion.program import Read, Result

if TYPE_CHECKING:
    from tfdistribute.models.feature_columns.description import FeatureColumn

_SCOPE = "tabular"


@dataclass(frozen=True)
class TabularLayers:
    """The linear model, and layers whose logits have the axes row, member of the ensemble, and unit.

    Args:
        constants: ``shift``, ``stretch``, ``farthest``, ``incomplete`` and ``cycles`` of ``engine.tabular.Network``.
    """

    features: Features
    numbers: "Sequence[FeatureColumn]"
    constants: Mapping[str, Any]
    units: int
    members: int

    def linear(self, categories: "Sequence[FeatureColumn]") -> Result:
        """Return the logits of the linear model."""
        program, parts = self.features.program, []
        if self.numbers:
            plain, _ = self._read_numbers()
            read = _weights("linear_weights", "linear_bias")
            parts.append(
                program.layer("Dense", plain, read, units=self.units, name="linear_numbers")
            )
        if categories:
            parts.append(linear(self.features, categories, self.units, "sum", f"{_SCOPE}/linear"))
        return program.add(parts)

    def deep(
        self, categories: "Sequence[FeatureColumn]", hidden_units: Sequence[int], activation: str
    ) -> Result:
        program, parts = self.features.program, []
        if self.numbers:
            parts.append(self._embedded(self._read_numbers()[1]))
        # TensorFlow orders columns by name.
        scope = f"{_SCOPE}/dense_features{'_1' if self.numbers else ''}"
        columns = sorted(categories, key=lambda column: column.build().name)
        parts += [each.numbers(self.features, "deep", scope) for each in columns]
        hidden = program.concatenate(parts)
        for index, width in enumerate(hidden_units, 1):
            hidden = self._dense(hidden, index, width)
            hidden = self._activated(hidden, index, width, activation)
        return self._dense(hidden, len(hidden_units) + 1, self.units)

    def _read_numbers(self) -> tuple[Result, Result]:
        program, constants = self.features.program, self.constants
        shift, stretch = (np.array(constants[name], "float32") for name in ("shift", "stretch"))
        given = program.concatenate([each.numbers(self.features, "", "") for each in self.numbers])
        missing = program.op("isnan", given)
        numbers = program.op("where", missing, 0.0, given)
        numbers = program.op("maximum", numbers, -constants["farthest"])
        numbers = program.op("minimum", numbers, constants["farthest"])
        values = program.op("add", program.op("multiply", numbers, stretch), shift)
        squares = program.op("square", program.op("divide", numbers, engine.tabular.CLIP))
        robust = program.op("divide", numbers, program.op("sqrt", program.op("add", squares, 1.0)))
        added: list[Result] = []
        if constants["incomplete"]:
            which = program.op("take", missing, np.array(constants["incomplete"]), axis=1)
            added.append(program.op("cast", which, "float32"))
        if constants["cycles"]:
            places, factors, offsets = zip(*constants["cycles"], strict=True)
            phases = program.op("take", numbers, np.array(places), axis=1)
            phases = program.op("multiply", phases, np.array(factors, "float32"))
            phases = program.op("add", phases, np.array(offsets, "float32"))
            phases = program.op("multiply", phases, 2 * math.pi)
            added += [program.op("sin", phases), program.op("cos", phases)]
        return program.concatenate([values, *added]), program.concatenate([robust, *added])

    def _embedded(self, numbers: Result) -> Result:
        program, constants = self.features.program, self.constants
        count = len(self.numbers) + len(constants["incomplete"]) + 2 * len(constants["cycles"])
        turns = program.op("multiply", numbers, 2 * math.pi)
        read = _weights("plr_w1", "plr_b1")
        waves = self._einsum(
            "bn,nk->bnk", turns, read, (count, engine.tabular.FREQUENCIES), "plr_1", "nk"
        )
        read = _weights("plr_w2", "plr_b2")
        waves = program.op("cos", waves)
        vectors = self._einsum(
            "bnk,nkh->bnh", waves, read, (count, engine.tabular.EMBEDDED), "plr_2", "nh"
        )
        both = program.concatenate([vectors, program.op("expand_dims", numbers, 2)])
        return program.layer("Flatten", both)

    def _dense(self, inputs: Result, index: int, width: int) -> Result:
        def read_weights(read: Read) -> list[Any]:
            weights, bias = _weights(f"weight_{index}", f"bias_{index}")(read)
            weights = weights / math.sqrt(weights.shape[1])
            if index == 1:
                weights *= np.swapaxes(read(f"{_SCOPE}/scale"), 1, 2)
            return [weights, bias]

        equation, shape = f"b{'m' * (index > 1)}i,mio->bmo", (self.members, width)
        return self._einsum(equation, inputs, read_weights, shape, f"dense_{index}", "mo")

    def _activated(self, values: Result, index: int, width: int, activation: str) -> Result:
        program, share = self.features.program, _weights(f"act_{index}")
        shape = (self.members, width)
        curved = program.layer("Activation", values, activation=activation)
        return program.add(
            [
                self._einsum("bmu,mu->bmu", each, read, shape, f"{name}_{index}")
                for each, read, name in (
                    (values, lambda read: [1 - share(read)[0]], "plain"),
                    (curved, share, "curved"),
                )
            ]
        )

    def _einsum(
        self,
        equation: str,
        source: Result,
        weights: Callable[[Read], list[Any]],
        shape: tuple[int, int],
        name: str,
        bias_axes: str | None = None,
    ) -> Result:
        settings = {"equation": equation, "output_shape": shape, "bias_axes": bias_axes}
        return self.features.program.layer("EinsumDense", source, weights, **settings, name=name)


def _weights(*names: str) -> Callable[[Read], list[Any]]:
    return lambda read: [read(f"{_SCOPE}/{name}") for name in names]
