"""What an experiment measures: the same cells, launched again and again under each configuration, in random order."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from downbeat.experiment.measurement import Measurement as Measurement
from downbeat.experiment.parts import parts_of

# A configuration is what is fixed for a launch; these are its names in frames, beside the factors of cells.
LAUNCH_FACTORS = ("library", "ranks", "environment")
DEFAULT_ENVIRONMENT = "default"


@dataclass(frozen=True)
class Library:
    """An MPI library, by the name that stands in all frames, and how programs are started under it."""

    name: str
    bench: str  # path of downbeat-bench
    # As "srun --mpi=pmix -n {ranks}"; the program and its arguments follow. Empty: as downbeat.mpi.launch does.
    launcher: str = ""
    # Collectives whose algorithm the library reads in MPI_Init alone, so that a launch can have one; "*": all.
    fixed_at_start: tuple[str, ...] = ()


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
    part: int = 0  # of the measurement, from 1; 0 where one launch measures all of it (downbeat.experiment.parts)

    def __str__(self) -> str:
        part = f"-part{self.part}" if self.part else ""
        return f"{self.library}-n{self.ranks}-{self.environment}-{self.number:03}{part}"

    @property
    def configuration(self) -> str:
        """What is fixed for the launch, for people."""
        environment = "" if self.environment == DEFAULT_ENVIRONMENT else f", {self.environment}"
        return f"{self.library}, {self.ranks} rank{'s' if self.ranks > 1 else ''}{environment}"


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
    # More launches until the interval of each cell, high - low over the estimate, is so narrow; 0: no more.
    width: float = 0.0
    max_launches: int = 50

    def library(self, name: str) -> Library:
        """Returns the library of that name."""
        return next(one for one in self.libraries if one.name == name)

    def measurements(self, library: Library) -> list[Measurement]:
        """Returns what the launches of one number measure under a library: mostly one launch all of it."""
        return parts_of(self.measurement, library.fixed_at_start)

    def round_order(self, number: int) -> list[LaunchKey]:
        """Returns the launches of a number, one of each configuration, in random order by the seed."""
        order = []
        for library in self.libraries:
            count = len(self.measurements(library))
            order += [
                LaunchKey(library.name, ranks, environment.name, number, part)
                for ranks in self.ranks
                for environment in self.environments
                for part in (range(1, count + 1) if count > 1 else [0])
            ]
        random.Random(f"{self.seed} {number}").shuffle(order)
        return order

    def launch_order(self) -> list[LaunchKey]:
        """Returns all launches, round by round."""
        return [key for number in range(1, self.launches + 1) for key in self.round_order(number)]
