"""Clocks from the ends of collectives of all ranks: these end together, to within what the calls themselves show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from downbeat.align.calls import Integers
from downbeat.align.matching import TO_ALL, Floats, GroupCalls

USUAL_RATE = 100e-6  # of two clocks, as a standard deviation
STEADY_NS = 60e9  # ns: how long a clock's rate may go on changing into one direction
PASSES = 6
BLOCKS = 16
LEAST_FACTOR = 0.9
FREE = 0.7  # of the noise of single ends: a line whose variance is larger follows them, and shows no noise
LEAST_ENDS = 5
CLOSE = 1.0  # in standard deviations: values further away count less (Huber 1964)


class Ends:
    """Lines through the differences of ends.

    Attributes:
        found: offset and expected error of each rank and node, ns, and whether a rank has any.
        shown: of each rank: times of ends on its clock, and offsets that they show, ns.
    """

    def __init__(
        self,
        groups: Sequence[GroupCalls],
        places: Sequence[Integers],
        exits: Sequence[Floats],
        bins: Sequence[Integers],
        nodes: Floats,
        resolution: Floats,
        curve: float,
    ) -> None:
        self.nodes, self.curve, self.resolution = nodes, curve, resolution
        self.shown: dict[int, tuple[Floats, Floats]] = {}
        self.calls = []
        for group, mine, leave, of in zip(groups, places, exits, bins, strict=True):
            rows = np.isin(group.operation, TO_ALL) & ((group.size != 0) | (group.operation == "barrier"))
            rows = np.flatnonzero(rows)
            rows = rows[np.argsort(of[rows], kind="stable")]
            if len(rows):
                first = np.flatnonzero(np.diff(of[rows], prepend=-1))
                self.calls.append((mine, leave[rows], of[rows][first], first, group.unsure))
        self.found: tuple[Floats, Floats, NDArray[np.bool_]]

    def estimate(self, cuts: NDArray[np.bool_]) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Returns `found`: ranks are placed one after the other, those first that share most calls with placed ones.

        Args:
            cuts: of each rank and node: its clock may have been set there.
        """
        ranks = len(self.resolution)
        value, error = np.zeros((ranks, len(self.nodes))), np.zeros((ranks, len(self.nodes)))
        placed, sure = np.arange(ranks) == 0, np.ones(ranks, dtype=bool)
        told = np.ones(ranks, dtype=bool)
        while True:
            shared = np.zeros((2, ranks))
            for mine, leave, _, _, unsure in self.calls:
                there = ~np.isnan(leave)
                for trust in (0, 1):
                    known = there & placed[mine] & (~unsure | bool(trust))
                    other = known.any(axis=1)[:, None] & there & (~unsure | bool(trust))
                    shared[trust, mine] += other.sum(axis=0)
            shared[:, placed] = 0
            trust = 0 if shared[0].any() else 1
            if not shared[trust].any():
                break
            new = shared[trust] >= 0.5 * shared[trust].max()
            value[new], error[new], shown = self.placed(new, placed & (sure | bool(trust)), value, error, cuts)
            placed |= new
            sure &= ~new | (trust == 0)
            told[new] = shown
        error[~sure] = value[~placed] = error[~placed] = np.nan
        self.found = value, error, placed & sure & told
        return value.copy(), error.copy(), placed & sure & told

    def placed(
        self, new: NDArray[np.bool_], known: NDArray[np.bool_], value: Floats, error: Floats, cuts: NDArray[np.bool_]
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Returns new ranks against the median of known ones: offsets, expected errors, whether calls show an error."""
        columns = np.flatnonzero(new)
        place = np.full(len(new), -1)
        place[columns] = np.arange(len(columns))
        line, floor = np.zeros((len(columns), len(self.nodes))), self.resolution[new] / np.sqrt(6.0) + 1.0
        apart: dict[int, list[tuple[Floats, Floats, Integers, Integers]]] = {}
        for mine, leave, bin_of, first, _ in self.calls:
            theirs = np.flatnonzero(known[mine])
            if len(theirs):
                moved = [leave[:, i] + np.interp(leave[:, i], self.nodes, value[mine[i]]) for i in theirs]
                together = middle_of(np.stack(moved, axis=1))
                for i in np.flatnonzero(new[mine]):
                    rest = together - leave[:, i]
                    apart.setdefault(place[mine[i]], []).append((leave[:, i], rest, bin_of + 1, first))
        for row, some in apart.items():
            at, rest = (np.concatenate([one[i] for one in some]) for i in (0, 1))
            known_ends = ~np.isnan(rest)
            self.shown[int(columns[row])] = at[known_ends], rest[known_ends]
        held = np.ones(line.shape)
        for _ in range(PASSES):
            weight, total, noise = np.zeros(line.shape), np.zeros(line.shape), np.zeros(len(line))
            for row, some in apart.items():
                rests = [rest - np.interp(at, self.nodes, line[row]) for at, rest, _, _ in some]
                # A line that follows single calls leaves them smaller rests than their noise.
                free = [np.repeat(held[row, nodes], np.diff(first, append=len(at))) for at, _, nodes, first in some]
                every = np.concatenate([rest / one for rest, one in zip(rests, free, strict=True)])
                every = every[~np.isnan(every)]
                if not len(every):
                    continue
                scatter = float(np.hypot(1.4826 * np.median(np.abs(every)), floor[row]))
                counted = np.minimum(1.0, CLOSE * scatter / np.maximum(np.abs(every), 1e-9))
                near = np.mean(counted >= 1.0)  # more than a half, as the median is
                noise[row] = max(np.mean((counted * every) ** 2), 0.2 * scatter**2) / near**2 * counted.mean()
                for rest, (_, _, nodes, first) in zip(rests, some, strict=True):
                    counts = np.nan_to_num(np.minimum(1.0, CLOSE * scatter / np.maximum(np.abs(rest), 1e-9)))
                    weight[row, nodes] += np.add.reduceat(counts, first)
                    total[row, nodes] += np.add.reduceat(np.nan_to_num(counts * rest), first)
            with np.errstate(invalid="ignore", divide="ignore"):
                line, variance, factor = self.follow(line + total / weight, noise[:, None] / weight, cuts[new])
            held = np.sqrt(1.0 - np.minimum(variance / np.maximum(noise, 1e-9)[:, None], 0.98))
        base = error[known].max(axis=0) if known.any() else 0.0
        with np.errstate(invalid="ignore"):
            shares = np.where(weight > 0, variance / np.maximum(noise, 1e-9)[:, None], np.nan)
        shown, measured = np.ones(len(line), dtype=bool), np.isfinite(shares).any(axis=1, keepdims=True)
        for row in np.flatnonzero(np.nanmedian(np.where(measured, shares, 0.0), axis=1) > FREE).tolist():
            at = np.flatnonzero(weight[row] > 0)
            shown[row] = len(at) > LEAST_ENDS
            if shown[row]:  # then noise is at most what neighbors miss each other by
                x, y = self.nodes[at], line[row, at]
                part = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
                missed = (y[1:-1] - y[:-2] - part * (y[2:] - y[:-2])) ** 2 / (1.0 + part**2 + (1.0 - part) ** 2)
                variance[row] = np.maximum(variance[row], missed.mean())
        return line, np.hypot(factor * np.sqrt(variance), base), shown

    def follow(self, measured: Floats, variance: Floats, cuts: NDArray[np.bool_]) -> tuple[Floats, Floats, float]:
        """Returns clocks at the nodes that follow the measurements there, their variances, and a factor for errors.

        A Kalman smoother (Rauch, Tung and Striebel 1965): a rate changes as a random walk of at most the wander. The
        errors are those that measurements have that were left out.

        Args:
            measured: of each rank and node, ns; NaN: nothing.
            variance: ns^2; inf: nothing.
            cuts: see `estimate`.
        """
        ranks, count = measured.shape
        there = np.isfinite(measured) & np.isfinite(variance) & ~cuts
        step = np.diff(self.nodes, prepend=self.nodes[0])
        x, s = np.full((count, ranks), np.nan), np.zeros((count, ranks))
        a, b, c = np.zeros((count, ranks)), np.zeros((count, ranks)), np.zeros((count, ranks))
        ahead = np.zeros((5, count, ranks))
        started = np.zeros(ranks, dtype=bool)
        for k in range(count):
            h = step[k]
            grow = (self.curve * 1.6) ** 2 * h * max(h, STEADY_NS) / 2.0
            if k:
                x[k], s[k] = x[k - 1] + h * s[k - 1], s[k - 1]
                a[k] = a[k - 1] + 2 * h * b[k - 1] + h * h * c[k - 1] + grow * h * h / 3.0
                b[k] = b[k - 1] + h * c[k - 1] + grow * h / 2.0
                c[k] = c[k - 1] + grow
            ahead[:, k] = x[k], s[k], a[k], b[k], c[k]
            started &= ~cuts[:, k]
            here, value, noise = there[:, k], measured[:, k], variance[:, k]
            begin = here & ~started
            x[k, begin], s[k, begin], a[k, begin], b[k, begin] = value[begin], 0.0, noise[begin], 0.0
            c[k, begin] = USUAL_RATE**2
            more = here & started
            gain_x, gain_s = a[k, more] / (a[k, more] + noise[more]), b[k, more] / (a[k, more] + noise[more])
            rest = value[more] - x[k, more]
            x[k, more] += gain_x * rest
            s[k, more] += gain_s * rest
            c[k, more] -= gain_s * b[k, more]
            b[k, more] *= 1.0 - gain_x
            a[k, more] *= 1.0 - gain_x
            started |= here
            x[k, ~started] = np.nan
        for k in range(count - 2, -1, -1):
            h = step[k + 1]
            px, ps, pa, pb, pc = ahead[:, k + 1]
            det = pa * pc - pb * pb
            back = ~np.isnan(x[k]) & ~np.isnan(px) & ~cuts[:, k + 1] & (det > 0)
            with np.errstate(invalid="ignore", divide="ignore"):
                fa, fb, fc = a[k], b[k], c[k]
                ra, rb = fa + h * fb, fb + h * fc  # P F^T = [[ra, fb], [rb, fc]]
                g = np.array([[ra * pc - fb * pb, fb * pa - ra * pb], [rb * pc - fc * pb, fc * pa - rb * pb]]) / det
                dx, ds = x[k + 1] - px, s[k + 1] - ps
                da, db, dc = a[k + 1] - pa, b[k + 1] - pb, c[k + 1] - pc
                new = (
                    x[k] + g[0, 0] * dx + g[0, 1] * ds,
                    s[k] + g[1, 0] * dx + g[1, 1] * ds,
                    fa + g[0, 0] ** 2 * da + 2 * g[0, 0] * g[0, 1] * db + g[0, 1] ** 2 * dc,
                    fb + g[0, 0] * g[1, 0] * da + (g[0, 0] * g[1, 1] + g[0, 1] * g[1, 0]) * db + g[0, 1] * g[1, 1] * dc,
                    fc + g[1, 0] ** 2 * da + 2 * g[1, 0] * g[1, 1] * db + g[1, 1] ** 2 * dc,
                )
            for old, value in zip((x, s, a, b, c), new, strict=True):
                old[k] = np.where(back, value, old[k])
            early = np.isnan(x[k]) & ~np.isnan(x[k + 1])
            x[k, early] = x[k + 1, early] - h * s[k + 1, early]
            s[k, early], c[k, early] = s[k + 1, early], c[k + 1, early]
            a[k, early] = (a[k + 1] - 2 * h * b[k + 1] + h * h * c[k + 1])[early]
            b[k, early] = (b[k + 1] - h * c[k + 1])[early]
        a, x = np.maximum(a.T, 0.0), x.T
        # Blocks of bins against the line that would be there without them: what its error is to be multiplied by.
        with np.errstate(invalid="ignore", divide="ignore"):
            counts = np.where(there, 1.0 / variance, 0.0)
            block = np.minimum(np.cumsum(counts, axis=1) / counts.sum(axis=1, keepdims=True), 0.9999) * BLOCKS
            which = np.nan_to_num(block).astype(np.int64) + BLOCKS * np.arange(ranks)[:, None]
            sums = [
                np.bincount(which.ravel(), np.where(there, one, 0.0).ravel(), ranks * BLOCKS)
                for one in (counts, counts * (measured - x), counts * a)
            ]
            share = sums[2]  # of what the line itself owes to the block
            squares = (sums[1] / sums[0]) ** 2 / (1.0 / sums[0] - sums[2] / sums[0])
            squares = np.minimum(squares[(sums[0] > 0) & (share < 0.8)], 25.0)
        factor = np.sqrt(squares.mean()) if len(squares) > 2 else 1.0
        return x, a, 1.05 * max(float(factor), LEAST_FACTOR)


def middle_of(values: Floats) -> Floats:
    """Returns the median of the known values of each row."""
    if values.shape[1] == 1:
        return values[:, 0]
    ordered = np.sort(values, axis=1)  # NaN last
    count = (~np.isnan(values)).sum(axis=1)
    rows = np.arange(len(values))
    low, high = ordered[rows, np.maximum(count - 1, 0) // 2], ordered[rows, np.minimum(count // 2, values.shape[1] - 1)]
    result: Floats = np.where(count > 0, (low + np.where(count % 2 == 1, low, high)) / 2.0, np.nan)
    return result
