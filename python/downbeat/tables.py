"""The base of record types: columns of one length, each declared once with its type, unit and meaning."""

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
Words = pd.Categorical  # texts that repeat, as numbers: a column of a million rows in megabytes


@dataclasses.dataclass(frozen=True)
class Column:
    """The declaration of a column.

    Attributes:
        name: the field's, in a table and in everything that is written from it.
        meaning: in docs and lists.
        unit: "s", "B", "1"; empty where the values have none, like words and flags.
        dtype: that the values are stored with, of Words that of their numbers; empty: that of the annotation.
    """

    name: str
    meaning: str
    unit: str = ""
    dtype: str = ""


def column(meaning: str, unit: str = "", missing: object = None, dtype: str = "") -> Any:  # noqa: ANN401, as annotated
    """Declares a column of a Table; the annotation beside it is its type.

    Args:
        meaning: in docs and lists.
        unit: "s", "B", "1"; empty where the values have none.
        missing: the value of all rows of a frame without the column, for `Wide.of`; None: it must have the column.
        dtype: as in Column.
    """
    return dataclasses.field(metadata={"meaning": meaning, "unit": unit, "missing": missing, "dtype": dtype})


T = TypeVar("T", bound="Table")


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False, field_specifiers=(column,))
class Table:
    """Rows of one kind as arrays, shape (rows,) each.

    A subclass is a frozen dataclass without being decorated. Fields that `column` declares are columns; it has no
    others.

        class Sites(Table):
            calls: Ints = column("calls at this site", "1")
            waited: Floats = column("time for which processes waited here", "s")
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclasses.dataclass(frozen=True, kw_only=True, eq=False)(cls)

    def __post_init__(self) -> None:
        lengths = {each.name: len(getattr(self, each.name)) for each in self.columns()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns of {type(self).__name__} differ in length: {lengths}")

    def __len__(self) -> int:
        return len(getattr(self, self.columns()[0].name))

    def __getitem__(self, rows: slice | NDArray[Any]) -> Self:
        """The rows that a slice, an array of numbers or one of flags selects, in its order."""
        return type(self)(**{each.name: getattr(self, each.name)[rows] for each in self.columns()})

    @classmethod
    @functools.cache
    def columns(cls) -> tuple[Column, ...]:
        """The declared columns, in their order."""
        fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(cls)  # type: ignore[arg-type]
        return tuple(
            Column(each.name, *(each.metadata[what] for what in ("meaning", "unit", "dtype")))
            for each in fields
            if each.metadata
        )

    @classmethod
    @functools.cache
    def types(cls) -> dict[str, type]:
        """The types of the values in each column, of numpy, or Words."""
        hints = typing.get_type_hints(cls)
        return {
            each.name: Words if hints[each.name] is Words else typing.get_args(typing.get_args(hints[each.name])[1])[0]
            for each in cls.columns()
        }

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """The table of dictionaries; a value that a row lacks is NaN, 0, false or empty, by the type of its column."""
        values, columns = list(rows), {}
        for name, kind in cls.types().items():
            missing = np.nan if issubclass(kind, np.floating) else "" if kind in (np.object_, Words) else 0
            columns[name] = array_of([row.get(name, missing) for row in values], kind)
        return cls(**columns)

    @classmethod
    def of_tuples(cls, rows: Iterable[Sequence[object]]) -> Self:
        """The table of rows, values in the order of the columns."""
        values = list(zip(*rows, strict=True)) or [()] * len(cls.columns())
        return cls(
            **{name: array_of(each, kind) for (name, kind), each in zip(cls.types().items(), values, strict=True)}
        )

    @classmethod
    def of_frame(cls, frame: pd.DataFrame) -> Self:
        """The table of a frame that has its columns, and may have others."""
        return cls(**{each.name: values_in(frame[each.name]) for each in cls.columns()})

    @classmethod
    def joined(cls, tables: Iterable[Self]) -> Self:
        """All rows of several tables, at least one, in their order."""
        chunks = list(tables)
        return cls(**{each.name: concatenated([getattr(one, each.name) for one in chunks]) for each in cls.columns()})

    def groups(self, *keys: Iterable[Any]) -> Iterator[tuple[Any, Self]]:
        """The rows with equal keys, by the first occurrence of these.

        Args:
            keys: arrays with a value for each row, columns or others; two NaN are equal.

        Yields:
            The key, of several keys a tuple of them, and its rows.
        """
        for key, rows in grouped(*keys):
            yield key, self[rows]

    def replaced(self, **columns: NDArray[Any]) -> Self:
        """The same rows with other values in some columns."""
        return dataclasses.replace(self, **columns)  # type: ignore[type-var]

    def extended(self, to: type[T], **columns: Any) -> T:  # noqa: ANN401, a column each
        """The same rows as a table of more columns, which declares or inherits those of this one."""
        return to(**{each.name: getattr(self, each.name) for each in self.columns()}, **columns)

    def frame(self, *names: str) -> pd.DataFrame:
        """The table for users of pandas, or some of its columns; arrays are not copied where pandas can share them."""
        chosen = names or tuple(each.name for each in self.columns())
        return pd.DataFrame({name: getattr(self, name) for name in chosen}, copy=False)


class Wide(Table):
    """A table made of a frame that has more columns than are declared, as files of other versions do.

    Attributes:
        source: the frame: rows and columns in its order, `attrs` too.
    """

    source: pd.DataFrame = dataclasses.field()

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Self:
        """The table of a frame.

        Raises:
            KeyError: it lacks a column that has no value for `missing`.
        """
        return cls(source=frame, **{one.name: values_of(frame, one) for one in dataclasses.fields(cls) if one.metadata})

    def __getitem__(self, rows: slice | NDArray[Any]) -> Self:
        """The rows that a slice, an array of numbers or one of flags selects, in its order."""
        return type(self)(
            source=self.source.iloc[rows], **{each.name: getattr(self, each.name)[rows] for each in self.columns()}
        )

    def frame(self, *names: str) -> pd.DataFrame:
        """The frame for users of pandas, or some of its columns."""
        return self.source[list(names)] if names else self.source


def grouped(*keys: Iterable[Any]) -> Iterator[tuple[Any, Ints]]:
    """The numbers of the rows with equal keys, as `Table.groups` has them."""
    frame = pd.DataFrame({i: pd.Series(key, dtype=getattr(key, "dtype", object)) for i, key in enumerate(keys)})
    for key, rows in frame.groupby(list(frame), sort=False, dropna=False).indices.items():
        yield key, np.asarray(rows)


def values_of(frame: pd.DataFrame, declared: dataclasses.Field[Any]) -> NDArray[Any]:
    """The values of a declared column in a frame."""
    missing = declared.metadata["missing"]
    if declared.name not in frame and missing is not None:
        return np.full(len(frame), missing, dtype=object if isinstance(missing, str) else None)
    return frame[declared.name].to_numpy()


def array_of(values: Sequence[Any], kind: type) -> Any:  # noqa: ANN401, an array, or Words
    """Values as a column of a type of `Table.types`."""
    return Words(values) if kind is Words else np.array(values, dtype=kind)


def values_in(series: pd.Series) -> Any:  # noqa: ANN401, an array, or Words
    """The values of a column of a frame."""
    return series.array if isinstance(series.dtype, pd.CategoricalDtype) else series.to_numpy()


def concatenated(columns: Sequence[Any]) -> Any:  # noqa: ANN401, arrays, or Words
    """The values of several columns of one type, at least one, in their order."""
    if isinstance(columns[0], Words):
        return pd.api.types.union_categoricals(list(columns))
    return np.concatenate(columns)
