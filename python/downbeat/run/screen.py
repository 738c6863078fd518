"""Output of rich on a terminal: texts are made printable, its own control codes are kept."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from downbeat.text import printable


class Screen(Console):
    """The console of a stream, which may be `streams.Shown`: on a terminal it writes to what is below."""

    def __init__(self, stderr: bool = False) -> None:
        stream = sys.stderr if stderr else sys.stdout
        super().__init__(file=getattr(stream, "stream", stream) if stream.isatty() else stream, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)
