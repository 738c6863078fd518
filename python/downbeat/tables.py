"""The base of record types: columns of one length, each declared once with its type, unit and meaning."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, dataclass_transform, get_type_hints

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Texts = NDArray[np.object_]  # of str
# The type of an array, and the value that stands for none.
TYPES: dict[object, tuple[Any, object]] = {
    Floats: (np.float64, np.nan),
    Ints: (np.int64, 0),
    Flags: (np.bool_, False),
    Texts: (np.object_, ""),
}


@dataclasses.dataclass(frozen=True)
class Column:
    """The declaration of a column.

    Attributes:
        name: the field's, in a table and in everything that is written from it.
        meaning: in docs and lists.
        unit: "s", "B", "1"; empty where the values have none, like words and flags.
    """

    name: str
    meaning: str
    unit: str = ""


def column(meaning: str, unit: str = "", missing: object = None) -> Any:  # noqa: ANN401, the annotation's type
    """Declares a column of a Table; the annotation beside it is its type.

    Args:
        meaning: in docs and lists.
        unit: "s", "B", "1"; empty where the values have none.
        missing: the value of all rows of a frame without the column, for `Wide.of`; None: it must have the column.
    """
    return dataclasses.field(metadata={"meaning": meaning, "unit": unit, "missing": missing})


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
            Column(each.name, each.metadata["meaning"], each.metadata["unit"]) for each in fields if each.metadata
        )

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, object]]) -> Self:
        """A table of dictionaries; a value that a row lacks is NaN, 0, false or empty, by the type of its column."""
        types, columns = get_type_hints(cls), {}
        for each in cls.columns():
            dtype, missing = TYPES[types[each.name]]
            columns[each.name] = np.array([row.get(each.name, missing) for row in rows], dtype)
        return cls(**columns)

    @classmethod
    def joined(cls, tables: Iterable[Self]) -> Self:
        """All rows of several tables, at least one, in their order."""
        parts = list(tables)
        return cls(
            **{each.name: np.concatenate([getattr(part, each.name) for part in parts]) for each in cls.columns()}
        )

    def groups(self, *keys: Iterable[Any]) -> Iterator[tuple[Any, Self]]:
        """The rows with equal keys, by the first occurrence of these.

        Args:
            keys: arrays with a value for each row, columns or others; two NaN are equal.

        Yields:
            The key, of several keys a tuple of them, and its rows.
        """
        frame = pd.DataFrame({i: pd.Series(key, dtype=getattr(key, "dtype", object)) for i, key in enumerate(keys)})
        for key, rows in frame.groupby(list(frame), sort=False, dropna=False).indices.items():
            yield key, self[np.asarray(rows)]

    def replaced(self, **columns: NDArray[Any]) -> Self:
        """The same rows with other values in some columns."""
        return dataclasses.replace(self, **columns)  # type: ignore[type-var]

    def frame(self) -> pd.DataFrame:
        """The table for users of pandas; the arrays are not copied where pandas can share them."""
        return pd.DataFrame({each.name: getattr(self, each.name) for each in self.columns()})


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

    def frame(self) -> pd.DataFrame:
        """The frame for users of pandas."""
        return self.source


def values_of(frame: pd.DataFrame, declared: dataclasses.Field[Any]) -> NDArray[Any]:
    """The values of a declared column in a frame."""
    missing = declared.metadata["missing"]
    if declared.name not in frame and missing is not None:
        return np.full(len(frame), missing, dtype=object if isinstance(missing, str) else None)
    return frame[declared.name].to_numpy()
