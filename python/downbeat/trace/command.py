"""Parse and rewrite a launcher's command, and explain why a run left no trace.

The parser finds the launcher, the programs it starts, and the variables it sets for all ranks.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.run.bench import library_of
from downbeat.run.job import HYDRA_OPTIONS, LAUNCHER, OPEN_MPI_OPTIONS, SLURM_OPTIONS, is_one_of
from downbeat.run.libraries import LIBRARIES, packaged_bench

NEXT = ":"  # separates the programs of a launch, for all launchers
PRELOAD = "LD_PRELOAD"
ASAN = re.compile(r"(libasan|libclang_rt\.asan)[^/]*$")
ASAN_OPTIONS, ASAN_LATER = "ASAN_OPTIONS", "verify_asan_link_order=0"  # allows that ASan is not the first library
LISTED = "mca_base_env_list"  # Open MPI's parameter with a list of variables for all ranks
LISTED_HERE = f"OMPI_MCA_{LISTED}"  # the environment variable that sets this parameter
MAX_TEXT = 1 << 16  # bytes that are read of a text file in a command: programs of a launch, settings, a script


def launcher_library(launcher: str) -> str | None:
    """Returns the name of the MPI library that a launcher belongs to; None: not known."""
    if Path(launcher).name.startswith("pr"):  # prterun and prun, whose versions are PRRTE's
        return "openmpi5"
    return next((name for name, library in reversed(list(LIBRARIES.items())) if library.owns(launcher)), None)


def launcher_index(words: Sequence[str]) -> int | None:
    """Finds the index of the launcher in a command, behind words like `time`, `env`, `numactl`; None: no launcher."""
    return next((index for index, word in enumerate(words) if LAUNCHER.fullmatch(Path(word).name)), None)


def narrows(word: str) -> bool:
    """Returns true if an option of Hydra restricts the variables that ranks inherit."""
    return is_one_of(word, (*HYDRA_OPTIONS.none, *HYDRA_OPTIONS.listed))


def text_in(word: str) -> str:
    """Reads the first MAX_TEXT bytes of a text file; "": the word does not name a text file."""
    path = Path(word)
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            content = file.read(MAX_TEXT)
    except (OSError, ValueError):
        return ""
    return "" if b"\0" in content else content.decode("utf-8", errors="replace")


def is_script(word: str) -> bool:
    """Returns true if a word names a script."""
    return text_in(word).startswith("#!")


def mpi_programs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields the programs of a command that are linked with an MPI library, and the library's name.

    Also looks into scripts, shell commands and files of the command. Skips the wheel's downbeat-bench, because it
    loads the library of the launcher.
    """
    of_wheel = packaged_bench()
    texts = [word if " " in word else text_in(word) for word in words]  # shell commands and files
    inner = [token for text in texts for token in text.split() if "/" in token]
    for word in dict.fromkeys([*words, *inner]):
        path = shutil.which(word)
        if path and of_wheel and Path(path).resolve() == Path(of_wheel).resolve():
            continue
        owner = library_of(path) if path else None
        if owner:
            yield word, owner[0]


def linked_libraries(words: Sequence[str]) -> list[str]:
    """Returns the lines of `ldd` for the programs of a command that are linked with an MPI library."""
    programs = [path for word, _ in mpi_programs(words) if (path := shutil.which(word))]
    if not programs:
        return []
    return subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout.splitlines()


def program_library(words: Sequence[str]) -> str | None:
    """Returns the name of the MPI library that the programs of a command are linked with; None: none is linked.

    Raises:
        UsageError: the programs are linked with different libraries.
    """
    first: tuple[str, str] | None = None
    for context in contexts(words):
        # The first program of a context decides; later words are its arguments.
        linked = next(mpi_programs(context), None)
        if first and linked and linked[1] != first[1]:
            raise UsageError(
                f"'{first[0]}' is linked with {first[1]}, '{linked[0]}' with {linked[1]}; a launch has one MPI library"
            )
        first = first or linked
    return first[1] if first else None


def contexts(words: Sequence[str]) -> list[list[str]]:
    """Splits a launcher's command at `NEXT` into contexts: the words of each program."""
    groups: list[list[str]] = [[]]
    for word in words:
        if word == NEXT:
            groups.append([])
        else:
            groups[-1].append(word)
    return groups


def split_arguments(words: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Separates the words that a launcher parses from the arguments of MPI programs; returns these per context."""
    bare: list[list[str]] = []
    arguments = []
    for context in contexts(words):
        paths = (shutil.which(word) for word in context)
        end = next((index for index, path in enumerate(paths, 1) if path and library_of(path)), len(context))
        bare.append(context[:end])
        arguments.append(context[end:])
    return joined(bare), arguments


def joined(groups: Iterable[Sequence[str]]) -> list[str]:
    """Joins contexts, with `NEXT` between them."""
    return [word for group in groups for word in (*group, NEXT)][:-1]


def with_arguments(words: Sequence[str], arguments: Sequence[Sequence[str]]) -> list[str]:
    """Adds the arguments that `split_arguments` removed."""
    return joined(
        [*bare, *program_arguments] for bare, program_arguments in zip(contexts(words), arguments, strict=True)
    )


def with_app_files(words: Sequence[str]) -> list[str]:
    """Replaces `--app FILE` by the content of the file; options before it do not apply to its lines."""
    names = (*OPEN_MPI_OPTIONS.programs, *HYDRA_OPTIONS.programs)
    index = next((index for index, word in enumerate(words[:-1]) if is_one_of(word, names)), None)
    # After the program, the option belongs to the program.
    if index is None or any(shutil.which(word) and not old.startswith("-") for old, word in pairwise(words[:index])):
        return [*words]
    file = words[index + 1]
    text = text_in(file)
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    if not any(lines):
        raise UsageError(f"'{words[index]} {file}' names no file with programs")
    if any(quote in text for quote in "'\"\\"):  # launchers differ in quoting
        return [*words]
    return [*words[:index], *joined(filter(None, lines)), *words[index + 2 :]]


def merged(ours: Sequence[str], preloaded: str) -> str:
    """Adds our libraries to a value of LD_PRELOAD: before the others, but after ASan, which must be the first."""
    libraries = [library for library in re.split(r"[:\s]+", preloaded) if library and library not in ours]
    asan = [library for library in libraries if ASAN.search(library)]
    return ":".join([*asan, *ours, *(library for library in libraries if library not in asan)])


def hydra_words(option: str, variables: Mapping[str, str]) -> list[str]:
    """Returns options of Hydra that set variables."""
    return [word for name, value in variables.items() for word in (option, name, value)]


class Setter:
    """Rewrites a command so that it sets our variables for all ranks, and merges them with variables that it sets.

    Attributes:
        ours: our libraries to preload.
        preloaded: value of LD_PRELOAD that the command inherits.
        variables: our variables, name -> value.
        forced: names of variables that the command must not set.
    """

    def __init__(
        self, ours: Sequence[str], variables: Mapping[str, str], forced: Sequence[str], preloaded: str
    ) -> None:
        """Adds LD_PRELOAD to the variables."""
        self.ours = ours
        self.preloaded = preloaded
        preload = merged(ours, preloaded)
        self.variables = {**variables, **({PRELOAD: preload} if preload else {})}
        self.forced = forced

    def instead(self, name: str, value: str | None) -> str | None:
        """Returns the value that replaces the command's value of a variable; None: it is not one of our variables.

        Args:
            name: of a variable that the command sets.
            value: the command's value; None: the command names the variable without a value, to export it.

        Raises:
            UsageError: only `downbeat trace` may set the variable.
        """
        if name in self.forced:
            raise UsageError(f"the command sets {name}, which is an option of downbeat trace; leave it out")
        if name not in self.variables or value is None:
            return self.variables.get(name)
        if name == PRELOAD:
            return merged(self.ours, value)
        return f"{value}:{ASAN_LATER}" if name == ASAN_OPTIONS else value

    def assignment(self, word: str) -> tuple[str, str]:
        """Rewrites NAME=VALUE or NAME; returns the name ("": not one of our variables) and the new word."""
        name, equals, value = word.partition("=")
        new_value = self.instead(name, value if equals else None)
        return ("", word) if new_value is None else (name, f"{name}={new_value}")

    def assignments(self, words: Sequence[str]) -> list[str]:
        """Rewrites the words NAME=VALUE, as in `env NAME=VALUE`."""
        return [self.assignment(word)[1] if "=" in word else word for word in words]

    def remaining(self, names: Iterable[str]) -> dict[str, str]:
        """Returns our variables except those with these names."""
        return {name: value for name, value in self.variables.items() if name not in names}

    def listed(self, value: str) -> str:
        """Adds our variables to Open MPI's list of variables (NAME=VALUE;...); the list and -x exclude each other."""
        names, assigned = zip(*map(self.assignment, filter(None, value.split(";"))), strict=True) if value else ((), ())
        remaining = self.remaining(names)
        for name, setting in remaining.items():
            if ";" in setting:
                raise UsageError(f"{name}='{setting}' cannot be in {LISTED}; set variables of the command with -x")
        return ";".join([*assigned, *(f"{name}={setting}" for name, setting in remaining.items())])

    def open_mpi(self, words: Sequence[str]) -> list[str]:
        """Rewrites the words after Open MPI's launcher: -x applies to one of several programs, so each gets it."""
        for index, word in enumerate(words[1:-1], 1):
            if word == LISTED and words[index - 1].endswith("mca"):
                return self.assignments([*words[: index + 1], self.listed(words[index + 1]), *words[index + 2 :]])
        result: list[str] = []
        for context in contexts(words):
            names = []
            for index in range(1, len(context)):
                if is_one_of(context[index - 1], OPEN_MPI_OPTIONS.assign):
                    name, context[index] = self.assignment(context[index])
                    names.append(name)
            values = [token for name, value in self.remaining(names).items() for token in ("-x", f"{name}={value}")]
            result += [NEXT] * bool(result) + values + self.assignments(context)
        return result

    def hydra(self, words: Sequence[str]) -> list[str]:
        """Rewrites the words after Hydra's launcher: -genv sets a variable for all programs, at most once."""
        groups = []
        global_names: set[str] = set()  # variables that the command sets for all programs
        for context in contexts(words):
            group, options = self.of_hydra(context)
            global_names |= {name for option, name in options if "genv" in option}
            here = [name for option, name in options if "genv" not in option]
            # With these options, Intel's launcher ignores -genv.
            narrow = any(narrows(word) and "genv" not in word for word in context)
            groups.append(hydra_words("-env", self.remaining(here) if narrow else {}) + self.assignments(group))
        return hydra_words("-genv", self.remaining(global_names)) + joined(groups)

    def of_hydra(self, context: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
        """Rewrites the words of one program; returns also its options that set variables, with the variables' names."""
        result: list[str] = []
        options = []
        pending = iter(context)
        for word in pending:
            result.append(word)
            if is_one_of(word, HYDRA_OPTIONS.assign):
                name, equals, value = next(pending, "").partition("=")
                value = value if equals else next(pending, "")
                new_value = self.instead(name, value)
                result += [name, value if new_value is None else new_value]
                options.append((word, name))
        return result, options

    def slurm(self, words: Sequence[str]) -> list[str]:
        """Rewrites the words after srun: its environment has our variables, and --export lists inherited ones."""
        result: list[str] = []
        pending = iter(words)
        for word in pending:
            option, equals, value = word.partition("=")
            if option == "--export":
                value = value if equals else next(pending, "")
                result.append(f"--export={self.exported(value)}")
            else:
                result.append(word)
        return self.assignments(result)

    def exported(self, value: str) -> str:
        """Adds the names of our variables to the list of srun's --export, without values, which may have commas."""
        listed = value.split(",")
        if listed[0].upper() in ("NONE", "NIL"):
            raise UsageError(f"srun exports '{value}', so variables do not reach the ranks; let it export ALL")
        names, assigned = zip(*(self.assignment(item) if "=" in item else (item, item) for item in listed), strict=True)
        return ",".join([*assigned, *([] if "ALL" in listed else self.remaining(names))])


# Options whose values `Setter` rewrites, or which list only names.
KNOWN_BEFORE = (*OPEN_MPI_OPTIONS.assign, *HYDRA_OPTIONS.assign, *HYDRA_OPTIONS.listed, *SLURM_OPTIONS.assign)


def refuse_hidden(words: Sequence[str], library: str) -> None:
    """Refuses a command if its words or files show that LD_PRELOAD would not reach the programs.

    Args:
        words: words of the programs, or of a script that starts launchers.
        library: our library to preload; words that name it are accepted.

    Raises:
        UsageError: a shell command or a file sets LD_PRELOAD, or `env` removes it.
    """
    for before, word in zip(["", *words], words, strict=False):
        assigned = word.startswith((f"{PRELOAD}=", "--export=")) and not re.fullmatch(r"-\w*c", before)  # bash -c
        known = is_one_of(before, KNOWN_BEFORE) or before == LISTED or assigned
        content = "" if is_script(word) else text_in(word)
        if any(PRELOAD in text and library not in text for text in ("" if known else word, content)):
            raise UsageError(
                f"'{word}' sets or removes {PRELOAD} where downbeat trace cannot add to it; begin its value with "
                f"'{library}' there, or leave it out"
            )
    for index, word in enumerate(words):
        if Path(word).name != "env":
            continue
        for option in words[index + 1 :]:
            if option in ("-i", "-", "--ignore-environment"):
                raise UsageError(f"'env {option}' removes {PRELOAD}, so nothing can be recorded; leave it out")
            if not option.startswith("-") and "=" not in option:
                break


ELF = b"\x7fELF"
NO_CALL = "did not call MPI_Init or MPI_Init_thread (MPI_Session_init alone is not recorded)"


def privileged(program: str) -> bool:
    """Returns true if the loader ignores LD_PRELOAD for a program: it is setuid or setgid, or has capabilities."""
    if Path(program).stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        return True
    try:
        return "security.capability" in os.listxattr(program)
    except OSError:
        return False


def is_static(program: str) -> bool:
    """Returns true if a program is linked statically; LD_PRELOAD needs the dynamic loader."""
    with Path(program).open("rb") as file:
        if file.read(len(ELF)) != ELF:
            return False
    done = subprocess.run(["ldd", program], capture_output=True, text=True, errors="replace", check=False)
    return "statically linked" in done.stdout or "not a dynamic" in done.stderr + done.stdout


def why_nothing(words: Sequence[str]) -> str:
    """Explains why a command recorded nothing: a reason that its programs confirm, else the possible reasons.

    Args:
        words: the command.
    """
    programs = [(word, path) for word in words if (path := shutil.which(word))]
    for word, path in programs:
        if os.access(path, os.R_OK) and privileged(path):
            return f"'{word}' is setuid, setgid or has capabilities, so it ignores {PRELOAD}; record it without these"
    for word in words:
        if is_script(word) and PRELOAD in text_in(word):
            return f"the script '{word}' changes {PRELOAD}; let it begin with the value that it has there"
    linked = next(mpi_programs(words), None)
    if linked:
        return f"unless a line above says why, '{linked[0]}' {NO_CALL}, or something removed {PRELOAD} before it began"
    for word, path in programs:
        if os.access(path, os.R_OK) and is_static(path):
            return (
                f"'{word}' is linked statically, so nothing can be preloaded; link it again with libdownbeat-preload "
                "before MPI (docs/unmodified-programs.md)"
            )
    return (
        f"no program of the command shows a shared MPI library; unless a line above says why, it {NO_CALL}, has MPI "
        f"linked statically, or {PRELOAD} did not reach it"
    )
