"""The wordings of facts: for each a long one, a sentence, and where it has one a short one, for the end of a command.

A wording uses the fact's numbers alone and has no side effects:

    @long.register
    def _(fact: SlowLaunches) -> str:
        return f"{counted(fact.slow, 'launch')} of {fact.launches} took {fact.times:.2f} times as long as the typical one"

A view imports `long` and `short` from here, so that all wordings are registered once it is imported.
"""

from __future__ import annotations

from downbeat.output.blocks import long, short

__all__ = ["long", "short"]
