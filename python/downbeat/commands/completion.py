"""Values that a shell completes, also after commas."""

from __future__ import annotations

import importlib
import json
import subprocess
from collections.abc import Callable, Iterable

from downbeat.errors import UsageError

SECONDS = 5.0  # a shell waits no longer for downbeat-bench

Completion = Callable[[str], list[str]]


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
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
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
    from downbeat.report.export import KINDS
    from downbeat.trace.viewers import WRITERS

    return dict.fromkeys((*KINDS, *WRITERS, *CLOCK_WRITERS))


METRICS = names_in("downbeat.data.metrics", "METRICS")
LIBRARIES = names_in("downbeat.run.libraries", "LIBRARIES")
FIGURES = names_in("downbeat_papers.figure", "FIGURES")
FORMATS = after_commas(export_formats)
ROWS = names_in("downbeat.report.export", "ROWS")
