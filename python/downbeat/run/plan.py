"""The plan of an experiment: the same cells, launched repeatedly under each configuration, in random order."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from downbeat.run.durations import sample_seconds, start_seconds, time_limit
from downbeat.run.simulation import seeded, simulated_seconds
from downbeat.text import counted, name_of, split_list

REPETITIONS = 1000  # of downbeat-bench by default
MOST_REPETITIONS = 10_000  # of its stopping rules by default
RANGE = 24  # sizes in a range: powers of two up to 16 MiB
# Options that have a cell for each of their words, all combined.
PLAN_FACTORS = ("sizes", "sync", "algorithm", "barrier-algorithm", "timing", "pattern", "delay")


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

    def time_limit(self, ranks: int, simulated: bool = False) -> float:
        """Returns after how many seconds a launch counts as hung, by default."""
        words = [split_list(self.options.get(name, "")) for name in PLAN_FACTORS]
        cells = math.prod(sum(RANGE if ":" in name_of(word) else 1 for word in one) for one in words)
        unbounded = MOST_REPETITIONS if "stop" in self.options else REPETITIONS
        repetitions = int(self.options.get("repetitions", unbounded))
        # Some combinations of factors do not exist: it may be fewer cells.
        samples = len(self.operations) * cells * repetitions
        if simulated:
            return time_limit(simulated_seconds(ranks, samples, self.operations))
        return time_limit(start_seconds(ranks) + samples * sample_seconds(ranks))


DEFAULT_SYNC = "mpi_barrier,harmonize"  # of downbeat-bench
# Synchronizers that call MPI_Barrier, whose algorithm --barrier-algorithm chooses; those of downbeat-bench (a test).
CALLS_BARRIER = re.compile(
    r"(double_)?mpi_barrier|roundtime(?!\(.*lead=(?!auto))|harmonize\(.*after=(double_)?mpi_barrier"
)


def parse_choices(text: str) -> dict[str, list[str]]:
    """Returns operation -> algorithms out of "reduce=linear,binary,bcast=chain"."""
    choices: dict[str, list[str]] = {}
    operation = ""
    for word in split_list(text):
        name, equals, algorithm = word.rpartition("=")
        operation = name if equals else operation
        choices.setdefault(operation, []).append(algorithm)
    return choices


def portions_of(measurement: Measurement, fixed_at_start: tuple[str, ...]) -> list[Measurement]:
    """Returns the measurement in portions that fit a launch.

    Args:
        measurement: the whole of it.
        fixed_at_start: collectives that can have one algorithm per launch; "*": all.
    """
    options = measurement.options
    choices = parse_choices(options["algorithm"]) if options.get("algorithm") else {}
    barriers = split_list(options["barrier-algorithm"]) if options.get("barrier-algorithm") else []

    def fixed(collective: str) -> bool:
        return "*" in fixed_at_start or collective in fixed_at_start

    rounds = max([1, *(len(names) for operation, names in choices.items() if fixed(operation))])
    barrier_rounds: list[str] = barriers if fixed("barrier") and len(barriers) > 1 else [",".join(barriers)]
    portions = []
    for position, index in itertools.product(range(len(barrier_rounds)), range(rounds)):
        own = dict(options)
        operations = measurement.operations
        if index > 0:
            operations = tuple(
                one for one in operations if fixed(name := name_of(one)) and len(choices.get(name, [])) > index
            )
        measured = set(map(name_of, operations))
        chosen = {
            name: (names[index : index + 1] if fixed(name) else names)
            for name, names in choices.items()
            if name in measured or index == 0
        }
        if chosen:
            own["algorithm"] = ",".join(f"{name}={','.join(names)}" for name, names in chosen.items())
        if barriers:
            own["barrier-algorithm"] = barrier_rounds[position]
        if position > 0:
            callers = [one for one in split_list(options.get("sync", DEFAULT_SYNC)) if CALLS_BARRIER.match(one)]
            own["sync"] = ",".join(callers)
        if operations and (position == 0 or own["sync"]):
            portions.append(dataclasses.replace(measurement, operations=operations, options=own))
    return portions if len(portions) > 1 else [measurement]


# A configuration is fixed for a launch; these are its names in frames, beside the factors of cells.
LAUNCH_FACTORS = ("library", "ranks", "environment", "variant")
DEFAULT_ENVIRONMENT = "default"
DEFAULT_VARIANT = "default"


@dataclass(frozen=True)
class Library:
    """An MPI library, by its name in all frames, and how programs are started under it."""

    name: str
    bench: str  # path of downbeat-bench
    # As "srun --mpi=pmix -n {ranks}"; the program and its arguments follow. Empty: as downbeat.run.launch does.
    launcher: str = ""
    # Collectives whose algorithm the library reads in MPI_Init alone, so that a launch can have one; "*": all.
    fixed_at_start: tuple[str, ...] = ()
    ranks_per_node: int = 0  # the most that a node gets; 0: as the launcher does it
    # The cluster on which programs are simulated, in place of a launcher; "": they run.
    simulate: str = ""

    @property
    def runs(self) -> bool:
        """Whether programs run on a machine; else on a simulated cluster."""
        return not self.simulate

    def start(self, launcher: str = "") -> list[str]:
        """Options of downbeat.run.launch that say how ranks are started: by another launcher, or this library's."""
        if self.simulate:
            return ["--simulate", self.simulate]
        return ["--launcher", launcher or self.launcher] if launcher or self.launcher else []

    def of_launch(self, number: int) -> Library:
        """The library as the launch with a number, from 1, has it."""
        return dataclasses.replace(self, simulate=seeded(self.simulate, number)) if self.simulate else self


@dataclass(frozen=True)
class Environment:
    """Variables that are set for a launch, as those by which an MPI library chooses algorithms."""

    name: str = DEFAULT_ENVIRONMENT
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Variant:
    """One of several that take turns: another program, launcher, shared object or variables, all else the same."""

    name: str = DEFAULT_VARIANT
    bench: str = ""  # in place of the library's
    launcher: str = ""  # in place of the library's
    operations: tuple[str, ...] = ()  # shared objects, each in place of the operation whose file has its name
    variables: Mapping[str, str] = field(default_factory=dict)  # beside those of the environment

    def operation(self, word: str) -> str:
        """Returns an operation as this variant has it, its parameters as they are."""
        path, parenthesis, parameters = word.partition("(")
        own = next((one for one in self.operations if "/" in path and Path(one).name == Path(path).name), path)
        return f"{own}{parenthesis}{parameters}"


@dataclass(frozen=True)
class LaunchKey:
    """A launch: its configuration, and its number among those of the same configuration, from 1.

    Launches of the same number follow each other, so that configurations can be compared in pairs.
    """

    library: str
    ranks: int
    environment: str
    number: int
    portion: int = 0  # of the measurement, from 1; 0 where one launch measures all of it (`portions_of`)
    variant: str = DEFAULT_VARIANT

    def __str__(self) -> str:
        portion = f"-portion{self.portion}" if self.portion else ""
        variant = "" if self.variant == DEFAULT_VARIANT else f"@{self.variant}"  # no name has this character
        return f"{self.library}-n{self.ranks}-{self.environment}{variant}-{self.number:03}{portion}"

    @property
    def configuration(self) -> str:
        """The configuration of the launch, for people."""
        environment = "" if self.environment == DEFAULT_ENVIRONMENT else f", {self.environment}"
        variant = "" if self.variant == DEFAULT_VARIANT else f", {self.variant}"
        return f"{self.library}, {counted(self.ranks, 'rank')}{environment}{variant}"


@dataclass(frozen=True)
class Plan:
    """An experiment."""

    name: str
    measurement: Measurement
    libraries: tuple[Library, ...]
    ranks: tuple[int, ...] = (2,)
    environments: tuple[Environment, ...] = (Environment(),)
    variants: tuple[Variant, ...] = (Variant(),)
    launches: int = 10  # of each configuration
    # Rounds at most until each configuration has its launches in one state of the machine; 0: as many as launches.
    most_rounds: int = 0
    interval: float = 0.0  # s, from the start of a round to that of the next; 0: at once
    over: float = 0.0  # s, from the start of the first round to that of the last; 0: no matter how long
    timeout: float = 0.0  # s, for a launch; 0: by its size
    seed: int = 0
    # More launches until the interval of each cell, high - low over the estimate, is so narrow; 0: no more.
    width: float = 0.0
    max_launches: int = 50

    @property
    def spacing(self) -> float:
        """Time from the start of a round to that of the next as planned, s; 0: they follow each other at once."""
        return self.over / max(1, self.launches - 1) or self.interval

    def library(self, name: str) -> Library:
        """Returns the library of that name."""
        return next(one for one in self.libraries if one.name == name)

    def environment(self, name: str) -> Environment:
        """Returns the environment of that name."""
        return next(one for one in self.environments if one.name == name)

    def variant(self, name: str) -> Variant:
        """Returns the variant of that name."""
        return next(one for one in self.variants if one.name == name)

    def time_limit(self, key: LaunchKey) -> float:
        """Returns after how many seconds a launch is ended."""
        simulated = not self.library(key.library).runs
        return self.timeout or self.measurement_of(key).time_limit(key.ranks, simulated)

    def configurations(self) -> list[tuple[object, ...]]:
        """Returns all configurations in the order of the plan, which tables have, too; values by `LAUNCH_FACTORS`."""
        names = [[one.name for one in each] for each in (self.libraries, self.environments, self.variants)]
        return list(itertools.product(names[0], self.ranks, *names[1:]))

    def measurement_of(self, key: LaunchKey) -> Measurement:
        """Returns what a launch measures."""
        whole = self.measurements(self.library(key.library))[max(0, key.portion - 1)]
        variant = self.variant(key.variant)
        return dataclasses.replace(whole, operations=tuple(variant.operation(one) for one in whole.operations))

    def program_of(self, key: LaunchKey) -> tuple[str, ...]:
        """Returns the program that a launch starts, with its arguments."""
        bench = self.variant(key.variant).bench or self.library(key.library).bench
        return (bench, *self.measurement_of(key).arguments())

    def variables_of(self, key: LaunchKey) -> dict[str, str]:
        """Returns the variables that are set for a launch."""
        return {**self.environment(key.environment).variables, **self.variant(key.variant).variables}

    def measurements(self, library: Library) -> list[Measurement]:
        """Returns what the launches of one number measure under a library: mostly one launch all of it."""
        return portions_of(self.measurement, library.fixed_at_start)

    def round_order(self, number: int) -> list[LaunchKey]:
        """Returns the launches of a number, one of each configuration, in random order by the seed.

        Variants take turns: those of one configuration follow each other directly, in an order that is drawn for every
        other number and reversed for the next, so that each is first as often as last.
        """
        order = []
        for library in self.libraries:
            count = len(self.measurements(library))
            order += [
                LaunchKey(library.name, ranks, environment.name, number, portion)
                for ranks in self.ranks
                for environment in self.environments
                for portion in (range(1, count + 1) if count > 1 else [0])
            ]
        random.Random(f"{self.seed} {number}").shuffle(order)
        return [dataclasses.replace(key, variant=name) for key in order for name in self.turns(key)]

    def turns(self, key: LaunchKey) -> list[str]:
        """Returns the variants in the order in which they are launched, of a launch but for its variant."""
        names = [one.name for one in self.variants]
        drawn = dataclasses.replace(key, number=(key.number + 1) // 2)
        random.Random(f"{self.seed} {drawn}").shuffle(names)
        return names if key.number % 2 else names[::-1]

    def launch_order(self) -> list[LaunchKey]:
        """Returns all launches, round by round."""
        return [key for number in range(1, self.launches + 1) for key in self.round_order(number)]
