"""The wordings of facts on results of other tools."""

from __future__ import annotations

from downbeat.output.facts.tool_results import Damage, LaunchSpread
from downbeat.output.words.comparison import times
from downbeat.output.words.wording import long
from downbeat.text import counted


@long.register
def _(fact: Damage) -> str:
    position = f"{fact.file}:{fact.line}" if fact.line else fact.file
    if fact.files > 1:
        return f"{fact.what}: {fact.count} in {counted(fact.files, 'file')}, first {position}"
    return (
        f"{fact.what}: {fact.count}, first {position}" if fact.count > 1 else f"{fact.what}: {fact.count}, {position}"
    )


@long.register
def _(fact: LaunchSpread) -> str:
    if not fact.several:
        return f"{counted(fact.cells, 'cell')}, one launch each: nothing is known of differences between launches."
    return (
        f"Launches of a cell differ by {times(fact.median)} times in the median (largest / smallest), by "
        f"{times(fact.high)} in one of ten; {fact.several} of {counted(fact.cells, 'cell')} have two launches or more."
    )
