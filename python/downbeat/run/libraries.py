"""The MPI libraries that Downbeat runs under: where each one's launcher is, its options, its messages.

docs/install.md says why.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

from downbeat.errors import DownbeatError
from downbeat.run.job import HYDRA_OPTIONS, OPEN_MPI_OPTIONS, Options, ranks_on_a_node
from downbeat.run.mpi_abi import NEEDED, abi_of, is_mpi
from downbeat.text import one_line

CHECKOUT = Path(__file__).resolve().parents[3]  # the checkout, where this is one
FETCHED = CHECKOUT / ".mpi"  # where tools/setup installs the libraries that Debian has not
PLAIN_LAUNCHERS = ("mpirun", "mpiexec")
HOME = {"HOME": str(Path.home())}  # without one nothing of Open MPI 5 starts


@dataclasses.dataclass(frozen=True)
class Places:
    """How many ranks, and where they can go: the CPUs that this process may use, one list per core."""

    ranks: int
    cores: list[list[int]]
    nodes: int = 1  # that the launcher uses by itself in a batch job, assumed to be equal
    per_node: int = 0  # the most ranks that a node gets; 0: as the launcher does it

    @property
    def cpus(self) -> list[int]:
        return [cpu for core in self.cores for cpu in core]

    @property
    def crowded(self) -> bool:
        """Whether there are fewer CPUs than ranks."""
        return self.beyond(self.cpus)

    def beyond(self, units: Sequence[object]) -> bool:
        """Whether there are more ranks than CPUs, or cores, on some node."""
        return ranks_on_a_node(self.ranks, self.per_node, self.nodes) > len(units)

    @property
    def unit(self) -> str:
        """The part of the machine that each rank has for itself."""
        return "hwthread" if self.beyond(self.cores) else "core"

    @property
    def cpu_of_rank(self) -> list[int]:
        """Where the ranks of a node go, in their order; with several nodes it may have fewer ranks."""
        cpus = [core[0] for core in self.cores] if self.unit == "core" else self.cpus
        return cpus[: self.ranks] if self.nodes == 1 else cpus

    @property
    def narrowed(self) -> bool:
        """Whether some of the machine's CPUs are left out (taskset, a batch system's share)."""
        return len(self.cpus) < (os.cpu_count() or 1)

    def filled(self, words: Iterable[str]) -> list[str]:
        """Returns words with the values given here in place of their names."""
        cpus, pinned = (",".join(map(str, each)) for each in (self.cpus, self.cpu_of_rank))
        return [word.format(per_node=self.per_node, unit=self.unit, cpus=cpus, pinned=pinned) for word in words]


Variables = Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class MpiLibrary:
    """A library under the name that --mpi and DOWNBEAT_MPI take, and how it differs from the others.

    In words of the launcher and in variables, {per_node}, {unit}, {cpus} and {pinned} are those of `Places`. Variables
    of the user's own stay.
    """

    launcher: str | Path  # a name on the path, or a path
    version: str  # regular expression: what its launcher says of itself
    abis: tuple[str, ...]  # of the libraries that its programs need
    says: str  # regular expression: begins what MPI_Get_library_version says
    options: Options
    # Words of the launcher: for a number of ranks per node; for hardware threads; for a core or thread each; the same
    # where some of the machine's CPUs are left out; for more ranks than CPUs.
    spread: tuple[str, ...]
    threads: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()
    narrowed: tuple[str, ...] = ()
    crowded: tuple[str, ...] = ()
    # Variables: always; with a number of ranks per node; for ranks with a core each; for more ranks than CPUs.
    variables: Variables = dataclasses.field(default_factory=dict)
    spread_variables: Variables = dataclasses.field(default_factory=dict)
    bound_variables: Variables = dataclasses.field(default_factory=dict)
    crowded_variables: Variables = dataclasses.field(default_factory=dict)
    # Collectives whose algorithm is read in MPI_Init alone (docs/algorithms.md); "*": all.
    fixed_at_start: tuple[str, ...] = ()
    # The plugin for `srun --mpi=`; None: the library's own launcher uses Slurm.
    srun_plugin: str | None = None

    @property
    def hydra(self) -> bool:
        """Whether Hydra starts its programs, rather than Open MPI's launcher."""
        return self.options is HYDRA_OPTIONS

    def arguments(self, places: Places) -> list[str]:
        """Returns the launcher's arguments that place the ranks."""
        words = self.spread if places.per_node else ()
        if places.crowded:
            return places.filled((*words, *self.crowded))
        threads = self.threads if places.unit == "hwthread" else ()
        return places.filled((*threads, *words, *(self.narrowed if places.narrowed else self.bound)))

    def environment(self, places: Places) -> dict[str, str]:
        """Returns what the launcher and the ranks want to find in the environment."""
        found = {**self.variables, **(self.spread_variables if places.per_node else {})}
        found |= self.crowded_variables if places.crowded else self.bound_variables
        return dict(zip(found, places.filled(found.values()), strict=True))

    def owns(self, launcher: str | Path) -> bool:
        """Whether a launcher is this library's, by what it says of itself."""
        env = {**HOME, **os.environ}
        answer = subprocess.run(
            [launcher, "--version"], env=env, capture_output=True, text=True, errors="replace", check=False
        ).stdout
        return re.search(self.version, answer, re.DOTALL) is not None

    def find_launcher(self) -> str | None:
        """Returns the launcher from where it is expected, else the plain one on the path if it is this library's."""
        expected = shutil.which(str(self.launcher))
        if expected:
            return expected
        return next((found for name in PLAIN_LAUNCHERS if (found := shutil.which(name)) and self.owns(found)), None)


def fetched(name: str) -> Path:
    """Returns the launcher of a library in .mpi. Intel's mpirun is a script that starts the path's mpiexec.hydra."""
    return FETCHED / name / "bin" / "mpiexec"


ROOT_ALLOWED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
OPEN_MPI = MpiLibrary(
    "mpirun.openmpi", "Open MPI|OpenRTE|PRRTE", ("openmpi",), "Open MPI", OPEN_MPI_OPTIONS,
    spread=("--map-by", "ppr:{per_node}:node"),
    threads=("--use-hwthread-cpus",),  # it counts cores as slots unless an option makes it count threads
    bound=("--bind-to", "{unit}"),
    narrowed=("--cpu-set", "{cpus}", "--bind-to", "{unit}"),  # it does not heed a narrowed affinity
    crowded=("--oversubscribe", "--bind-to", "none"),  # it then yields by itself
    variables={
        "OMPI_MCA_btl_base_warn_component_unused": "0", "OMPI_MCA_mca_base_component_show_load_errors": "0",
        **ROOT_ALLOWED,
    },
    fixed_at_start=("allgatherv",),
    srun_plugin="pmix",
)  # fmt: skip
MPICH = MpiLibrary(
    "mpirun.mpich", "HYDRA", ("mpich",), "MPICH", HYDRA_OPTIONS,
    spread=("-ppn", "{per_node}"),
    bound=("-bind-to", "{unit}"),
    narrowed=("-bind-to", "user:{pinned}"),  # it does not heed a narrowed affinity
    # A rank that waits leaves its core to the others. MPICH 4.0 has no such setting.
    crowded_variables={
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    },
    srun_plugin="pmi2",
)  # fmt: skip
# openmpi and mpich are the system's, of whatever version. Later entries are the more specific ones.
LIBRARIES: Mapping[str, MpiLibrary] = {
    "openmpi": OPEN_MPI,
    "mpich": MPICH,
    "openmpi5": dataclasses.replace(
        OPEN_MPI, launcher=fetched("openmpi5"), version=r"Open MPI\) [5-9]|PRRTE", says="Open MPI v[5-9]",
        # Its one-sided communication by UCX complains on a machine without a fast network.
        variables={**OPEN_MPI.variables, **HOME, "OMPI_MCA_osc": "^ucx"},
    ),
    "mpich5": dataclasses.replace(
        MPICH, launcher=fetched("mpich5"), version=r"HYDRA.*Version: *[5-9]", abis=("mpich", "abi"),
        says=r"MPICH Version:\s*[5-9]",
        # Its ranks exchange addresses of UCX together with whatever was in memory beside them, compressed. Where that
        # does not compress well, a message is too long for srun's pmi2, and MPI_Init fails. Its own launcher takes it.
        srun_plugin=None,
    ),
    "intelmpi": MpiLibrary(
        fetched("intelmpi"), r"Intel\(R\) MPI", ("mpich", "abi"), r"Intel\(R\) MPI", HYDRA_OPTIONS,
        spread=("-ppn", "{per_node}"),
        # In a job it would rather follow the batch system than -ppn.
        spread_variables={"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"},
        bound_variables={"I_MPI_PIN_PROCESSOR_LIST": "{pinned}"},
        crowded_variables={"I_MPI_PIN": "0", "I_MPI_WAIT_MODE": "1"},
        fixed_at_start=("*",),
    ),
}  # fmt: skip


def short_version(text: str) -> str:
    """Returns name and version out of what an MPI library says of itself, which may be as long as its configuration."""
    first = re.split(r",|\s+MPICH Release date|\n", text)[0]
    return re.sub(r"\s+", " ", first.replace("Version:", "")).strip()


def library_saying(version: str) -> str | None:
    """Returns the name of the library whose MPI_Get_library_version says this; None if unknown."""
    return next((name for name, one in reversed([*LIBRARIES.items()]) if re.match(one.says, version)), None)


def packaged(abi: str = "") -> Path | None:
    """Returns where the wheel has its programs for an ABI of MPI, or for all; None where they are not installed."""
    package = Path(__file__).resolve().parents[1]
    for prefix in (package.parents[3], package.parent):  # <prefix>/lib/python3.N/site-packages; pip install --target
        if (prefix / "lib/downbeat").is_dir():
            return prefix / "lib/downbeat" / abi if abi else prefix
    return None


def packaged_bench() -> str | None:
    """Returns the wheel's downbeat-bench, which finds the MPI library when it starts."""
    prefix = packaged()
    return shutil.which(str(prefix / "bin/downbeat-bench")) if prefix else None


def linked_mpi(program: str) -> Path | None:
    """Returns the MPI library that a program would load, as far as can be seen.

    Raises:
        DownbeatError: ldd cannot do its work, e.g. because there can be no more processes.
    """
    of_wheel = packaged_bench()
    if of_wheel and Path(of_wheel).resolve() == Path(program).resolve():
        said = subprocess.run([program, "--mpi-library"], capture_output=True, text=True, check=False).stdout
        path = Path(said.strip())
        return path.parent.resolve() / path.name if abi_of(path) else None
    if shutil.which("ldd") is None:
        return None
    try:
        done = subprocess.run(["ldd", program], capture_output=True, text=True, errors="surrogateescape", check=False)
    except OSError as error:
        raise DownbeatError(f"cannot look at '{program}' with ldd: {error.strerror}") from error
    if done.returncode not in (0, 1):  # 1: it is not a dynamic executable
        reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise DownbeatError(f"cannot look at '{program}' with ldd: {reason}")
    for name, path in re.findall(r"^\s*(\S+) => (/.*?|not found)(?: \(0x|$)", done.stdout, re.MULTILINE):
        if name in NEEDED and path == "not found":
            return Path(name)
        if is_mpi(Path(path)):  # Open MPI's launcher refuses to be called from /bin, if that is /usr/bin
            return Path(path).parent.resolve() / Path(path).name
    return None


def launcher_of(linked: Path) -> tuple[MpiLibrary, str] | None:
    """Returns the library of a shared object, and its launcher: a foreign one would start P programs of one rank."""
    abi = abi_of(linked) if linked.is_file() else NEEDED.get(linked.name)
    able = [library for library in LIBRARIES.values() if abi in library.abis]
    # Two libraries may share a name, but not a directory: <prefix>/lib and, Intel's, <prefix>/lib/release.
    for prefix in linked.parents[1:3]:
        for name in PLAIN_LAUNCHERS[::-1]:
            launcher = shutil.which(str(prefix / "bin" / name))
            owner = next((library for library in reversed(able) if launcher and library.owns(launcher)), None)
            if launcher and owner:
                return owner, launcher
    for library in able:
        found = library.find_launcher()
        if found:
            return library, found
    return None


# Open MPI's mpirun frames each of its messages with such lines.
FRAME = b"-" * 74
# What it says when a rank ends with a non-zero status. The program has said why; the status says the rest.
NEEDLESS = (b"exited with non-zero status", b"a non-zero exit code", b"MPI_ABORT was invoked")
# What it says, in 27 lines, of more ranks than slots.
TOO_FEW_SLOTS = b"not enough slots available"
MORE_SLOTS = (
    b"launch: Open MPI's launcher has fewer slots than ranks, by default one per core; start fewer ranks, or add "
    b"--oversubscribe --bind-to none to the launcher's command\n"
)
LONGEST_MESSAGE = 40  # lines
# Progress of downbeat-bench on standard error.
PROGRESS = r"downbeat-bench: (?P<progress>(?:about|at least) .* left, \d+ % of .* measured), "
# srun's last lines after a failed step. The program or Slurm has already printed the reason.
NO_REASON = re.compile(
    rf"{PROGRESS}|downbeat-bench: \d+ of \d+ cells complete, |"
    r"(srun|slurmstepd\S*): .*"
    r"(: tasks? [\d,-]+: (Exited with exit code \d+|Killed|Terminated)$|\*\*\* STEP |Job step aborted|Terminating )|"
    r"\[\S+\] (\d+ more process|Set MCA parameter )"  # what Open MPI says after its reason
)


def forward_messages(source: IO[bytes], target: IO[bytes]) -> None:
    """Copies the launcher's standard error, line by line, without its needless messages; long ones are one line."""

    def write(lines: list[bytes]) -> None:
        target.write(b"".join(lines))
        target.flush()

    message: list[bytes] = []
    for line in source:
        if not message and not line.startswith(FRAME):
            write([line])
            continue
        message.append(line)
        closed = len(message) > 1 and line.startswith(FRAME)
        if closed or len(message) == LONGEST_MESSAGE:
            if closed and any(TOO_FEW_SLOTS in each for each in message):
                write([MORE_SLOTS])
            elif not (closed and any(text in each for each in message for text in NEEDLESS)):
                write(message)
            message = []
    write(message)


def last_line(path: Path) -> str:
    """Returns the last line of a file that says something; programs say last why they end."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    said = [line.strip() for line in lines if line.strip(" -=*")]
    said = [line for line in said if not NO_REASON.match(line)] or said
    return one_line(said[-1]) if said else ""
