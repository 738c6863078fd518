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
from downbeat.run.job import HYDRA_OPTIONS, OPEN_MPI_OPTIONS, SLURM_OPTIONS, is_launcher, is_one_of
from downbeat.run.libraries import LIBRARIES, packaged_bench

NEXT = ":"  # separates the programs of a launch, in all launchers
PRELOAD = "LD_PRELOAD"
ASAN = re.compile(r"(libasan|libclang_rt\.asan)[^/]*$")
ASAN_OPTIONS, ASAN_LATER = "ASAN_OPTIONS", "verify_asan_link_order=0"  # else ASan has to be the first library
LISTED = "mca_base_env_list"
LISTED_HERE = f"OMPI_MCA_{LISTED}"
LARGEST_TEXT = 1 << 16  # bytes of a text file that a command names: programs of a launch, settings, a script


def launcher_library(launcher: str) -> str | None:
    """Returns the name of the MPI library that a launcher belongs to."""
    if Path(launcher).name.startswith("pr"):  # prterun and prun, whose versions are PRRTE's
        return "openmpi5"
    return next((name for name, library in reversed(list(LIBRARIES.items())) if library.owns(launcher)), None)


def launcher_index(words: Sequence[str]) -> int | None:
    """The index of the launcher in a command; other words may be before it: `time`, `env`, `numactl`."""
    return next((index for index, word in enumerate(words) if is_launcher(word)), None)


def narrows(word: str) -> bool:
    """Whether an option of Hydra restricts the variables of ranks."""
    return is_one_of(word, (*HYDRA_OPTIONS.none, *HYDRA_OPTIONS.listed))


def text_in(word: str) -> str:
    """The content of the text file with this name; "": it is no text file."""
    path = Path(word)
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            content = file.read(LARGEST_TEXT)
    except (OSError, ValueError):
        return ""
    return "" if b"\0" in content else content.decode("utf-8", errors="replace")


def is_script(word: str) -> bool:
    """Whether a word names a program that is text."""
    return text_in(word).startswith("#!")


def mpi_programs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields the programs of a command that are linked with an MPI library, and its name; also programs in files.

    The wheel's downbeat-bench is skipped: it loads the launcher's library.
    """
    of_wheel = packaged_bench()
    texts = [word if " " in word else text_in(word) for word in words]  # a shell's command; a file
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
    """Returns the name of the MPI library that the programs of a command are linked with; None: no program shows it.

    Raises:
        UsageError: they are linked with several.
    """
    first: tuple[str, str] | None = None
    for context in contexts(words):
        # The first program of a context decides: the others are its arguments.
        linked = next(mpi_programs(context), None)
        if first and linked and linked[1] != first[1]:
            raise UsageError(
                f"'{first[0]}' is linked with {first[1]}, '{linked[0]}' with {linked[1]}; a launch has one MPI library"
            )
        first = first or linked
    return first[1] if first else None


def contexts(words: Sequence[str]) -> list[list[str]]:
    """Split a launcher's command into the words of each program, at `NEXT`."""
    groups: list[list[str]] = [[]]
    for word in words:
        if word == NEXT:
            groups.append([])
        else:
            groups[-1].append(word)
    return groups


def split_arguments(words: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Words without the arguments of MPI programs, which a launcher does not parse; and the arguments per context."""
    bare: list[list[str]] = []
    arguments = []
    for context in contexts(words):
        paths = (shutil.which(word) for word in context)
        end = next((index for index, path in enumerate(paths, 1) if path and library_of(path)), len(context))
        bare.append(context[:end])
        arguments.append(context[end:])
    return joined(bare), arguments


def joined(groups: Iterable[Sequence[str]]) -> list[str]:
    """Returns contexts as one list of words."""
    return [word for group in groups for word in (*group, NEXT)][:-1]


def with_arguments(words: Sequence[str], arguments: Sequence[Sequence[str]]) -> list[str]:
    """Words with the arguments that `split_arguments` removed."""
    return joined(
        [*bare, *program_arguments] for bare, program_arguments in zip(contexts(words), arguments, strict=True)
    )


def with_app_files(words: Sequence[str]) -> list[str]:
    """Replace `--app FILE` by the content of the file; options before it do not apply to its lines."""
    names = (*OPEN_MPI_OPTIONS.programs, *HYDRA_OPTIONS.programs)
    index = next((index for index, word in enumerate(words[:-1]) if is_one_of(word, names)), None)
    # After the program, the option is the program's.
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
    """A value of LD_PRELOAD: our libraries before preloaded ones, but after ASan, which has to be the first."""
    libraries = [library for library in re.split(r"[:\s]+", preloaded) if library and library not in ours]
    first = [library for library in libraries if ASAN.search(library)]
    return ":".join([*first, *ours, *(library for library in libraries if library not in first)])


def hydra_words(option: str, variables: Mapping[str, str]) -> list[str]:
    """Returns options of Hydra that set variables."""
    return [word for name, value in variables.items() for word in (option, name, value)]


class Setter:
    """Sets variables for all ranks of a command, beside those that the command sets itself.

    Attributes:
        ours: libraries to preload.
        variables: name -> value.
        forced: names that a command must not set.
    """

    def __init__(
        self, ours: Sequence[str], variables: Mapping[str, str], forced: Sequence[str], preloaded: str
    ) -> None:
        """Takes also the value of LD_PRELOAD that a command starts with."""
        self.ours = ours
        self.preloaded = preloaded
        preload = merged(ours, preloaded)
        self.variables = {**variables, **({PRELOAD: preload} if preload else {})}
        self.forced = forced

    def instead(self, name: str, value: str | None) -> str | None:
        """The value for a variable that the command sets; None: it is not a variable of ours.

        Raises:
            UsageError: it is for `downbeat trace` to set.
        """
        if name in self.forced:
            raise UsageError(f"the command sets {name}, which is an option of downbeat trace; leave it out")
        if name not in self.variables or value is None:
            return self.variables.get(name)
        if name == PRELOAD:
            return merged(self.ours, value)
        return f"{value}:{ASAN_LATER}" if name == ASAN_OPTIONS else value

    def assignment(self, word: str) -> tuple[str, str]:
        """Returns a variable's name, and NAME=VALUE or NAME as it has to be; an empty name if it is not one of ours."""
        name, equals, value = word.partition("=")
        new_value = self.instead(name, value if equals else None)
        return ("", word) if new_value is None else (name, f"{name}={new_value}")

    def assignments(self, words: Sequence[str]) -> list[str]:
        """Returns words with the variables of `env NAME=VALUE` as they have to be."""
        return [self.assignment(word)[1] if "=" in word else word for word in words]

    def remaining(self, names: Iterable[str]) -> dict[str, str]:
        """The variables without these names."""
        return {name: value for name, value in self.variables.items() if name not in names}

    def listed(self, value: str) -> str:
        """Open MPI's list of variables with ours; the list and -x exclude each other."""
        names, assigned = zip(*map(self.assignment, filter(None, value.split(";"))), strict=True) if value else ((), ())
        remaining = self.remaining(names)
        for name, setting in remaining.items():
            if ";" in setting:
                raise UsageError(f"{name}='{setting}' cannot be in {LISTED}; set variables of the command with -x")
        return ";".join([*assigned, *(f"{name}={setting}" for name, setting in remaining.items())])

    def open_mpi(self, words: Sequence[str]) -> list[str]:
        """Returns the words after Open MPI's launcher: -x holds for one program of several, so each gets it."""
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
        """The words after Hydra's launcher: -genv sets a variable for all programs, and must not be repeated."""
        groups = []
        everywhere: set[str] = set()
        for context in contexts(words):
            group, options = self.of_hydra(context)
            everywhere |= {name for option, name in options if "genv" in option}
            here = [name for option, name in options if "genv" not in option]
            # With these options, Intel's launcher ignores -genv.
            narrow = any(narrows(word) and "genv" not in word for word in context)
            groups.append(hydra_words("-env", self.remaining(here) if narrow else {}) + self.assignments(group))
        return hydra_words("-genv", self.remaining(everywhere)) + joined(groups)

    def of_hydra(self, context: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
        """The words of one program with rewritten variables, and the options that set variables, with their names."""
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
        """The command of srun: its environment has our variables, and --export lists those that ranks inherit."""
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
        """A list of variables for srun's --export, with the names of ours; without values, which may have commas."""
        listed = value.split(",")
        if listed[0].upper() in ("NONE", "NIL"):
            raise UsageError(f"srun exports '{value}', so variables do not reach the ranks; let it export ALL")
        names, assigned = zip(*(self.assignment(item) if "=" in item else (item, item) for item in listed), strict=True)
        return ",".join([*assigned, *([] if "ALL" in listed else self.remaining(names))])


# Options whose values are known: they are added to, or have names alone.
KNOWN_BEFORE = (*OPEN_MPI_OPTIONS.assign, *HYDRA_OPTIONS.assign, *HYDRA_OPTIONS.listed, *SLURM_OPTIONS.assign)


def refuse_hidden(words: Sequence[str], library: str) -> None:
    """Refuses words by which LD_PRELOAD would not reach the programs, as far as they show it.

    Args:
        words: those that ranks, or a script's launchers, get.
        library: to preload; words that name it were written with it in mind.

    Raises:
        UsageError: a shell's command or a file sets LD_PRELOAD, or it is removed.
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
    """Whether the loader ignores LD_PRELOAD for a program: it is setuid or setgid, or has capabilities."""
    if Path(program).stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        return True
    try:
        return "security.capability" in os.listxattr(program)
    except OSError:
        return False


def is_static(program: str) -> bool:
    """Whether a program is linked statically: LD_PRELOAD needs the dynamic loader."""
    with Path(program).open("rb") as file:
        if file.read(len(ELF)) != ELF:
            return False
    done = subprocess.run(["ldd", program], capture_output=True, text=True, errors="replace", check=False)
    return "statically linked" in done.stdout or "not a dynamic" in done.stderr + done.stdout


def why_nothing(words: Sequence[str]) -> str:
    """The reason why a command recorded nothing: confirmed by its programs, else a list of possible ones.

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
