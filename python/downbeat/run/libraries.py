"""The MPI libraries that Downbeat runs under: their launchers, options and messages.

docs/install.md has the reasons.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from downbeat.errors import DownbeatError
from downbeat.run.job import HYDRA_OPTIONS, OPEN_MPI_OPTIONS, Options, ranks_on_a_node
from downbeat.run.mpi_abi import NEEDED, abi_of, is_mpi
from downbeat.text import one_line

CHECKOUT = Path(__file__).resolve().parents[3]  # root directory if this is a checkout
FETCHED = CHECKOUT / ".mpi"  # tools/setup installs libraries that Debian lacks here
PLAIN_LAUNCHERS = ("mpirun", "mpiexec")
HOME = {"HOME": str(Path.home())}  # Open MPI 5 does not start without HOME


@dataclasses.dataclass(frozen=True)
class Placement:
    """The ranks of a launch and the CPUs available to them."""

    ranks: int
    cores: list[list[int]]  # of this node: the CPUs (hardware threads) of each core that this process may use
    nodes: int = 1  # nodes of the batch job, assumed to be equal
    per_node: int = 0  # maximum number of ranks on a node; 0: the launcher decides

    @property
    def cpus(self) -> list[int]:
        """The CPUs of all cores."""
        return [cpu for core in self.cores for cpu in core]

    @property
    def crowded(self) -> bool:
        """Whether some node has more ranks than CPUs."""
        return ranks_on_a_node(self.ranks, self.per_node, self.nodes) > len(self.cpus)

    @property
    def unit(self) -> str:
        """The unit that each rank is bound to: "core" if there is a core for every rank, else "hwthread"."""
        more_than_cores = ranks_on_a_node(self.ranks, self.per_node, self.nodes) > len(self.cores)
        return "hwthread" if more_than_cores else "core"

    @property
    def cpu_of_rank(self) -> list[int]:
        """The CPUs of the ranks of a node, in order; possibly more CPUs than ranks on several nodes."""
        cpus = [core[0] for core in self.cores] if self.unit == "core" else self.cpus
        return cpus[: self.ranks] if self.nodes == 1 else cpus

    def filled(self, words: Iterable[str]) -> list[str]:
        """Words with {per_node}, {unit}, {cpus} (all CPUs) and {pinned} (CPUs of the ranks) replaced."""
        cpus = ",".join(map(str, self.cpus))
        pinned = ",".join(map(str, self.cpu_of_rank))
        return [word.format(per_node=self.per_node, unit=self.unit, cpus=cpus, pinned=pinned) for word in words]


Variables = Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class MpiLibrary:
    """An MPI library, by the name for --mpi and DOWNBEAT_MPI, and its specific options and variables.

    Launcher words and variables may contain {per_node}, {unit}, {cpus} and {pinned} (`Placement.filled`). Variables set
    by the user take precedence.
    """

    launcher: str | Path  # a name on PATH, or a path
    launcher_version: str  # regular expression that matches the output of `launcher --version`
    abis: tuple[str, ...]  # ABIs that programs may be linked with
    library_version: str  # regular expression that matches the start of the text of MPI_Get_library_version
    options: Options
    # Words added to the launcher's command:
    spread: tuple[str, ...]  # with a number of ranks per node
    threads: tuple[str, ...] = ()  # with one rank per hardware thread
    bound: tuple[str, ...] = ()  # binds each rank to a core or a hardware thread
    narrowed: tuple[str, ...] = ()  # the same, if only some of the machine's CPUs may be used
    crowded: tuple[str, ...] = ()  # with more ranks than CPUs, in place of `bound`
    # Variables added to the launcher's environment:
    variables: Variables = dataclasses.field(default_factory=dict)  # always
    spread_variables: Variables = dataclasses.field(default_factory=dict)  # with a number of ranks per node
    bound_variables: Variables = dataclasses.field(default_factory=dict)  # bind each rank
    crowded_variables: Variables = dataclasses.field(default_factory=dict)  # with more ranks than CPUs
    # Collectives whose algorithm is read only in MPI_Init (docs/algorithms.md); "*": all.
    fixed_at_start: tuple[str, ...] = ()
    # The plugin for `srun --mpi=`; None: the library's own launcher uses Slurm.
    srun_plugin: str | None = None

    @property
    def hydra(self) -> bool:
        """Whether the launcher is Hydra (MPICH, Intel MPI), not Open MPI's."""
        return self.options is HYDRA_OPTIONS

    def arguments(self, placement: Placement) -> list[str]:
        """The arguments of the launcher that place and bind ranks."""
        spread = self.spread if placement.per_node else ()
        if placement.crowded:
            return placement.filled((*spread, *self.crowded))
        threads = self.threads if placement.unit == "hwthread" else ()
        # A process may use only some of the CPUs under taskset, or in a batch job with a share of the node.
        only_some = len(placement.cpus) < (os.cpu_count() or 1)
        return placement.filled((*threads, *spread, *(self.narrowed if only_some else self.bound)))

    def environment(self, placement: Placement) -> dict[str, str]:
        """The environment variables for launcher and ranks."""
        variables = {**self.variables, **(self.spread_variables if placement.per_node else {})}
        variables |= self.crowded_variables if placement.crowded else self.bound_variables
        return dict(zip(variables, placement.filled(variables.values()), strict=True))

    def owns(self, launcher: str | Path) -> bool:
        """Whether a launcher belongs to this library, by the output of its option --version."""
        env = {**HOME, **os.environ}
        answer = subprocess.run(
            [launcher, "--version"], env=env, capture_output=True, text=True, errors="replace", check=False
        ).stdout
        return re.search(self.launcher_version, answer, re.DOTALL) is not None

    def find_launcher(self) -> str | None:
        """Path of the launcher: the expected one, else mpirun or mpiexec on PATH if it belongs to this library."""
        expected = shutil.which(str(self.launcher))
        if expected:
            return expected
        for name in PLAIN_LAUNCHERS:
            path = shutil.which(name)
            if path and self.owns(path):
                return path
        return None


def fetched(name: str) -> Path:
    """Path of the launcher of a library in .mpi: mpiexec, because Intel's mpirun starts the mpiexec.hydra on PATH."""
    return FETCHED / name / "bin" / "mpiexec"


# Open MPI's launcher refuses to run as root without these.
ROOT_ALLOWED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
OPEN_MPI = MpiLibrary(
    "mpirun.openmpi", "Open MPI|OpenRTE|PRRTE", ("openmpi",), "Open MPI", OPEN_MPI_OPTIONS,
    spread=("--map-by", "ppr:{per_node}:node"),
    threads=("--use-hwthread-cpus",),  # by default only cores count as slots
    bound=("--bind-to", "{unit}"),
    narrowed=("--cpu-set", "{cpus}", "--bind-to", "{unit}"),  # Open MPI ignores a restricted affinity
    crowded=("--oversubscribe", "--bind-to", "none"),  # Open MPI then yields while waiting
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
    narrowed=("-bind-to", "user:{pinned}"),  # MPICH ignores a restricted affinity
    # Waiting ranks yield their core. MPICH 4.0 has no such setting.
    crowded_variables={
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    },
    srun_plugin="pmi2",
)  # fmt: skip
# openmpi and mpich are the system's libraries of any version. Later entries are more specific.
LIBRARIES: dict[str, MpiLibrary] = {
    "openmpi": OPEN_MPI,
    "mpich": MPICH,
    "openmpi5": dataclasses.replace(
        OPEN_MPI, launcher=fetched("openmpi5"), launcher_version=r"Open MPI\) [5-9]|PRRTE",
        library_version="Open MPI v[5-9]",
        # Without a fast network, one-sided communication by UCX prints warnings.
        variables={**OPEN_MPI.variables, **HOME, "OMPI_MCA_osc": "^ucx"},
    ),
    "mpich5": dataclasses.replace(
        MPICH, launcher=fetched("mpich5"), launcher_version=r"HYDRA.*Version: *[5-9]", abis=("mpich", "abi"),
        library_version=r"MPICH Version:\s*[5-9]",
        # Ranks exchange compressed UCX addresses including uninitialized memory. If that does not compress well, the
        # message is too long for srun's pmi2 and MPI_Init fails; MPICH's own launcher accepts it.
        srun_plugin=None,
    ),
    "intelmpi": MpiLibrary(
        fetched("intelmpi"), r"Intel\(R\) MPI", ("mpich", "abi"), r"Intel\(R\) MPI", HYDRA_OPTIONS,
        spread=("-ppn", "{per_node}"),
        # In a batch job, Intel MPI ignores -ppn by default.
        spread_variables={"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"},
        bound_variables={"I_MPI_PIN_PROCESSOR_LIST": "{pinned}"},
        crowded_variables={"I_MPI_PIN": "0", "I_MPI_WAIT_MODE": "1"},
        fixed_at_start=("*",),
    ),
}  # fmt: skip


def short_version(text: str) -> str:
    """Name and version from the text of MPI_Get_library_version, which may include the whole configuration."""
    name_and_version = re.split(r",|\s+MPICH Release date|\n", text)[0]
    return re.sub(r"\s+", " ", name_and_version.replace("Version:", "")).strip()


def name_of_version(version: str) -> str | None:
    """The name of the MPI library with this text of MPI_Get_library_version; None if unknown."""
    for name, library in reversed(LIBRARIES.items()):  # the most specific one first
        if re.match(library.library_version, version):
            return name
    return None


def packaged(abi: str = "") -> Path | None:
    """The wheel's directory of libraries for an MPI ABI, or the wheel's prefix without `abi`; None without a wheel."""
    package = Path(__file__).resolve().parents[1]
    for prefix in (package.parents[3], package.parent):  # <prefix>/lib/python3.N/site-packages; pip install --target
        if (prefix / "lib/downbeat").is_dir():
            return prefix / "lib/downbeat" / abi if abi else prefix
    return None


def packaged_bench() -> str | None:
    """Path of the wheel's downbeat-bench, which finds its MPI library at start; None if not installed."""
    prefix = packaged()
    return shutil.which(str(prefix / "bin/downbeat-bench")) if prefix else None


def linked_mpi(program: str) -> Path | None:
    """Path of the MPI library that a program would load; None if unknown.

    Raises:
        DownbeatError: ldd fails, e.g. because no process can be created.
    """
    of_wheel = packaged_bench()
    if of_wheel and Path(of_wheel).resolve() == Path(program).resolve():
        answer = subprocess.run([program, "--mpi-library"], capture_output=True, text=True, check=False).stdout
        path = Path(answer.strip())
        return path.parent.resolve() / path.name if abi_of(path) else None
    if shutil.which("ldd") is None:
        return None
    try:
        done = subprocess.run(["ldd", program], capture_output=True, text=True, errors="surrogateescape", check=False)
    except OSError as error:
        raise DownbeatError(f"cannot read the libraries of '{program}' with ldd: {error.strerror}") from error
    if done.returncode not in (0, 1):  # 1: not a dynamic executable
        reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise DownbeatError(f"cannot read the libraries of '{program}' with ldd: {reason}")
    for name, path in re.findall(r"^\s*(\S+) => (/.*?|not found)(?: \(0x|$)", done.stdout, re.MULTILINE):
        if name in NEEDED and path == "not found":
            return Path(name)
        if is_mpi(Path(path)):  # resolved: Open MPI's launcher fails in /bin if that is a link to /usr/bin
            return Path(path).parent.resolve() / Path(path).name
    return None


def launcher_of(linked: Path) -> tuple[MpiLibrary, str] | None:
    """The MPI library of a shared object, and the path of its launcher; None if it has no launcher here.

    A launcher of another library would start the program as separate jobs of one rank each.

    Args:
        linked: path of the MPI library that a program would load; only a name if the file does not exist.
    """
    abi = abi_of(linked) if linked.is_file() else NEEDED.get(linked.name)
    fitting = [library for library in LIBRARIES.values() if abi in library.abis]
    # Libraries may share a file name but not a directory: <prefix>/lib, or Intel's <prefix>/lib/release.
    for prefix in linked.parents[1:3]:
        for name in reversed(PLAIN_LAUNCHERS):  # mpiexec first: Intel's mpirun starts the mpiexec.hydra on PATH
            launcher = shutil.which(str(prefix / "bin" / name))
            owner = next((library for library in reversed(fitting) if launcher and library.owns(launcher)), None)
            if launcher and owner:
                return owner, launcher
    for library in fitting:
        launcher = library.find_launcher()
        if launcher:
            return library, launcher
    return None


# Line before and after each message of Open MPI's mpirun.
FRAME = b"-" * 74
# Messages of mpirun after a non-zero exit status, dropped: the program has printed the reason.
NEEDLESS = (b"exited with non-zero status", b"a non-zero exit code", b"MPI_ABORT was invoked")
# mpirun's message on more ranks than slots, 27 lines; MORE_SLOTS replaces it.
TOO_FEW_SLOTS = b"not enough slots available"
MORE_SLOTS = (
    b"launch: Open MPI's launcher has fewer slots than ranks, by default one per core; start fewer ranks, or add "
    b"--oversubscribe --bind-to none to the launcher's command\n"
)
MAX_MESSAGE_LINES = 40  # a longer text after FRAME is not a message of mpirun, and is printed
# Progress of downbeat-bench on standard error.
PROGRESS = r"downbeat-bench: (?P<progress>(?:about|at least) .* left, \d+ % of .* measured), "
# Lines without a reason: progress, and srun's last lines after a failed step.
NO_REASON = re.compile(
    rf"{PROGRESS}|downbeat-bench: \d+ of \d+ cells complete, |"
    r"(srun|slurmstepd\S*): .*"
    r"(: tasks? [\d,-]+: (Exited with exit code \d+|Killed|Terminated)$|\*\*\* STEP |Job step aborted|Terminating )|"
    r"\[\S+\] (\d+ more process|Set MCA parameter )"  # follows Open MPI's reason
)


def forward_messages(source: IO[bytes], target: IO[bytes]) -> None:
    """Copies the launcher's standard error by lines; drops needless messages, shortens the one on slots."""

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
        if closed or len(message) == MAX_MESSAGE_LINES:
            if closed and any(TOO_FEW_SLOTS in each for each in message):
                write([MORE_SLOTS])
            elif not (closed and any(text in each for each in message for text in NEEDLESS)):
                write(message)
            message = []
    write(message)


def last_line(path: Path) -> str:
    """The reason of a failure from a file of errors: its last line, without lines like `NO_REASON` if there are others.

    Programs print the reason of their end last. "" if the file is empty.
    """
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    reasons = [line.strip() for line in lines if line.strip(" -=*")]  # without separators
    reasons = [line for line in reasons if not NO_REASON.match(line)] or reasons
    return one_line(reasons[-1]) if reasons else ""
