"""Figure 10: the clock offset against the duration of synchronization."""

from __future__ import annotations

import numpy as np

from downbeat.pictures.style import MICROSECONDS
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
                "clock offset after 5 s [us]",
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
    wait = float(files[0]["wait"][-1])
    picture = draw_panels(
        "hunold2015-fig10",
        "Clock offset against the duration of synchronization",
        "A point per scheme and (fit points, exchanges); the numbers say which. Median over all synchronizations of "
        "the "
        f"largest offset over ranks, {wait:g} s after. The line is the mean duration of MPI_Barrier.",
        panels,
    )
    told = "; ".join(
        f"{short_scheme(scheme)} {duration:.2g} s, {errors[scheme]:.3g} us"
        for scheme, duration in zip(schemes, durations, strict=True)
    )
    best = min(errors, key=errors.__getitem__)
    plain = min(errors[name] for name in ("skampi", "netgauge"))
    findings = (
        Finding(
            "netgauge and skampi are quick, and far off after 5 s",
            "below 1 s, about 80 us",
            f"true errors from {plain:.3g} us on; {told}",
            plain > 10 * errors[best],
        ),
        Finding(
            "hca is more exact than a barrier is long, jk more exact still, and slower",
            "hca about 5 s, jk at least 30 s (with (100, 30)), on 512 processes",
            f"best {short_scheme(best)}: {errors[best]:.3g} us, a barrier takes {barrier:.3g} us",
            errors[best] < barrier,
        ),
    )
    return Drawn((picture,), findings)
