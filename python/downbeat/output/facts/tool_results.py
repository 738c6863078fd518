"""Facts on results of other tools."""

from __future__ import annotations

from dataclasses import dataclass

from downbeat.output.facts import Fact


@dataclass(frozen=True)
class Damage(Fact):
    """Something wrong in a file of another tool.

    Attributes:
        file: its path.
        line: the first such line, from 1; 0 for the whole file.
        what: in plain words, with a noun in the plural: "numbers that cannot be read".
        count: how often.
        files: number of files that have it, `file` is the first.
    """

    file: str
    line: int
    what: str
    count: int
    files: int = 1


@dataclass(frozen=True)
class LaunchSpread(Fact):
    """How much launches differ, in results of other tools.

    Attributes:
        cells: all of them.
        several: cells with two launches or more.
        median: largest / smallest launch, median over these cells; NaN without any.
        high: of nine of ten of these cells at most.
    """

    cells: int
    several: int
    median: float
    high: float
