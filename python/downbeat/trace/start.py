"""Prepares a launcher's command so that every rank loads libdownbeat-preload, for `downbeat trace`.

Finds the libdownbeat-preload that matches the MPI library, and sets LD_PRELOAD and DOWNBEAT_* for all ranks.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.run.bench import how_to_build, library_of, prefixes
from downbeat.run.libraries import LIBRARIES, packaged, packaged_bench
from downbeat.run.mpi_abi import abi_of, read_object
from downbeat.trace.command import (
    ASAN_LATER,
    ASAN_OPTIONS,
    LISTED_HERE,
    PRELOAD,
    Setter,
    launcher_index,
    launcher_library,
    linked_libraries,
    narrows,
    program_library,
    refuse_hidden,
    split_arguments,
    with_app_files,
    with_arguments,
)

PRELOAD_LIBRARY = "libdownbeat-preload.so"
PRELOAD_VARIABLES = "DOWNBEAT_PRELOAD_"
CHECK = "DOWNBEAT_CHECKS_PRELOAD"  # environment variable: the library only checks its settings and prints a problem
INVALID = 2  # exit status of a program if this check fails


@dataclass(frozen=True)
class PreloadedStart:
    """A launcher's command with libdownbeat-preload.

    Attributes:
        command: words of the command.
        environment: environment to start it in.
    """

    command: list[str]
    environment: dict[str, str]


@dataclass(frozen=True)
class LaunchCommand:
    """A command, divided at its launcher and its MPI programs.

    Attributes:
        before: words before the launcher.
        launcher: path of the launcher; of srun, the word of the command; None: no launcher, and `started` is the
            command.
        owner: name of the MPI library that the launcher belongs to; None: it belongs to no MPI library, e.g. srun.
        started: words after the launcher, without the arguments of MPI programs.
        arguments: arguments of each MPI program.
    """

    before: list[str]
    launcher: str | None
    owner: str | None
    started: list[str]
    arguments: list[list[str]]


def find_preload(name: str) -> str:
    """Returns the path of libdownbeat-preload: in the checkout, from `downbeat build`, or next to downbeat-bench.

    Raises:
        UsageError: the library is not built.
    """
    for prefix in prefixes(name):
        for path in (*prefix.glob(f"lib*/{PRELOAD_LIBRARY}"), *prefix.glob(f"lib/*/{PRELOAD_LIBRARY}")):
            return str(path)
    raise UsageError(
        f"found no {PRELOAD_LIBRARY} for {name}; run {how_to_build(name)}, or give its path with --preload PATH"
    )


def mpi_of_wheel(library: str, launcher: str) -> list[str]:
    """Returns the path of a launcher's MPI library if libdownbeat-preload is from the wheel; else an empty list.

    The wheel's library is not linked with an MPI library. Programs that load MPI at run time, like Python, and shells
    that start the program have no MPI library either, so it must be preloaded too.
    """
    wheel, bench = packaged(), packaged_bench()
    if not wheel or not bench or wheel not in Path(library).parents:
        return []
    process = subprocess.run([bench, "--mpi-library", launcher], capture_output=True, text=True, check=False)
    if process.returncode:
        raise UsageError(process.stderr.strip())
    linked = process.stdout.strip()
    libdownbeat = read_object(Path(library).with_name("libdownbeat.so"))  # its note names its ABI
    if libdownbeat is None or libdownbeat.note() != abi_of(Path(linked)):
        raise UsageError(
            f"'{linked}' has another ABI than '{library}'; set DOWNBEAT_MPI_LIBRARY to the program's libmpi.so"
        )
    return [linked]


def preloaded(
    words: Sequence[str],
    settings: Mapping[str, str],
    mpi: str | None = None,
    preload: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> PreloadedStart:
    """Returns a launcher's command that loads libdownbeat-preload into every rank.

    Args:
        words: the command, e.g. mpirun -n 4 ./application.
        settings: values of DOWNBEAT_PRELOAD_*, by the name without this prefix; they replace values in the environment.
        mpi: name of the MPI library; None: the library of the program, else of the launcher.
        preload: path of libdownbeat-preload; None: from the build or the installation for the MPI library.
        environment: environment of the command.

    Raises:
        UsageError: the launcher is not known, or there is no library for it.
    """
    if not shutil.which(words[0], path=environment.get("PATH")):
        raise UsageError(f"'{words[0]}' is not an executable program; begin with mpirun, mpiexec or srun")
    if mpi is not None and mpi not in LIBRARIES:
        raise UsageError(f"unknown MPI library '{mpi}'; choose one of {', '.join(LIBRARIES)}")
    command = command_of(words, environment)
    name = mpi or library_name(command)
    library = preload or find_preload(name)
    if not Path(library).is_file():
        raise UsageError(f"'{library}' does not exist; give the path of {PRELOAD_LIBRARY}")
    library = str(Path(library).absolute())
    before = [] if command.owner else [*command.before, command.launcher or ""]
    refuse_hidden([*before, *command.started], library)
    forced = {PRELOAD_VARIABLES + key: value for key, value in settings.items()}
    if any(map(narrows, command.started)):
        forced[f"{PRELOAD_VARIABLES}LAUNCH"] = uuid.uuid4().hex
    settings_given = {key: value for key, value in environment.items() if key.startswith("DOWNBEAT_")}
    if any("libasan" in line for line in linked_libraries(command.started)):
        asan_options = [environment[ASAN_OPTIONS]] if ASAN_OPTIONS in environment else []
        settings_given[ASAN_OPTIONS] = ":".join([*asan_options, ASAN_LATER])
    # Variables that words before the launcher set, as in `env LD_PRELOAD=x mpirun`, replace those of the environment.
    preloads = [word.partition("=")[2] for word in command.before if word.startswith(f"{PRELOAD}=")]
    ours = [library, *mpi_of_wheel(library, command.launcher or words[0])]
    check_settings(ours, settings_given | forced, settings)
    setter = Setter(
        ours, settings_given | forced, list(forced), preloads[-1] if preloads else environment.get(PRELOAD, "")
    )
    start = with_variables(command, setter, environment)
    return PreloadedStart(with_arguments(start.command, command.arguments), start.environment)


def check_settings(libraries: Sequence[str], variables: Mapping[str, str], options: Mapping[str, str]) -> None:
    """Lets libdownbeat-preload check its variables, in a process that does nothing else.

    Args:
        libraries: libdownbeat-preload and the libraries that it needs.
        variables: DOWNBEAT_* of the ranks.
        options: variables that options of `downbeat trace` set, by name without prefix; an error names the option.

    Raises:
        UsageError: a variable is invalid.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DOWNBEAT_")}
    environment = {**clean, **variables, CHECK: "1", PRELOAD: ":".join(libraries)}
    done = subprocess.run(["true"], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != INVALID:
        return
    problem = done.stdout.strip()
    for name in options:
        option = "output" if name == "DIR" else name.lower().replace("_", "-")
        variable = f"environment variable {PRELOAD_VARIABLES}{name}="
        problem = re.sub(f"^{variable}(.*) is not valid", rf"--{option} '\1' is not valid", problem, flags=re.DOTALL)
    raise UsageError(problem)


def command_of(words: Sequence[str], environment: Mapping[str, str]) -> LaunchCommand:
    """Divides a command at its launcher and its MPI programs.

    Raises:
        UsageError: the launcher belongs to no known MPI library.
    """
    index = launcher_index(words)
    launcher = None if index is None else shutil.which(words[index], path=environment.get("PATH"))
    if index is None or launcher is None:
        return LaunchCommand([], None, None, *split_arguments(words))
    after = list(words[index + 1 :])
    if Path(launcher).name.startswith("srun"):
        return LaunchCommand(list(words[:index]), words[index], None, *split_arguments(after))
    owner = launcher_library(launcher)
    if not owner:
        raise UsageError(f"'{words[index]}' is not a known launcher; use mpirun, mpiexec or srun, or set the variables")
    bare, arguments = split_arguments(after)
    if (expanded := with_app_files(bare)) != bare:
        bare, arguments = split_arguments(expanded)
    return LaunchCommand(list(words[:index]), launcher, owner, bare, arguments)


def library_name(command: LaunchCommand) -> str:
    """Returns the name of the MPI library of a command's programs, else of its launcher.

    Raises:
        UsageError: the library is not known, or cannot run under the launcher.
    """
    linked = program_library(command.started)
    name = linked or command.owner
    if not name and not command.launcher and (program := shutil.which(command.started[0])):
        owner = library_of(program)
        name = owner[0] if owner else None  # e.g. the wheel's downbeat-bench, which `program_library` skips
    if not name and command.launcher:
        raise UsageError(f"found no MPI program in '{' '.join(command.started)}'; name its MPI library with --mpi")
    if not name:
        raise UsageError(
            f"'{command.started[0]}' is not a known launcher, nor an MPI program; use mpirun, mpiexec or srun, or name "
            "the MPI library of what it starts with --mpi"
        )
    if command.owner and LIBRARIES[command.owner].hydra != LIBRARIES[name].hydra:
        raise UsageError(
            f"the program is linked with {name}, but '{command.launcher}' is of {command.owner}, under which its ranks "
            f"are jobs of one rank each; use the launcher of {name}"
        )
    return name


def with_variables(command: LaunchCommand, setter: Setter, environment: Mapping[str, str]) -> PreloadedStart:
    """Rewrites a command so that it sets variables for all ranks."""
    variables = dict(environment)
    if not command.owner:  # srun, or a program started here, e.g. a script with launchers in it
        if command.launcher and (exported := variables.get("SLURM_EXPORT_ENV")):
            variables["SLURM_EXPORT_ENV"] = setter.exported(exported)
        before = setter.assignments(command.before)
        launcher = [command.launcher] if command.launcher else []
        after = setter.slurm(command.started) if command.launcher else setter.assignments(command.started)
        return PreloadedStart([*before, *launcher, *after], variables | setter.variables)
    assert command.launcher
    if LIBRARIES[command.owner].hydra:
        return PreloadedStart([*command.before, command.launcher, *setter.hydra(command.started)], variables)
    words = [*map("=".join, variables.items()), *command.before]
    listed = [word for word in words if word.startswith(f"{LISTED_HERE}=")]
    if listed:
        variables[LISTED_HERE] = setter.listed(listed[-1].partition("=")[2])
        before = [word for word in command.before if word not in listed]
        return PreloadedStart([*before, command.launcher, *setter.assignments(command.started)], variables)
    before = command.before
    if command.owner == "openmpi5":  # spawned programs get the launcher's variables, not those of -x
        before, variables = setter.assignments(before), variables | setter.variables
    return PreloadedStart([*before, command.launcher, *setter.open_mpi(command.started)], variables)
