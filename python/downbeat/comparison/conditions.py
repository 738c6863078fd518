"""Conditions on factors, e.g. `library=openmpi,size=64K`, which select cells of an experiment."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pandas as pd

from downbeat.errors import UsageError
from downbeat.experiment.experiment import FACTORS
from downbeat.lists import split_list

SUFFIXES = {"K": 2**10, "M": 2**20, "G": 2**30, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1}


def parse_conditions(text: str) -> dict[str, str]:
    """Parses `factor=value,factor=value`; commas and signs within parentheses belong to a value.

    Raises:
        UsageError: it is not a condition, or a factor is unknown or given twice.
    """
    conditions: dict[str, str] = {}
    for part in split_list(text):
        name, sign, value = part.partition("=")
        if not (sign and value):
            raise UsageError(f"'{part}' is not a condition; write factor=value, e.g. synchronizer=harmonize")
        check_factor(name)
        if name in conditions:
            raise UsageError(f"'{text}' names {name} twice; a condition gives each factor one value")
        conditions[name] = value
    return conditions


def check_factor(name: str) -> None:
    """Checks that a factor is one.

    Raises:
        UsageError: it is not.
    """
    if name not in FACTORS:
        raise UsageError(f"unknown factor '{name}'; choose one of {', '.join(FACTORS)}")


def select(cells: pd.DataFrame, conditions: Mapping[str, object]) -> pd.DataFrame:
    """Returns the rows of a frame of cells that meet all conditions.

    Args:
        cells: with the columns `FACTORS`.
        conditions: factor -> value; text for a number may have a suffix: bytes K, M or G, times ns, us, ms or s.

    Raises:
        UsageError: a factor is unknown, or no row has the value, or all of them together.
    """
    kept = pd.Series(True, index=cells.index)
    for name, value in conditions.items():
        check_factor(name)
        column = cells[name]
        wanted = number(name, value) if pd.api.types.is_numeric_dtype(column) else str(value)
        if isinstance(wanted, float):
            matches = (column - wanted).abs() <= 1e-9 * abs(wanted)
        else:
            matches = column.astype(object) == wanted  # Arrow's texts cannot be compared with what is no UTF-8
        if not matches.any():
            present = ", ".join(str(one) for one in column.unique())
            raise UsageError(f"no cell has {name}={value}; choose one of {present}")
        kept &= matches
    if not kept.any():
        both = ",".join(f"{name}={value}" for name, value in conditions.items())
        raise UsageError(f"no cell has {both}")
    return cells[kept]


def number(name: str, value: object) -> float:
    """Returns the number that a condition gives a factor.

    Raises:
        UsageError: it is none.
    """
    found = re.fullmatch(r"([0-9.eE+-]+?)([A-Za-z]*)", str(value))
    try:
        if not found or found[2] not in SUFFIXES:
            raise ValueError
        return float(found[1]) * SUFFIXES[found[2]]
    except ValueError:
        raise UsageError(f"{name}={value}: give a number, e.g. {'64K' if name == 'size' else '10us'}") from None
