"""Figure 10: the clock offset against the duration of synchronization."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.agreement import above, below, every, ratios
from downbeat.reproduce.drawing.panels import Panel, Series, draw_panels
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.hunold2015.clock_offset import largest_offsets, schemes_run
from downbeat.reproduce.results import Results
from downbeat.reproduce.site import Site

# The paper's pairs are (fit points, exchanges); over=0 is back to back, as there.
FITS = ((100, 30), (500, 30), (1000, 100))
PARETO = ",".join(
    [
        "skampi",
        "netgauge",
        *(
            f"{scheme}(fit={fit},over=0,offset=mean_rtt(exchanges={exchanges}))"
            for scheme in ("jk", "hca")
            for fit, exchanges in FITS
        ),
        "jk",
        "hca",
    ]
)
PARETO_WAIT = 5.0
FAR_OFF = 10.0  # ratio of errors from which on a scheme is called far off


def pareto_runs(site: Site) -> tuple[Run, ...]:
    return (schemes_run(site, site.node, PARETO, "0.2" if site.quick else f"{PARETO_WAIT:g}", 2, 9.0),)


def short_scheme(scheme: str) -> str:
    """Returns a scheme as the paper labels it: jk (100, 30)."""
    name, _, rest = scheme.partition("(")
    numbers = dict(part.split("=", 1) for part in rest.replace("(", ",").replace(")", "").split(",") if "=" in part)
    if not rest:
        return f"{name}, over 1 s" if name in ("jk", "hca") else name
    return f"{name} ({numbers.get('fit', '1000')}, {numbers.get('exchanges', '100')})"


def parameters(scheme: str) -> str:
    """Returns fit points and exchanges of a scheme, as the paper writes them."""
    return short_scheme(scheme).partition(" ")[2]


def draw_pareto(results: Results) -> Drawn:
    label = results.have()[0]
    files = results.datasets(label)
    schemes = [str(scheme) for scheme in files[0]["scheme"].to_numpy()]
    durations = np.median(np.concatenate([data["duration"].to_numpy() for data in files], axis=1), axis=1)
    offsets = {
        scheme: float(np.median(values[-1])) for scheme, values in largest_offsets(results, label, "offset").items()
    }
    errors = {
        scheme: float(np.median(values[-1])) for scheme, values in largest_offsets(results, label, "true_error").items()
    }
    barrier = float(np.median(np.concatenate([data["barrier"].to_numpy() for data in files]))) * MICROSECONDS
    kinds = list(dict.fromkeys(scheme.partition("(")[0] for scheme in schemes))
    wait = float(files[0]["wait"][-1])
    panels = []
    for values, title in ((offsets, "measured, smallest of ten"), (errors, "true error")):
        series = []
        for number, kind in enumerate(kinds):
            chosen = [i for i, scheme in enumerate(schemes) if scheme.partition("(")[0] == kind]
            series.append(
                Series(
                    kind,
                    durations[chosen],
                    [values[schemes[i]] for i in chosen],
                    colour=number,
                    style="",
                    marker=number,
                )
            )
        panels.append(
            Panel(
                series,
                "duration of the synchronization [s]",
                f"clock offset after {wait:g} s [us]",
                title,
                decades_x=True,
                log_y=True,
                line_at=barrier,
                marks=[
                    (float(duration), values[scheme], parameters(scheme))
                    for scheme, duration in zip(schemes, durations, strict=True)
                ],
            )
        )
    picture = draw_panels(
        "hunold2015-fig10",
        "Clock offset against the duration of synchronization",
        "A point per scheme and (fit points, exchanges); the numbers say which. Median over all synchronizations of "
        "the "
        f"largest offset over ranks, {wait:g} s after. The line is the mean duration of MPI_Barrier, the median of "
        "what the repetitions tell.",
        panels,
    )
    told = "; ".join(
        f"{short_scheme(scheme)} {duration:.2g} s, {errors[scheme]:.3g} us"
        for scheme, duration in zip(schemes, durations, strict=True)
    )
    barriers = [float(np.median(data["barrier"].to_numpy())) * MICROSECONDS for data in files]
    launches = {
        scheme: [float(np.median(part)) for part in np.array_split(values[-1], len(files))]
        for scheme, values in largest_offsets(results, label, "true_error").items()
    }
    slow = dict(zip(schemes, durations, strict=True))
    best = {kind: min((s for s in schemes if s.partition("(")[0] == kind), key=errors.__getitem__) for kind in kinds}
    plain = [value for name in ("skampi", "netgauge") for value in launches[name]]
    fitted = min((best["jk"], best["hca"]), key=errors.__getitem__)
    findings = (
        Finding(
            f"netgauge and skampi are quick, and far off after {wait:g} s",
            "below 1 s, about 80 us",
            f"true errors from {min(plain):.3g} us on; {told}",
            every((slow["skampi"] < 1, slow["netgauge"] < 1, above(*ratios(plain, launches[fitted]), FAR_OFF))),
        ),
        Finding(
            "hca is more exact than a barrier is long",
            "in about 5 s on 512 processes",
            f"{short_scheme(best['hca'])}: {errors[best['hca']]:.3g} us, a barrier takes {barrier:.3g} us",
            below(*ratios(launches[best["hca"]], barriers), 1.0),
        ),
        Finding(
            "jk is more exact than hca, and slower",
            "at least 30 s, with (100, 30), on 512 processes",
            f"{short_scheme(best['jk'])}: {errors[best['jk']]:.3g} us in {slow[best['jk']]:.2g} s; "
            f"{short_scheme(best['hca'])}: {errors[best['hca']]:.3g} us in {slow[best['hca']]:.2g} s",
            # A pair is a pair: on two ranks both learn the same, in the same time.
            None
            if results.runs[0].ranks == 2
            else every(
                (
                    below(*ratios(launches[best["jk"]], launches[best["hca"]]), 1.0),
                    slow[best["jk"]] > slow[best["hca"]],
                )
            ),
        ),
    )
    judged = (replace(one, agrees=results.told_on(results.runs[0].ranks, one.agrees)) for one in findings)
    return Drawn((picture,), tuple(judged))
