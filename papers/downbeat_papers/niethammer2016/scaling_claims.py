"""What figures 5, 7, 9, 11, 13 and 15 claim of global times without delay, and what launches say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from downbeat_papers.evidence import Estimate, Evidence, Undecidable, every, factor_of, finite, mean_of
from downbeat_papers.figure import Finding

BEND = 4  # numbers of ranks, with fewer of which a logarithm and a line fit alike
LOG, LINEAR = "with the logarithm of", "linearly with"
UNIT = " us"

# Smallest global times in us by number of ranks with a core each: one per launch, NaN where none was valid.
Times = Mapping[int, Sequence[float]]
# Says what becomes of the times of the blocking and of the nonblocking form.
Claim = Callable[[Times, Times, str], Finding]


def aligned(by_ranks: Times) -> tuple[np.ndarray, np.ndarray]:
    """Returns numbers of ranks, shape (counts,), and times, shape (launches, counts).

    Launches on different numbers of ranks are no pairs; put beside each other in any order they are as many
    independent estimates of what a curve through them says.
    """
    kept = {count: finite(by_ranks[count]) for count in sorted(by_ranks)}
    launches = min((len(times) for times in kept.values()), default=0)
    return np.array(list(kept), float), np.array([times[:launches] for times in kept.values()]).T


def growth(counts: np.ndarray, times: np.ndarray) -> tuple[Estimate, Estimate]:
    """Splits growth from the fewest to the most ranks into parts, by a least squares fit per launch.

    Args:
        counts: shape (counts,), four at least.
        times: shape (launches, counts).

    Returns:
        All growth, and how much more of it is logarithmic than linear, in the unit of the times.
    """
    shapes = [(scale - scale[0]) / (scale[-1] - scale[0]) for scale in (np.log2(counts), counts)]
    fit = np.linalg.lstsq(np.stack([*shapes, np.ones_like(counts)], axis=1), times.T, rcond=None)[0]
    return mean_of(fit[0] + fit[1], UNIT), mean_of(fit[0] - fit[1], UNIT)


def grows_as(kind: str, by_ranks: Times) -> Evidence | Undecidable:
    """Returns what is said of the claim that most of the growth is logarithmic, or linear."""
    counts, times = aligned(by_ranks)
    if len(counts) < BEND:
        return Undecidable(
            f"a logarithm and a line fit equally well on fewer than {BEND} numbers of ranks with a core each; here "
            f"there are {len(counts)}"
        )
    whole, logarithmic = growth(counts, times)
    return every((whole.above(0.0), logarithmic.above(0.0) if kind == LOG else logarithmic.below(0.0)))


def steps_below(by_ranks: Times, most: float) -> Evidence | Undecidable:
    """Returns what is said of the claim that doubling the ranks adds less than so many us in the mean."""
    counts, times = aligned(by_ranks)
    if len(counts) < 2:
        return Undecidable("it takes two numbers of ranks with a core each")
    largest = float(np.median(times, axis=0).max())
    if largest < most:
        return Undecidable(
            f"the operation takes {largest:.3g} us at most here, so that no step could be of {most:g} us"
        )
    return mean_of(np.polyfit(np.log2(counts), times.T, 1)[0], UNIT).below(most)


def of_blocking(words: str, up_to: int, paper: str, described: Callable[[Times], Evidence | Undecidable]) -> Claim:
    """Returns a claim on the blocking form, up to so many processes."""

    def judge(blocking: Times, _: Times, here: str) -> Finding:
        kept = {ranks: times for ranks, times in blocking.items() if ranks <= up_to}
        return Finding(f"{words}, up to {up_to}", paper, here, described(kept))

    return judge


def grows(kind: str, up_to: int, paper: str) -> Claim:
    """Returns the claim on the law of growth of the blocking form, up to so many processes."""
    words = f"without delay the time grows {kind} the number of processes"
    return of_blocking(words, up_to, paper, lambda times: grows_as(kind, times))


def doubling_adds_below(most: float, up_to: int, paper: str) -> Claim:
    """Returns the claim that doubling the processes adds less than so many us."""
    words = f"doubling the processes adds less than {most:g} us in the mean"
    return of_blocking(words, up_to, paper, lambda times: steps_below(times, most))


def blocking_faster(paper: str) -> Claim:
    """Returns the claim that the blocking form is faster than the nonblocking one, on every number of ranks."""

    def judge(blocking: Times, nonblocking: Times, here: str) -> Finding:
        both = sorted(set(blocking) & set(nonblocking))
        parts = [factor_of(np.divide(blocking[ranks], nonblocking[ranks])).below(1.0) for ranks in both]
        evidence = every(parts) if parts else Undecidable("no ranks with a core each were measured in both forms")
        return Finding("the blocking form is faster than the nonblocking one", paper, here, evidence)

    return judge


def number_only(paper: str) -> Claim:
    """Returns what is said of scaling that no number decides."""

    def judge(_: Times, __: Times, here: str) -> Finding:
        return Finding("times without delay, for scaling", paper, here, None)

    return judge
