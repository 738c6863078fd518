"""The plan of an experiment: launches of the same cells under each configuration, in random order.

A configuration is a library, a number of ranks, an environment and a variant. A round is one launch of each
configuration; all launches of a round have the same number. A launch measures all cells, or a portion of them if the
library reads algorithms only in MPI_Init.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from downbeat.run.durations import time_limit
from downbeat.run.simulation import launch_seconds
from downbeat.text import counted, name_of, split_list

REPETITIONS = 1000  # default of downbeat-bench
MAX_REPETITIONS = 10_000  # default limit of its stopping rules
SIZES_OF_RANGE = 24  # assumed number of sizes in a range: powers of two up to 16 MiB
# Options whose values are combined into cells.
PLAN_FACTORS = ("sizes", "sync", "algorithm", "barrier-algorithm", "timing", "pattern", "delay")


@dataclass(frozen=True)
class Measurement:
    """The measurement of one launch: operations and options of downbeat-bench."""

    operations: tuple[str, ...]
    # Option without dashes -> value, e.g. {"sizes": "8:64K", "sync": "mpi_barrier"}; "" for an option without value.
    options: Mapping[str, str] = field(default_factory=dict)

    def arguments(self) -> list[str]:
        """The arguments of downbeat-bench."""
        words = list(self.operations)
        for name, value in self.options.items():
            words += [f"--{name}", value] if value else [f"--{name}"]
        return words

    def time_limit(self, ranks: int, platform: str = "") -> float:
        """The default time limit of a launch, s.

        Args:
            ranks: number of ranks.
            platform: specification of the simulated cluster; "": a real machine.
        """
        cells = 1  # of an operation; an upper bound, because some combinations of factors do not exist
        for name in PLAN_FACTORS:
            values = split_list(self.options.get(name, ""))
            cells *= sum(SIZES_OF_RANGE if ":" in name_of(value) else 1 for value in values)
        default = MAX_REPETITIONS if "stop" in self.options else REPETITIONS
        repetitions = int(self.options.get("repetitions", default))
        samples = len(self.operations) * cells * repetitions
        return time_limit(launch_seconds(platform, ranks, samples, self.operations))


DEFAULT_SYNC = "mpi_barrier,harmonize"  # default of downbeat-bench
# Synchronizers that call MPI_Barrier, so that --barrier-algorithm matters; a test compares them with downbeat-bench.
CALLS_BARRIER = re.compile(
    r"(double_)?mpi_barrier|roundtime(?!\(.*lead=(?!auto))|harmonize\(.*after=(double_)?mpi_barrier"
)


def parse_choices(text: str) -> dict[str, list[str]]:
    """Operation -> algorithms, from "reduce=linear,binary,bcast=chain"."""
    choices: dict[str, list[str]] = {}
    operation = ""
    for word in split_list(text):
        name, equals, algorithm = word.rpartition("=")
        if equals:
            operation = name
        choices.setdefault(operation, []).append(algorithm)
    return choices


def portions_of(measurement: Measurement, fixed_at_start: tuple[str, ...]) -> list[Measurement]:
    """The measurement split into portions, so that each launch needs one algorithm per fixed collective.

    Portion k has the k-th algorithm of every fixed operation; only the first portion has operations without further
    algorithms. If the barrier is fixed, there are such portions for each of its algorithms; all but the first barrier
    algorithm are measured only with synchronizers that call MPI_Barrier.

    Args:
        measurement: the complete measurement.
        fixed_at_start: collectives limited to one algorithm per launch; "*": all.
    """
    options = measurement.options
    choices = parse_choices(options["algorithm"]) if options.get("algorithm") else {}
    barriers = split_list(options["barrier-algorithm"]) if options.get("barrier-algorithm") else []

    def fixed(collective: str) -> bool:
        return "*" in fixed_at_start or collective in fixed_at_start

    max_algorithms = max([1, *(len(names) for operation, names in choices.items() if fixed(operation))])
    # The value of --barrier-algorithm in each group of portions.
    barrier_values: list[str] = barriers if fixed("barrier") and len(barriers) > 1 else [",".join(barriers)]
    portions = []
    for barrier_index, index in itertools.product(range(len(barrier_values)), range(max_algorithms)):
        portion_options = dict(options)
        operations = measurement.operations
        if index > 0:
            operations = tuple(
                word for word in operations if fixed(name := name_of(word)) and len(choices.get(name, [])) > index
            )
        measured = set(map(name_of, operations))
        chosen = {
            name: (names[index : index + 1] if fixed(name) else names)
            for name, names in choices.items()
            if name in measured or index == 0
        }
        if chosen:
            portion_options["algorithm"] = ",".join(f"{name}={','.join(names)}" for name, names in chosen.items())
        if barriers:
            portion_options["barrier-algorithm"] = barrier_values[barrier_index]
        if barrier_index > 0:
            callers = [name for name in split_list(options.get("sync", DEFAULT_SYNC)) if CALLS_BARRIER.match(name)]
            portion_options["sync"] = ",".join(callers)
        if operations and (barrier_index == 0 or portion_options["sync"]):
            portions.append(dataclasses.replace(measurement, operations=operations, options=portion_options))
    return portions if len(portions) > 1 else [measurement]


# Factors that are fixed for a launch: the columns of a configuration.
LAUNCH_FACTORS = ("library", "ranks", "environment", "variant")
DEFAULT_ENVIRONMENT = "default"
DEFAULT_VARIANT = "default"


@dataclass(frozen=True)
class Library:
    """An MPI library of a plan: its name in frames, its downbeat-bench and its launcher."""

    name: str
    bench: str  # path of downbeat-bench
    # E.g. "srun --mpi=pmix -n {ranks}"; the program and its arguments follow. Empty: downbeat.run.launch chooses.
    launcher: str = ""
    # Collectives whose algorithm the library reads only in MPI_Init: one algorithm per launch; "*": all.
    fixed_at_start: tuple[str, ...] = ()
    ranks_per_node: int = 0  # maximum number of ranks on a node; 0: the launcher decides
    simulate: str = ""  # specification of a simulated cluster, in place of a launcher; "": a real machine

    def start(self, launcher: str = "") -> list[str]:
        """Options of downbeat.run.launch that choose the simulator or a launcher; `launcher` replaces the library's."""
        options = {"--simulate": self.simulate, "--launcher": launcher or self.launcher}
        return [word for option, value in options.items() if value for word in (option, value)]


@dataclass(frozen=True)
class Environment:
    """Environment variables set for a launch."""

    name: str = DEFAULT_ENVIRONMENT
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Variant:
    """A variant of what is measured: another program, launcher, shared object or variables, for a comparison.

    The variants of a configuration are launched one after another in each round.
    """

    name: str = DEFAULT_VARIANT
    bench: str = ""  # replaces the library's
    launcher: str = ""  # replaces the library's
    operations: tuple[str, ...] = ()  # shared objects; each replaces the operation with the same file name
    variables: Mapping[str, str] = field(default_factory=dict)  # added to those of the environment

    def operation(self, word: str) -> str:
        """An operation with its shared object replaced by the variant's; parameters are kept."""
        path, parenthesis, parameters = word.partition("(")
        if "/" in path:
            for replacement in self.operations:
                if Path(replacement).name == Path(path).name:
                    return f"{replacement}{parenthesis}{parameters}"
        return word


@dataclass(frozen=True)
class LaunchKey:
    """A launch: its configuration, and its number from 1 among launches of that configuration.

    Launches of the same number follow each other, so that configurations can be compared in pairs.
    """

    library: str
    ranks: int
    environment: str
    number: int
    portion: int = 0  # of the measurement, from 1; 0: the launch measures all of it (`portions_of`)
    variant: str = DEFAULT_VARIANT

    def __str__(self) -> str:
        portion = f"-portion{self.portion}" if self.portion else ""
        variant = "" if self.variant == DEFAULT_VARIANT else f"@{self.variant}"  # names cannot contain "@"
        return f"{self.library}-n{self.ranks}-{self.environment}{variant}-{self.number:03}{portion}"

    @property
    def configuration(self) -> str:
        """The configuration as text for users."""
        environment = "" if self.environment == DEFAULT_ENVIRONMENT else f", {self.environment}"
        variant = "" if self.variant == DEFAULT_VARIANT else f", {self.variant}"
        return f"{self.library}, {counted(self.ranks, 'rank')}{environment}{variant}"


@dataclass(frozen=True)
class Plan:
    """The plan of an experiment."""

    name: str
    measurement: Measurement
    libraries: tuple[Library, ...]
    ranks: tuple[int, ...] = (2,)
    environments: tuple[Environment, ...] = (Environment(),)
    variants: tuple[Variant, ...] = (Variant(),)
    launches: int = 10  # per configuration
    # Maximum number of rounds to get `launches` per configuration in one state of the machine; 0: `launches`.
    most_rounds: int = 0
    interval: float = 0.0  # s between starts of rounds; 0: no pause
    over: float = 0.0  # s from the start of the first round to that of the last; 0: not spread
    timeout: float = 0.0  # s per launch; 0: estimated from its size
    seed: int = 0
    # Add rounds until each cell's interval has at most this relative width, (high - low) / estimate; 0: no rounds.
    width: float = 0.0
    max_launches: int = 50  # limit of these rounds

    @property
    def spacing(self) -> float:
        """Planned time between starts of rounds, s; 0: no pause."""
        return self.over / max(1, self.launches - 1) or self.interval

    @property
    def on_machine(self) -> Plan:
        """The plan without simulated clusters; a simulated experiment then has no library, so no launch."""
        return dataclasses.replace(self, libraries=tuple(each for each in self.libraries if not each.simulate))

    def library(self, name: str) -> Library:
        """The library of that name."""
        return next(library for library in self.libraries if library.name == name)

    def environment(self, name: str) -> Environment:
        """The environment of that name."""
        return next(environment for environment in self.environments if environment.name == name)

    def variant(self, name: str) -> Variant:
        """The variant of that name."""
        return next(variant for variant in self.variants if variant.name == name)

    def time_limit(self, key: LaunchKey) -> float:
        """The time limit of a launch, s."""
        return self.timeout or self.measurement_of(key).time_limit(key.ranks, self.library(key.library).simulate)

    def configurations(self) -> list[tuple[object, ...]]:
        """All configurations in the order of the plan and of tables; values in the order of `LAUNCH_FACTORS`."""
        libraries = [library.name for library in self.libraries]
        environments = [environment.name for environment in self.environments]
        variants = [variant.name for variant in self.variants]
        return list(itertools.product(libraries, self.ranks, environments, variants))

    def measurement_of(self, key: LaunchKey) -> Measurement:
        """The measurement of a launch: its portion, with the variant's operations."""
        portions = portions_of(self.measurement, self.library(key.library).fixed_at_start)
        portion = portions[max(0, key.portion - 1)]
        variant = self.variant(key.variant)
        return dataclasses.replace(
            portion, operations=tuple(variant.operation(operation) for operation in portion.operations)
        )

    def program_of(self, key: LaunchKey) -> tuple[str, ...]:
        """The program of a launch, with its arguments."""
        bench = self.variant(key.variant).bench or self.library(key.library).bench
        return (bench, *self.measurement_of(key).arguments())

    def variables_of(self, key: LaunchKey) -> dict[str, str]:
        """The environment variables set for a launch."""
        return {**self.environment(key.environment).variables, **self.variant(key.variant).variables}

    def round_order(self, number: int) -> list[LaunchKey]:
        """The launches of a round, one per configuration, in random order by the seed.

        Variants of a configuration are launched one after another. Their order is drawn for odd rounds and reversed
        for even ones, so that each variant is first as often as last.
        """
        order = []
        for library in self.libraries:
            count = len(portions_of(self.measurement, library.fixed_at_start))
            portions = range(1, count + 1) if count > 1 else [0]
            order += [
                LaunchKey(library.name, ranks, environment.name, number, portion)
                for ranks in self.ranks
                for environment in self.environments
                for portion in portions
            ]
        random.Random(f"{self.seed} {number}").shuffle(order)
        return [dataclasses.replace(key, variant=name) for key in order for name in self.variant_order(key)]

    def variant_order(self, key: LaunchKey) -> list[str]:
        """Names of the variants in launch order; the variant of `key` is ignored."""
        names = [variant.name for variant in self.variants]
        # Rounds 1 and 2 share a seed, as do 3 and 4 ...; the second one of a pair has the reversed order.
        pair = dataclasses.replace(key, number=(key.number + 1) // 2)
        random.Random(f"{self.seed} {pair}").shuffle(names)
        return names if key.number % 2 else names[::-1]

    def launch_order(self) -> list[LaunchKey]:
        """All launches, round by round."""
        return [key for number in range(1, self.launches + 1) for key in self.round_order(number)]
