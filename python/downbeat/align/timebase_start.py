"""Samples the clocks of a job's hosts beside a command: one process per host, a recording of nothing but clocks."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from downbeat.align import clock_sampler
from downbeat.errors import DownbeatError, UsageError
from downbeat.run.bench import find_any_bench, find_bench, srun_launcher
from downbeat.run.job import job_of, split_command, with_numbers
from downbeat.run.launch import environment
from downbeat.run.libraries import LIBRARIES, Placement
from downbeat.trace.file import read_sections
from downbeat.trace.start import PreloadedStart, preloaded

# By these, a process knows its rank, and the number of ranks.
RANK_WORDS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
OF_PMI = ("mpich", "mpich5", "intelmpi")
POLL_SECONDS = 0.05
SAMPLING_START_SECONDS = 120.0
END_SECONDS = 30.0  # beside the interval


def launched(alone: bool, variables: Mapping[str, str] = os.environ) -> bool:
    """Whether a launcher started this process, as one of several; or as the only one, if it has nothing else to do.

    Args:
        alone: whether it has nothing else to do: the shell of an interactive job is started by srun, too.
        variables: of its environment.
    """
    sizes = [int(variables[name]) for name in SIZES if variables.get(name, "").isdigit()]
    return max(sizes, default=1) > 1 or (alone and any(name in variables for name in RANK_WORDS))


def chosen_library(mpi: str | None, variables: Mapping[str, str] = os.environ) -> str:
    """Returns the name of an MPI library that is built for: the one given, else one that fits the launcher."""
    if mpi:
        find_bench(mpi)
        return mpi
    if "PMI_RANK" in variables and "OMPI_COMM_WORLD_RANK" not in variables:
        for name in OF_PMI:
            with contextlib.suppress(UsageError):
                find_bench(name)
                return name
    return find_any_bench()[0]


def sampler_command(interval: float, seconds: float | None, until_eof: bool) -> list[str]:
    """Returns the command of a process that samples."""
    end = float("inf") if seconds is None else seconds
    return [sys.executable, "-I", clock_sampler.__file__, str(interval), str(end), str(int(until_eof))]


def sampling_start(words: Sequence[str], name: str, variables: Mapping[str, str], output: Path) -> PreloadedStart:
    """Returns a command of processes that sample, with libdownbeat-preload in them.

    Args:
        words: the command.
        name: of the MPI library.
        variables: of its environment.
        output: directory of the recording.
    """
    # The processes' directory may not be shared, and nobody else is there to lack the library.
    settings = {"DIR": str(output.absolute()), "RECORDS": "1", "RANKS": "all"}
    return preloaded(words, settings, name, environment=variables)


def launcher_command(name: str, command: str | None) -> tuple[list[str], dict[str, str]]:
    """The command that starts one process on each host of the job, and its environment.

    Args:
        name: of the MPI library.
        command: that the user gives for the launcher; None: the MPI library's, or srun in a job of Slurm's.

    Raises:
        UsageError: there is no launcher.
    """
    if command is not None:
        words = split_command(command)
        if not shutil.which(words[0]):
            raise UsageError(f"--launcher: '{words[0]}' is not an executable program")
        return words, dict(os.environ)
    library = LIBRARIES[name]
    nodes = max(1, job_of().nodes)
    step = srun_launcher(library, placed=True)
    if step:
        # Beside the program, on the same processors, and bound to none of them.
        words = [word for word in split_command(step) if word not in ("--overlap", "--cpu-bind=cores")]
        words[1:1] = ["--overlap", "--cpu-bind=none"]
        return [with_numbers(word, nodes, 1) for word in words], dict(os.environ)
    launcher = library.find_launcher()
    if not launcher:
        raise UsageError(f"found no launcher of {name}; load its module, or give one with --launcher")
    placement = Placement(nodes, [], nodes, 1)  # no cores: bound to none
    return (
        [str(launcher), "-n", str(nodes), *library.arguments(placement)],
        environment(library, str(launcher), None, placement),
    )


def has_sample(directory: Path) -> bool:
    """Whether a process recorded a sample in a directory."""
    for file in directory.glob("*.part"):
        with contextlib.suppress(DownbeatError, OSError):  # it is being made, or was joined
            if any(len(section.tables.maps) for section in read_sections(file)):
                return True
    return any(directory.glob("*.trace"))


@contextlib.contextmanager
def sampling(start: PreloadedStart, output: Path, interval: float) -> Iterator[subprocess.Popen[bytes]]:
    """Samples during a block: from after the first sample, until one that is taken after it.

    The processes end with their input, so that none is left over, however this one ends.

    Raises:
        DownbeatError: no process wrote a sample, or they did not end well.
    """
    with subprocess.Popen(
        start.command, env=start.environment, stdin=subprocess.PIPE, start_new_session=True
    ) as started:
        assert started.stdin
        try:
            begin = time.monotonic()
            while not has_sample(output):
                if started.poll() is not None or time.monotonic() - begin > SAMPLING_START_SECONDS:
                    words = " ".join(start.command[:4])
                    raise DownbeatError(f"'{words} ...' wrote no sample; see what it says above")
                time.sleep(POLL_SECONDS)
            yield started
            started.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                started.wait(interval + END_SECONDS)
            if started.returncode != 0:
                raise DownbeatError("the processes that sample did not end well; the last sample may be missing")
        finally:
            with contextlib.suppress(OSError):
                started.stdin.close()
            if started.poll() is None:
                started.terminate()
