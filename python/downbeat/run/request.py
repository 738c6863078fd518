"""The request of an experiment: one `Request`, made of the keys of a file or of the options of `downbeat run`."""

from __future__ import annotations

import dataclasses
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from downbeat.errors import UsageError, refuse_pipe
from downbeat.files import read_own_text
from downbeat.run.bench_options import (
    bench_at,
    launcher_at,
    operations_of,
    options_of,
    valid_name,
    valid_text,
    valid_variables,
    word_list,
    wrong,
)
from downbeat.run.plan import Environment, Variant
from downbeat.run.simulation import SpecificationError, parse_platform
from downbeat.text import split_list

MOST_LAUNCHES = 100_000  # of a configuration; years, if a launch takes minutes
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Of a variant, with a capital, so that a key that is misspelled is not taken for a variable.
CAPITAL = re.compile(r"(?=\w*[A-Z])[A-Za-z_][A-Za-z0-9_]*")
VARIANT_KEYS = "bench, launcher, operation, or a VARIABLE with a capital letter"
ASSIGNMENT = "VARIABLE=VALUE, or NAME:VARIABLE=VALUE for an environment of that name"

# Reads a value that a file or an option gives: what to call it, the value, and where relative paths start from.
Reader = Callable[[str, Any, Path], Any]


def whole(least: int, most: int | None = None) -> Reader:
    """Returns a reader of whole numbers."""
    valid = f"a whole number, {f'from {least} to {most}' if most else f'at least {least}'}"

    def read(key: str, value: object, _base: Path) -> int:
        given = int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value) else value
        if not isinstance(given, int) or isinstance(given, bool) or given < least or (most and given > most):
            raise wrong(key, value, valid)
        return given

    return read


def above_zero(below: float = math.inf, advice: str = "", or_zero: bool = False) -> Reader:
    """Returns a reader of numbers above 0, or of 0 as well."""

    def read(key: str, value: object, _base: Path) -> float:
        try:
            given = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
        except (ValueError, OverflowError):
            given = -1.0
        if not (0 < given < below or (or_zero and given == 0)):
            raise wrong(key, value, f"a number above 0{advice}")
        return given

    return read


def read_ranks(key: str, value: object, base: Path) -> tuple[int, ...]:
    """Reads numbers of ranks: one, a list, or "2,4"."""
    words = value if isinstance(value, list) else split_list(value) if isinstance(value, str) else [value]
    if not words:
        raise wrong(key, value, "a number of ranks or a list of them, not empty")
    return once_each(key, [whole(1)(key, one, base) for one in words])


def once_each(key: str, values: list[Any]) -> tuple[Any, ...]:
    """Returns values, and refuses one that is given twice."""
    for value in values:
        if values.count(value) > 1:
            raise UsageError(f"{key}: {value} is given twice")
    return tuple(values)


def read_platform(key: str, value: object, _base: Path) -> str:
    """Reads a simulated cluster; returns it with every parameter."""
    if not isinstance(value, str):
        raise wrong(key, value, "a platform such as 'fat-tree(nodes=64)'")
    try:
        return str(parse_platform(value))
    except SpecificationError as error:
        raise UsageError(f"{key}: {error}") from error


@dataclass(frozen=True)
class Program:
    """An MPI library as it is asked for: its name, its downbeat-bench and its launcher, "" where nothing says."""

    name: str
    bench: str = ""
    launcher: str = ""


def read_libraries(key: str, value: object, base: Path) -> tuple[Program, ...]:
    """Reads MPI libraries: names, or tables with a name, a bench and a launcher."""
    values = value if isinstance(value, list) else split_list(value) if isinstance(value, str) else [value]
    if not values:
        raise wrong(key, value, "a list of MPI libraries, not empty")
    found = []
    valid = [one.name for one in dataclasses.fields(Program)]
    for one in values:
        table = {"name": one} if isinstance(one, str) else one
        if not isinstance(table, Mapping):
            raise wrong(key, one, "a name, or a table with name, bench, launcher")
        for part, content in table.items():
            if part not in valid:
                raise UsageError(f"{key}: unknown key '{part}' of a library; choose one of {', '.join(valid)}")
            valid_text(f"{key}: {part}", content)
        if "name" not in table:
            raise UsageError(f"{key}: a table has no name, which identifies its results")
        program = Program(valid_name(key, table["name"]))
        bench = bench_at(table["bench"], base) if "bench" in table else ""
        found.append(
            dataclasses.replace(program, bench=bench, launcher=read_launcher(key, table.get("launcher"), base))
        )
    once_each(key, [one.name for one in found])
    return tuple(found)


def read_benches(key: str, value: object, base: Path) -> Mapping[str, str]:
    """Reads paths of downbeat-bench, by the name of their library in "NAME=PATH", "" for the only one."""
    paths: dict[str, str] = {}
    for text in value if isinstance(value, list) else [value]:
        library, equals, path = valid_text(key, text).partition("=")
        library, path = (library, path) if equals else ("", library)
        if library in paths:
            of = f" for {library}" if equals else ""
            raise UsageError(f"{key} is given twice{of}; write NAME=PATH for each library")
        paths[library] = bench_at(path, base)
    return paths


def read_launcher(key: str, value: object, base: Path) -> str:
    """Reads the command of a launcher, "" for none."""
    return launcher_at(valid_text(key, value), base) if value is not None else ""


def tables_of(key: str, texts: list[str], valid: str, unnamed: str) -> dict[str, dict[str, Any]]:
    """Returns tables by name, as a file has them, of options such as "new:A=1"; "new:" alone is an empty table.

    Args:
        key: of the option.
        texts: what it was given.
        valid: the valid form, for the error.
        unnamed: name of the table of an assignment alone; "": a name is required.
    """
    tables: dict[str, dict[str, Any]] = {}
    for text in texts:
        table, colon, assignment = text.partition(":")
        if unnamed and (not colon or "=" in table):
            table, colon, assignment = unnamed, ":", text
        variable, equals, content = assignment.partition("=")
        if not colon or "=" in table or (assignment and not (equals and variable)):
            raise wrong(key, text, valid)
        its = tables.setdefault(table, {})
        if not unnamed and variable == "operation":
            its.setdefault(variable, []).append(content)
        elif not unnamed and variable in its:
            raise UsageError(f"{key}: {table} sets {variable} twice")
        elif assignment:
            its[variable] = content
    return tables


def read_environments(key: str, value: object, _base: Path) -> tuple[Environment, ...]:
    """Reads environments: tables of variables by name, or texts NAME:VARIABLE=VALUE."""
    tables = tables_of(key, value, ASSIGNMENT, "default") if isinstance(value, list) else value
    if not isinstance(tables, Mapping) or not tables:
        raise wrong(key, value, "a table of tables, e.g. [environments.tcp], not empty")
    found = []
    for environment, variables in tables.items():
        valid_name(key, environment)
        if not isinstance(variables, Mapping):
            raise wrong(f"{key}.{environment}", variables, "a table of variables")
        for variable in variables:
            if not VARIABLE_NAME.fullmatch(variable):
                valid = ASSIGNMENT if isinstance(value, list) else "a name of a variable"
                raise wrong(f"{key}.{environment}", variable, valid)
        found.append(Environment(environment, valid_variables(f"{key}.{environment}", variables)))
    return tuple(found)


def read_variants(key: str, value: object, base: Path) -> tuple[Variant, ...]:
    """Reads variants: tables by name, or texts NAME:KEY=VALUE."""
    valid = f"NAME:KEY=VALUE with {VARIANT_KEYS}, or NAME: alone"
    tables = tables_of(key, value, valid, "") if isinstance(value, list) and value else value
    if not isinstance(tables, Mapping) or len(tables) < 2:
        if key.startswith("-") and isinstance(value, list):
            raise wrong(key, ", ".join(value), f"two or more, e.g. {key} old: {key} new:VARIABLE=VALUE")
        raise wrong(key, value, "two tables or more, e.g. [variants.old] and [variants.new]")
    return tuple(read_variant(key, each, table, base) for each, table in tables.items())


def read_variant(key: str, which: str, table: object, base: Path) -> Variant:
    """Reads one variant."""
    valid_name(key, which)
    where = f"{key}.{which}"
    if not isinstance(table, Mapping):
        raise wrong(where, table, f"a table of {VARIANT_KEYS}")
    found: dict[str, Any] = {}
    variables: dict[str, str] = {}
    for part, content in table.items():
        if part == "bench":
            found[part] = bench_at(valid_text(f"{where}.bench", content), base)
        elif part == "launcher":
            found[part] = launcher_at(valid_text(f"{where}.launcher", content), base)
        elif part == "operation":
            given = content if isinstance(content, list) else [content]
            found["operations"] = tuple(file_at(where, valid_text(f"{where}.operation", one), base) for one in given)
        elif CAPITAL.fullmatch(part):
            variables |= valid_variables(where, {part: content})
        else:
            raise UsageError(f"{where}: unknown key '{part}' of a variant; choose one of {VARIANT_KEYS}")
    return Variant(which, variables=variables, **found)


def file_at(where: str, word: str, base: Path) -> str:
    """Returns the absolute path of a shared object."""
    path = base.absolute() / word
    if not path.is_file():
        raise UsageError(f"{where}.operation: there is no file '{word}'")
    return str(path)


@dataclass(frozen=True)
class Declaration:
    """How a field of `Request` is given: as a key of a file, and as an option of `downbeat run`.

    Attributes:
        read: makes the field's value of what either gives.
        help: text of the option, with its default; "": the file alone has it.
        metavar: what its value is called.
        panel: the heading of --help under which it is listed.
        flags: names of the option, the last one long; (): the key.
        many: whether the option can be given several times.
        completes: what a shell completes: a kind of component, or "library".
    """

    read: Reader
    help: str = ""
    metavar: str = ""
    panel: str = "Options"
    flags: tuple[str, ...] = ()
    many: bool = False
    completes: str = ""


def declared(read: Reader, *more: Any, **others: Any) -> Any:  # noqa: ANN401 (as dataclasses.field)
    """Returns a field of `Request`; None where neither file nor options give it."""
    return dataclasses.field(default=None, metadata={"declared": Declaration(read, *more, **others)})


MEASURED, COMPARED, LAUNCHES = "Measurement", "Comparison", "Launches"
NARROW = "Launch until each 95 % interval is at most W x estimate wide, e.g. 0.02 (it then covers 93 %)."
COUNTED = "Launches of each configuration in the machine's most frequent state, of at most twice as many [10]."
SPREAD = "Seconds from the start of one round of launches to that of the next [0: at once]."
OTHERS = "Launch variants in turn, with another bench, launcher, operation or variable; 'NAME:' has none."
CLUSTER = "Simulate a cluster, e.g. 'fat-tree(nodes=64)'; -n is then as many as fit, -r 20."
SHARE = " and below 1, e.g. 0.02 for 2 %"


@dataclass(frozen=True)
class Request:
    """An experiment as it is asked for. A setting is declared here alone: its reader, its option and its help."""

    operations: tuple[str, ...] | None = declared(operations_of)  # the first words of the command
    sizes: str | None = declared(word_list, "Message sizes [8:64K].", "SIZES", MEASURED, ("-m", "--sizes"))
    sync: str | None = declared(
        word_list, "Synchronizers [mpi_barrier,harmonize].", "NAMES", MEASURED, completes="synchronizer"
    )
    repetitions: int | None = declared(
        whole(1), "Valid samples per cell and launch [1000].", "N", MEASURED, ("-r", "--repetitions")
    )
    ranks: tuple[int, ...] | None = declared(
        read_ranks, "Numbers of ranks [the job's, else one per core].", "P,P..", MEASURED, ("-n", "--ranks")
    )
    ranks_per_node: int | None = declared(whole(1), "Most ranks that a node gets [the launcher's].", "K", MEASURED)
    simulate: str | None = declared(read_platform, CLUSTER, "PLATFORM", MEASURED)
    variants: tuple[Variant, ...] | None = declared(
        read_variants, OTHERS, "NAME:KEY=VALUE", COMPARED, ("--variant",), many=True
    )
    environments: tuple[Environment, ...] | None = declared(
        read_environments,
        "Set a variable in the environment NAME; 'NAME:' alone sets none.",
        "[NAME:]VAR=VALUE",
        COMPARED,
        ("--env",),
        many=True,
    )
    libraries: tuple[Program, ...] | None = declared(
        read_libraries, "MPI libraries [the first that is built].", "NAMES", COMPARED, ("--mpi",), completes="library"
    )
    bench: Mapping[str, str] | None = declared(
        read_benches, "Path of downbeat-bench [the build, else PATH].", "[MPI=]PATH", COMPARED, many=True
    )
    launcher: str | None = declared(read_launcher, "Launcher, e.g. 'srun --mpi=pmix -n {ranks}'.", "COMMAND", COMPARED)
    launches: int | None = declared(whole(1, MOST_LAUNCHES), COUNTED, "N", LAUNCHES)
    interval: float | None = declared(above_zero(advice=", or 0", or_zero=True), SPREAD, "SECONDS", LAUNCHES)
    width: float | None = declared(above_zero(1.0, SHARE), NARROW, "W", LAUNCHES)
    max_launches: int | None = declared(whole(1, MOST_LAUNCHES), "Most launches with --width [50].", "N", LAUNCHES)
    timeout: float | None = declared(
        above_zero(), "Seconds after which a launch is ended [by its size].", "S", LAUNCHES
    )
    seed: int | None = declared(whole(0), "Seed of the order of launches [random].", "N", LAUNCHES)
    name: str | None = declared(valid_name, "Name of the experiment [from file or operations].", "NAME")
    options: Mapping[str, str] | None = declared(options_of)  # of downbeat-bench, after --


SETTINGS: dict[str, Declaration] = {one.name: one.metadata["declared"] for one in dataclasses.fields(Request)}
KEYS = tuple(field.replace("_", "-") for field in SETTINGS)


def request_of(given: Mapping[str, object], base: Path, file: str = "") -> Request:
    """Makes a request of the keys of a file, or of the options of a command; each value is judged here, once.

    Args:
        given: values by key.
        base: the directory that relative paths start from.
        file: that has the keys; "": options, which errors name as such.

    Raises:
        UsageError: a key is unknown, or a value is not valid.
    """
    read = {}
    for key, value in given.items():
        if key not in KEYS:
            raise UsageError(f"'{file}': unknown key '{key}' of an experiment; choose one of {', '.join(KEYS)}")
        field = key.replace("-", "_")
        label = key if file or not SETTINGS[field].help else (SETTINGS[field].flags or [f"--{key}"])[-1]
        read[field] = SETTINGS[field].read(label, value, base)
    return Request(**read)


def read_request(path: Path) -> Request:
    """Reads the file of an experiment.

    Raises:
        UsageError: it cannot be read, is not TOML, or a key or a value is not valid.
    """
    try:
        refuse_pipe(path)
        content = tomllib.loads(read_own_text(path))
    except OSError as error:
        raise UsageError(f"'{path}' cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"'{path}' is not valid TOML: {error}") from error
    return request_of({"name": path.stem, **content}, path.parent, str(path))


def overridden(file: Request, options: Request) -> Request:
    """Returns what a file asks for, but for what options say instead."""
    theirs, ours = dict(file.options or {}), options.options or {}
    # Each replaces the other: a rule, and the short form of one.
    if "stop" in ours:
        file = dataclasses.replace(file, repetitions=None)
    elif options.repetitions is not None:
        theirs.pop("stop", None)
    given = {field: value for field, value in vars(options).items() if value is not None}
    return dataclasses.replace(file, **{**given, "options": {**theirs, **ours}})
