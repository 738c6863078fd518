"""The figures of the papers: entries of `figures/<paper>.toml`, each with its kind, its texts and its claims."""

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
# What a figure takes from the one that it is `like`: whole fields, and the entries that its own tables lack.
SHARED = (
    *("setup", "needs", "shows", "kind", "operation", "all_nodes", "size", "samples", "bin", "window_us", "caption"),
    *("late", "shorter", "sizes", "simulated", "effect"),
)
TABLES = ("measures", "timelines")
# What an entry, or the one that it is `like`, must have, with a word on what is valid.
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
        """Draws the figure of a name; what launches should have, and do not, is a mark without a value."""


@runtime_checkable
class Watching(Protocol):
    """A kind of figure that watches clocks as they drift."""

    def watched(self, site: Site, /) -> float:
        """Returns for how many seconds."""


@runtime_checkable
class Configured(Protocol):
    """A kind of figure about `MPIX_Harmonize`, which has a configuration of its own in the paper."""

    def configured(self, site: Site, /) -> str:
        """The configuration is measured, and judged."""


@dataclass(frozen=True)
class System:
    """The simulated cluster of a figure: its platform, and numbers of ranks."""

    platform: str  # as large as the paper's
    ranks: tuple[int, ...]  # by default: as many as take minutes
    paper: str  # the paper's numbers of ranks, in words


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure or table of a paper, or a section that has none.

    Attributes:
        name: as "schuchart2023-fig2", "niethammer2016-tab2" or "schuchart2023-sec66".
        title: its subject.
        setup: the paper's measurement and machine.
        reports: the paper's results.
        needs: the machine that shows it as the paper does.
        can_show: the part that a site shows, by conditions of the site; the first that is met counts.
        kind: runs, measures and pictures.
        claims: of the paper.
        simulated: its cluster, or the reason why it is not simulated; of the figure that has the data.
        effect: what the paper reports, for launches that are made up: factors by columns of cells, with the `column`
            that they are of, latencies by default, and of two factors the first for sizes up to 1 KiB; or the name of
            the function that makes up launches.
        data: another figure, whose launches it is drawn from; empty: it has its own.
        lacks: says which library is missing where nothing can be launched.
        tables: of the paper that belong to it.
        also: other names by which it is found, as "hunold2015-tab1".
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
        """The figure as it is cited, as "Schuchart 2023, Fig. 2"."""
        paper, _, number = self.name.partition("-")
        word, digits = number[:3], number[3:]
        written = {"fig": digits, "tab": ROMAN.get(digits, digits), "sec": ".".join(digits)}[word]
        return f"{paper[:-4].capitalize()} {paper[-4:]}, {WORDS[word]} {written}"

    def shows(self, site: Site) -> str:
        """Returns the part that a site can show, in words; nothing where a library is missing."""
        if not self.runs(site):
            return f"nothing, {site.want(own_data(self).lacks)}"
        text = next(text for condition, text in self.can_show.items() if getattr(site, condition))
        worth = {name: site.worth(getattr(site, name)) for name in ("node", "full", "most")}
        seconds = f"{self.kind.watched(site):g}" if isinstance(self.kind, Watching) else ""
        return text.format(site=site, worth=worth, seconds=seconds)

    def runs(self, site: Site) -> tuple[Run, ...]:
        """Returns the runs to launch at a site, of the figure or of the one that has its launches."""
        return own_data(self).kind.runs(site)

    def pictures(self, results: Results) -> tuple[Picture, ...]:
        """Draws it.

        Raises:
            SeriesError: a series has nothing to be drawn, though no cell lacks samples.
        """
        drawn = self.kind.pictures(self.name, results)
        lost = not_drawn(drawn)
        if lost and not results.incomplete():
            raise SeriesError(f"{self.name}: no launch has {'; '.join(lost)}")
        return drawn

    def findings(self, results: Results) -> tuple[Finding, ...]:
        """Compares the claims with launches."""
        facts, site = self.kind.facts(results), results.site
        facts = replace(facts, words={"node": site.node, "full": site.full, **facts.words})
        return tuple(finding for claim in self.claims for finding in claim.findings(facts))


def not_drawn(pictures: Iterable[Picture]) -> list[str]:
    """Returns the series that panels lack, with the title of the panel, each once."""
    lost = [
        f"{series} ({panel.title})" if panel.title not in ("", series) else series
        for picture in pictures
        for panel in picture.panels
        for series in panel.empty
    ]
    return list(dict.fromkeys(lost))


def kind_of(name: str) -> Callable[..., Kind]:
    """Returns a kind by its module and class, as "clocks.Pareto"."""
    module, _, kind = name.partition(".")
    made: Callable[..., Kind] = getattr(importlib.import_module(f"downbeat_papers.kinds.{module}"), kind)
    return made


def figures_of(paper: str, folder: Path = FOLDER) -> Iterator[Figure]:
    """Reads the figures of a paper.

    `[texts]` are what setups share, `[shared]` claims by name. A figure that is `like` another one has the entries of
    that one which it does not have itself.

    Raises:
        UsageError: a figure lacks one of `NEEDED`, or names an unknown system.
    """
    path = folder / f"{paper}.toml"
    text = path.read_text(encoding="utf-8")
    entries: dict[str, dict[str, Any]] = tomllib.loads(text)
    texts, shared, systems = (entries.pop(name, {}) for name in ("texts", "shared", "systems"))

    def refusal(number: str, why: str) -> UsageError:
        line = text.partition(f"\n[{number}]\n")[0].count("\n") + 2
        return UsageError(f"{path.name}, line {line}: {paper}-{number} {why}")

    entries_by_number: dict[str, dict[str, Any]] = {"": {}}
    for number, written in entries.items():
        inherited = entries_by_number[written.pop("like", "")]
        entry = {name: inherited[name] for name in SHARED if name in inherited} | written
        entry |= {name: inherited[name] | written.get(name, {}) for name in TABLES if name in inherited}
        entries_by_number[number] = dict(entry)
        data, also = entry.pop("data", ""), entry.pop("also", ())
        for name, valid in NEEDED.items():
            if name not in entry and not (name == "simulated" and data):
                raise refusal(number, f"has no '{name}'; give {valid}")
        simulated = entry.pop("simulated", "")
        if not isinstance(simulated, str):
            try:
                simulated = System(noisy(systems[simulated["system"]]), tuple(simulated["ranks"]), simulated["paper"])
            except KeyError as error:
                raise refusal(number, f"is simulated without {error}; systems are {', '.join(systems)}") from None
        shows = entry.pop("shows")
        claims = [shared[claim] if isinstance(claim, str) else claim for claim in entry.pop("claims")]
        tables = [table_of(**table) for table in entry.pop("table", [])]
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


def table_of(title: str, columns: list[str], rows: list[list[str]]) -> Table:
    """Returns a table of the paper."""
    return Table(title, pd.DataFrame(rows, columns=columns), depth=Depth.PAGE)


# A network and processors that are not quiet; clocks are within 10 ppm, which is the default of all platforms.
NOISE = "overhead=200ns,jitter=100ns,tail=1us,tail_share=1e-3,late=2us,late_share=1e-3"


def noisy(platform: str) -> str:
    """Returns a platform with `NOISE`."""
    return f"{platform.removesuffix(')')},{NOISE})"


FIGURES: dict[str, Figure] = {figure.name: figure for paper in PAPERS for figure in figures_of(paper)}


def find_figures(names: Sequence[str]) -> list[Figure]:
    """Returns figures by their names, also other ones that they have, each once.

    Raises:
        UsageError: there is no figure of a name; the line says which are near, or which there are.
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
    """Checks that an option means something to at least one of some figures, as its kind says.

    Raises:
        UsageError: it does not; the line says to which it does.
    """
    taking = [name for name, figure in FIGURES.items() if isinstance(own_data(figure).kind, protocol)]
    if not any(figure.name in taking for figure in figures):
        raise UsageError(f"{option}: none of these figures takes it; valid are {', '.join(taking)}")


def own_data(figure: Figure) -> Figure:
    """Returns the figure whose launches a figure is drawn from."""
    return FIGURES[figure.data] if figure.data else figure
