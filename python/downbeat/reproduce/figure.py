"""What a figure of a paper is: what it shows there, what is run for it here, how it is drawn, what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from downbeat.pictures.picture import Picture

if TYPE_CHECKING:
    from downbeat.reproduce.results import Results
    from downbeat.reproduce.site import Site


@dataclass(frozen=True)
class Run:
    """One configuration of a figure, launched several times.

    Attributes:
        label: names its directory, its cells in frames, and the run in drawings; unique within the figure.
        library: MPI library, by its name in `downbeat.mpi.libraries`.
        ranks: of each launch.
        operations: of downbeat-bench, or the one word that begins another experiment, as "skew".
        options: of downbeat-bench, as in `Measurement`.
        variables: of the environment, as DOWNBEAT_VALIDATION.
        seconds: what a launch takes, roughly.
        most_launches: more are not worth their time; 0: as many as are asked for.
    """

    label: str
    library: str
    ranks: int
    operations: tuple[str, ...]
    options: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 1.0
    most_launches: int = 0

    def launches(self, site: Site) -> int:
        """Returns how often it is launched at a site."""
        return min(site.launches, self.most_launches or site.launches)


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, and what became of it here.

    Attributes:
        claim: in a few words of our own.
        paper: what the paper reports, with its numbers.
        here: the same, computed from the data.
        agrees: None where the data cannot tell.
        is_claim: whether it can be right or wrong; else it is a number to compare.
    """

    claim: str
    paper: str
    here: str
    agrees: bool | None
    is_claim: bool = True


@dataclass(frozen=True)
class Drawn:
    """What the data of a figure show."""

    pictures: tuple[Picture, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper.

    Attributes:
        name: as "schuchart2023-fig2".
        title: what it shows.
        setup: what the paper measured, on what.
        reports: what the paper says that it shows, a sentence each.
        needs: what it takes to show it as the paper does.
        shows: what can be seen of it at a site.
        runs: what is launched at a site; empty where an MPI library that it cannot do without is missing.
        draw: draws it.
        data: another figure, whose launches it is drawn from; empty: it has its own.
        lacks: says which library is missing where `runs` is empty.
    """

    name: str
    title: str
    setup: str
    reports: tuple[str, ...]
    needs: str
    shows: Callable[[Site], str]
    runs: Callable[[Site], tuple[Run, ...]]
    draw: Callable[[Results], Drawn]
    data: str = ""
    lacks: str = "an MPI library"

    @property
    def reference(self) -> str:
        """The figure as one would cite it, as "Schuchart 2023, Fig. 2"."""
        paper, _, number = self.name.partition("-")
        kind, digits = ("Table", number[3:]) if number.startswith("tab") else ("Fig.", number[3:])
        return (
            f"{paper[:-4].capitalize()} {paper[-4:]}, {kind} {ROMAN.get(digits, digits) if kind == 'Table' else digits}"
        )


ROMAN = {"1": "I", "2": "II"}  # Niethammer 2016 numbers its tables so
