"""Reads the figures of the papers from `figures/<paper>.toml`: each has a kind, texts and claims.

A kind is a class in kinds/ that plans the launches of a figure, computes measures from them and draws them. A site is
the machine at hand or a simulated cluster (site.py).
"""

from __future__ import annotations

import difflib
import importlib
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pandas as pd
from downbeat.errors import UsageError
from downbeat.output.blocks import Depth, Picture, Table

from downbeat_papers.claims import Claim, Facts, Finding
from downbeat_papers.results import Results, SeriesError
from downbeat_papers.runs import Run
from downbeat_papers.site import Site

FOLDER = Path(__file__).parent / "figures"
PAPERS = {
    "schuchart2023": "Schuchart, Hunold, Bosilca: MPI Process Synchronization in Space and Time. EuroMPI 2023",
    "hunold2015": "Hunold, Carpen-Amarie: On the Impact of Synchronizing Clocks and Processes on Benchmarking MPI "
    "Collectives. EuroMPI 2015",
    "hoefler2008": "Hoefler, Schneider, Lumsdaine: Accurately Measuring Collective Operations at Massive Scale. "
    "IPDPS 2008",
    "niethammer2016": "Niethammer, Khabi, Zhou, Marjanovic, Gracia: Impact of the Entering Time on the Performance "
    "of MPI Collective Operations. Int. J. Advances in Systems and Measurements 9, 2016",
}
WORDS = {"fig": "Fig.", "tab": "Table", "sec": "section"}
# Fields that a figure inherits from the figure that it is `like`, if its entry lacks them.
SHARED = (
    *("setup", "needs", "shows", "kind", "operation", "all_nodes", "size", "samples", "bin", "window_us", "caption"),
    *("late", "shorter", "sizes", "simulated", "effect"),
)
TABLES = ("measures", "timelines")  # tables whose entries a figure inherits one by one
# Required fields of an entry, which it may inherit, with their valid values in words.
NEEDED = {
    "title": "a text",
    "setup": "a text",
    "reports": "a text",
    "needs": "a text",
    "shows": "a text, or texts by conditions of the site",
    "kind": 'a module of kinds/ and a class, as "clocks.Pareto"',
    "claims": "a list, which may be empty",
    "simulated": "why it is not, or { system, ranks, paper }",
    "effect": "what the paper reports, [{ columns of cells, factor }], or a name in tests/statistics/worlds.py",
}
ROMAN = {"1": "I", "2": "II"}  # Niethammer 2016 numbers its tables so


class Kind(Protocol):
    """A kind of figure: its launches, measures and pictures."""

    def runs(self, site: Site, /) -> tuple[Run, ...]:
        """Returns the runs to launch at a site; none if an MPI library that it needs is missing."""

    def facts(self, results: Results, /) -> Facts:
        """Returns the measures that claims compare."""

    def pictures(self, name: str, results: Results, /) -> tuple[Picture, ...]:
        """Draws the figure of a name; a series that the launches lack is drawn without values (see `not_drawn`)."""


@runtime_checkable
class Watching(Protocol):
    """A kind of figure that observes the drift of clocks; option --seconds sets for how long."""

    def watched(self, site: Site, /) -> float:
        """Returns the time for which clocks are observed, s."""


@runtime_checkable
class Configured(Protocol):
    """A kind of figure about `MPIX_Harmonize`, which the paper configures differently (option --published)."""

    def configured(self, site: Site, /) -> str:
        """Returns a sentence on the configuration that is measured, and on the one by which claims are judged."""


@dataclass(frozen=True)
class System:
    """The simulated cluster of a figure: its platform, and numbers of ranks."""

    platform: str  # specification of the simulated cluster, which is as large as the paper's
    ranks: tuple[int, ...]  # default numbers of ranks, small enough that a simulation takes minutes
    paper: str  # the paper's numbers of ranks, in words


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure or table of a paper, or a section that has none.

    Attributes:
        name: e.g. "schuchart2023-fig2", "niethammer2016-tab2" or "schuchart2023-sec66".
        title: the subject of the figure.
        setup: the paper's measurement and machine.
        reports: the paper's results.
        needs: the machine on which the figure shows as much as in the paper.
        can_show: attribute of `Site` -> the part of the figure that such a site shows; the first true attribute counts.
        kind: plans runs, computes measures and draws pictures.
        claims: the paper's claims.
        simulated: the simulated cluster, or the reason why the figure is not simulated; see also `data`.
        effect: the paper's result, from which tests generate launches: factors by columns of cells, with the `column`
            that they apply to, latencies by default (of two factors, the first is for sizes up to 1 KiB); or the name
            of the function that generates the launches.
        data: name of another figure whose launches this figure uses; empty: it has its own.
        lacks: the missing library, in words, for sites where nothing can be launched.
        tables: tables of the paper that belong to the figure.
        also: other names of the figure, e.g. "hunold2015-tab1".
    """

    name: str
    title: str
    setup: str
    reports: str
    needs: str
    can_show: Mapping[str, str]
    kind: Kind
    simulated: System | str
    effect: str | Sequence[Mapping[str, Any]]
    claims: tuple[Claim, ...] = ()
    data: str = ""
    lacks: str = "an MPI library"
    tables: tuple[Table, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """The citation of the figure, e.g. "Schuchart 2023, Fig. 2"."""
        paper, _, number = self.name.partition("-")
        word, digits = number[:3], number[3:]
        written = {"fig": digits, "tab": ROMAN.get(digits, digits), "sec": ".".join(digits)}[word]
        return f"{paper[:-4].capitalize()} {paper[-4:]}, {WORDS[word]} {written}"

    def shows(self, site: Site) -> str:
        """Returns the part of the figure that a site can show, in words; "nothing, ..." if a library is missing."""
        if not self.runs(site):
            return f"nothing, {site.want(data_figure(self).lacks)}"
        text = next(text for condition, text in self.can_show.items() if getattr(site, condition))
        worth = {name: site.worth(getattr(site, name)) for name in ("node", "full", "most")}
        seconds = f"{self.kind.watched(site):g}" if isinstance(self.kind, Watching) else ""
        return text.format(site=site, worth=worth, seconds=seconds)

    def runs(self, site: Site) -> tuple[Run, ...]:
        """Returns the runs to launch at a site: those of the figure that has the data."""
        return data_figure(self).kind.runs(site)

    def pictures(self, results: Results) -> tuple[Picture, ...]:
        """Draws the figure.

        Raises:
            SeriesError: a series has no values, although no cell lacks samples.
        """
        drawn = self.kind.pictures(self.name, results)
        missing = not_drawn(drawn)
        if missing and not results.incomplete():
            raise SeriesError(f"{self.name}: no launch has {'; '.join(missing)}")
        return drawn

    def findings(self, results: Results) -> tuple[Finding, ...]:
        """Compares the claims with launches."""
        facts, site = self.kind.facts(results), results.site
        facts = replace(facts, words={"node": site.node, "full": site.full, **facts.words})
        return tuple(finding for claim in self.claims for finding in claim.findings(facts))


def not_drawn(pictures: Iterable[Picture]) -> list[str]:
    """Returns the series without values, with the titles of their panels, each once."""
    missing = [
        f"{series} ({panel.title})" if panel.title not in ("", series) else series
        for picture in pictures
        for panel in picture.panels
        for series in panel.empty
    ]
    return list(dict.fromkeys(missing))


def kind_of(name: str) -> Callable[..., Kind]:
    """Returns the class of a kind by its module and name, e.g. "clocks.Pareto"."""
    module, _, class_name = name.partition(".")
    kind: Callable[..., Kind] = getattr(importlib.import_module(f"downbeat_papers.kinds.{module}"), class_name)
    return kind


def figures_of(paper: str, folder: Path = FOLDER) -> Iterator[Figure]:
    """Reads the figures of a paper from its TOML file.

    The file has a table per figure, and three others: `[texts]` has phrases that setups share, `[shared]` has claims by
    name, and `[systems]` has simulated clusters by name. A figure that is `like` another figure inherits the fields of
    `SHARED` and the entries of `TABLES` that it lacks. Fields that this function does not know are arguments of the
    class of the kind.

    Raises:
        UsageError: a figure lacks one of `NEEDED`, or names an unknown system.
    """
    path = folder / f"{paper}.toml"
    text = path.read_text(encoding="utf-8")
    entries: dict[str, dict[str, Any]] = tomllib.loads(text)
    texts, shared, systems = (entries.pop(name, {}) for name in ("texts", "shared", "systems"))

    def refusal(number: str, why: str) -> UsageError:
        line = text.partition(f"\n[{number}]\n")[0].count("\n") + 2  # the heading is on the line after the newline
        return UsageError(f"{path.name}, line {line}: {paper}-{number} {why}")

    entries_by_number: dict[str, dict[str, Any]] = {"": {}}  # "": a figure that is like no other inherits nothing
    for number, written in entries.items():
        inherited = entries_by_number[written.pop("like", "")]
        entry = {name: inherited[name] for name in SHARED if name in inherited} | written
        entry |= {name: inherited[name] | written.get(name, {}) for name in TABLES if name in inherited}
        entries_by_number[number] = dict(entry)
        data, also = entry.pop("data", ""), entry.pop("also", ())
        for name, valid in NEEDED.items():
            # A figure that uses the launches of another one is simulated with that one.
            if name not in entry and not (name == "simulated" and data):
                raise refusal(number, f"has no '{name}'; give {valid}")
        simulated = entry.pop("simulated", "")
        if not isinstance(simulated, str):
            try:
                platform = f"{systems[simulated['system']].removesuffix(')')},{NOISE})"
                simulated = System(platform, tuple(simulated["ranks"]), simulated["paper"])
            except KeyError as error:
                raise refusal(number, f"is simulated without {error}; systems are {', '.join(systems)}") from None
        shows = entry.pop("shows")
        claims = [shared[claim] if isinstance(claim, str) else claim for claim in entry.pop("claims")]
        tables = [
            Table(table["title"], pd.DataFrame(table["rows"], columns=table["columns"]), depth=Depth.PAGE)
            for table in entry.pop("table", [])
        ]
        fixed = {name: entry.pop(name) for name in ("title", "needs", "reports", "lacks", "effect") if name in entry}
        yield Figure(
            name=f"{paper}-{number}",
            setup=entry.pop("setup").format(**texts),
            can_show={"any": shows} if isinstance(shows, str) else shows,
            simulated=simulated,
            claims=tuple(Claim(*claim) for claim in claims),
            data=f"{paper}-{data}" if data and "-" not in data else data,
            tables=tuple(tables),
            also=tuple(f"{paper}-{claim}" for claim in also),
            **fixed,
            kind=kind_of(entry.pop("kind"))(**entry),
        )


# Parameters of a noisy network and noisy processors, which every simulated platform gets. Clocks are within 10 ppm, the
# default of all platforms.
NOISE = "overhead=200ns,jitter=100ns,tail=1us,tail_share=1e-3,late=2us,late_share=1e-3"

FIGURES: dict[str, Figure] = {figure.name: figure for paper in PAPERS for figure in figures_of(paper)}


def find_figures(names: Sequence[str]) -> list[Figure]:
    """Returns figures by their names, or by their names in `also`, each once.

    Raises:
        UsageError: there is no figure of a name; the line names similar figures, or else the range of each paper.
    """
    by_name = FIGURES | {name: figure for figure in FIGURES.values() for name in figure.also}
    for name in names:
        if name not in by_name:
            near = difflib.get_close_matches(name.lower(), by_name, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "valid are, by paper, " + "; ".join(ranges())
            raise UsageError(f"there is no figure '{name}'; {hint} (--list shows all)")
    return list(dict.fromkeys(by_name[name] for name in names))


def ranges() -> list[str]:
    """Returns the first and the last figure of each paper."""
    by_paper = [[name for name in FIGURES if name.startswith(paper)] for paper in PAPERS]
    return [f"{names[0]} to {names[-1]}" for names in by_paper]


def check_taken(option: str, protocol: type, figures: Iterable[Figure]) -> None:
    """Checks that an option applies to at least one of the figures: that its kind implements `protocol`.

    Raises:
        UsageError: it applies to none; the line names the figures that it applies to.
    """
    taking = [name for name, figure in FIGURES.items() if isinstance(data_figure(figure).kind, protocol)]
    if not any(figure.name in taking for figure in figures):
        raise UsageError(f"{option}: none of these figures takes it; valid are {', '.join(taking)}")


def data_figure(figure: Figure) -> Figure:
    """Returns the figure that has the launches: the figure itself, or the one that it names in `data`."""
    return FIGURES[figure.data] if figure.data else figure
