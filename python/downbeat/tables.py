"""The base of record types: columns of one length, each declared once with its type, unit and meaning."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
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


def column(meaning: str, unit: str = "", dtype: str = "") -> Any:  # noqa: ANN401, the type is that of the annotation
    """Declares a column of a Table; the annotation beside it is its type."""
    return dataclasses.field(metadata={"meaning": meaning, "unit": unit, "dtype": dtype})


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
    def columns(cls) -> tuple[Column, ...]:
        """The declared columns, in their order."""
        fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(cls)  # type: ignore[arg-type]
        return tuple(Column(each.name, **each.metadata) for each in fields)

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """The table of rows that have a value of each column; of no rows, an empty table."""
        values = list(rows)
        fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(cls)  # type: ignore[arg-type]
        return cls(**{each.name: array_of([row[each.name] for row in values], str(each.type)) for each in fields})

    @classmethod
    def of_frame(cls, frame: pd.DataFrame) -> Self:
        """The table of a frame that has its columns, and may have others."""
        return cls(
            **{
                each.name: values.array if isinstance(values.dtype, pd.CategoricalDtype) else values.to_numpy()
                for each in cls.columns()
                for values in [frame[each.name]]
            }
        )

    @classmethod
    def joined(cls, tables: Iterable[Self]) -> Self:
        """All rows of several tables, at least one, in their order."""
        chunks = list(tables)
        return cls(
            **{each.name: concatenated([getattr(chunk, each.name) for chunk in chunks]) for each in cls.columns()}
        )

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


DTYPES = {"Floats": np.float64, "Ints": np.int64, "Flags": np.bool_, "Texts": np.object_}


def array_of(values: Sequence[Any], kind: str) -> Any:  # noqa: ANN401, an array, or Words
    """Values as a column of a type, which is a name in this module."""
    return Words(values) if kind == "Words" else np.array(values, dtype=DTYPES[kind])


def concatenated(columns: Sequence[Any]) -> Any:  # noqa: ANN401, arrays, or Words
    """The values of several columns of one type, at least one, in their order."""
    if isinstance(columns[0], Words):
        return pd.api.types.union_categoricals(list(columns))
    return np.concatenate(columns)
