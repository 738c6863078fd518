"""Facts on results of other tools."""

from __future__ import annotations

from dataclasses import dataclass

from downbeat.output.facts import Fact


@dataclass(frozen=True)
class Damage(Fact):
    """Contents of files of another tool that cannot be used.

    Attributes:
        file: path of the first file with this damage.
        line: number of the first damaged line in it, from 1; 0: the whole file.
        what: kind of the damage, a plural: "numbers that cannot be read".
        count: number of cases.
        files: number of files with this damage.
    """

    file: str
    line: int
    what: str
    count: int
    files: int = 1


@dataclass(frozen=True)
class LaunchSpread(Fact):
    """The differences between launches of the same cell, in results of other tools.

    Attributes:
        cells: number of cells.
        several: number of cells with two launches or more.
        median: ratio of the largest to the smallest launch of a cell, median over `several`; NaN if that is 0.
        high: the same ratio, 90th percentile.
    """

    cells: int
    several: int
    median: float
    high: float
