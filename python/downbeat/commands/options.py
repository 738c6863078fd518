"""Options that commands share, what completes them, and how a command ends that can be continued."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from downbeat.errors import UsageError
from downbeat.run.launch import INTERRUPTIONS, heeded
from downbeat.run.request import SETTINGS, Request, request_of

LISTING_SECONDS = 5.0  # a shell waits no longer for downbeat-bench

Completion = Callable[[str], list[str]]


class States(StrEnum):
    """States of the machine whose verdicts are shown."""

    ENOUGH = "enough"  # those with enough launches for verdicts
    ALL = "all"


def after_commas(valid: Callable[[], Iterable[str]]) -> Completion:
    """Returns what completes the last name of a list; names are made when a shell asks for them."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in valid() if name.startswith(last)]

    return complete


def components(kind: str) -> Completion:
    """Returns what completes names of a kind of component, as `downbeat-bench list` has them; none without a build."""

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
    """Returns what completes the names in a table of a module, which is loaded when a shell asks."""
    return after_commas(lambda: getattr(importlib.import_module(module), table))


def export_formats() -> Iterable[str]:
    """Returns the formats of launches and recordings."""
    from downbeat.align.timebase import CLOCK_WRITERS
    from downbeat.report.export import FILE_KINDS
    from downbeat.trace.viewers import WRITERS

    return dict.fromkeys((*FILE_KINDS, *WRITERS, *CLOCK_WRITERS))


METRIC_NAMES = names_in("downbeat.data.metrics", "METRICS")
LIBRARY_NAMES = names_in("downbeat.run.libraries", "LIBRARIES")
FIGURES = names_in("downbeat_papers.figure", "FIGURES")
FORMAT_NAMES = after_commas(export_formats)
ROW_NAMES = names_in("downbeat.report.export", "ROWS")


PASSED = "downbeat-bench"  # key of `typer.Context.meta`: the words after `--`


WORDS = "words"  # key of `typer.Context.meta`: those before `--`


def option(field: str, panel: str = "Options", least: int | None = None) -> Any:  # noqa: ANN401 (as typer.Option)
    """Returns the option of a field of `Request`; `least` is for a command that takes it as a number."""
    of = SETTINGS[field]
    completion = components(of.completes) if of.completes else None
    return typer.Option(
        *(of.flags or (f"--{field.replace('_', '-')}",)),
        metavar=of.metavar,
        help=of.help,
        rich_help_panel=panel,
        min=least,
        autocompletion=LIBRARY_NAMES if of.completes == "library" else completion,
    )


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command, in place of its `**` parameter, the option of each field of `Request` that has one."""
    own = inspect.signature(command, eval_str=True)
    parameters = [one for one in own.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    for field, of in SETTINGS.items():
        if of.help:
            text: Any = list[str] | None if of.many else str | None
            kind: Any = Annotated[text, option(field, of.panel)]
            parameters.append(inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind))
    parameters += [one for one in own.parameters.values() if one.kind is one.KEYWORD_ONLY]
    command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def request_by_options(given: dict[str, object]) -> Request:
    """Returns the request of options, by the names of its fields; of those that are given.

    Raises:
        UsageError: one is not valid.
    """
    named = {field.replace("_", "-"): value for field, value in given.items() if value not in (None, [])}
    return request_of(named, Path())


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """Ends the command with status 130 and says how to continue, after Ctrl-C and the signals of batch systems.

    Each of them raises KeyboardInterrupt: running launches are ended, complete ones are kept. Further signals change
    nothing from then on.
    """

    def stop(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in heeded(INTERRUPTIONS)}
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
