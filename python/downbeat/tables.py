"""Defines Table, the base of typed tables: columns are arrays of equal length, declared with type, unit and meaning.

`Wide` is the base of tables that keep the frame they were made from, with its other columns.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar, dataclass_transform

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Texts = NDArray[np.object_]  # of str
Words = pd.Categorical  # texts that repeat, stored as codes, which needs little memory


@dataclasses.dataclass(frozen=True)
class Column:
    """The declaration of a column.

    Attributes:
        name: name of the field, in tables and in files.
        meaning: description, for docs and lists.
        unit: "s", "B", "1"; empty for values without unit, e.g. words and flags.
        dtype: dtype of values in files, for Words of their codes; empty: as annotated.
    """

    name: str
    meaning: str
    unit: str = ""
    dtype: str = ""


def column(meaning: str, unit: str = "", missing: object = None, dtype: str = "") -> Any:  # noqa: ANN401, as annotated
    """Declares a column of a Table; the annotation beside it is its type.

    Args:
        meaning: description, for docs and lists.
        unit: "s", "B", "1"; empty for values without unit.
        missing: value for `Wide.of` if a frame lacks the column; None: the column is required.
        dtype: as in Column.
    """
    return dataclasses.field(metadata={"meaning": meaning, "unit": unit, "missing": missing, "dtype": dtype})


T = TypeVar("T", bound="Table")


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False, field_specifiers=(column,))
class Table:
    """Rows of one kind as arrays, shape (rows,) each.

    Subclasses become frozen dataclasses without a decorator. All their fields are columns, declared by `column`.

        class Sites(Table):
            calls: Ints = column("calls at this site", "1")
            waited: Floats = column("time for which processes waited here", "s")
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclasses.dataclass(frozen=True, kw_only=True, eq=False)(cls)

    def __post_init__(self) -> None:
        """Checks that all columns have the same length."""
        lengths = {each.name: len(getattr(self, each.name)) for each in self.columns()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns of {type(self).__name__} differ in length: {lengths}")

    def __len__(self) -> int:
        return len(getattr(self, self.columns()[0].name))

    def __getitem__(self, rows: slice | NDArray[Any]) -> Self:
        """Returns the rows selected by a slice, an array of indices or an array of flags."""
        return type(self)(**{each.name: getattr(self, each.name)[rows] for each in self.columns()})

    @classmethod
    @functools.cache
    def columns(cls) -> tuple[Column, ...]:
        """Returns the declared columns, in their order."""
        fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(cls)  # type: ignore[arg-type]
        return tuple(
            Column(field.name, field.metadata["meaning"], field.metadata["unit"], field.metadata["dtype"])
            for field in fields
            if field.metadata
        )

    @classmethod
    @functools.cache
    def types(cls) -> dict[str, type]:
        """Name of a column -> type of its values: a numpy type, or Words."""
        hints = typing.get_type_hints(cls)
        types: dict[str, type] = {}
        for name in (each.name for each in cls.columns()):
            if hints[name] is Words:
                types[name] = Words
            else:
                _shape, dtype = typing.get_args(hints[name])  # of NDArray[T], which is ndarray[shape, dtype[T]]
                types[name] = typing.get_args(dtype)[0]
        return types

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Makes a table from dictionaries; missing values are NaN, 0, false or empty, by the type of the column."""
        rows = list(rows)
        columns = {}
        for name, kind in cls.types().items():
            missing: object = 0
            if issubclass(kind, np.floating):
                missing = np.nan
            elif kind in (np.object_, Words):
                missing = ""
            columns[name] = array_of([row.get(name, missing) for row in rows], kind)
        return cls(**columns)

    @classmethod
    def of_tuples(cls, rows: Iterable[Sequence[object]]) -> Self:
        """Makes a table from rows with values in the order of the columns."""
        columns = list(zip(*rows, strict=True)) or [()] * len(cls.columns())
        types = cls.types().items()
        return cls(**{name: array_of(values, kind) for (name, kind), values in zip(types, columns, strict=True)})

    @classmethod
    def of_frame(cls, frame: pd.DataFrame) -> Self:
        """Makes a table from a frame that has its columns; other columns of the frame are ignored."""
        columns = {}
        for name in (each.name for each in cls.columns()):
            is_words = isinstance(frame[name].dtype, pd.CategoricalDtype)
            columns[name] = frame[name].array if is_words else frame[name].to_numpy()
        return cls(**columns)

    @classmethod
    def joined(cls, tables: Iterable[Self]) -> Self:
        """Joins the rows of several tables, at least one, in their order."""
        tables = list(tables)
        return cls(
            **{each.name: concatenated([getattr(table, each.name) for table in tables]) for each in cls.columns()}
        )

    def groups(self, *keys: Iterable[Any]) -> Iterator[tuple[Any, Self]]:
        """Yields groups of rows with equal keys, in order of first occurrence.

        Args:
            keys: arrays with a value for each row, e.g. columns; two NaN are equal.

        Yields:
            The key (a tuple for several keys) and its rows.
        """
        for key, rows in grouped(*keys):
            yield key, self[rows]

    def replaced(self, **columns: NDArray[Any]) -> Self:
        """Returns the table with other values in some columns."""
        return dataclasses.replace(self, **columns)  # type: ignore[type-var]

    def extended(self, table_type: type[T], **columns: Any) -> T:  # noqa: ANN401, a column each
        """Converts the table to a type that has the columns of this type and further ones, which `columns` gives."""
        return table_type(**{each.name: getattr(self, each.name) for each in self.columns()}, **columns)

    def frame(self, *names: str) -> pd.DataFrame:
        """Converts the table, or the columns `names`, to a frame; copies arrays only if pandas cannot share them."""
        chosen = names or tuple(each.name for each in self.columns())
        return pd.DataFrame({name: getattr(self, name) for name in chosen}, copy=False)


class Wide(Table):
    """A table that keeps its frame, which may have more columns than declared, e.g. from files of other versions.

    Attributes:
        source: the frame, with all columns and `attrs`.
    """

    source: pd.DataFrame = dataclasses.field()

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Self:
        """Makes a table from a frame.

        Raises:
            KeyError: the frame lacks a column that was declared without `missing`.
        """
        return cls(
            source=frame, **{field.name: values_of(frame, field) for field in dataclasses.fields(cls) if field.metadata}
        )

    def __getitem__(self, rows: slice | NDArray[Any]) -> Self:
        """Returns the rows selected by a slice, an array of indices or an array of flags."""
        return type(self)(
            source=self.source.iloc[rows], **{each.name: getattr(self, each.name)[rows] for each in self.columns()}
        )

    def frame(self, *names: str) -> pd.DataFrame:
        """Returns the frame, or the columns `names` of it."""
        return self.source[list(names)] if names else self.source


def grouped(*keys: Iterable[Any]) -> Iterator[tuple[Any, Ints]]:
    """Yields each key and the indices of its rows; keys and order are those of `Table.groups`."""
    frame = pd.DataFrame({i: pd.Series(key, dtype=getattr(key, "dtype", object)) for i, key in enumerate(keys)})
    for key, rows in frame.groupby(list(frame), sort=False, dropna=False).indices.items():
        yield key, np.asarray(rows)


def values_of(frame: pd.DataFrame, declared: dataclasses.Field[Any]) -> NDArray[Any]:
    """Returns the values of a declared column in a frame; if the frame lacks it, its value `missing` in every row."""
    missing = declared.metadata["missing"]
    if declared.name not in frame and missing is not None:
        return np.full(len(frame), missing, dtype=object if isinstance(missing, str) else None)
    return frame[declared.name].to_numpy()


def array_of(values: Sequence[Any], kind: type) -> Any:  # noqa: ANN401, an array, or Words
    """Converts values to a column of a type of `Table.types`."""
    return Words(values) if kind is Words else np.array(values, dtype=kind)


def concatenated(columns: Sequence[Any]) -> Any:  # noqa: ANN401, arrays, or Words
    """Returns the concatenated values of columns of the same type, at least one column."""
    if isinstance(columns[0], Words):
        return pd.api.types.union_categoricals(list(columns))
    return np.concatenate(columns)
