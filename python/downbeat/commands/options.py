"""Options of commands that are settings of an experiment: fields of `Request`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from downbeat.commands.completion import LIBRARIES, components
from downbeat.run.request import SETTINGS, Request, request_of

PASSED = "downbeat-bench"  # key of `typer.Context.meta`: the words after `--`


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
        autocompletion=LIBRARIES if of.completes == "library" else completion,
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
