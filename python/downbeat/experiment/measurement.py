"""The measurement of one launch of downbeat-bench."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measurement:
    """The measurement of one launch of downbeat-bench: its arguments, by the names of its options."""

    operations: tuple[str, ...]
    # Option without its dashes -> value, e.g. {"sizes": "8:64K", "sync": "mpi_barrier"}; "" for one without value.
    options: Mapping[str, str] = field(default_factory=dict)

    def arguments(self) -> list[str]:
        """Returns the arguments of downbeat-bench."""
        words = list(self.operations)
        for name, value in self.options.items():
            words += [f"--{name}", value] if value else [f"--{name}"]
        return words
