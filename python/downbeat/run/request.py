"""The request for an experiment: a `Request` from the keys of a file or the options of `downbeat run`."""

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
from downbeat.text import duration_word, seconds_of, split_list

MAX_LAUNCHES = 100_000  # per configuration; years if a launch takes minutes
LONGEST = 30 * 24 * 3600.0  # s to spread launches over; a longer time is a mistake
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Variables of a variant need a capital letter, so that a misspelled key is not taken for a variable.
CAPITAL = re.compile(r"(?=\w*[A-Z])[A-Za-z_][A-Za-z0-9_]*")
VARIANT_KEYS = "bench, launcher, operation, or a VARIABLE with a capital letter"
ASSIGNMENT = "VARIABLE=VALUE, or NAME:VARIABLE=VALUE for an environment of that name"

# Parses a value of a file or an option. Arguments: name for errors, value, base directory of relative paths.
Reader = Callable[[str, Any, Path], Any]


def whole_number(least: int, most: int | None = None) -> Reader:
    """A reader of whole numbers from `least` to `most`."""
    valid = f"a whole number, {f'from {least} to {most}' if most else f'at least {least}'}"

    def read(key: str, value: object, _base: Path) -> int:
        number = int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value) else value
        if not isinstance(number, int) or isinstance(number, bool) or number < least or (most and number > most):
            raise wrong(key, value, valid)
        return number

    return read


def above_zero(below: float = math.inf, advice: str = "", or_zero: bool = False) -> Reader:
    """A reader of numbers above 0 and below `below`, or also 0."""

    def read(key: str, value: object, _base: Path) -> float:
        try:
            number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
        except (ValueError, OverflowError):
            number = -1.0
        if not (0 < number < below or (or_zero and number == 0)):
            raise wrong(key, value, f"a number above 0{advice}")
        return number

    return read


def read_duration(key: str, value: object, _base: Path) -> float:
    """Reads a duration: a number of seconds, or text with a unit."""
    is_number = isinstance(value, str | int | float) and not isinstance(value, bool)
    seconds = seconds_of(str(value).strip()) if is_number else math.nan
    if not 0 < seconds <= LONGEST:
        raise wrong(key, value, f"a duration such as 90s, 30m or 2h, up to {duration_word(LONGEST)}")
    return seconds


def read_ranks(key: str, value: object, base: Path) -> tuple[int, ...]:
    """Reads numbers of ranks: a number, a list, or "2,4"."""
    words = value if isinstance(value, list) else split_list(value) if isinstance(value, str) else [value]
    if not words:
        raise wrong(key, value, "a number of ranks or a list of them, not empty")
    return once_each(key, [whole_number(1)(key, word, base) for word in words])


def once_each(key: str, values: list[Any]) -> tuple[Any, ...]:
    """The values as a tuple.

    Raises:
        UsageError: a value is given twice.
    """
    for value in values:
        if values.count(value) > 1:
            raise UsageError(f"{key}: {value} is given twice")
    return tuple(values)


def read_platform(key: str, value: object, _base: Path) -> str:
    """Reads a simulated cluster; returns its specification with all parameters."""
    if not isinstance(value, str):
        raise wrong(key, value, "a platform such as 'fat-tree(nodes=64)'")
    try:
        return str(parse_platform(value))
    except SpecificationError as error:
        raise UsageError(f"{key}: {error}") from error


@dataclass(frozen=True)
class Program:
    """A requested MPI library: name, downbeat-bench and launcher; "" if not set."""

    name: str
    bench: str = ""
    launcher: str = ""


def read_libraries(key: str, value: object, base: Path) -> tuple[Program, ...]:
    """Reads MPI libraries: names, or tables with a name, a bench and a launcher."""
    values = value if isinstance(value, list) else split_list(value) if isinstance(value, str) else [value]
    if not values:
        raise wrong(key, value, "a list of MPI libraries, not empty")
    programs = []
    valid = [field.name for field in dataclasses.fields(Program)]
    for entry in values:
        table = {"name": entry} if isinstance(entry, str) else entry
        if not isinstance(table, Mapping):
            raise wrong(key, entry, "a name, or a table with name, bench, launcher")
        for field, content in table.items():
            if field not in valid:
                raise UsageError(f"{key}: unknown key '{field}' of a library; choose one of {', '.join(valid)}")
            valid_text(f"{key}: {field}", content)
        if "name" not in table:
            raise UsageError(f"{key}: a table has no name, which identifies its results")
        program = Program(valid_name(key, table["name"]))
        bench = bench_at(table["bench"], base) if "bench" in table else ""
        programs.append(
            dataclasses.replace(program, bench=bench, launcher=read_launcher(key, table.get("launcher"), base))
        )
    once_each(key, [program.name for program in programs])
    return tuple(programs)


def read_benches(key: str, value: object, base: Path) -> Mapping[str, str]:
    """Reads paths of downbeat-bench from "NAME=PATH": library -> path; the name is "" in "PATH"."""
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
    """Reads the command of a launcher; "" for None."""
    return launcher_at(valid_text(key, value), base) if value is not None else ""


def tables_of(key: str, texts: list[str], valid: str, unnamed: str) -> dict[str, dict[str, Any]]:
    """Tables by name, as in a file, from options such as "new:A=1"; "new:" is an empty table.

    Args:
        key: name of the option.
        texts: values of the option.
        valid: the valid form, for the error.
        unnamed: name of the table for assignments without a name; "": a name is required.
    """
    tables: dict[str, dict[str, Any]] = {}
    for text in texts:
        table, colon, assignment = text.partition(":")
        if unnamed and (not colon or "=" in table):
            table, colon, assignment = unnamed, ":", text
        variable, equals, content = assignment.partition("=")
        if not colon or "=" in table or (assignment and not (equals and variable)):
            raise wrong(key, text, valid)
        content_of = tables.setdefault(table, {})
        if not unnamed and variable == "operation":
            content_of.setdefault(variable, []).append(content)
        elif not unnamed and variable in content_of:
            raise UsageError(f"{key}: {table} sets {variable} twice")
        elif assignment:
            content_of[variable] = content
    return tables


def read_environments(key: str, value: object, _base: Path) -> tuple[Environment, ...]:
    """Reads environments: tables of variables by name, or texts NAME:VARIABLE=VALUE."""
    tables = tables_of(key, value, ASSIGNMENT, "default") if isinstance(value, list) else value
    if not isinstance(tables, Mapping) or not tables:
        raise wrong(key, value, "a table of tables, e.g. [environments.tcp], not empty")
    environments = []
    for environment, variables in tables.items():
        valid_name(key, environment)
        if not isinstance(variables, Mapping):
            raise wrong(f"{key}.{environment}", variables, "a table of variables")
        for variable in variables:
            if not VARIABLE_NAME.fullmatch(variable):
                valid = ASSIGNMENT if isinstance(value, list) else "a name of a variable"
                raise wrong(f"{key}.{environment}", variable, valid)
        environments.append(Environment(environment, valid_variables(f"{key}.{environment}", variables)))
    return tuple(environments)


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
    fields: dict[str, Any] = {}
    variables: dict[str, str] = {}
    for field, content in table.items():
        if field == "bench":
            fields[field] = bench_at(valid_text(f"{where}.bench", content), base)
        elif field == "launcher":
            fields[field] = launcher_at(valid_text(f"{where}.launcher", content), base)
        elif field == "operation":
            words = content if isinstance(content, list) else [content]
            fields["operations"] = tuple(file_at(where, valid_text(f"{where}.operation", word), base) for word in words)
        elif CAPITAL.fullmatch(field):
            variables |= valid_variables(where, {field: content})
        else:
            raise UsageError(f"{where}: unknown key '{field}' of a variant; choose one of {VARIANT_KEYS}")
    return Variant(which, variables=variables, **fields)


def file_at(where: str, word: str, base: Path) -> str:
    """The absolute path of a shared object.

    Raises:
        UsageError: the file does not exist.
    """
    path = base.absolute() / word
    if not path.is_file():
        raise UsageError(f"{where}.operation: there is no file '{word}'")
    return str(path)


@dataclass(frozen=True)
class Declaration:
    """The declaration of a field of `Request`: a key of a file and an option of `downbeat run`.

    Attributes:
        read: parses the value of the key or the option.
        help: help of the option, with its default; "": only files have this key.
        metavar: name of the value in help.
        panel: heading in --help.
        flags: names of the option, the long one last; (): the key.
        many: whether the option can be repeated.
        completes: shell completion: a kind of component, or "library".
    """

    read: Reader
    help: str = ""
    metavar: str = ""
    panel: str = "Options"
    flags: tuple[str, ...] = ()
    many: bool = False
    completes: str = ""


def declared(read: Reader, *more: Any, **named: Any) -> Any:  # noqa: ANN401 (as dataclasses.field)
    """A field of `Request`, by the arguments of `Declaration`; None if neither file nor options set it."""
    return dataclasses.field(default=None, metadata={"declared": Declaration(read, *more, **named)})


MEASURED, COMPARED, LAUNCHES = "Measurement", "Comparison", "Launches"
NARROW = "Launch until each 95 % interval is at most W x estimate wide, e.g. 0.02 (it then covers 93 %)."
COUNTED = "Launches of each configuration in the machine's most frequent state, of at most twice as many [10]."
SPREAD = "Seconds from the start of one round of launches to that of the next [0: at once]."
OVER = "Spread the launches evenly over this time, e.g. 30m [at once]; by default 10 to 20 of them."
OTHERS = "Launch variants in turn, with another bench, launcher, operation or variable; 'NAME:' has none."
CLUSTER = "Simulate a cluster, e.g. 'fat-tree(nodes=64)'; -n is then as many as fit, -r 20."
SHARE = " and below 1, e.g. 0.02 for 2 %"


@dataclass(frozen=True)
class Request:
    """A requested experiment. This is the only place that declares a setting: reader, option and help."""

    operations: tuple[str, ...] | None = declared(operations_of)  # the command's arguments
    sizes: str | None = declared(word_list, "Message sizes [8:64K].", "SIZES", MEASURED, ("-m", "--sizes"))
    sync: str | None = declared(
        word_list, "Synchronizers [mpi_barrier,harmonize].", "NAMES", MEASURED, completes="synchronizer"
    )
    repetitions: int | None = declared(
        whole_number(1), "Valid samples per cell and launch [1000].", "N", MEASURED, ("-r", "--repetitions")
    )
    ranks: tuple[int, ...] | None = declared(
        read_ranks, "Numbers of ranks [the job's, else one per core].", "P,P..", MEASURED, ("-n", "--ranks")
    )
    ranks_per_node: int | None = declared(
        whole_number(1), "Most ranks that a node gets [the launcher's].", "K", MEASURED
    )
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
    launches: int | None = declared(whole_number(1, MAX_LAUNCHES), COUNTED, "N", LAUNCHES)
    interval: float | None = declared(above_zero(advice=", or 0", or_zero=True), SPREAD, "SECONDS", LAUNCHES)
    over: float | None = declared(read_duration, OVER, "TIME", LAUNCHES)
    width: float | None = declared(above_zero(1.0, SHARE), NARROW, "W", LAUNCHES)
    max_launches: int | None = declared(
        whole_number(1, MAX_LAUNCHES), "Most launches with --width [50].", "N", LAUNCHES
    )
    timeout: float | None = declared(
        above_zero(), "Seconds after which a launch is ended [by its size].", "S", LAUNCHES
    )
    seed: int | None = declared(whole_number(0), "Seed of the order of launches [random].", "N", LAUNCHES)
    name: str | None = declared(valid_name, "Name of the experiment [from file or operations].", "NAME")
    options: Mapping[str, str] | None = declared(options_of)  # of downbeat-bench, after --


SETTINGS: dict[str, Declaration] = {field.name: field.metadata["declared"] for field in dataclasses.fields(Request)}
KEYS = tuple(field.replace("_", "-") for field in SETTINGS)


def request_of(values: Mapping[str, object], base: Path, file: str = "") -> Request:
    """Makes a request from the keys of a file or the options of a command; checks each value.

    Args:
        values: by key.
        base: directory of relative paths.
        file: file of the keys, for errors; "": the values are options.

    Raises:
        UsageError: a key is unknown, or a value is not valid.
    """
    read = {}
    for key, value in values.items():
        if key not in KEYS:
            raise UsageError(f"'{file}': unknown key '{key}' of an experiment; choose one of {', '.join(KEYS)}")
        field = key.replace("-", "_")
        label = key if file or not SETTINGS[field].help else (SETTINGS[field].flags or [f"--{key}"])[-1]
        read[field] = SETTINGS[field].read(label, value, base)
    return Request(**read)


def read_request(path: Path) -> Request:
    """Reads the file of an experiment.

    Raises:
        UsageError: the file cannot be read or is not TOML, or a key or a value is not valid.
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
    """The request of a file, overridden by options."""
    base, ours = dict(file.options or {}), options.options or {}
    # Pairs that exclude each other: stop and repetitions; over and interval.
    if "stop" in ours:
        file = dataclasses.replace(file, repetitions=None)
    elif options.repetitions is not None:
        base.pop("stop", None)
    if options.over is not None:
        file = dataclasses.replace(file, interval=None)
    elif options.interval is not None:
        file = dataclasses.replace(file, over=None)
    overrides = {field: value for field, value in vars(options).items() if value is not None}
    return dataclasses.replace(file, **{**overrides, "options": {**base, **ours}})
