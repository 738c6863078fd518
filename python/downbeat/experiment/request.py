"""Makes a plan of a file or of options; an invalid value is named in one line."""

from __future__ import annotations

import dataclasses
import math
import random
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from downbeat.base.text import split_list
from downbeat.errors import UsageError, refuse_pipe
from downbeat.experiment.bench_options import (
    bench_at,
    launcher_at,
    operations_of,
    option_table,
    valid_name,
    valid_text,
    valid_variables,
    word_list,
    wrong,
)
from downbeat.experiment.plan import Environment, Library, Measurement, Plan
from downbeat.experiment.variants import check_programs, variants_of
from downbeat.launchers.bench import find_any_bench, find_bench, library_of, srun_launcher
from downbeat.launchers.job import Job, job_of, places_ranks
from downbeat.launchers.launch import cpus_per_core
from downbeat.launchers.libraries import LIBRARIES, packaged_bench
from downbeat.launchers.simulation import NAME as SIMULATOR
from downbeat.launchers.simulation import Platform, SpecificationError, parse_platform

# Each costs simulation time, and without jitter they are equal.
SIMULATED_REPETITIONS = "20"
SIMULATED_WARMUP = "3"  # there is no cache to warm, and a rule that watches samples takes more time than they
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KEYS = (
    "name", "operations", "sizes", "sync", "repetitions", "options", "ranks", "ranks-per-node", "libraries",
    "environments", "variants", "launches", "width", "max-launches", "timeout", "seed", "simulate",
)  # fmt: skip
MOST_LAUNCHES = 100_000  # of a configuration; years, if a launch takes minutes
LIBRARY_KEYS = ("name", "bench", "launcher")


def read_request(path: Path) -> dict[str, Any]:
    """Reads the file of an experiment.

    Raises:
        UsageError: it cannot be read, is not TOML, or has an unknown key or options that are not valid.
    """
    try:
        refuse_pipe(path)
        with path.open("rb") as file:
            request = tomllib.load(file)
    except OSError as error:
        raise UsageError(f"'{path}' cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"'{path}' is not valid TOML: {error}") from error
    for key in request:
        if key not in KEYS:
            raise UsageError(f"'{path}': unknown key '{key}' of an experiment; choose one of {', '.join(KEYS)}")
    request.setdefault("name", path.stem)
    if "options" in request:
        request["options"] = option_table(request["options"], path.parent)
    return request


def plan_of(request: Mapping[str, Any], base: Path, stored: Callable[[str], Plan | None]) -> Plan:
    """Returns the plan that a request means.

    Args:
        request: values by `KEYS`; `options` are those of downbeat-bench, each with its text.
        base: the directory that relative paths start from.
        stored: gives the plan that the experiment of a name has already, if it has; of that, the seed is kept.

    Raises:
        UsageError: a value is not valid, or there is no downbeat-bench for a library; one line says which.
    """
    if "operations" not in request:
        raise UsageError("no operations to measure; give their names, or a file EXPERIMENT.toml")
    operations = operations_of(request["operations"], base)
    options = {key: word_list(key, request[key]) for key in ("sizes", "sync") if key in request}
    options |= request.get("options", {})
    if "repetitions" in request:
        options["repetitions"] = str(whole(request, "repetitions", 0, 1))
    launches = whole(request, "launches", 10, 1, MOST_LAUNCHES)
    variants = variants_of(request.get("variants"), base, operations)
    per_node = whole(request, "ranks-per-node", 0, 1) if "ranks-per-node" in request else 0
    platform = platform_of(request)
    if platform:
        if per_node or any(one.launcher for one in variants):
            raise UsageError(
                "simulate: a platform has ranks_per_node and no launcher; leave out ranks-per-node and launchers"
            )
        if "stop" not in options:
            options.setdefault("repetitions", SIMULATED_REPETITIONS)
        options.setdefault("warmup", SIMULATED_WARMUP)
    libraries = (
        (simulated_library(platform, request, base),)
        if platform
        else libraries_of(request.get("libraries"), base, per_node)
    )
    check_programs(variants, libraries)
    for one in variants:
        check_placing(one.launcher, per_node)
    plan = Plan(
        name=name_of(request, operations),
        measurement=Measurement(operations, options),
        libraries=libraries,
        ranks=ranks_on(platform, request.get("ranks"))
        if platform
        else ranks_of(request.get("ranks"), job_of(libraries[0].launcher), per_node),
        environments=environments_of(request.get("environments")),
        variants=variants,
        launches=launches,
        timeout=number(request, "timeout", 0.0),
        seed=0,
        width=number(request, "width", 0.0, 1.0, " and below 1, e.g. 0.02 for 2 %"),
        max_launches=whole(request, "max-launches", max(50, launches), launches, MOST_LAUNCHES),
    )
    earlier = stored(plan.name)
    drawn = earlier.seed if earlier else random.SystemRandom().randrange(1_000_000)
    return dataclasses.replace(plan, seed=whole(request, "seed", drawn, 0))


def name_of(request: Mapping[str, object], operations: tuple[str, ...]) -> str:
    """Returns the name of an experiment, by default after its operations."""
    if "name" in request:
        return valid_name("name", request["name"])
    names = [re.sub(r"[^A-Za-z0-9_.+-]+", "-", Path(one).name).strip("-") for one in operations]
    return "-".join(names[:3]) + ("-and-more" if len(names) > 3 else "")


def whole(request: Mapping[str, object], key: str, default: int, least: int, most: int | None = None) -> int:
    """Returns a whole number of a request."""
    value = request.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < least or (most and value > most):
        raise wrong(key, value, f"a whole number, {f'from {least} to {most}' if most else f'at least {least}'}")
    return value


def number(request: Mapping[str, object], key: str, default: float, below: float = math.inf, advice: str = "") -> float:
    """Returns a positive number of a request."""
    if key not in request:
        return default
    value = request[key]
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < below:
        raise wrong(key, value, f"a number above 0{advice}")
    return float(value)


def ranks_of(value: object, job: Job, per_node: int = 0) -> tuple[int, ...]:
    """Returns numbers of ranks; by default those that the job is for, at so many per node, else one per core."""
    if value is None:
        return (default_ranks(job, per_node),)
    values = value if isinstance(value, list) else [value]
    if not values:
        raise wrong("ranks", value, "a number of ranks or a list of them, not empty")
    for one in values:
        whole({"ranks": one}, "ranks", 0, 1)
    return distinct("ranks", values)


def default_ranks(job: Job, per_node: int) -> int:
    """Returns the default number of ranks.

    Args:
        job: the nodes that they go to.
        per_node: the most that a node gets; 0: not said.
    """
    if per_node and job.nodes:
        return max(2, job.nodes * per_node)
    if job.ranks > 1:
        return job.ranks
    if job.nodes > 1 and job.cpus:
        return job.nodes * job.cpus
    return max(2, len(cpus_per_core()))


def libraries_of(value: object, base: Path, per_node: int = 0) -> tuple[Library, ...]:
    """Returns the MPI libraries, each with its downbeat-bench and its launcher."""
    if value is None:
        name, bench = find_any_bench()
        return (library(name, bench, "", per_node),)
    values = value if isinstance(value, list) else [value]
    if not values:
        raise wrong("libraries", value, "a list of MPI libraries, not empty")
    libraries = []
    for one in values:
        table = {"name": one} if isinstance(one, str) else one
        if not isinstance(table, Mapping):
            raise wrong("libraries", one, "a name, or a table with name, bench, launcher")
        for key, content in table.items():
            if key not in LIBRARY_KEYS:
                raise UsageError(
                    f"libraries: unknown key '{key}' of a library; choose one of {', '.join(LIBRARY_KEYS)}"
                )
            valid_text(f"libraries: {key}", content)
        if "name" not in table:
            raise UsageError("libraries: a table has no name, which identifies its results")
        name = valid_name("libraries", table["name"])
        bench = bench_at(str(table["bench"]), base) if "bench" in table else find_bench(name)
        launcher = launcher_at(str(table["launcher"]), base) if "launcher" in table else ""
        libraries.append(library(name, bench, launcher, per_node))
    distinct("libraries", [one.name for one in libraries])
    return tuple(libraries)


def library(name: str, bench: str, launcher: str, per_node: int = 0) -> Library:
    """Returns a library as a plan has it, with so many ranks at most on each node; 0: as the launcher does it."""
    of_wheel = name in LIBRARIES and bench == packaged_bench()
    owner = (name, LIBRARIES[name]) if of_wheel else library_of(bench)
    if owner and name in LIBRARIES and not set(owner[1].abis) & set(LIBRARIES[name].abis):
        raise UsageError(f"libraries: '{bench}' is built for {owner[0]}, not for {name}; give it as {owner[0]}={bench}")
    check_placing(launcher, per_node)
    if owner and not launcher:
        launcher = srun_launcher(owner[1], placed=per_node > 0)
    return Library(name, bench, launcher, owner[1].family.fixed_at_start if owner else (), per_node)


def check_placing(launcher: str, per_node: int) -> None:
    """Checks that a launcher of the user's own, if any, takes the number of ranks per node.

    Raises:
        UsageError: it is given, and the launcher does not say where it goes; or the other way round.
    """
    if launcher and per_node and not places_ranks(launcher):
        raise UsageError(
            f"ranks-per-node: the launcher '{launcher}' does not say where the number goes; give it {{nodes}} or "
            "{ranks_per_node}, as in 'srun -N {nodes} --ntasks-per-node={ranks_per_node} -n {ranks}'"
        )
    if places_ranks(launcher) and not per_node:
        raise UsageError(
            f"launcher: '{launcher}' has {{nodes}} or {{ranks_per_node}}; give the number with --ranks-per-node"
        )


def platform_of(request: Mapping[str, object]) -> Platform | None:
    """Returns the simulated cluster of a request; None if programs run."""
    text = request.get("simulate")
    if text is None:
        return None
    if not isinstance(text, str):
        raise wrong("simulate", text, "a platform such as 'fat-tree(nodes=64)'")
    try:
        return parse_platform(text)
    except SpecificationError as error:
        raise UsageError(f"simulate: {error}") from error


def simulated_library(platform: Platform, request: Mapping[str, object], base: Path) -> Library:
    """Returns the simulator as a plan has it, in place of a library; its table may name the program."""
    tables = request.get("libraries", [{"name": SIMULATOR}])
    table = tables[0] if isinstance(tables, list) and len(tables) == 1 and isinstance(tables[0], Mapping) else None
    if table is None or table.get("name") != SIMULATOR or "launcher" in table:
        raise UsageError("simulate: what is simulated runs under no MPI library and no launcher; leave these out")
    bench = bench_at(str(table["bench"]), base) if "bench" in table else find_bench(SIMULATOR)
    return Library(SIMULATOR, bench, simulate=str(platform))


def ranks_on(platform: Platform, value: object) -> tuple[int, ...]:
    """Returns numbers of ranks on a simulated cluster; by default as many as it has room for."""
    ranks = (platform.ranks,) if value is None else ranks_of(value, job_of(""))
    if max(ranks) > platform.ranks:
        raise UsageError(
            f"ranks: {max(ranks)} do not fit on {platform.nodes} simulated nodes of {platform.ranks_per_node}; "
            "raise nodes or ranks_per_node"
        )
    return ranks


def environments_of(value: object) -> tuple[Environment, ...]:
    """Returns the environments: tables of variables by name."""
    if value is None:
        return (Environment(),)
    if not isinstance(value, Mapping) or not value:
        raise wrong("environments", value, "a table of tables, e.g. [environments.tcp], not empty")
    environments = []
    for name, variables in value.items():
        valid_name("environments", name)
        if not isinstance(variables, Mapping):
            raise wrong(f"environments.{name}", variables, "a table of variables")
        for variable in variables:
            if not VARIABLE.fullmatch(variable):
                raise wrong(f"environments.{name}", variable, "a name of a variable")
        environments.append(Environment(name, valid_variables(f"environments.{name}", variables)))
    return tuple(environments)


def distinct(key: str, values: list[Any]) -> tuple[Any, ...]:
    """Returns values, each of which must be given once."""
    for value in values:
        if values.count(value) > 1:
            raise UsageError(f"{key}: {value} is given twice")
    return tuple(values)


def numbers(key: str, text: str) -> list[int]:
    """Returns whole numbers written as "2,4"."""
    words = split_list(text)
    if not all(re.fullmatch(r"\d+", word) for word in words):
        raise wrong(key, text, "whole numbers with commas, e.g. 2,4")
    return [int(word) for word in words]


def environment_variables(texts: list[str]) -> dict[str, dict[str, str]]:
    """Returns environments written as "tcp:OMPI_MCA_btl=tcp,self"; "tcp:" alone has no variables."""
    environments: dict[str, dict[str, str]] = {}
    for text in texts:
        name, colon, assignment = text.partition(":")
        if not colon or "=" in name:
            name, assignment = "default", text
        variable, equals, content = assignment.partition("=")
        if assignment and not (equals and VARIABLE.fullmatch(variable)):
            raise wrong("--env", text, "VARIABLE=VALUE, or NAME:VARIABLE=VALUE for an environment of that name")
        environments.setdefault(name, {})
        if assignment:
            environments[name][variable] = content
    return environments


def libraries_by_options(
    given: object, mpi: str | None, benches: list[str], launcher: str | None
) -> list[dict[str, object]] | None:
    """Returns libraries as a file would name them, out of --mpi, --bench and --launcher; None if none is given.

    Args:
        given: the libraries of the file, to which --bench and --launcher apply unless there is --mpi.
        mpi: names with commas.
        benches: PATH or NAME=PATH each.
        launcher: a command.
    """
    for option, text in (("--mpi", mpi), ("--launcher", launcher)):
        if text is not None and not text.strip():
            raise UsageError(f"{option} is empty; give it a value, or leave it out")
    if not (mpi or benches or launcher):
        return None
    paths: dict[str, str] = {}
    for text in benches:
        name, equals, path = text.partition("=")
        if not equals:
            name, path = "", text
        if name in paths:
            raise UsageError(
                f"--bench is given twice{f' for {name}' if name else ''}; write NAME=PATH for each library"
            )
        paths[name] = str(Path(path).absolute()) if "/" in path else path
    tables: list[dict[str, object]]
    if mpi:
        tables = [{"name": name} for name in split_list(mpi)]
    elif isinstance(given, list) and given:
        tables = [dict(one) if isinstance(one, Mapping) else {"name": one} for one in given]
    elif any(paths):
        tables = [{"name": name} for name in paths if name]
    else:
        bench = bench_at(paths[""], Path()) if paths else find_any_bench()[1]
        owner = library_of(bench)
        tables = [{"name": owner[0] if owner else "mpi"}]
    names = [str(table.get("name")) for table in tables]
    if "" in paths and len(names) > 1:
        raise UsageError(f"--bench: '{paths['']}' is for one library; write NAME=PATH for each of {', '.join(names)}")
    for name in paths:
        if name and name not in names:
            raise UsageError(f"--bench: '{name}' is not among the libraries {', '.join(names)}")
    for table in tables:
        path = paths.get(str(table.get("name")), paths.get("", ""))
        if path:
            table["bench"] = path
        if launcher:
            table["launcher"] = launcher_at(launcher, Path())
    return tables
