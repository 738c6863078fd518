"""What an experiment measures: the same cells, launched again and again under each configuration, in random order."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

# A configuration is what is fixed for a launch; these are its names in frames, beside the factors of cells.
LAUNCH_FACTORS = ("library", "ranks", "environment")
DEFAULT_ENVIRONMENT = "default"


@dataclass(frozen=True)
class Measurement:
    """What one launch of downbeat-bench measures: its arguments, by the names of its options."""

    operations: tuple[str, ...]
    # Option without its dashes -> value, as {"sizes": "8:64K", "sync": "mpi_barrier"}; "" for one without value.
    options: Mapping[str, str] = field(default_factory=dict)

    def arguments(self) -> list[str]:
        """Returns the arguments of downbeat-bench."""
        words = list(self.operations)
        for name, value in self.options.items():
            words += [f"--{name}", value] if value else [f"--{name}"]
        return words


@dataclass(frozen=True)
class Library:
    """An MPI library, by the name that stands in all frames, and how programs are started under it."""

    name: str
    bench: str  # path of downbeat-bench
    # As "srun --mpi=pmix -n {ranks}"; the program and its arguments follow. Empty: as downbeat.mpi.launch does.
    launcher: str = ""


@dataclass(frozen=True)
class Environment:
    """Variables that are set for a launch, as those by which an MPI library chooses algorithms."""

    name: str = DEFAULT_ENVIRONMENT
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LaunchKey:
    """A launch: its configuration, and its number among those of the same configuration, from 1.

    Launches of the same number stand next to each other in time, so that configurations can be compared in pairs.
    """

    library: str
    ranks: int
    environment: str
    number: int

    def __str__(self) -> str:
        return f"{self.library}-n{self.ranks}-{self.environment}-{self.number:03}"


@dataclass(frozen=True)
class Plan:
    """An experiment."""

    name: str
    measurement: Measurement
    libraries: tuple[Library, ...]
    ranks: tuple[int, ...] = (2,)
    environments: tuple[Environment, ...] = (Environment(),)
    launches: int = 10  # of each configuration
    timeout: float = 600.0  # s, for a launch
    seed: int = 0

    def launch_order(self) -> list[LaunchKey]:
        """Returns all launches: round by round, in each every configuration once, in random order by the seed."""
        order = []
        for number in range(1, self.launches + 1):
            one_round = [
                LaunchKey(library.name, ranks, environment.name, number)
                for library in self.libraries
                for ranks in self.ranks
                for environment in self.environments
            ]
            random.Random(f"{self.seed} {number}").shuffle(one_round)
            order += one_round
        return order
