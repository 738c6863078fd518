"""Runs one launch of an experiment, and single runs of downbeat-bench outside experiments.

A launch runs in a directory of its own below `partial`. Its result is checked, its record launch.json is written, and
the directory moves to the complete or to the failed launches (downbeat/run/directory.py).
"""

from __future__ import annotations

import dataclasses
import datetime
import glob
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from downbeat.data.launch_file import open_netcdf
from downbeat.errors import UsageError
from downbeat.files import move, writing
from downbeat.run import directory as layout
from downbeat.run.bench import EXIT_BAD_ARGUMENTS
from downbeat.run.job import MARK, end_marked, remove_segments
from downbeat.run.launch import EXIT_TIMEOUT, INTERRUPTIONS, wait_for_launcher
from downbeat.run.libraries import last_line, packaged_bench
from downbeat.run.machine import Machine
from downbeat.run.plan import LaunchKey, Library, Plan
from downbeat.run.simulation import platform_of_launch
from downbeat.text import counted

# Names of variables that MPI libraries, their launchers, batch systems and libdownbeat read.
MPI_VARIABLES = re.compile(
    r"(OMPI|OPAL|PRTE|PMIX|PMI|MPIR|MPICH|HYDRA|I_MPI|FI|UCX|UCC|HCOLL|MV2|SLURM|PBS|LSB|DOWNBEAT|OMP)_|LD_LIBRARY_PATH$|LD_PRELOAD$"
)
# Names of variables that may hold secrets; these are not recorded.
SECRETS = re.compile(r"TOKEN|SECRETS|PASSWORD|_KEY$|CREDENTIAL|COOKIE|JWT", re.IGNORECASE)


def mpi_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that can change the behavior of an MPI program, sorted by name."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if MPI_VARIABLES.match(name) and not SECRETS.search(name)
    }


def cpu_model(machine: Machine) -> str:
    """The model name of the first processor, or "unknown"."""
    line = re.search(r"^model name\s*:\s*(.+)$", machine.process("cpuinfo") or "", re.MULTILINE)
    return line[1].strip() if line else "unknown"


def launch_conditions(variables: Mapping[str, str]) -> dict[str, object]:
    """The conditions of a launch, for its record: host, kernel, processors, load and variables.

    Args:
        variables: set for the launch in addition to those of this process.
    """
    machine = Machine()
    return {
        "host": socket.gethostname(),
        "kernel": platform.release(),
        "cpu_model": cpu_model(machine),
        "governor": machine.governors(machine.online) or "unknown",
        "cpus_allowed": sorted(machine.allowed),
        "load_before": round(os.getloadavg()[0], 2),
        "environment_variables": mpi_variables({**os.environ, **variables}),
    }


# Called while a launch runs, to show progress; returns the seconds until the next call, None for no more calls.
Tick = Callable[[], float | None]
# Files in the directory of a launch.
OUTPUT = "stdout.txt"
ERRORS = "stderr.txt"
# Exit statuses of downbeat-bench with an output file. 0: complete; 3: a cell lacks valid samples; 4: a cell has wrong
# results. The other cells were measured.
MEASURED_STATUS = (0, 3, 4)


@dataclass(frozen=True)
class Ended:
    """A launch that has ended, complete or failed."""

    key: LaunchKey
    failure: str  # reason in one line; "" if the launch is complete
    exit_status: int
    seconds: float  # duration
    directory: Path  # among the complete or the failed launches

    @property
    def refused(self) -> bool:
        """Whether the program refused its arguments, so that a retry is pointless."""
        return self.exit_status == EXIT_BAD_ARGUMENTS


def start_ranks(library: Library, ranks: int, timeout: float, launcher: str = "") -> list[str]:
    """The command that starts ranks under a library or another launcher; the caller appends the program."""
    start = [sys.executable, "-m", "downbeat.run.launch"]
    options = library.start(launcher)
    if not options and library.bench == packaged_bench():  # the wheel's program runs under every library
        options = ["--mpi", library.name]
    start += options
    if library.ranks_per_node:
        start += ["--ranks-per-node", str(library.ranks_per_node)]
    return [*start, "-n", str(ranks), "--timeout", f"{timeout:g}"]


def launch_command(plan: Plan, key: LaunchKey) -> list[str]:
    """The command that starts a launch in its directory."""
    library = plan.library(key.library)
    library = dataclasses.replace(library, simulate=platform_of_launch(library.simulate, key.number))
    start = start_ranks(library, key.ranks, plan.time_limit(key), plan.variant(key.variant).launcher)
    return [*start, *plan.program_of(key), "-o", layout.SAMPLES]


def launch(
    plan: Plan,
    key: LaunchKey,
    directory: Path,
    lock: int | None = None,
    tick: Tick | None = None,
) -> Ended:
    """Starts a launch, waits for it, and moves its directory to the complete or the failed launches.

    Args:
        plan: the experiment.
        key: the launch.
        directory: of the experiment.
        lock: file descriptor that the launch inherits, so that the directory stays locked until all its processes end.
        tick: called while the launch runs.
    """
    partial = directory / layout.PARTIAL / str(key)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    command = launch_command(plan, key)
    variables = plan.variables_of(key)
    conditions = launch_conditions(variables)
    started = datetime.datetime.now(datetime.UTC)
    status = run_in_directory(command, partial, variables, lock, tick)
    ended = datetime.datetime.now(datetime.UTC)
    failure = failure_of(status, partial, plan.time_limit(key), key.ranks)
    layout.write_record(
        partial,
        {
            **dataclasses.asdict(key),
            "command": command,
            "variables": variables,
            "started": started.isoformat(),
            "ended": ended.isoformat(),
            "exit_status": status,
            "failure": failure,
            **conditions,
        },
    )
    if failure:
        target = next_failure(directory / layout.FAILED, key)
    else:
        target = directory / layout.LAUNCHES / str(key)
        shutil.rmtree(target, ignore_errors=True)  # left by an incomplete launch of the same key
    move(partial, target)
    return Ended(key, failure, status, (ended - started).total_seconds(), target)


def next_failure(failed: Path, key: LaunchKey) -> Path:
    """The directory for a failed launch, `failed/<key>-<attempt>`: the highest attempt there plus one."""
    suffixes = [path.name.removeprefix(f"{key}-") for path in failed.glob(f"{glob.escape(str(key))}-*")]
    attempts = [int(suffix) for suffix in suffixes if suffix.isdecimal()]
    return failed / f"{key}-{max(attempts, default=0) + 1}"


def run_in_directory(
    command: list[str], where: Path, variables: Mapping[str, str], lock: int | None = None, tick: Tick | None = None
) -> int:
    """Runs a command like `run_watched`, with its output in the files `OUTPUT` and `ERRORS` of a directory."""
    with (
        writing(where / OUTPUT),
        (where / OUTPUT).open("xb") as output,
        writing(where / ERRORS),
        (where / ERRORS).open("xb") as errors,
    ):
        return run_watched(command, where, variables, (output, errors), str(where.resolve()), lock, tick)


def run_watched(
    command: list[str],
    where: Path,
    variables: Mapping[str, str],
    streams: tuple[IO[bytes], IO[bytes]],
    mark: str,
    lock: int | None = None,
    tick: Tick | None = None,
) -> int:
    """Runs a command to its end. If this process ends, the command, its launcher and its ranks end too.

    Args:
        command: contains `-m downbeat.run.launch`; gets the option --parent, so that it ends with this process.
        where: working directory.
        variables: set in the command's environment.
        streams: standard output and standard error.
        mark: value of `MARK` in the environment, which identifies the processes.
        lock: file descriptor that the command inherits.
        tick: called while the command runs.

    Returns:
        The exit status, 128 + N after signal N.
    """
    first_option = command.index("downbeat.run.launch") + 1
    watched = [*command[:first_option], "--parent", str(os.getpid()), *command[first_option:]]
    begin = time.time()
    # Block signals until the command has started; the command unblocks them once it can end its ranks.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTIONS)
    try:
        process = subprocess.Popen(
            watched,
            cwd=where,
            env={**os.environ, **variables, MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=streams[0],
            stderr=streams[1],
            start_new_session=True,  # Ctrl-C reaches this process only
            pass_fds=() if lock is None else (lock,),
        )
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            status = wait_with_ticks(process, tick)
            if status < 0:  # killed: its ranks may still run and would disturb the next launch
                end_marked(mark)
                remove_segments(begin)
            return status if status >= 0 else 128 - status
        except BaseException:
            process.send_signal(signal.SIGTERM)
            process.wait()
            raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def wait_with_ticks(process: subprocess.Popen[bytes], tick: Tick | None) -> int:
    """Waits until a process ends and calls `tick` meanwhile; returns the exit status."""
    while True:
        try:
            return wait_for_launcher(process, tick() if tick else None)
        except subprocess.TimeoutExpired:
            continue


def failure_of(status: int, where: Path, timeout: float, ranks: int) -> str:
    """The reason why a launch does not count, in one line; "" if it counts.

    Args:
        status: exit status of the command.
        where: the directory of the launch.
        timeout: of the launch, s.
        ranks: planned number of ranks.
    """
    if status == EXIT_TIMEOUT:
        return f"ended after {timeout:g} s, the timeout"
    if status not in MEASURED_STATUS:
        reason = last_line(where / ERRORS)
        return f"exit status {status}{': ' if reason else ''}{reason}"
    try:
        with open_netcdf(where / layout.SAMPLES) as file:
            started = file.dimensions["rank"]
    except UsageError as error:
        return str(error).replace(f"{where}{os.sep}", "")
    if started == ranks:
        return ""
    # A launcher of another MPI library starts singletons of one rank, and each of them succeeds.
    return (
        f"the program ran with {counted(started, 'rank')}, not {ranks}: the launcher belongs to another "
        "MPI library, or lacks an option (srun needs --mpi=)"
    )


@dataclass(frozen=True)
class BenchRun:
    """A run of downbeat-bench that has ended."""

    status: int  # exit status
    output: str  # text on standard output
    errors: str  # text on standard error

    @property
    def reason(self) -> str:
        """The reason of the failure, in one line: the last line of downbeat-bench, else the last line of errors."""
        if self.status == EXIT_TIMEOUT:
            return "did not end in time"
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        if not lines:
            return f"exit status {self.status}"
        of_bench = [line for line in lines if line.startswith("downbeat-bench:")]
        return (of_bench or lines)[-1].removeprefix("downbeat-bench:").strip()


def run_bench(
    library: Library,
    ranks: int,
    arguments: Sequence[str],
    variables: Mapping[str, str],
    timeout: float,
    directory: Path | None = None,
) -> BenchRun:
    """Runs downbeat-bench once and waits for it.

    Args:
        library: the MPI library.
        ranks: number of ranks.
        arguments: of downbeat-bench.
        variables: set in its environment.
        timeout: s, after which all ranks are ended.
        directory: working directory.
    """
    command = [*start_ranks(library, ranks, timeout), library.bench, *arguments]
    mark = f"{os.getpid()} {time.monotonic_ns()}"
    # Files without names: the kernel removes them however this process ends.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        status = run_watched(command, directory or Path(), variables, (output, errors), mark)
        return BenchRun(status, read_whole(output), read_whole(errors))


def read_whole(file: IO[bytes]) -> str:
    """The content of a file from its beginning."""
    file.seek(0)
    return file.read().decode(errors="replace")
