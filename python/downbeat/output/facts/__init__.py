"""Facts: numbers and names that a sentence is made of, computed once from tables. `output/words` has their wordings.

A module per subject. Rooms compute facts of their subject and need not know how they read. Times are in s, shares and
ratios plain numbers.
"""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    """The base of facts; a subclass is a frozen dataclass of values that JSON has."""

    @classmethod
    def name(cls) -> str:
        """The name in JSON."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def record(self) -> dict[str, object]:
        """The fact for JSON: its name and its fields."""
        return {"fact": self.name(), **dataclasses.asdict(self)}


def known(value: float) -> float | None:
    """A number of a table for a fact, None for NaN: facts with the same numbers are equal."""
    return None if math.isnan(value) else float(value)
