"""Facts: the numbers and names in a sentence of the output. `output/words` has their wordings.

There is a module for each subject. The modules that analyze data make facts; they do not contain sentences. JSON has
the name and the fields of each fact. Unless noted, times are in s, and shares and ratios are plain numbers.
"""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    """The base of facts; subclasses are frozen dataclasses of values that JSON can have."""

    @classmethod
    def name(cls) -> str:
        """The name in JSON, e.g. "late_rank" for LateRank."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def record(self) -> dict[str, object]:
        """The fact for JSON: its name and its fields."""
        return {"fact": self.name(), **dataclasses.asdict(self)}


def known(value: float) -> float | None:
    """Converts a number of a table for a fact. NaN becomes None, so that facts with the same numbers are equal."""
    return None if math.isnan(value) else float(value)
