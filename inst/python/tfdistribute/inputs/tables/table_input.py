"""What inputs from tables in files have in common: which columns are taken, of which types."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tfdistribute.columns import TYPES, ColumnFacts
from tfdistribute.errors import InputError
from tfdistribute.inputs.files.file_input import FileInput
from tfdistribute.inputs.files.files import File
from tfdistribute.inputs.packed.layout import lay_out
from tfdistribute.inputs.tables.arrow_columns import TableColumns
from tfdistribute.inputs.tables.bad_rows import Skipped

# What a file offers: its columns by name, None for those of types that TensorFlow does not have.
Offered = Mapping[str, ColumnFacts | None]


@dataclass(frozen=True, eq=False)
class TableInput(FileInput):
    """Tables with named columns.

    Args:
        types: Types by name, each one of ``columns.TYPES``, in place of those of the file.
        impute: What stands for missing values, by name of the feature. Values of features that are not named
            here may not be missing.
        on_bad_row: What to do with rows that cannot be used: "error", or "skip".
        on_skipped: Told of what was skipped: their number, and where and why the first of them were.
    """

    types: Mapping[str, str] = field(default_factory=dict[str, str])
    impute: Mapping[str, Any] = field(default_factory=dict[str, Any])
    on_bad_row: Literal["error", "skip"] | str = "error"
    on_skipped: Callable[..., Any] | None = None

    @property
    def skips(self) -> bool:
        """Whether rows that cannot be used are left out."""
        return self.on_bad_row == "skip"

    def _report(self, skipped: Skipped) -> None:
        if skipped.count == 0:
            return
        if self.on_skipped is not None:
            self.on_skipped(skipped.count, list(skipped.places))
        else:
            told = f"Skipped {skipped.count} rows: {'; '.join(skipped.places)}"
            warnings.warn(told, stacklevel=2)

    def _chosen(self, offered: Sequence[tuple[File, Offered]]) -> TableColumns:
        """Choose the columns, and see that every file has them.

        Args:
            offered: The files and their columns, at least one.

        Returns:
            The columns, features before the response.

        Raises:
            InputError: a column is missing, has another type than in the first file, or one that cannot be used.
        """
        self._check_types()
        first, columns = offered[0]
        names = self._names(columns)
        for file, others in offered:
            _check_known(file, others, names, "features" if file is first else "paths")
        for argument, named in (("types", self.types), ("impute", self.impute)):
            _check_known(first, dict.fromkeys(names), list(named), argument)
        chosen = [self._typed(first, name, columns[name]) for name in names]
        for file, others in offered[1:]:
            for facts in chosen:
                self._check_same(first, file, facts, others)
        fillings = {facts.name: _filling(facts, self.impute) for facts in chosen}
        return TableColumns(
            lay_out(chosen),
            self.response,
            {name: value for name, value in fillings.items() if value is not None},
        )

    def _check_types(self) -> None:
        for name, given in self.types.items():
            if given not in TYPES:
                raise InputError(
                    f'`types` says "{given}" for `{name}`, which is no type.',
                    f"Use one of {', '.join(TYPES)}.",
                    argument="types",
                    value=given,
                )

    def _names(self, columns: Offered) -> list[str]:
        response = [] if self.response is None else [self.response]
        if self.features == ():
            columns = {}
        features = [name for name in self.features or columns if name not in response]
        if not features:
            raise InputError(
                "No features were chosen.",
                "Name at least one column in `features`.",
                argument="features",
            )
        return [*features, *response]

    def _typed(self, file: File, name: str, facts: ColumnFacts | None) -> ColumnFacts:
        given = self.types.get(name)
        if facts is None and given is None:
            raise InputError(
                f'The column `{name}` of "{file.path}" has a type that TensorFlow does not have.',
                "Choose other columns in `features`, or give a type in `types`.",
                argument=name,
            )
        if given is None:
            assert facts is not None
            return facts
        return ColumnFacts(name, given) if facts is None else replace(facts, type=given)

    def _check_same(self, first: File, file: File, facts: ColumnFacts, others: Offered) -> None:
        other = self._typed(file, facts.name, others[facts.name])
        if (other.type, other.shape) != (facts.type, facts.shape):
            raise InputError(
                f'The column `{facts.name}` is {_shown(other)} in "{file.path}", '
                f'and {_shown(facts)} in "{first.path}".',
                f'Write all files with one type, or choose it, as in types = list({facts.name} = "float").',
                argument="paths",
                value=file.path,
            )


def _check_known(file: File, columns: Mapping[str, Any], names: list[str], argument: str) -> None:
    for name in names:
        if name not in columns:
            listed = ", ".join(f"`{column}`" for column in list(columns)[:10])
            raise InputError(
                f'The file "{file.path}" has no column `{name}`.'
                if argument in ("features", "paths")
                else f"`{argument}` names `{name}`, which was not chosen.",
                f"The columns are {listed}{', ...' if len(columns) > 10 else '.'}",
                argument=argument,
                value=name,
            )


def _shown(facts: ColumnFacts) -> str:
    return facts.type if not facts.shape else f"{facts.type} of {facts.shape[0]} per row"


def _filling(facts: ColumnFacts, impute: Mapping[str, Any]) -> Any:
    value = impute.get(facts.name)
    if value is None:
        return None
    fits = (
        isinstance(value, str) if facts.type == "string" else isinstance(value, (bool, int, float))
    )
    if fits and facts.type in ("integer", "integer64", "logical"):
        fits = float(value) == int(value)
    if not fits:
        raise InputError(
            f"`impute` gives {value!r} for `{facts.name}`, which is {facts.type}.",
            "Give a value of the column's type.",
            argument="impute",
            value=repr(value),
        )
    return value
