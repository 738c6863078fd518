"""Simulated clusters: their specification, the smpirun command of SimGrid, and the expected run time.

A specification is `fat-tree(nodes=1024,jitter=100ns)`; docs/simulation.md describes the model. smpirun loads the
platform, bench/smpi/platform.cc.
"""

from __future__ import annotations

import dataclasses
import math
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

from downbeat.run.durations import sample_seconds, start_seconds
from downbeat.run.libraries import CHECKOUT
from downbeat.text import seconds_of, split_list

SIMULATOR = "simgrid"  # name of the build directory; stands for the name of an MPI library
PLATFORM = "downbeat-platform.so"  # shared object that describes the simulated cluster to SimGrid
# SMPI: Open MPI's selection of collectives, except for broadcast, whose selected algorithms simulate 30 times slower
# from 512 ranks on; computation takes no simulated time; calls return errors; small messages are sent before
# their receives are posted.
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
ONLY_ERRORS = "--log=root.thres:error"  # no other messages of SimGrid


class SpecificationError(ValueError):
    """A platform is not valid; the message has the reason and the valid values."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a platform, with its smallest and largest value."""

    default: float  # NaN: the parameter is required
    minimum: float
    maximum: float
    unit: str  # "s": time, "1": whole number, "": other number
    meaning: str

    def parse(self, text: str) -> float | None:
        """The value of a text; None if it is not valid."""
        value = seconds_of(text)  # NaN if it is not a number; then it is not between the limits
        if self.unit != "s" and text[-1:].isalpha():
            return None
        if not self.minimum <= value <= self.maximum or (self.unit == "1" and value != math.floor(value)):
            return None
        return value

    @property
    def valid(self) -> str:
        """The valid values as text."""
        kind = {"s": "a time such as 2us", "1": "a whole number"}.get(self.unit, "a number")
        return f"{kind} from {self.minimum:g} to {self.maximum:g}{' s' if self.unit == 's' else ''}"


# Parameters of all topologies. A meaning that starts with "of" continues the name: "latency of a link".
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
# Parameters of a planted fault; a platform has only those that its specification names.
FAULTS: Mapping[str, Parameter] = {
    "faulty": Parameter(-1, 0, 65535, "1", "number of the node with the fault"),
    "faulty_to": Parameter(-1, 0, 65535, "1", "node at the other end of a faulty link; none: all links"),
    "slow_out": Parameter(1, 1, 1e6, "", "times that messages of the faulty node or link take"),
    "slow_in": Parameter(1, 1, 1e6, "", "times that messages to it take"),
    "slow_core": Parameter(1, 1, 1e6, "", "times that computation on it takes"),
    "noise": Parameter(0, 0, 1, "", "share of the time in which its processor is taken away"),
    "noise_length": Parameter(1e-4, 1e-9, 1, "s", "for which it is taken away"),
}
# Topology -> parameters in addition to, or instead of, COMMON.
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


@dataclasses.dataclass(frozen=True)
class Platform:
    """A simulated cluster."""

    topology: str  # key of TOPOLOGIES
    values: Mapping[str, float]  # parameter -> value

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return int(self.values["nodes"])

    @property
    def ranks_per_node(self) -> int:
        """The number of ranks that fit on a node."""
        return int(self.values["ranks_per_node"])

    @property
    def ranks(self) -> int:
        """The number of ranks that fit on the cluster."""
        return self.nodes * self.ranks_per_node

    def __str__(self) -> str:
        """The specification with all parameters, times in s, for the simulator and for files."""
        parameters = ",".join(f"{name}={value:.12g}" for name, value in self.values.items())
        return f"{self.topology}({parameters})"

    def with_seed(self, seed: int) -> Platform:
        """The platform with another seed of delays and clocks."""
        return dataclasses.replace(self, values={**self.values, "seed": float(seed)})

    def hosts(self, ranks: int) -> list[str]:
        """The host of each rank; nodes are filled one after another."""
        return [f"node-{rank // self.ranks_per_node}" for rank in range(ranks)]

    def validation(self) -> str:
        """The hosts' clocks, as a value of the library's setting `validation`."""
        clocks = {name: self.values[name] for name in ("offset", "skew", "wander", "seed")}
        parameters = ",".join(f"{name}={value:.12g}" for name, value in clocks.items())
        return f"{parameters},ranks_per_clock={self.ranks_per_node}"

    def environment(self) -> dict[str, str]:
        """Environment variables of the simulator and the ranks; the user's variables take precedence."""
        return {"SIMULATED_PLATFORM": str(self), "DOWNBEAT_VALIDATION": self.validation()}


def parse_platform(text: str) -> Platform:
    """Parses `topology(name=value,...)`.

    Raises:
        SpecificationError: it is not valid.
    """
    match = re.fullmatch(r"\s*([a-z-]+)\s*(?:\((.*)\))?\s*", text)
    if not match or match[1] not in TOPOLOGIES:
        raise SpecificationError(
            f"'{text}' is not a platform; choose one of {', '.join(TOPOLOGIES)}, e.g. 'fat-tree(nodes=1024)'"
        )
    topology = match[1]
    parameters = {**COMMON, **TOPOLOGIES[topology]}
    values = {name: parameter.default for name, parameter in parameters.items()}
    parameters |= FAULTS
    named: set[str] = set()
    for word in split_list(match[2]) if match[2] else []:
        name, equals, content = (text.strip() for text in word.partition("="))
        if not equals or name not in parameters:
            raise SpecificationError(
                f"'{word}' is not a parameter of {topology}; give {', '.join(parameters)} as NAME=VALUE"
            )
        if name in named:
            raise SpecificationError(f"'{text}' gives {name} twice")
        named.add(name)
        value = parameters[name].parse(content)
        if value is None:
            raise SpecificationError(f"{name}={content} is not valid; give {parameters[name].valid}")
        values[name] = value
    missing = [name for name, value in values.items() if math.isnan(value)]
    if missing:
        raise SpecificationError(f"'{text}' has no {missing[0]}; e.g. {topology}({missing[0]}=64)")
    check_shape(topology, values)
    check_fault(values)
    return Platform(topology, values)


def check_shape(topology: str, values: Mapping[str, float]) -> None:
    """Checks that the parameters of a topology fit together.

    Raises:
        SpecificationError: a dragonfly has more groups than a router can reach.
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


def check_fault(values: Mapping[str, float]) -> None:
    """Checks that a planted fault has a node of the platform, and a link two different nodes.

    Raises:
        SpecificationError: it has not.
    """
    named = [name for name in FAULTS if name in values]
    if named and "faulty" not in values:
        raise SpecificationError(f"{named[0]} is of a faulty node; give faulty=0 to {values['nodes'] - 1:g} too")
    for name in ("faulty", "faulty_to"):
        if values.get(name, 0) >= values["nodes"]:
            raise SpecificationError(f"{name}={values[name]:g} is no node; give 0 to {values['nodes'] - 1:g}")
    if values.get("faulty_to", -1) == values.get("faulty"):
        raise SpecificationError(f"faulty_to={values['faulty_to']:g} is the faulty node; give another node")


# Defaults of downbeat-bench in simulations.
REPETITIONS = "20"  # few: each costs simulation time, and without jitter all are equal
WARMUP = "3"  # few: there are no caches to warm, and an adaptive rule would simulate more calls than it saves


def options_of(options: dict[str, str]) -> dict[str, str]:
    """Options of downbeat-bench, with defaults for simulations."""
    repetitions = {} if "stop" in options else {"repetitions": REPETITIONS}
    return repetitions | {"warmup": WARMUP} | options


def platform_of_launch(text: str, number: int) -> str:
    """The specification of a platform for launch `number`, from 1: each launch has another seed of delays and clocks.

    "", which stands for a real machine, stays "".
    """
    if not text:
        return ""
    platform = parse_platform(text)
    return str(platform.with_seed(int(platform.values["seed"]) + number - 1))


def without_seed(text: str) -> str:
    """A platform's specification without the seed, which differs between launches."""
    return re.sub(r",seed=[^,)]*", "", text)


def platforms_of(contexts: Iterable[Mapping[str, object]]) -> list[str]:
    """The platforms of simulated launches as text for users, each once; `contexts`: of the launches."""
    texts = (without_seed(str(context["simulated"])) for context in contexts if "simulated" in context)
    return [text.replace(",", ", ") for text in dict.fromkeys(texts)]


def model_lines(platforms: Iterable[str]) -> list[str]:
    """A line per platform: results are simulated."""
    return [
        f"simulated, not measured, on {platform}: numbers are those of this model of a cluster, and of no machine; "
        "docs/simulation.md describes the model"
        for platform in platforms
    ]


def platform_object() -> str | None:
    """Path of the shared object with the platforms, built in a checkout; None if not built."""
    path = CHECKOUT / "build" / SIMULATOR / "lib" / PLATFORM
    return str(path) if path.is_file() else None


def smpirun_command(platform: Platform, ranks: int, directory: Path) -> list[str]:
    """The smpirun command for a platform, to which the caller appends the program; writes the host file.

    Args:
        platform: the simulated cluster.
        ranks: of the program.
        directory: for temporary files.

    Raises:
        SpecificationError: the platform is too small, or SimGrid is missing.
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
    return [*start, *settings, ONLY_ERRORS]


# SimGrid's messages on failed ranks, a dozen lines each. After a deadlock its exit status is 0.
DEADLOCK = b"Deadlock detected"
SIMULATOR_LINE = re.compile(
    rb"\[[^]]*\] .*(/CRITICAL\]|is gone\?\?)|Backtrace \(displayed in|  -> +\d|.* --cfg=smpi/|"
    rb"Execution failed with code (\d+)|(?:Floating point exception|Segmentation fault|Aborted)"
)


class SimulatorMessages:
    """Filters the simulator's standard error; `failed`: reason of the ranks' failure in one line, or ""."""

    def __init__(self) -> None:
        self.failed = ""

    def forward(self, source: IO[bytes], target: IO[bytes]) -> None:
        """Copies lines of programs, and keeps the simulator's reason of a failure in `failed`."""
        for line in source:
            if DEADLOCK in line:
                self.failed = "deadlock: each rank waits for a message that no rank sends"
            elif not (match := SIMULATOR_LINE.match(line)):
                target.write(line)
                target.flush()
            elif match[2] and not self.failed:
                self.failed = f"a rank failed, with exit status {int(match[2])}"


# Processor time of a simulation: per message, per launch, and per rank.
MESSAGE_SECONDS = 30e-6
SIMULATED_START_SECONDS, SIMULATED_RANK_SECONDS = 1.0, 6e-3
# SMPI implements nonblocking collectives by messages from each rank to each, and searches all pending ones for each.
NONBLOCKING_SECONDS = 3.3e-8  # per call and ranks^4; measured: iallreduce and ialltoall on 32 to 128 ranks


def simulated_seconds(ranks: int, samples: float = 0.0, operations: Sequence[str] = (), messages: float = 0.0) -> float:
    """The processor time of a simulated launch, s: `samples` samples of operations, and further messages."""
    messages += samples * sample_messages(ranks, operations)
    start = SIMULATED_START_SECONDS + SIMULATED_RANK_SECONDS * ranks
    return start + MESSAGE_SECONDS * messages + samples * nonblocking_seconds(ranks, operations)


def launch_seconds(platform: str, ranks: int, samples: float, operations: Sequence[str]) -> float:
    """The expected duration of a launch, s.

    Args:
        platform: specification of the simulated cluster; "": a real machine.
        ranks: number of ranks.
        samples: number of samples of all cells.
        operations: names of the measured operations.
    """
    if platform:
        return simulated_seconds(ranks, samples, operations)
    return start_seconds(ranks) + samples * sample_seconds(ranks)


def sample_messages(ranks: int, operations: Sequence[str]) -> float:
    """The approximate number of messages of a sample; in alltoall each rank sends to each."""
    messages = 2.0 * ranks * math.log2(ranks)  # of trees
    if any("alltoall" in name for name in operations):
        messages += ranks**2 / 2
    return messages


def nonblocking_seconds(ranks: int, operations: Sequence[str]) -> float:
    """Extra simulation time per sample for nonblocking operations, mean over the operations, s."""
    slow = [name for name in operations if name.startswith(("iall", "ireduce_scatter"))]
    return NONBLOCKING_SECONDS * ranks**4 * len(slow) / max(1, len(operations))


def hosts_or_platform(context: Mapping[str, object]) -> tuple[str, str]:
    """("simulated", the platform) for a simulated launch, else ("hosts", the hosts of the launch)."""
    if platforms := platforms_of([context]):
        return "simulated", platforms[0]
    return "hosts", str(context.get("hosts", ""))


def host_lines(context: Mapping[str, object]) -> list[str]:
    """The hosts of a launch, each as `name: description`; the platform of a simulated launch."""
    kind, text = hosts_or_platform(context)
    return text.splitlines() if kind == "hosts" else [f"{kind}: {text}"]
