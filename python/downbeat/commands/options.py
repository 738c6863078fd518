"""Options that several commands share, their completion in a shell, and the end of interrupted commands.

The options of `downbeat run` are declared by the fields of `Request` (run/request.py); `option` and `with_settings`
make typer options of them.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from downbeat.errors import UsageError
from downbeat.run.launch import INTERRUPTIONS, not_ignored
from downbeat.run.request import SETTINGS, Request, request_of

LISTING_SECONDS = 5.0  # time limit of downbeat-bench during shell completion

Completion = Callable[[str], list[str]]  # incomplete word -> completions


def after_commas(valid: Callable[[], Iterable[str]]) -> Completion:
    """A completion for the last name of a comma-separated list; `valid` returns all names, on completion."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in valid() if name.startswith(last)]

    return complete


def components(kind: str) -> Completion:
    """A completion for names of `downbeat-bench list KIND`; no names without a build."""

    def names() -> list[str]:
        from downbeat.run.bench import find_any_bench

        try:
            command = [find_any_bench()[1], "list", kind, "--format", "json"]
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LISTING_SECONDS)
        except (OSError, subprocess.SubprocessError, UsageError):
            return []
        return [str(json.loads(line)["name"]) for line in done.stdout.splitlines()]

    return after_commas(names)


def names_in(module: str, table: str) -> Completion:
    """A completion for the names in a table of a module, which is loaded on completion."""
    return after_commas(lambda: getattr(importlib.import_module(module), table))


def export_formats() -> Iterable[str]:
    """The export formats of launches and recordings."""
    from downbeat.align.timebase import CLOCK_WRITERS
    from downbeat.report.export import FILE_KINDS
    from downbeat.trace.viewers import WRITERS

    return dict.fromkeys((*FILE_KINDS, *WRITERS, *CLOCK_WRITERS))


METRIC_NAMES = names_in("downbeat.data.metrics", "METRICS")
MEASURE_NAMES = names_in("downbeat.data.readers.kinds", "MEASURES")
LIBRARY_NAMES = names_in("downbeat.run.libraries", "LIBRARIES")
FIGURES = names_in("downbeat_papers.figure", "FIGURES")
FORMAT_NAMES = after_commas(export_formats)
ROW_NAMES = names_in("downbeat.report.export", "ROWS")


# Keys of `typer.Context.meta`: the words after and before `--`.
PASSED = "downbeat-bench"
WORDS = "words"


def option(field: str, panel: str = "Options", minimum: int | None = None) -> Any:  # noqa: ANN401 (as typer.Option)
    """The option for a field of `Request`.

    Args:
        field: name of the field.
        panel: heading of the option in --help.
        minimum: smallest valid value, for commands that declare the option as a number.
    """
    declaration = SETTINGS[field]
    completion = components(declaration.completes) if declaration.completes else None
    return typer.Option(
        *(declaration.flags or (f"--{field.replace('_', '-')}",)),
        metavar=declaration.metavar,
        help=declaration.help,
        rich_help_panel=panel,
        min=minimum,
        autocompletion=LIBRARY_NAMES if declaration.completes == "library" else completion,
    )


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Replaces the `**` parameter of a command by one option for each field of `Request` that has help."""
    signature = inspect.signature(command, eval_str=True)
    parameters = [
        parameter for parameter in signature.parameters.values() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    for field, declaration in SETTINGS.items():
        if declaration.help:
            text: Any = list[str] | None if declaration.many else str | None
            kind: Any = Annotated[text, option(field, declaration.panel)]
            parameters.append(inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind))
    parameters += [parameter for parameter in signature.parameters.values() if parameter.kind is parameter.KEYWORD_ONLY]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def request_by_options(values: dict[str, object]) -> Request:
    """The request for the values of options, by the name of the field; None and [] are unset.

    Raises:
        UsageError: an option is not valid.
    """
    named = {field.replace("_", "-"): value for field, value in values.items() if value not in (None, [])}
    return request_of(named, Path())


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """After Ctrl-C or a signal of a batch system, prints how to continue and ends the command with status 130.

    A signal raises KeyboardInterrupt in the block, which ends running launches; complete launches are kept. Further
    signals are ignored.
    """

    def stop(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in not_ignored(INTERRUPTIONS)}
    try:
        yield
    except KeyboardInterrupt:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        print("downbeat: interrupted; run the same command again to continue", file=sys.stderr)
        raise typer.Exit(130) from None
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is stop:
                signal.signal(number, handler)
