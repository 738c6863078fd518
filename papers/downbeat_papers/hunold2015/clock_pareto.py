"""Figure 10: the clock offset against the duration of synchronization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from downbeat_papers.clock_errors import ErrorKind, explained, judged, shown, within
from downbeat_papers.drawing.panels import Panel, Series, draw_panels
from downbeat_papers.evidence import Floats, Undecidable, every, factor_between, factor_of, some
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.hunold2015.clock_offset import largest_offsets, scheme_name, schemes_run
from downbeat_papers.own_clocks import clock_run
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat.units import MICROSECONDS

# The paper's pairs are (fit points, exchanges); over=0 is back to back, as there.
FITS = ((100, 30), (500, 30), (1000, 100))
FITTED = [f"(fit={fit},over=0,offset=mean_rtt(exchanges={exchanges}))" for fit, exchanges in FITS] + [""]
PLAIN = ("skampi", "netgauge")
PARETO = ",".join([*PLAIN, *(f"{scheme}{parameters}" for scheme in ("jk", "hca") for parameters in FITTED)])
# Simulated, with fewer exchanges, of which none is disturbed by a busy processor; the last over 1 s.
SIMULATED_FITS = ((20, 10, 0), (100, 10, 0), (100, 30, 0), (100, 10, 1))
SIMULATED_PARETO = ",".join(
    [
        *PLAIN,
        *(
            f"{scheme}(fit={fit},over={over},offset=mean_rtt(exchanges={exchanges}))"
            for scheme in ("jk", "hca")
            for fit, exchanges, over in SIMULATED_FITS
        ),
    ]
)
PARETO_WAIT = 5.0
FAR_OFF = 10.0  # ratio of errors from which on a scheme is called far off; the paper gives no number for the others
QUICK = 1.0  # s


def pareto_runs(site: Site) -> tuple[Run, ...]:
    waits = "0.2" if site.quick else f"{PARETO_WAIT:g}"
    if not site.simulated:
        return (schemes_run(site, site.full, PARETO, waits, 2, 9.0),)
    repetitions = 1 if site.quick else 2
    exchanges = 2 * sum(fit * each for fit, each, _ in SIMULATED_FITS)
    return (clock_run(site, site.full, SIMULATED_PARETO, repetitions, seconds=0.0, waits=waits, exchanges=exchanges),)


def short_scheme(scheme: str) -> str:
    """Returns a scheme as the paper labels it: jk (100, 30)."""
    name, _, rest = scheme.partition("(")
    numbers = dict(part.split("=", 1) for part in rest.replace("(", ",").replace(")", "").split(",") if "=" in part)
    if not rest:
        return f"{name}, over 1 s" if name in ("jk", "hca") else name
    over = f", over {numbers['over']} s" if numbers.get("over", "0") != "0" else ""
    return f"{name} ({numbers.get('fit', '1000')}, {numbers.get('exchanges', '100')}){over}"


def parameters(scheme: str) -> str:
    """Returns fit points and exchanges of a scheme, as the paper writes them."""
    return short_scheme(scheme).partition(" ")[2]


@dataclass(frozen=True)
class Choices:
    """The cost and the error of each scheme, one number per launch.

    Attributes:
        durations: s, by scheme.
        errors: us, some time after, by scheme.
        barriers: us, of MPI_Barrier.
    """

    durations: Mapping[str, Floats]
    errors: Mapping[str, Floats]
    barriers: Floats

    def point(self, scheme: str) -> tuple[float, float]:
        """Returns duration and error, in the median over launches."""
        return float(np.median(self.durations[scheme])), float(np.median(self.errors[scheme]))

    def frontier(self) -> list[str]:
        """Returns the schemes that no other one beats in both, the quickest first."""
        kept: list[str] = []
        for scheme in sorted(self.errors, key=self.point):
            if not kept or self.point(scheme)[1] < self.point(kept[-1])[1]:
                kept.append(scheme)
        return kept


def choices_of(files: Sequence[xr.Dataset], kind: ErrorKind) -> Choices:
    """Returns the medians over the repetitions of each launch, by one way to say how wrong clocks were."""
    schemes = [str(scheme) for scheme in files[0]["scheme"].to_numpy()]
    durations = np.array([np.median(data["duration"].to_numpy(), axis=1) for data in files])
    return Choices(
        {scheme: durations[:, position] for position, scheme in enumerate(schemes)},
        {scheme: np.median(values[-1], axis=1) for scheme, values in largest_offsets(files, kind).items()},
        np.array([np.median(data["barrier"].to_numpy()) for data in files]) * MICROSECONDS,
    )


def draw_pareto(results: Results) -> Drawn:
    files = results.datasets(results.have()[0])
    wait = float(files[0]["wait"][-1])
    picture = draw_panels(
        "hunold2015-fig10",
        "Clock offset against the duration of synchronization",
        "A point per scheme and (fit points, exchanges); the numbers say which. Median over launches of the largest "
        f"offset over ranks, {wait:g} s after. The steps are the Pareto frontier: no other scheme "
        "beats in both. The horizontal line is the mean duration of MPI_Barrier, the median over repetitions. "
        f"Left as in the paper, right {explained(files)}.",
        [pareto_panel(choices_of(files, kind), kind.title, wait) for kind in shown(files)],
    )
    kind = judged(files)
    ranks = results.runs[0].ranks
    findings = pareto_findings(choices_of(files, kind), kind.words, wait, ranks, within(files))
    judged_on = (replace(one, evidence=results.decided_on(ranks, one.evidence)) for one in findings)
    return Drawn((picture,), tuple(judged_on))


def pareto_panel(choices: Choices, title: str, wait: float) -> Panel:
    """Returns the points, with the frontier as steps from the quickest scheme to the most exact one."""
    points = {scheme: choices.point(scheme) for scheme in choices.errors}
    kinds = list(dict.fromkeys(map(scheme_name, points)))
    series = []
    for number, kind in enumerate(kinds):
        own = [point for scheme, point in points.items() if scheme_name(scheme) == kind]
        series.append(Series(kind, *columns(own), color=number, style="", marker=number))
    steps = [points[scheme] for scheme in choices.frontier()]
    series.append(Series("Pareto frontier", *columns(steps), color="#888888", style="steps"))
    return Panel(
        series,
        "duration of the synchronization [s]",
        f"clock offset after {wait:g} s [us]",
        title,
        decades_x=True,
        log_y=True,
        line_at=float(np.median(choices.barriers)),
        marks=[(*point, parameters(scheme)) for scheme, point in points.items()],
    )


def columns(points: Sequence[tuple[float, float]]) -> tuple[Floats, Floats]:
    """Returns the durations and the errors of points."""
    table = np.array(points)
    return table[:, 0], table[:, 1]


def pareto_findings(choices: Choices, kind: str, wait: float, ranks: int, known: str) -> list[Finding]:
    """Holds what the paper says of durations and errors against the data.

    Where it speaks of what fitting schemes reach, with any of their parameters, all are tested, and the claim pays for
    their number: the best of several is chosen by chance, too.
    """
    durations, errors = choices.durations, choices.errors
    plain = [name for name in PLAIN if name in errors]
    hca, jk = ([one for one in errors if scheme_name(one) == name] for name in ("hca", "jk"))
    pairs = [(one, one.replace("jk", "hca", 1)) for one in jk if one.replace("jk", "hca", 1) in errors]
    described = "; ".join(
        f"{short_scheme(scheme)} {choices.point(scheme)[0]:.2g} s, {choices.point(scheme)[1]:.3g} us"
        for scheme in errors
    )
    exact = [factor_of(geometric_mean([errors[one] / errors[other] for one, other in pairs])).below(1.0)]
    slower = [factor_of(geometric_mean([durations[one] / durations[other] for one, other in pairs])).above(1.0)]
    return [
        Finding(
            f"netgauge and skampi are quick, and ten times as far off after {wait:g} s as a scheme that fits the drift",
            "below 1 s, about 80 us",
            f"{kind}: {described}{known}",
            every(
                (
                    *(factor_of(durations[name], " s").below(QUICK) for name in plain),
                    some(
                        every(factor_of(errors[name] / errors[one]).above(FAR_OFF) for name in plain)
                        for one in hca + jk
                    ),
                )
            ),
        ),
        Finding(
            "hca, with some of its parameters, is more exact than a barrier is long",
            "in about 5 s on 512 processes",
            f"a barrier takes {np.median(choices.barriers):.3g} us",
            some(factor_between(errors[one], choices.barriers).below(1.0) for one in hca),
        ),
        Finding(
            "jk is more exact than hca, and slower, in the mean over their parameters",
            "at least 30 s, with (100, 30), on 512 processes",
            "see above",
            # A pair is a pair: on two ranks both learn the same, in the same time.
            Undecidable("on 2 ranks both learn the same") if ranks == 2 else every(exact + slower),
        ),
        Finding(
            "on the Pareto frontier, the quickest first",
            "drawn, from Netgauge and SKaMPI over HCA to JK",
            ", ".join(map(short_scheme, choices.frontier())),
            None,
        ),
    ]


def geometric_mean(ratios: Sequence[Floats]) -> Floats:
    """Returns the geometric mean over some ratios, per launch."""
    return np.asarray(np.exp(np.mean(np.log(ratios), axis=0)))
