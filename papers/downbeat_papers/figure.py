"""A figure of a paper: its claims there, its runs and its drawer here, and the findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from downbeat.pictures.picture import Picture
from downbeat.report.page import Table
from downbeat_papers.evidence import Evidence, Undecidable
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site


@dataclass(frozen=True)
class Finding:
    """A claim of the paper and what launches here say of it, or a number to compare.

    Attributes:
        claim: in a few words of our own.
        paper: what the paper reports, with its numbers.
        here: the same, computed from the data.
        evidence: what launches say of the claim, or why it cannot be decided here; None: a number to compare.
    """

    claim: str
    paper: str
    here: str
    evidence: Evidence | Undecidable | None

    @property
    def is_claim(self) -> bool:
        """Whether it can be right or wrong."""
        return self.evidence is not None


@dataclass(frozen=True)
class Drawn:
    """The findings of a figure in the data, and tables of the paper that belong to it."""

    pictures: tuple[Picture, ...]
    findings: tuple[Finding, ...]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper, or a section that has none.

    Attributes:
        name: as "schuchart2023-fig2", "niethammer2016-tab2" or "schuchart2023-sec66".
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
        kind, digits = number[:3], number[3:]
        written = {"fig": digits, "tab": ROMAN.get(digits, digits), "sec": ".".join(digits)}[kind]
        return f"{paper[:-4].capitalize()} {paper[-4:]}, {KINDS[kind]} {written}"


KINDS = {"fig": "Fig.", "tab": "Table", "sec": "section"}
ROMAN = {"1": "I", "2": "II"}  # Niethammer 2016 numbers its tables so
