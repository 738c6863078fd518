"""Simulated clusters: what they are, how SimGrid's smpirun starts programs on them, and how long that takes.

A cluster is `fat-tree(nodes=1024,jitter=100ns)`; docs/simulation.md says what is simulated. The platform itself is
bench/smpi/platform.cc, which smpirun loads.
"""

from __future__ import annotations

import dataclasses
import math
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

from downbeat.run.libraries import CHECKOUT
from downbeat.text import seconds_of, split_list

SIMULATOR = "simgrid"  # of the build tree, and in place of an MPI library
PLATFORM = "downbeat-platform.so"
# Of SMPI: collectives as Open MPI selects them, but for the broadcast, whose selection takes 30 times as long to
# simulate from 512 ranks on; computation takes no simulated time; calls return errors; a message whose receive
# comes late is there already.
SIMGRID_CONFIGURATION = (
    "smpi/coll-selector:ompi",
    "smpi/bcast:binomial_tree",
    "smpi/simulate-computation:no",
    "smpi/host-speed:1Gf",
    "smpi/errors-are-fatal:no",
    "smpi/async-small-thresh:65536",
    "network/crosstraffic:no",  # acknowledgments take no bandwidth
    "contexts/stack-size:512",  # KiB
)
ERRORS_ALONE = "--log=root.thres:error"


class SpecificationError(ValueError):
    """A platform is not valid; the text says why, and what would be."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a platform, with its least and largest value."""

    default: float
    least: float
    most: float
    unit: str  # "s", "1" for whole numbers, "" for others
    meaning: str

    def parse(self, text: str) -> float | None:
        """Returns a value, or None if it is not valid."""
        value = seconds_of(text)  # NaN is not between any limits
        if self.unit != "s" and text[-1:].isalpha():
            return None
        if not self.least <= value <= self.most or (self.unit == "1" and value != math.floor(value)):
            return None
        return value

    @property
    def valid(self) -> str:
        """The valid values, in words."""
        kind = {"s": "a time such as 2us", "1": "a whole number"}.get(self.unit, "a number")
        return f"{kind} from {self.least:g} to {self.most:g}{' s' if self.unit == 's' else ''}"


COMMON: Mapping[str, Parameter] = {
    "nodes": Parameter(math.nan, 1, 65536, "1", "hosts"),
    "ranks_per_node": Parameter(1, 1, 1024, "1", "ranks of a host, which share its clock"),
    "latency": Parameter(math.nan, 1e-9, 1, "s", "of a link; of a cluster from node to node"),
    "local_latency": Parameter(3e-7, 1e-9, 1, "s", "between ranks of a node"),
    "bandwidth": Parameter(12.5e9, 1e3, 1e18, "", "of a link, bytes/s"),
    "overhead": Parameter(0, 0, 1, "s", "of sending a message, and of receiving one, to the rank that does"),
    "jitter": Parameter(0, 0, 1, "s", "mean of a delay of each message, exponentially distributed"),
    "tail": Parameter(0, 0, 1, "s", "scale of a longer delay, Pareto with exponent 1.5"),
    "tail_share": Parameter(0, 0, 1, "", "of the messages that have it"),
    "asymmetry": Parameter(0, 0, 1, "", "of one-way delays between nodes: their difference / their mean"),
    "late": Parameter(0, 0, 1, "s", "how late a rank wakes up that was preempted while it waited"),
    "late_share": Parameter(0, 0, 1, "", "of the waits for a deadline that end so late"),
    "offset": Parameter(1e-3, 0, 1e6, "s", "bound of the offsets of the hosts' clocks, at the start"),
    "skew": Parameter(10e-6, 0, 0.1, "", "bound of their relative difference in frequency from true time"),
    "wander": Parameter(2e-9, 0, 0.1, "", "bound of the wander of their frequency"),
    "seed": Parameter(1, 0, 2**53, "1", "of delays and clocks"),
}
# Topology -> what it has beside or in place of COMMON.
TOPOLOGIES: Mapping[str, Mapping[str, Parameter]] = {
    "cluster": {"latency": Parameter(1.5e-6, 1e-9, 1, "s", "from node to node")},
    "fat-tree": {
        "latency": Parameter(2.5e-7, 1e-9, 1, "s", "of a link: 2 of them under one switch, else 4"),
        "radix": Parameter(32, 1, 1024, "1", "nodes of a leaf switch, and its links to the spines"),
    },
    "dragonfly": {
        "latency": Parameter(2.5e-7, 1e-9, 1, "s", "of a link"),
        "nodes_per_router": Parameter(4, 1, 1024, "1", "nodes of a router"),
        "routers": Parameter(16, 1, 1024, "1", "routers of a group"),
    },
}


def parameters_of(topology: str) -> dict[str, Parameter]:
    """Returns the parameters of a topology by name."""
    return {**COMMON, **TOPOLOGIES[topology]}


@dataclasses.dataclass(frozen=True)
class Platform:
    """A simulated cluster."""

    topology: str
    values: Mapping[str, float]

    @property
    def nodes(self) -> int:
        return int(self.values["nodes"])

    @property
    def ranks_per_node(self) -> int:
        return int(self.values["ranks_per_node"])

    @property
    def ranks(self) -> int:
        """How many ranks it has room for."""
        return self.nodes * self.ranks_per_node

    def __str__(self) -> str:
        """The platform with every parameter, times in s: what the platform reads, and what files have."""
        inside = ",".join(f"{name}={value:.12g}" for name, value in self.values.items())
        return f"{self.topology}({inside})"

    def with_seed(self, seed: int) -> Platform:
        """Returns the platform with other delays and clocks."""
        return dataclasses.replace(self, values={**self.values, "seed": float(seed)})

    def hosts(self, ranks: int) -> list[str]:
        """Returns the host of each rank: nodes are filled one after another."""
        return [f"node-{rank // self.ranks_per_node}" for rank in range(ranks)]

    def validation(self) -> str:
        """Returns the hosts' clocks, as the library's setting `validation`."""
        clocks = {name: self.values[name] for name in ("offset", "skew", "wander", "seed")}
        inside = ",".join(f"{name}={value:.12g}" for name, value in clocks.items())
        return f"{inside},ranks_per_clock={self.ranks_per_node}"

    def environment(self) -> dict[str, str]:
        """Returns what the platform and the ranks want to find in the environment; what the user has set goes first."""
        return {"SIMULATED_PLATFORM": str(self), "DOWNBEAT_VALIDATION": self.validation()}


def parse_platform(text: str) -> Platform:
    """Parses `topology(name=value,...)`.

    Raises:
        SpecificationError: it is not valid.
    """
    found = re.fullmatch(r"\s*([a-z-]+)\s*(?:\((.*)\))?\s*", text)
    if not found or found[1] not in TOPOLOGIES:
        raise SpecificationError(
            f"'{text}' is not a platform; choose one of {', '.join(TOPOLOGIES)}, e.g. 'fat-tree(nodes=1024)'"
        )
    topology = found[1]
    parameters = parameters_of(topology)
    values = {name: parameter.default for name, parameter in parameters.items()}
    given: set[str] = set()
    for word in split_list(found[2]) if found[2] else []:
        name, equals, content = (part.strip() for part in word.partition("="))
        if not equals or name not in parameters:
            raise SpecificationError(
                f"'{word}' is not a parameter of {topology}; give {', '.join(parameters)} as NAME=VALUE"
            )
        if name in given:
            raise SpecificationError(f"'{text}' gives {name} twice")
        given.add(name)
        value = parameters[name].parse(content)
        if value is None:
            raise SpecificationError(f"{name}={content} is not valid; give {parameters[name].valid}")
        values[name] = value
    missing = [name for name, value in values.items() if math.isnan(value)]
    if missing:
        raise SpecificationError(f"'{text}' has no {missing[0]}; e.g. {topology}({missing[0]}=64)")
    check_shape(topology, values)
    return Platform(topology, values)


def check_shape(topology: str, values: Mapping[str, float]) -> None:
    """Checks what parameters must be together.

    Raises:
        SpecificationError: they are not.
    """
    if topology != "dragonfly":
        return
    routers = int(values["routers"])
    groups = math.ceil(values["nodes"] / (values["nodes_per_router"] * routers))
    if groups > routers:
        raise SpecificationError(
            f"{values['nodes']:g} nodes are {groups} groups, but a router has a link to one other group at most, and "
            f"a group {routers} routers; raise routers or nodes_per_router"
        )


REPETITIONS = "20"  # each costs simulation time, and without jitter they are equal
WARMUP = "3"  # there is no cache to warm, and a rule that watches samples takes more time than they


def options_of(options: dict[str, str]) -> dict[str, str]:
    """Options of downbeat-bench with the defaults of simulations."""
    repetitions = {} if "stop" in options else {"repetitions": REPETITIONS}
    return repetitions | {"warmup": WARMUP} | options


def seeded(text: str, number: int) -> str:
    """The platform of a launch, from 1: launches have delays and clocks of their own, as on a machine."""
    platform = parse_platform(text)
    return str(platform.with_seed(int(platform.values["seed"]) + number - 1))


def without_seed(text: str) -> str:
    """Returns a platform as files have it, without what differs between launches."""
    return re.sub(r",seed=[^,)]*", "", text)


def platforms_of(contexts: Iterable[Mapping[str, object]]) -> list[str]:
    """The platforms of launches, each once, in words; none of launches on machines."""
    texts = (without_seed(str(one["simulated"])) for one in contexts if "simulated" in one)
    return [text.replace(",", ", ") for text in dict.fromkeys(texts)]


def model_lines(platforms: Iterable[str]) -> list[str]:
    """Says of each platform that its numbers are not those of a machine."""
    return [
        f"simulated, not measured, on {platform}: numbers are those of this model of a cluster, and of no machine; "
        "docs/simulation.md says what the model has"
        for platform in platforms
    ]


def platform_object() -> str | None:
    """Returns the shared object that makes platforms, as the build leaves it in a checkout."""
    path = CHECKOUT / "build" / SIMULATOR / "lib" / PLATFORM
    return str(path) if path.is_file() else None


def smpirun_command(platform: Platform, ranks: int, directory: Path) -> list[str]:
    """Returns the command that starts a program, which follows, on a platform; writes its host file.

    Args:
        platform: the simulated cluster.
        ranks: of the program.
        directory: for temporary files.

    Raises:
        SpecificationError: it is too small, or there is no SimGrid.
    """
    if ranks > platform.ranks:
        raise SpecificationError(
            f"{ranks} ranks do not fit on {platform.nodes} nodes of {platform.ranks_per_node}; "
            "raise nodes or ranks_per_node"
        )
    smpirun, shared_object = shutil.which("smpirun"), platform_object()
    if not (smpirun and shared_object):
        lacking = "smpirun" if not smpirun else PLATFORM
        raise SpecificationError(f"found no {lacking} to simulate with; run 'make build MPI={SIMULATOR}'")
    hosts = directory / "hosts"
    hosts.write_text("".join(f"{host}\n" for host in platform.hosts(ranks)), encoding="ascii")
    settings = [f"--cfg={setting}" for setting in SIMGRID_CONFIGURATION]
    start = [smpirun, "-np", str(ranks), "-platform", shared_object, "-hostfile", str(hosts), "-no-privatize"]
    return [*start, *settings, ERRORS_ALONE]


# What SimGrid says of a rank that fails, in a dozen lines. After a deadlock its exit status is 0.
DEADLOCK = b"Deadlock detected"
SIMULATORS = re.compile(
    rb"\[[^]]*\] .*(/CRITICAL\]|is gone\?\?)|Backtrace \(displayed in|  -> +\d|.* --cfg=smpi/|"
    rb"Execution failed with code (\d+)|(?:Floating point exception|Segmentation fault|Aborted)"
)


class SimulatorsMessages:
    """The simulator's standard error; `failed` holds in a line why the ranks did, if they did."""

    def __init__(self) -> None:
        self.failed = ""

    def forward(self, source: IO[bytes], target: IO[bytes]) -> None:
        """Copies what programs say, and keeps what the simulator says of their failure."""
        for line in source:
            if DEADLOCK in line:
                self.failed = "the ranks wait for each other: each for a message that none of them sends"
            elif not (found := SIMULATORS.match(line)):
                target.write(line)
                target.flush()
            elif found[2] and not self.failed:
                self.failed = f"a rank failed, with exit status {int(found[2])}"


# Simulation takes processor time by messages.
MESSAGE_SECONDS = 30e-6
SIMULATED_START_SECONDS, SIMULATED_RANK_SECONDS = 1.0, 6e-3
# SMPI makes a nonblocking collective of messages from each rank to each, and looks for each among all that wait:
# measured with iallreduce and ialltoall on 32 to 128 ranks.
NONBLOCKING_SECONDS = 3.3e-8  # of a call, times ranks to the fourth power


def simulated_seconds(ranks: int, samples: float = 0.0, operations: Sequence[str] = (), messages: float = 0.0) -> float:
    """The processor time of a launch that simulates samples of operations, and other messages."""
    messages += samples * sample_messages(ranks, operations)
    start = SIMULATED_START_SECONDS + SIMULATED_RANK_SECONDS * ranks
    return start + MESSAGE_SECONDS * messages + samples * nonblocking_seconds(ranks, operations)


def sample_messages(ranks: int, operations: Sequence[str]) -> float:
    """The messages of a sample, roughly; in alltoall each rank sends to each."""
    trees = 2.0 * ranks * math.log2(ranks)
    return trees + (ranks**2 / 2 if any("alltoall" in one for one in operations) else 0.0)


def nonblocking_seconds(ranks: int, operations: Sequence[str]) -> float:
    """The processor time of a sample beside that of its messages, mean over the operations."""
    slow = [one for one in operations if one.startswith(("iall", "ireduce_scatter"))]
    return NONBLOCKING_SECONDS * ranks**4 * len(slow) / max(1, len(operations))


def place_of(context: Mapping[str, object]) -> tuple[str, str]:
    """The hosts of a launch, or the platform that it was simulated on."""
    if "simulated" in context:
        return "simulated", without_seed(str(context["simulated"])).replace(",", ", ")
    return "hosts", str(context["hosts"])
