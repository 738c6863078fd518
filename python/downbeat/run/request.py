"""Reads the request for an experiment: a `Request` from the keys of a file or the options of `downbeat run`.

Each field of `Request` declares its reader, its option and the help of the option (`declared`). A setting that the user
did not give is None; planning.py fills in defaults.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from downbeat.errors import UsageError, refuse_pipe
from downbeat.files import read_own_text
from downbeat.run.bench_options import (
    bench_at,
    invalid_value,
    launcher_at,
    operations_of,
    options_of,
    valid_name,
    valid_text,
    valid_variables,
    word_list,
)
from downbeat.run.plan import Environment, Variant
from downbeat.run.simulation import SpecificationError, parse_platform
from downbeat.text import duration_word, seconds_of, split_list

MAX_LAUNCHES = 100_000  # per configuration; more take years if a launch takes minutes
MAX_SPREAD_SECONDS = 30 * 24 * 3600.0  # time to spread launches over; a longer one is taken for a mistake
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Names of variables of a variant: with a capital letter, so that a misspelled key is not taken for a variable.
VARIANT_VARIABLE = re.compile(r"(?=\w*[A-Z])[A-Za-z_][A-Za-z0-9_]*")
# Valid forms, for errors.
VARIANT_KEYS = "bench, launcher, operation, or a VARIABLE with a capital letter"
ASSIGNMENT = "VARIABLE=VALUE, or NAME:VARIABLE=VALUE for an environment of that name"

# Checks and converts a value of a file or an option. Arguments: the key or the option, for errors; the value; the base
# directory of relative paths. Raises UsageError if the value is not valid.
Reader = Callable[[str, Any, Path], Any]


def whole_number(minimum: int, maximum: int | None = None) -> Reader:
    """A reader of whole numbers from `minimum` to `maximum`, or without limit if `maximum` is None."""
    limits = f"from {minimum} to {maximum}" if maximum else f"at least {minimum}"
    valid = f"a whole number, {limits}"

    def read(key: str, value: object, _base: Path) -> int:
        number = int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value) else value
        if not isinstance(number, int) or isinstance(number, bool):
            raise invalid_value(key, value, valid)
        if number < minimum or (maximum and number > maximum):
            raise invalid_value(key, value, valid)
        return number

    return read


def above_zero(below: float = math.inf, valid: str = "a number above 0", or_zero: bool = False) -> Reader:
    """A reader of numbers above 0 and below `below`; also of 0 with `or_zero`. `valid`: these numbers, for errors."""

    def read(key: str, value: object, _base: Path) -> float:
        number = -1.0  # invalid
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            with contextlib.suppress(ValueError, OverflowError):
                number = float(value)
        if not (0 < number < below or (or_zero and number == 0)):
            raise invalid_value(key, value, valid)
        return number

    return read


def read_duration(key: str, value: object, _base: Path) -> float:
    """Reads a duration: a number of seconds, or text with a unit."""
    is_number = isinstance(value, str | int | float) and not isinstance(value, bool)
    seconds = seconds_of(str(value).strip()) if is_number else math.nan
    if not 0 < seconds <= MAX_SPREAD_SECONDS:
        raise invalid_value(key, value, f"a duration such as 90s, 30m or 2h, up to {duration_word(MAX_SPREAD_SECONDS)}")
    return seconds


def read_ranks(key: str, value: object, base: Path) -> tuple[int, ...]:
    """Reads numbers of ranks: a number, a list, or "2,4"."""
    words = list_of(value)
    if not words:
        raise invalid_value(key, value, "a number of ranks or a list of them, not empty")
    ranks = [whole_number(1)(key, word, base) for word in words]
    refuse_duplicates(key, ranks)
    return tuple(ranks)


def list_of(value: object) -> list[Any]:
    """A list as it is, the words of a text with commas, or a list of one value."""
    if isinstance(value, list):
        return value
    return split_list(value) if isinstance(value, str) else [value]


def refuse_duplicates(key: str, values: Sequence[object]) -> None:
    """Refuses a list with equal values.

    Raises:
        UsageError: a value is given twice.
    """
    for value in values:
        if values.count(value) > 1:
            raise UsageError(f"{key}: {value} is given twice")


def read_platform(key: str, value: object, _base: Path) -> str:
    """Reads a simulated cluster; returns its specification with all parameters."""
    if not isinstance(value, str):
        raise invalid_value(key, value, "a platform such as 'fat-tree(nodes=64)'")
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
    values = list_of(value)
    if not values:
        raise invalid_value(key, value, "a list of MPI libraries, not empty")
    programs = []
    fields = [field.name for field in dataclasses.fields(Program)]
    for entry in values:
        table = {"name": entry} if isinstance(entry, str) else entry
        if not isinstance(table, Mapping):
            raise invalid_value(key, entry, "a name, or a table with name, bench, launcher")
        for field, content in table.items():
            if field not in fields:
                raise UsageError(f"{key}: unknown key '{field}' of a library; choose one of {', '.join(fields)}")
            valid_text(f"{key}: {field}", content)
        if "name" not in table:
            raise UsageError(f"{key}: a table has no name, which identifies its results")
        name = valid_name(key, table["name"])
        bench = bench_at(table["bench"], base) if "bench" in table else ""
        launcher = read_launcher(key, table["launcher"], base) if "launcher" in table else ""
        programs.append(Program(name, bench, launcher))
    refuse_duplicates(key, [program.name for program in programs])
    return tuple(programs)


def read_benches(key: str, value: object, base: Path) -> Mapping[str, str]:
    """Reads paths of downbeat-bench from "NAME=PATH" or "PATH": library -> path; the library of "PATH" is ""."""
    paths: dict[str, str] = {}
    for text in value if isinstance(value, list) else [value]:
        before, equals, after = valid_text(key, text).partition("=")
        library, path = (before, after) if equals else ("", before)
        if library in paths:
            for_library = f" for {library}" if equals else ""
            raise UsageError(f"{key} is given twice{for_library}; write NAME=PATH for each library")
        paths[library] = bench_at(path, base)
    return paths


def read_launcher(key: str, value: object, base: Path) -> str:
    """Reads the command of a launcher."""
    return launcher_at(valid_text(key, value), base)


def tables_of(key: str, texts: list[str], valid: str, unnamed: str) -> dict[str, dict[str, Any]]:
    """Tables by name, like those of a file, from the values of an option: "new:A=1" sets A in table "new".

    "new:" is an empty table. In tables of variants (`unnamed` is ""), `operation` may be set several times and becomes
    a list; other names may be set only once.

    Args:
        key: name of the option.
        texts: values of the option.
        valid: the valid form of a value, for errors.
        unnamed: name of the table for assignments without a name; "": a name is required.
    """
    tables: dict[str, dict[str, Any]] = {}
    for text in texts:
        table, colon, assignment = text.partition(":")
        if unnamed and (not colon or "=" in table):
            table, colon, assignment = unnamed, ":", text
        variable, equals, content = assignment.partition("=")
        if not colon or "=" in table or (assignment and not (equals and variable)):
            raise invalid_value(key, text, valid)
        settings = tables.setdefault(table, {})
        if not unnamed and variable == "operation":
            settings.setdefault(variable, []).append(content)
        elif not unnamed and variable in settings:
            raise UsageError(f"{key}: {table} sets {variable} twice")
        elif assignment:
            settings[variable] = content
    return tables


def read_environments(key: str, value: object, _base: Path) -> tuple[Environment, ...]:
    """Reads environments: tables of variables by name, or texts NAME:VARIABLE=VALUE."""
    tables = tables_of(key, value, ASSIGNMENT, "default") if isinstance(value, list) else value
    if not isinstance(tables, Mapping) or not tables:
        raise invalid_value(key, value, "a table of tables, e.g. [environments.tcp], not empty")
    environments = []
    for environment, variables in tables.items():
        valid_name(key, environment)
        if not isinstance(variables, Mapping):
            raise invalid_value(f"{key}.{environment}", variables, "a table of variables")
        for variable in variables:
            if not VARIABLE_NAME.fullmatch(variable):
                valid = ASSIGNMENT if isinstance(value, list) else "a name of a variable"
                raise invalid_value(f"{key}.{environment}", variable, valid)
        environments.append(Environment(environment, valid_variables(f"{key}.{environment}", variables)))
    return tuple(environments)


def read_variants(key: str, value: object, base: Path) -> tuple[Variant, ...]:
    """Reads variants: tables by name, or texts NAME:KEY=VALUE."""
    valid = f"NAME:KEY=VALUE with {VARIANT_KEYS}, or NAME: alone"
    tables = tables_of(key, value, valid, "") if isinstance(value, list) and value else value
    if not isinstance(tables, Mapping) or len(tables) < 2:
        if key.startswith("-") and isinstance(value, list):
            raise invalid_value(key, ", ".join(value), f"two or more, e.g. {key} old: {key} new:VARIABLE=VALUE")
        raise invalid_value(key, value, "two tables or more, e.g. [variants.old] and [variants.new]")
    return tuple(read_variant(key, name, table, base) for name, table in tables.items())


def read_variant(key: str, name: str, table: object, base: Path) -> Variant:
    """Reads the table of a variant."""
    valid_name(key, name)
    where = f"{key}.{name}"
    if not isinstance(table, Mapping):
        raise invalid_value(where, table, f"a table of {VARIANT_KEYS}")
    fields: dict[str, Any] = {}  # of Variant
    variables: dict[str, str] = {}
    for field, content in table.items():
        if field == "bench":
            fields["bench"] = bench_at(valid_text(f"{where}.bench", content), base)
        elif field == "launcher":
            fields["launcher"] = read_launcher(f"{where}.launcher", content, base)
        elif field == "operation":
            words = content if isinstance(content, list) else [content]
            fields["operations"] = tuple(file_at(where, valid_text(f"{where}.operation", word), base) for word in words)
        elif VARIANT_VARIABLE.fullmatch(field):
            variables |= valid_variables(where, {field: content})
        else:
            raise UsageError(f"{where}: unknown key '{field}' of a variant; choose one of {VARIANT_KEYS}")
    return Variant(name, variables=variables, **fields)


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
        read: checks and converts the value of the key or the option.
        help: help of the option, with its default; "": only files have this key.
        metavar: name of the value in help.
        panel: heading of the option in --help.
        flags: names of the option, the long one last; (): the key with two dashes.
        many: whether the option can be repeated.
        completes: completion of the value in a shell: a kind of component, or "library"; "": none.
    """

    read: Reader
    help: str = ""
    metavar: str = ""
    panel: str = "Options"
    flags: tuple[str, ...] = ()
    many: bool = False
    completes: str = ""


def declared(read: Reader, *more: Any, **named: Any) -> Any:  # noqa: ANN401 (as dataclasses.field)
    """A field of `Request` with a `Declaration`, by its arguments; the field is None if the user does not set it."""
    return dataclasses.field(default=None, metadata={"declared": Declaration(read, *more, **named)})


# Headings in --help.
MEASURED, COMPARED, LAUNCHES = "Measurement", "Comparison", "Launches"
# Help of options that does not fit into a line of `Request`.
NARROW = "Launch until each 95 % interval is at most W x estimate wide, e.g. 0.02 (it then covers 93 %)."
COUNTED = "Launches of each configuration in the machine's most frequent state, of at most twice as many [10]."
SPREAD = "Seconds from the start of one round of launches to that of the next [0: at once]."
OVER = "Spread the launches evenly over this time, e.g. 30m [at once]; by default 10 to 20 of them."
OTHERS = "Launch variants in turn, with another bench, launcher, operation or variable; 'NAME:' has none."
CLUSTER = "Simulate a cluster, e.g. 'fat-tree(nodes=64)'; -n is then as many as fit, -r 20."
SHARE = "a number above 0 and below 1, e.g. 0.02 for 2 %"


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
    interval: float | None = declared(
        above_zero(valid="a number above 0, or 0", or_zero=True), SPREAD, "SECONDS", LAUNCHES
    )
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
        declaration = SETTINGS[field]
        label = key  # the name of the setting in errors
        if not file and declaration.help:
            label = declaration.flags[-1] if declaration.flags else f"--{key}"
        read[field] = declaration.read(label, value, base)
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
    bench_options = dict(file.options or {})
    overriding = options.options or {}
    # Pairs that exclude each other: stop and repetitions; over and interval.
    if "stop" in overriding:
        file = dataclasses.replace(file, repetitions=None)
    elif options.repetitions is not None:
        bench_options.pop("stop", None)
    if options.over is not None:
        file = dataclasses.replace(file, interval=None)
    elif options.interval is not None:
        file = dataclasses.replace(file, over=None)
    overrides = {field: value for field, value in vars(options).items() if value is not None}
    return dataclasses.replace(file, **{**overrides, "options": {**bench_options, **overriding}})
