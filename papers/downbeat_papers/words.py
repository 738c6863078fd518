"""Defines the facts in the view of a figure: a dataclass of numbers for each, and its wording (see output/words.py)."""

from __future__ import annotations

from dataclasses import dataclass

from downbeat.output.facts import Fact
from downbeat.output.words import long, short
from downbeat.text import counted, listed

from downbeat_papers.judgement import CONFIRMED, NOT_CONFIRMED, UNDECIDED
from downbeat_papers.simulated import model_line

MAX_NAMED = 6  # claims in a sentence; the table has all


@dataclass(frozen=True)
class ClaimCounts(Fact):
    """The verdicts on the claims of figures."""

    confirmed: int
    not_confirmed: int
    undecided: int


@long.register
def _(fact: ClaimCounts) -> str:
    counts = {CONFIRMED: fact.confirmed, NOT_CONFIRMED: fact.not_confirmed, UNDECIDED: fact.undecided}
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return f"{counted(sum(counts.values()), 'claim')}: {verdicts}" if verdicts else "no claim that data can decide"


@dataclass(frozen=True)
class ClaimsOfVerdict(Fact):
    """Claims with the same verdict; undecided claims also have the same reason."""

    verdict: str
    claims: tuple[str, ...]
    reason: str = ""


@long.register
def _(fact: ClaimsOfVerdict) -> str:
    return f"{fact.verdict.capitalize()}: {short(fact)}"


@short.register
def _(fact: ClaimsOfVerdict) -> str:
    if fact.reason:
        return f"{fact.reason} ({counted(len(fact.claims), 'claim')})"
    named = [f"that {claim}" for claim in fact.claims[:MAX_NAMED]]
    more = len(fact.claims) - len(named)
    return "; ".join([*named, *([f"{more} more"] if more else [])])


@dataclass(frozen=True)
class NotDrawn(Fact):
    """A figure without pictures, and the directory of its complete launches; empty: there are none."""

    reason: str
    directory: str = ""


@long.register
def _(fact: NotDrawn) -> str:
    kept = f"; complete launches are kept in {fact.directory}, and the same command draws them once this is fixed"
    return f"nothing is drawn: {fact.reason}{kept if fact.directory else ''}"


@dataclass(frozen=True)
class LaunchesFailed(Fact):
    """Launches that a run lacks, and the directory of their output."""

    run: str
    failed: int
    launches: int
    directory: str


@long.register
def _(fact: LaunchesFailed) -> str:
    failed = f"{fact.failed} of {counted(fact.launches, 'launch')} of {fact.run} failed"
    result = "it is not drawn" if fact.failed == fact.launches else "claims rest on fewer"
    return f"{failed}, so {result}; the output is in {fact.directory}"


@dataclass(frozen=True)
class RanksShareCores(Fact):
    """Runs with more ranks than cores."""

    runs: tuple[str, ...]
    ranks: tuple[int, ...]
    cores: int


@long.register
def _(fact: RanksShareCores) -> str:
    return (
        f"{', '.join(fact.runs)}: {listed(map(str, fact.ranks))} ranks share {fact.cores} cores, so times contain the "
        "wait for a core and show a direction at best. More cores, or --ranks, help"
    )


@dataclass(frozen=True)
class RanksSpread(Fact):
    """Runs for a single node that the launcher started on several nodes."""

    runs: tuple[str, ...]


@long.register
def _(fact: RanksSpread) -> str:
    return (
        f"{', '.join(fact.runs)}: the launcher spread ranks of one node over several; look at {{nodes}} and "
        "{ranks_per_node} in its command"
    )


@dataclass(frozen=True)
class FewMeasurements(Fact):
    """A single launch of each configuration, or few repetitions in each."""

    quick: bool


@long.register
def _(fact: FewMeasurements) -> str:
    if fact.quick:
        return "--quick takes so few repetitions that no number here means anything; run it without"
    return "a single launch has no known error, so no claim can be decided; use --launches 5 or more"


@dataclass(frozen=True)
class Simulated(Fact):
    """Launches on the model of a cluster."""

    platform: str


@long.register
def _(fact: Simulated) -> str:
    return model_line(fact.platform)


@dataclass(frozen=True)
class SamplesMissing(Fact):
    """Cells with fewer valid samples than requested.

    Attributes:
        runs: label, launches with such cells, launches.
        not_drawn: series without any value.
    """

    runs: tuple[tuple[str, int, int], ...]
    not_drawn: tuple[str, ...]


@long.register
def _(fact: SamplesMissing) -> str:
    runs = ", ".join(f"{run} in {few} of {launches} launches" for run, few, launches in fact.runs)
    lost = f"; not drawn at all: {'; '.join(fact.not_drawn)}" if fact.not_drawn else ""
    return (
        f"cells have fewer valid samples than requested, or none, because starts failed too often: {runs}. Such cells "
        f"are drawn from fewer samples{lost}; an idle machine helps"
    )
