"""Starts the processes that sample the clocks of a job's hosts for `downbeat timebase`, also while a command runs.

One process per host (clock_sampler.py) writes a recording that has only clock synchronizations.
"""

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

# Variables with the rank of a process, and with the number of ranks.
RANK_WORDS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
OF_PMI = ("mpich", "mpich5", "intelmpi")  # MPI libraries whose launchers set PMI_RANK
POLL_SECONDS = 0.05  # between checks for the first sample
SAMPLING_START_SECONDS = 120.0  # time limit for the first sample
END_SECONDS = 30.0  # time limit of the processes to end, in addition to the interval


def launched(alone: bool, variables: Mapping[str, str] = os.environ) -> bool:
    """Returns true if a launcher started this process as a rank of a job.

    Args:
        alone: true: also if it is the only rank. Must be false if this process may be the shell of an interactive job,
            which srun starts as the only rank.
        variables: environment of the process.
    """
    sizes = [int(variables[name]) for name in SIZES if variables.get(name, "").isdigit()]
    return max(sizes, default=1) > 1 or (alone and any(name in variables for name in RANK_WORDS))


def chosen_library(mpi: str | None, variables: Mapping[str, str] = os.environ) -> str:
    """Returns the name of a built MPI library: `mpi`, else a library that fits the launcher."""
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
    """Returns the command of a sampling process."""
    end = float("inf") if seconds is None else seconds
    return [sys.executable, "-I", clock_sampler.__file__, str(interval), str(end), str(int(until_eof))]


def sampling_start(words: Sequence[str], name: str, variables: Mapping[str, str], output: Path) -> PreloadedStart:
    """Returns the command of sampling processes with libdownbeat-preload.

    Args:
        words: the command.
        name: name of the MPI library.
        variables: environment of the command.
        output: directory of the recording.
    """
    # The hosts may not share the directory, so every rank writes its own file.
    settings = {"DIR": str(output.absolute()), "RECORDS": "1", "RANKS": "all"}
    return preloaded(words, settings, name, environment=variables)


def launcher_command(name: str, command: str | None) -> tuple[list[str], dict[str, str]]:
    """Returns the command that starts one process on each host of the job, and its environment.

    Args:
        name: name of the MPI library.
        command: the user's launcher command; None: the MPI library's launcher, or srun in a Slurm job.

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
        # Runs on the same processors as the program (--overlap), without binding.
        words = [word for word in split_command(step) if word not in ("--overlap", "--cpu-bind=cores")]
        words[1:1] = ["--overlap", "--cpu-bind=none"]
        return [with_numbers(word, nodes, 1) for word in words], dict(os.environ)
    launcher = library.find_launcher()
    if not launcher:
        raise UsageError(f"found no launcher of {name}; load its module, or give one with --launcher")
    placement = Placement(nodes, [], nodes, 1)  # an empty list of cores: no binding
    return (
        [str(launcher), "-n", str(nodes), *library.arguments(placement)],
        environment(library, str(launcher), None, placement),
    )


def has_sample(directory: Path) -> bool:
    """Returns true if a process recorded a sample in a directory."""
    for file in directory.glob("*.part"):
        with contextlib.suppress(DownbeatError, OSError):  # it is being made, or was joined
            if any(len(section.tables.maps) for section in read_sections(file)):
                return True
    return any(directory.glob("*.trace"))


@contextlib.contextmanager
def sampling(start: PreloadedStart, output: Path, interval: float) -> Iterator[subprocess.Popen[bytes]]:
    """Samples clocks during a `with` block: the first sample is taken before the block, the last sample after it.

    The processes end when their standard input is closed, so none remains even if this process is killed.

    Raises:
        DownbeatError: no process wrote a sample, or the processes failed.
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
