"""Variants of an experiment as a user gives them: old and new of a program, a library, an operation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from downbeat.base.text import name_of
from downbeat.errors import UsageError
from downbeat.experiment.bench_options import bench_at, launcher_at, valid_name, valid_text, valid_variables, wrong
from downbeat.experiment.plan import Library, Variant
from downbeat.launchers.bench import library_of

# With a capital, so that a key that is misspelled is not taken for a variable.
VARIABLE = re.compile(r"(?=\w*[A-Z])[A-Za-z_][A-Za-z0-9_]*")
VALID = "bench, launcher, operation, or a VARIABLE with a capital letter"


def variants_of(value: object, base: Path, operations: Sequence[str]) -> tuple[Variant, ...]:
    """Returns the variants: tables by name.

    Args:
        value: of the request; None: nothing takes turns.
        base: the directory that relative paths start from.
        operations: what is measured, files by their absolute paths.

    Raises:
        UsageError: one is not valid, or stands for an operation that is not measured.
    """
    if value is None:
        return (Variant(),)
    if not isinstance(value, Mapping) or len(value) < 2:
        raise wrong("variants", value, "two tables or more, e.g. [variants.old] and [variants.new]")
    return tuple(variant(name, table, base, operations) for name, table in value.items())


def variant(name: str, table: object, base: Path, operations: Sequence[str]) -> Variant:
    """Returns one variant."""
    valid_name("variants", name)
    where = f"variants.{name}"
    if not isinstance(table, Mapping):
        raise wrong(where, table, f"a table of {VALID}")
    bench, launcher, files = "", "", []
    variables: dict[str, str] = {}
    for key, content in table.items():
        if key == "bench":
            bench = bench_at(valid_text(f"{where}.bench", content), base)
        elif key == "launcher":
            launcher = launcher_at(valid_text(f"{where}.launcher", content), base)
        elif key == "operation":
            given = content if isinstance(content, list) else [content]
            files = [file_at(where, valid_text(f"{where}.operation", one), base, operations) for one in given]
        elif VARIABLE.fullmatch(key):
            variables |= valid_variables(where, {key: content})
        else:
            raise UsageError(f"{where}: unknown key '{key}' of a variant; choose one of {VALID}")
    return Variant(name, bench, launcher, tuple(files), variables)


def file_at(where: str, word: str, base: Path, operations: Sequence[str]) -> str:
    """Returns the absolute path of a shared object that stands for an operation of the same file name."""
    path = base.absolute() / word
    if not path.is_file():
        raise UsageError(f"{where}.operation: there is no file '{word}'")
    names = [Path(one).name for one in map(name_of, operations) if "/" in one]
    if path.name not in names:
        there = f"the files of operations are {', '.join(dict.fromkeys(names))}" if names else "no operation is a file"
        raise UsageError(f"{where}.operation: '{word}' replaces no operation; {there}")
    return str(path)


def check_programs(variants: Sequence[Variant], libraries: Sequence[Library]) -> None:
    """Checks that programs and launchers of variants go with the MPI library.

    Raises:
        UsageError: there are several libraries, or a program is linked with one of another kind.
    """
    for one in variants:
        if (one.bench or one.launcher) and len(libraries) > 1:
            key = "bench" if one.bench else "launcher"
            names = ", ".join(library.name for library in libraries)
            raise UsageError(f"variants.{one.name}: a {key} belongs to one MPI library, not to {names}")
        kinds = [owner[0] for path in (libraries[0].bench, one.bench) if path and (owner := library_of(path))]
        if len(set(kinds)) > 1:
            raise UsageError(
                f"variants.{one.name}: '{one.bench}' is linked with {kinds[1]}, not {kinds[0]}; compare kinds of MPI"
                f" library by libraries (--mpi {kinds[0]},{kinds[1]})"
            )


def variants_by_options(texts: Sequence[str]) -> dict[str, dict[str, object]]:
    """Returns variants written as "new:bench=PATH"; "old:" alone is as all else says.

    Paths start from the working directory; those of operations may be several.

    Raises:
        UsageError: one has another form.
    """
    variants: dict[str, dict[str, object]] = {}
    for word in texts:
        name, colon, assignment = word.partition(":")
        key, equals, content = assignment.partition("=")
        if not colon or "=" in name or (assignment and not (equals and key and content)):
            raise wrong("--variant", word, f"NAME:KEY=VALUE with {VALID}, or NAME: alone")
        table = variants.setdefault(name, {})
        if not assignment:
            continue
        if key == "operation":
            files = table.setdefault(key, [])
            assert isinstance(files, list)
            files.append(str(Path(content).absolute()))
        elif key in table:
            raise UsageError(f"--variant: {name} sets {key} twice")
        elif key == "bench" and "/" in content:
            table[key] = str(Path(content).absolute())
        else:
            table[key] = launcher_at(content, Path()) if key == "launcher" else content
    return variants


def first_bench(value: object, base: Path) -> list[str]:
    """Returns the downbeat-bench of the first variant of a request, by which its MPI library is known; [] if none."""
    table = next(iter(value.values()), None) if isinstance(value, Mapping) else None
    bench = table.get("bench") if isinstance(table, Mapping) else None
    return [str(base.absolute() / bench) if "/" in bench else bench] if isinstance(bench, str) else []
