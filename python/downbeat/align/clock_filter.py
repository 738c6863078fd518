"""Estimates clocks with a Kalman filter and Rauch-Tung-Striebel smoother from the exits of synchronizing collectives.

The measurement model: on average the ranks leave such a collective together, up to the observed scatter. Nodes are the
times at which clocks are estimated, one for each bin of calls (see axis.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from downbeat.align.calls import Integers
from downbeat.align.matching import TO_ALL, Floats, GroupCalls

USUAL_RATE = 100e-6  # prior standard deviation of the rate difference of two clocks
STEADY_NS = 60e9  # ns: correlation time of rate changes
PASSES = 6  # passes of robust reweighting
BLOCKS = 16  # blocks of the cross-validation in `error_factor`
MIN_FACTOR = 0.9  # smallest result of `error_factor` before its safety margin
FREE = 0.7  # ratio of the variance of the estimate to the noise; above, the estimate only interpolates single exits
MIN_NODES = 5  # nodes with exits; from more, the noise of such an estimate can be measured
CLOSE = 1.0  # standard deviations; Huber weights (1964) decrease beyond


class GroupExits(NamedTuple):
    """The exits of a group's calls in which every rank waits for every rank, by bin."""

    indexes: Integers  # for each rank of the group, its index among all ranks
    exits: Floats  # ns on each rank's clock, shape (calls, ranks); NaN: no such call
    bins: Integers  # the bins that have calls, ascending
    first: Integers  # first call of each of these bins
    unsure: NDArray[np.bool_]  # flags of ranks whose matches are undecided


class RankExits(NamedTuple):
    """The exits of a rank from the calls of a group, and the offsets that they measure."""

    at: Floats  # times of the exits, ns on the rank's clock
    offsets: Floats  # ns; NaN: not known
    nodes: Integers  # the nodes that have calls, ascending
    first: Integers  # first call of each of these nodes


class ClockFilter:
    """Estimates the offsets of all clocks from the exits of calls.

    Attributes:
        nodes: times of the estimates, ns.
        curve: largest second derivative of a clock, halved, 1/ns.
        resolution: of each rank's clock, ns.
        calls: exits from the calls of each group.
        latest: the last result of `estimate`.
        shown: rank -> times of exits on its clock, and the offsets that they measure, ns.
    """

    def __init__(
        self,
        groups: Sequence[GroupCalls],
        rank_indexes: Sequence[Integers],
        exits: Sequence[Floats],
        bins: Sequence[Integers],
        nodes: Floats,
        resolution: Floats,
        curve: float,
    ) -> None:
        self.nodes, self.curve, self.resolution = nodes, curve, resolution
        self.shown: dict[int, tuple[Floats, Floats]] = {}
        self.calls: list[GroupExits] = []
        for group, indexes, leave, of in zip(groups, rank_indexes, exits, bins, strict=True):
            rows = np.isin(group.operation, TO_ALL) & ((group.size != 0) | (group.operation == "barrier"))
            rows = np.flatnonzero(rows)
            rows = rows[np.argsort(of[rows], kind="stable")]
            if len(rows):
                first = np.flatnonzero(np.diff(of[rows], prepend=-1))
                self.calls.append(GroupExits(indexes, leave[rows], of[rows][first], first, group.unsure))
        self.latest: tuple[Floats, Floats, NDArray[np.bool_]]

    def estimate(self, cuts: NDArray[np.bool_]) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Estimates the offset of each rank at each node, ns.

        Ranks are added step by step to the known ranks; those with the most common calls come first.

        Args:
            cuts: flags of ranks and nodes; true: the clock may have been set there.

        Returns:
            Offset and expected error of each rank and node, ns (NaN: not known); flags of the ranks that exits
            determine.
        """
        ranks = len(self.resolution)
        value, error = np.zeros((ranks, len(self.nodes))), np.zeros((ranks, len(self.nodes)))
        placed, sure = np.arange(ranks) == 0, np.ones(ranks, dtype=bool)
        measured = np.ones(ranks, dtype=bool)
        while True:
            # Calls that each rank shares with known ranks: row 0 with certain matches only, row 1 with all matches.
            # Undecided matches are used only if no rank is left with certain ones.
            shared = np.zeros((2, ranks))
            for indexes, leave, _, _, unsure in self.calls:
                there = ~np.isnan(leave)
                for trust in (0, 1):
                    known = there & placed[indexes] & (~unsure | bool(trust))
                    other = known.any(axis=1)[:, None] & there & (~unsure | bool(trust))
                    shared[trust, indexes] += other.sum(axis=0)
            shared[:, placed] = 0
            trust = 0 if shared[0].any() else 1
            if not shared[trust].any():
                break
            new = shared[trust] >= 0.5 * shared[trust].max()
            known = placed & (sure | bool(trust))
            value[new], error[new], measured[new] = self.estimate_ranks(new, known, value, error, cuts)
            placed |= new
            sure &= ~new | (trust == 0)
        error[~sure] = value[~placed] = error[~placed] = np.nan
        self.latest = value, error, placed & sure & measured
        return value.copy(), error.copy(), placed & sure & measured

    def estimate_ranks(
        self, new: NDArray[np.bool_], known: NDArray[np.bool_], value: Floats, error: Floats, cuts: NDArray[np.bool_]
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Estimates new ranks against the consensus of known ranks, the median of their exits on the axis.

        Args:
            new: flags of the ranks to estimate.
            known: flags of the ranks whose offsets are known.
            value: offset of each rank at each node, ns.
            error: expected error of each offset, ns.
            cuts: as in `estimate`.

        Returns:
            Offsets and expected errors of the new ranks, ns, and flags of the new ranks that exits determine.
        """
        columns = np.flatnonzero(new)
        row_of_rank = np.full(len(new), -1)
        row_of_rank[columns] = np.arange(len(columns))
        line, floor = np.zeros((len(columns), len(self.nodes))), self.resolution[new] / np.sqrt(6.0) + 1.0
        measurements: dict[int, list[RankExits]] = {}  # row of a new rank -> its exits in each group
        for indexes, leave, bins, first, _ in self.calls:
            known_columns = np.flatnonzero(known[indexes])
            if len(known_columns):
                on_axis = [leave[:, i] + np.interp(leave[:, i], self.nodes, value[indexes[i]]) for i in known_columns]
                consensus = middle_of(np.stack(on_axis, axis=1))
                for i in np.flatnonzero(new[indexes]):
                    row = row_of_rank[indexes[i]]
                    # The node of bin k has the index k + 1.
                    rank_exits = RankExits(leave[:, i], consensus - leave[:, i], bins + 1, first)
                    measurements.setdefault(row, []).append(rank_exits)
        for row, groups in measurements.items():
            times = np.concatenate([group.at for group in groups])
            offsets = np.concatenate([group.offsets for group in groups])
            has_offset = ~np.isnan(offsets)
            self.shown[int(columns[row])] = times[has_offset], offsets[has_offset]
        # Expected size of a residual relative to the noise: smaller where the estimate follows single exits.
        residual_scale = np.ones(line.shape)
        for _ in range(PASSES):
            weight, total, noise = np.zeros(line.shape), np.zeros(line.shape), np.zeros(len(line))
            for row, groups in measurements.items():
                residuals_of = [group.offsets - np.interp(group.at, self.nodes, line[row]) for group in groups]
                scales = [
                    np.repeat(residual_scale[row, group.nodes], np.diff(group.first, append=len(group.at)))
                    for group in groups
                ]
                errors = np.concatenate(
                    [residuals / scale for residuals, scale in zip(residuals_of, scales, strict=True)]
                )
                errors = errors[~np.isnan(errors)]
                if not len(errors):
                    continue
                scatter = float(np.hypot(1.4826 * np.median(np.abs(errors)), floor[row]))
                huber = np.minimum(1.0, CLOSE * scatter / np.maximum(np.abs(errors), 1e-9))
                full_share = np.mean(huber >= 1.0)  # more than half, since the scatter is at least the median
                noise[row] = max(np.mean((huber * errors) ** 2), 0.2 * scatter**2) / full_share**2 * huber.mean()
                for residuals, group in zip(residuals_of, groups, strict=True):
                    weights = np.nan_to_num(np.minimum(1.0, CLOSE * scatter / np.maximum(np.abs(residuals), 1e-9)))
                    weight[row, group.nodes] += np.add.reduceat(weights, group.first)
                    total[row, group.nodes] += np.add.reduceat(np.nan_to_num(weights * residuals), group.first)
            with np.errstate(invalid="ignore", divide="ignore"):
                line, variance, factor = follow(
                    self.nodes, self.curve, line + total / weight, noise[:, None] / weight, cuts[new]
                )
            residual_scale = np.sqrt(1.0 - np.minimum(variance / np.maximum(noise, 1e-9)[:, None], 0.98))
        base = error[known].max(axis=0) if known.any() else 0.0
        with np.errstate(invalid="ignore"):
            shares = np.where(weight > 0, variance / np.maximum(noise, 1e-9)[:, None], np.nan)
        determined, measured = np.ones(len(line), dtype=bool), np.isfinite(shares).any(axis=1, keepdims=True)
        for row in np.flatnonzero(np.nanmedian(np.where(measured, shares, 0.0), axis=1) > FREE).tolist():
            at = np.flatnonzero(weight[row] > 0)
            determined[row] = len(at) > MIN_NODES
            if determined[row]:  # the residuals from the line through both neighbors are a lower bound of the noise
                x, y = self.nodes[at], line[row, at]
                fraction = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
                squares = (y[1:-1] - y[:-2] - fraction * (y[2:] - y[:-2])) ** 2 / (
                    1.0 + fraction**2 + (1.0 - fraction) ** 2
                )
                variance[row] = np.maximum(variance[row], squares.mean())
        return line, np.hypot(factor * np.sqrt(variance), base), determined


class States(NamedTuple):
    """Mean and covariance of each clock's state at each node, shape (node, rank); NaN: not known.

    The offset is the time that has to be added to the clock. Its derivative is the rate.
    """

    offset: Floats  # ns
    rate: Floats  # 1
    variance: Floats  # of the offset, ns^2
    covariance: Floats  # of offset and rate, ns
    rate_variance: Floats  # 1


def follow(
    nodes: Floats, curve: float, measured: Floats, noise: Floats, cuts: NDArray[np.bool_]
) -> tuple[Floats, Floats, float]:
    """Smooths the measured offsets of the clocks; returns offsets, their variances, and a factor of their errors.

    A Kalman filter (Kalman 1960) forward in time, a smoother backward (Rauch, Tung and Striebel 1965). The state
    is offset and rate; the rate is a random walk bounded by the wander. The factor is the error of predicted left-out
    measurements in standard deviations (cross-validation, `error_factor`).

    Args:
        nodes: times, ns.
        curve: largest second derivative of a clock, halved, 1/ns.
        measured: offset of each rank at each node, ns; NaN: none.
        noise: variance of each measurement, ns^2; inf: none.
        cuts: flags of ranks and nodes; true: the clock may have been set there.
    """
    there = np.isfinite(measured) & np.isfinite(noise) & ~cuts
    states = smoothed(*filtered(nodes, curve, measured, noise, there, cuts), np.diff(nodes), cuts)
    offset, variance = states.offset.T, np.maximum(states.variance.T, 0.0)
    return offset, variance, error_factor(offset, variance, measured, noise, there)


def filtered(
    nodes: Floats, curve: float, measured: Floats, noise: Floats, there: NDArray[np.bool_], cuts: NDArray[np.bool_]
) -> tuple[States, States]:
    """Runs the Kalman filter; returns the updated state at each node, and the state predicted from earlier nodes.

    In the code, x is the offset, v the rate, and xx, xv, vv are their covariances.

    Args:
        nodes: as in `follow`.
        curve: as in `follow`.
        measured: as in `follow`.
        noise: as in `follow`.
        there: flags of ranks and nodes with a measurement.
        cuts: as in `follow`.
    """
    ranks, count = measured.shape
    x, v, xx, xv, vv = States(np.full((count, ranks), np.nan), *(np.zeros((count, ranks)) for _ in range(4)))
    predicted = States(*np.zeros((5, count, ranks)))
    started = np.zeros(ranks, dtype=bool)
    for k, h in enumerate(np.diff(nodes, prepend=nodes[0])):
        grow = (curve * 1.6) ** 2 * h * max(h, STEADY_NS) / 2.0  # growth of the variance of the rate
        if k:
            x[k], v[k] = x[k - 1] + h * v[k - 1], v[k - 1]
            xx[k] = xx[k - 1] + 2 * h * xv[k - 1] + h * h * vv[k - 1] + grow * h * h / 3.0
            xv[k] = xv[k - 1] + h * vv[k - 1] + grow * h / 2.0
            vv[k] = vv[k - 1] + grow
        for known, value in zip(predicted, (x, v, xx, xv, vv), strict=True):
            known[k] = value[k]
        started &= ~cuts[:, k]
        begin, more = there[:, k] & ~started, there[:, k] & started
        x[k, begin], v[k, begin], xx[k, begin] = measured[begin, k], 0.0, noise[begin, k]
        xv[k, begin], vv[k, begin] = 0.0, USUAL_RATE**2
        gain_x, gain_v = (covariance[k, more] / (xx[k, more] + noise[more, k]) for covariance in (xx, xv))
        innovation = measured[more, k] - x[k, more]
        x[k, more] += gain_x * innovation
        v[k, more] += gain_v * innovation
        vv[k, more] -= gain_v * xv[k, more]
        xv[k, more] *= 1.0 - gain_x
        xx[k, more] *= 1.0 - gain_x
        started |= there[:, k]
        x[k, ~started] = np.nan
    return States(x, v, xx, xv, vv), predicted


def smoothed(states: States, predicted: States, steps: Floats, cuts: NDArray[np.bool_]) -> States:
    """Runs the Rauch-Tung-Striebel smoother: states from all measurements, extrapolated before the first measurement.

    Args:
        states: updated states from `filtered`; changed in place.
        predicted: predicted states from `filtered`.
        steps: from node to node, ns.
        cuts: as in `follow`.
    """
    x, v, xx, xv, vv = states
    for k in range(len(steps) - 1, -1, -1):
        h = steps[k]
        px, pv, pxx, pxv, pvv = (component[k + 1] for component in predicted)
        det = pxx * pvv - pxv * pxv
        back = ~np.isnan(x[k]) & ~np.isnan(px) & ~cuts[:, k + 1] & (det > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            fxx, fxv, fvv = xx[k], xv[k], vv[k]
            rx, rv = fxx + h * fxv, fxv + h * fvv  # P F^T = [[rx, fxv], [rv, fvv]]
            # Gain: P F^T times the inverse of the predicted covariance.
            g = np.array([[rx * pvv - fxv * pxv, fxv * pxx - rx * pxv], [rv * pvv - fvv * pxv, fvv * pxx - rv * pxv]])
            g /= det
            dx, dv = x[k + 1] - px, v[k + 1] - pv
            dxx, dxv, dvv = xx[k + 1] - pxx, xv[k + 1] - pxv, vv[k + 1] - pvv
            new = (
                x[k] + g[0, 0] * dx + g[0, 1] * dv,
                v[k] + g[1, 0] * dx + g[1, 1] * dv,
                fxx + g[0, 0] ** 2 * dxx + 2 * g[0, 0] * g[0, 1] * dxv + g[0, 1] ** 2 * dvv,
                fxv + g[0, 0] * g[1, 0] * dxx + (g[0, 0] * g[1, 1] + g[0, 1] * g[1, 0]) * dxv + g[0, 1] * g[1, 1] * dvv,
                fvv + g[1, 0] ** 2 * dxx + 2 * g[1, 0] * g[1, 1] * dxv + g[1, 1] ** 2 * dvv,
            )
        for component, value in zip(states, new, strict=True):
            component[k] = np.where(back, value, component[k])
        early = np.isnan(x[k]) & ~np.isnan(x[k + 1])
        x[k, early] = x[k + 1, early] - h * v[k + 1, early]
        v[k, early], vv[k, early] = v[k + 1, early], vv[k + 1, early]
        xx[k, early] = (xx[k + 1] - 2 * h * xv[k + 1] + h * h * vv[k + 1])[early]
        xv[k, early] = (xv[k + 1] - h * vv[k + 1])[early]
    return states


def error_factor(offset: Floats, variance: Floats, measured: Floats, noise: Floats, there: NDArray[np.bool_]) -> float:
    """Estimates the ratio of true to expected errors by cross-validation of blocks against the estimate without them.

    Args:
        offset: smoothed offset of each rank and node, ns.
        variance: variance of the offset, ns^2.
        measured: as in `follow`.
        noise: as in `follow`.
        there: flags of measurements.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.where(there, 1.0 / noise, 0.0)
        block = np.minimum(np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True), 0.9999) * BLOCKS
        which = np.nan_to_num(block).astype(np.int64) + BLOCKS * np.arange(len(offset))[:, None]
        # The last: influence of the block on the estimate.
        weight, residuals, share = (
            np.bincount(which.ravel(), np.where(there, terms, 0.0).ravel(), len(offset) * BLOCKS)
            for terms in (weights, weights * (measured - offset), weights * variance)
        )
        squares = (residuals / weight) ** 2 / (1.0 / weight - share / weight)
        squares = np.minimum(squares[(weight > 0) & (share < 0.8)], 25.0)
    factor = np.sqrt(squares.mean()) if len(squares) > 2 else 1.0
    return 1.05 * max(float(factor), MIN_FACTOR)


def middle_of(values: Floats) -> Floats:
    """Returns the median of the known values of each row; NaN: none is known."""
    if values.shape[1] == 1:
        return values[:, 0]
    ordered = np.sort(values, axis=1)  # NaN last
    count = (~np.isnan(values)).sum(axis=1)
    rows = np.arange(len(values))
    low, high = ordered[rows, np.maximum(count - 1, 0) // 2], ordered[rows, np.minimum(count // 2, values.shape[1] - 1)]
    result: Floats = np.where(count > 0, (low + np.where(count % 2 == 1, low, high)) / 2.0, np.nan)
    return result
