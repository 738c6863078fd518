"""Matches the collectives of two ranks whose traces have no sequence numbers.

One file may begin k calls later, lack a stretch in the middle, or lack a kind of call. The times between exits
identify the calls, since no two steps of a program take equally long: at the correct shift the differences of exit
times follow a line (two clocks of constant rate). If two shifts fit equally well, the match is undecided. For a few
calls, the only shift at which no exit precedes an entry is accepted, if the files have half of their calls in common.

A shift is the difference of the indexes of the same call in both lists.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from downbeat.align.calls import MAX_RATE, Calls, Integers

Floats = NDArray[np.float64]

CLEAR = 4.0  # minimum mean gain in log-likelihood per call over every other shift, in standard errors
MIN_GAIN = 12.0  # total gain in log-likelihood (natural logarithm) over every other shift
BLOCK = 16  # minimum number of calls per fitted line
MIN_COMMON = 6  # common calls that a decision by likelihood needs
RUN = 10  # consecutive calls that confirm a shift
QUICK = 4  # shifts in the first test of likelihood
TRIED = 40  # shifts in the final test of likelihood
CALL_CHUNK = 128  # calls that are extrapolated together
MAX_BLOCKS = 16  # blocks that a list of calls is divided into
HEAVY = 6.0  # largest gain that a single call contributes, natural logarithm
NEAR = 3  # alternative shifts on each side of a run
WEAK = 3.0  # gain in log-likelihood by which a neighboring shift makes a block doubtful
FAR = 8.0  # multiple of the median residual; calls with a larger residual are outliers


def match_by_order(other: Calls, local: Calls) -> Integers | None:
    """Returns, for each local call, the index of the same call in the other rank's list (-1: none); None: undecided."""
    kinds = call_kinds(other, local)
    common = np.intersect1d(*kinds)
    counts = sorted(((int((kinds[1] == kind).sum()), int(kind)) for kind in common), reverse=True)
    # First all common kinds together, then single kinds, since a file may lack some calls of a kind.
    streams = [common, *(np.array([kind]) for _, kind in counts[:3] if len(common) > 1)]
    block_count = 1
    while len(common) and (block_count == 1 or len(local.exit) // block_count >= 2 * RUN) and block_count <= MAX_BLOCKS:
        for stream in streams:
            other_calls, local_calls = (np.flatnonzero(np.isin(kind, stream)) for kind in kinds)
            seeds = []
            for block in np.array_split(local_calls, block_count):
                shift = decided(other, local, other_calls, block, kinds, block_count == 1) if len(block) else None
                if shift is not None:
                    at = np.arange(len(block)) + shift
                    inside = (at >= 0) & (at < len(other_calls))
                    seeds.append((other_calls[at[inside]], block[inside]))
            if seeds:
                other_calls, local_calls = (np.concatenate(indexes) for indexes in zip(*seeds, strict=True))
                rows = extended(other, local, kinds, other_calls, local_calls)
                if block_count == 1 and len(local_calls) <= 2 * RUN and (rows < 0).all():  # too short for runs
                    rows[local_calls] = other_calls
                if (rows >= 0).any():
                    return rows
        block_count *= 2
    return None


def call_kinds(other: Calls, local: Calls) -> tuple[Integers, Integers]:
    """Numbers the kind of each call: its operation, with size and root if most values occur in both traces."""
    named = [np.char.add(calls.operation.astype(str), " ") for calls in (other, local)]
    for field in ("size", "root"):
        words = [
            np.char.add(labels, getattr(calls, field).astype(str))
            for labels, calls in zip(named, (other, local), strict=True)
        ]
        shared = np.intersect1d(words[0], words[1])
        if min(np.isin(labels, shared).mean() for labels in words) > 0.5:
            named = [np.char.add(labels, " ") for labels in words]
    numbers = np.unique(np.concatenate(named), return_inverse=True)[1].astype(np.int64)
    return numbers[: len(named[0])], numbers[len(named[0]) :]


def decided(
    other: Calls,
    local: Calls,
    other_calls: Integers,
    block: Integers,
    kinds: tuple[Integers, Integers],
    whole_stream: bool,
) -> int | None:
    """Finds the shift at which the exit times of two streams of calls agree; None: undecided.

    Args:
        other: all calls of the other rank.
        local: all calls of this rank.
        other_calls: indexes of the other rank's calls in the stream.
        block: indexes of this rank's calls in the block.
        kinds: kind of each call of both ranks.
        whole_stream: true: the block is the whole stream, so causality may decide if the likelihood does not.

    Returns:
        The position in `other_calls` of the first call of the block; negative or too large where lists only overlap.
    """
    a, b = (calls.exit[of].astype(np.int64) for calls, of in ((other, other_calls), (local, block)))
    a, b = (a - a[0]).astype(float), (b - b[0]).astype(float)
    shortest = min(len(a), len(b))
    fewest = (shortest + 1) // 2
    shifts = np.arange(fewest - len(b), len(a) - fewest + 1)
    wrong = mismatches(kinds[0][other_calls], kinds[1][block])[shifts + len(b) - 1]
    shifts = shifts[wrong == 0]
    if not len(shifts):
        return None
    rough = disagreement(np.diff(a), np.diff(b), shifts) if min(len(a), len(b)) > 2 else np.zeros(len(shifts))
    order = np.argsort(rough, kind="stable")
    chosen = None
    likely = shifts[order]
    likely = likely[common_counts(len(a), len(b))[likely + len(b) - 1] >= MIN_COMMON]
    if shortest > MIN_COMMON and len(likely) and agreed(a, b, likely[:QUICK]) is not None:
        chosen = agreed(a, b, likely[:TRIED])
    if chosen is None and whole_stream and 1 < shortest <= 2 * RUN:
        entry = [calls.entry[of] - calls.exit[of[0]] for calls, of in ((other, other_calls), (local, block))]
        possible = []
        for shift in shifts[order]:
            if not contradicted(a, b, entry[0].astype(float), entry[1].astype(float), int(shift)):
                possible.append(int(shift))
                if len(possible) > 1:
                    return None
        # If a file lacks a call, only shifts with a small overlap are free of contradictions.
        if possible and common_counts(len(a), len(b))[possible[0] + len(b) - 1] >= 0.75 * shortest:
            chosen = possible[0]
    return chosen


def mismatches(a: Integers, b: Integers) -> Integers:
    """Counts the pairs of calls with different kinds at each shift from 1 - len(b) on."""
    total = common_counts(len(a), len(b))
    if len(np.unique(np.concatenate([a, b]))) == 1:
        return np.zeros(len(total), dtype=np.int64)
    equal = sum(correlated((a == kind).astype(float), (b == kind).astype(float)) for kind in np.unique(b))
    wrong: Integers = np.rint(total - equal).astype(np.int64)
    return wrong


def common_counts(a: int, b: int) -> Integers:
    """Counts the common calls of two lists of lengths a and b at each shift from 1 - b on."""
    at = np.arange(1, a + b)
    return np.minimum(np.minimum(at, a + b - at), min(a, b))


def correlated(a: Floats, b: Floats) -> Floats:
    """Computes the cross-correlation by FFT: sums of a[n + shift] b[n], for shifts from 1 - len(b) on."""
    length = len(a) + len(b) - 1
    size = 1 << (length - 1).bit_length()
    sums: Floats = np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b[::-1], size), size)[:length]
    return sums


def disagreement(a: Floats, b: Floats, shifts: Integers) -> Floats:
    """Returns the mean squared difference of asinh (like log for long times) of the times between exits, per shift."""
    durations = np.concatenate([a, b])
    middle = np.median(durations)
    scale = max(float(np.median(np.abs(durations - middle))), 1.0)
    x, y = (np.arcsinh((values - middle) / scale) for values in (a, b))
    weights = [np.ones(len(values)) for values in (a, b)]
    total = correlated(x**2, weights[1]) + correlated(weights[0], y**2) - 2.0 * correlated(x, y)
    count = common_counts(len(a), len(b))
    at = np.clip(shifts + len(b) - 1, 0, len(total) - 1)
    means: Floats = np.where(count[at] > 0, total[at] / np.maximum(count[at], 1), np.inf)
    return means


def pairs(a: Floats, b: Floats, shift: int) -> tuple[slice, slice]:
    """Returns the slices of `a` and `b` that overlap when `b` is shifted by `shift`."""
    begin, end = max(0, -shift), min(len(b), len(a) - shift)
    return slice(begin + shift, end + shift), slice(begin, end)


def agreed(a: Floats, b: Floats, shifts: Integers) -> int | None:
    """Finds the shift whose likelihood clearly exceeds that of all other shifts; None: no such shift.

    A line is fitted to the clock difference in each block of `BLOCK` calls, short enough that clock rates are constant.
    The residuals get a Student t likelihood (3 degrees of freedom) at the scale of the best shift. The best shift has
    to win by `CLEAR` standard errors over the calls that it has in common with each alternative.
    """
    residuals_of = {}
    for shift in shifts.tolist():
        left, right = pairs(a, b, shift)
        residuals_of[shift] = right.start, straightened(b[right], a[left] - b[right])
    scales = {
        shift: 1.4826 * float(np.median(np.abs(residuals))) if len(residuals) else np.inf
        for shift, (_, residuals) in residuals_of.items()
    }
    best: int = min(scales, key=lambda shift: scales[shift])
    scale = max(scales[best], 1.0)
    begin, best_residuals = residuals_of[best]
    # If a file lacks calls in the middle, each of two shifts fits some of the calls.
    least = {shift: least_block(residuals) for shift, (_, residuals) in residuals_of.items()}
    if min(least, key=lambda shift: least[shift]) != best:
        return None
    for shift, (other_begin, other_residuals) in residuals_of.items():
        if shift == best:
            continue
        first, last = max(begin, other_begin), min(begin + len(best_residuals), other_begin + len(other_residuals))
        if last - first < MIN_COMMON:
            return None
        here, there = (
            best_residuals[first - begin : last - begin],
            other_residuals[first - other_begin : last - other_begin],
        )
        gain = 2.0 * (np.log1p((there / scale) ** 2 / 3.0) - np.log1p((here / scale) ** 2 / 3.0))
        gain = np.clip(gain, -HEAVY, HEAVY)
        error = max(float(gain.std()), 0.5) / np.sqrt(len(gain))
        if gain.mean() < CLEAR * error or gain.sum() < MIN_GAIN:
            return None
    return best


def straightened(at: Floats, values: Floats) -> Floats:
    """Returns the residuals of values from a line fitted to each block of at least `BLOCK` values."""
    blocks = max(len(values) // BLOCK, 1)
    length = len(values) // blocks
    x, y = (array[: blocks * length].reshape(blocks, length) for array in (at, values))
    middle = x.mean(axis=1)
    slope = slopes(x, y)
    level = np.median(y - slope[:, None] * (x - middle[:, None]), axis=1)
    of = np.minimum(np.arange(len(values)) // max(length, 1), blocks - 1)
    result: Floats = values - level[of] - slope[of] * (at - middle[of])
    return result


def least_block(residuals: Floats) -> float:
    """Returns the smallest median of absolute residuals over blocks of at least `BLOCK` values."""
    blocks = max(len(residuals) // BLOCK, 1)
    rows = np.abs(residuals[: len(residuals) // blocks * blocks]).reshape(blocks, -1)
    return float(np.median(rows, axis=1).min()) if rows.size else np.inf


def doubtful(a: Floats, b: Floats, right: Integers) -> NDArray[np.bool_]:
    """Flags values of b, matched to a[right], in blocks whose likelihood prefers a neighboring shift by `WEAK`."""
    blocks = max(len(b) // BLOCK, 1)
    length = len(b) // blocks
    of = np.minimum(np.arange(len(b)) // length, blocks - 1)
    begins = np.arange(blocks) * length
    residuals_of, scales, inside = [], [], []
    for shift in range(-NEAR, NEAR + 1):
        shifted = right + shift
        residuals = np.abs(straightened(b, a[np.clip(shifted, 0, len(a) - 1)] - b))
        residuals_of.append(residuals)
        inside.append(np.logical_and.reduceat((shifted >= 0) & (shifted < len(a)), begins))
        middle = np.median(residuals[: blocks * length].reshape(blocks, length), axis=1)
        scales.append(np.where(inside[-1], 1.4826 * middle, np.inf))
    scale = np.maximum(np.min(scales, axis=0), 1.0)[of]
    costs = [2.0 * np.add.reduceat(np.log1p((residuals / scale) ** 2 / 3.0), begins) for residuals in residuals_of]
    least = np.where(inside, costs, np.inf).min(axis=0)
    flags: NDArray[np.bool_] = (costs[NEAR] > least + WEAK)[of]
    return flags


def slopes(x: Floats, y: Floats) -> Floats:
    """Estimates each row's slope, limited to the largest rate: a median of pairs, robust to 25 % outliers."""
    half = x.shape[1] // 2
    if not half:
        return np.zeros(len(x))
    distance = np.maximum(x[:, half : 2 * half] - x[:, :half], 1e-9)
    medians: Floats = np.clip(np.median((y[:, half : 2 * half] - y[:, :half]) / distance, axis=1), -MAX_RATE, MAX_RATE)
    return medians


def contradicted(a: Floats, b: Floats, a_entry: Floats, b_entry: Floats, shift: int) -> bool:
    """Returns true if, at a shift, an exit precedes an entry for every pair of clocks within the largest rate."""
    left, right = pairs(a, b, shift)
    at = b[right]
    lower, upper = a_entry[left] - b[right], a[left] - b_entry[right]
    slack = MAX_RATE * (a[left] - a_entry[left] + b[right] - b_entry[right]) + 2.0
    # Between any two calls, the difference of two clocks changes by no more than the largest rate.
    highest = np.maximum.accumulate(lower + MAX_RATE * at)
    lowest = np.minimum.accumulate(upper - MAX_RATE * at)
    early = highest - MAX_RATE * at > upper + slack
    late = lower > lowest + MAX_RATE * at + slack
    return bool(early.any() or late.any())


def extended(
    other: Calls, local: Calls, kinds: tuple[Integers, Integers], other_calls: Integers, seed: Integers
) -> Integers:
    """Extends a match from seed calls to all calls: extrapolates the clock difference and takes the nearest exit.

    Args:
        other: all calls of the other rank.
        local: all calls of this rank.
        kinds: kind of each call of both ranks.
        other_calls: indexes of the other rank's calls that match the seed.
        seed: indexes of this rank's calls.

    Returns:
        As `match_by_order`.
    """
    zero_a, zero_b = int(other.exit[other_calls[0]]), int(local.exit[seed[0]])
    a, b = (other.exit - zero_a).astype(float), (local.exit - zero_b).astype(float)
    row = np.full(len(b), -1)
    row[seed] = other_calls
    by_kind = {int(kind): np.flatnonzero(kinds[0] == kind) for kind in np.unique(kinds[1])}
    residuals = a[other_calls] - b[seed]
    scatter = max(1.4826 * float(np.median(np.abs(np.diff(residuals)))), 10.0) if len(residuals) > 1 else 10.0
    steps = np.diff(np.sort(a))
    usual = 4.0 * float(np.median(steps)) if len(steps) else np.inf
    chunks = [np.arange(at, min(at + CALL_CHUNK, len(b))) for at in range(0, len(b), CALL_CHUNK)]
    away = [int(np.abs(seed - chunk.mean()).min()) for chunk in chunks]
    for number in np.argsort(away, kind="stable"):  # chunks near the seed come first
        chunk = chunks[number]
        known = np.flatnonzero(row >= 0)
        if not len(known):
            break
        near = known[np.argsort(np.abs(known - chunk.mean()), kind="stable")[: 2 * CALL_CHUNK]]
        near.sort()
        line, error = fitted(b[near], a[row[near]] - b[near], scatter)
        for kind in np.unique(kinds[1][chunk]):
            of = chunk[kinds[1][chunk] == kind]
            candidates = by_kind[int(kind)]
            if not len(candidates):
                continue
            guess, unsure = b[of] + np.polyval(line, b[of]), 5.0 * error(b[of])
            there = a[candidates]
            order = np.argsort(there, kind="stable")
            there, candidates_at = there[order], candidates[order]
            after = (
                np.clip(np.searchsorted(there, guess), 1, len(there) - 1) if len(there) > 1 else np.zeros(len(of), int)
            )
            nearest = np.where(
                np.abs(there[after] - guess) < np.abs(there[np.maximum(after - 1, 0)] - guess),
                after,
                np.maximum(after - 1, 0),
            )
            # Exits may scatter more than calls are apart; the running median of the shift corrects single errors.
            index = np.arange(len(of))
            shift = running_median(nearest - index)
            chosen = index + shift
            inside = (chosen >= 0) & (chosen < len(there))
            chosen = np.clip(chosen, 0, len(there) - 1)
            distance = np.abs(there[chosen] - guess)
            step = np.diff(there, prepend=-np.inf, append=np.inf)
            # The distance and the error of the guess must be small compared with the distance of neighboring exits.
            room = np.minimum(np.minimum(step[chosen], step[chosen + 1]), usual)
            fits = inside & (distance < room / 4.0) & (unsure < room / 4.0)
            row[of] = np.where(fits, candidates_at[chosen], -1)
    # Extrapolation stops where a clock was set; a block of consecutive seed calls still counts.
    for block in np.array_split(np.arange(len(seed)), max(len(seed) // BLOCK, 1)):
        local_calls, matched = seed[block], other_calls[block]
        if (
            (row[local_calls] < 0).all()
            and len(local_calls) >= RUN
            and (np.diff(matched) == 1).all()
            and (np.diff(local_calls) == 1).all()
        ):
            near = np.arange(matched[0] - NEAR, matched[0] + NEAR + 1)
            if agreed(a, b[local_calls], near) == matched[0]:
                residuals = np.abs(straightened(b[local_calls], a[matched] - b[local_calls]))
                row[local_calls] = np.where(residuals <= FAR * np.median(residuals), matched, -1)
    for kind, other_calls in by_kind.items():
        local_calls = np.flatnonzero(kinds[1] == kind)
        row[local_calls] = runs(a, b, other_calls, local_calls, row[local_calls])
    return row


def runs(a: Floats, b: Floats, other_calls: Integers, local_calls: Integers, row: Integers) -> Integers:
    """Keeps the matches of one kind of call that form runs which fit clearly better than neighboring shifts.

    A single wrong match invalidates a bound, so isolated matches are dropped.

    Args:
        a: exits of all calls of the other rank, ns.
        b: exits of all calls of this rank, ns.
        other_calls: indexes of the other rank's calls of the kind.
        local_calls: indexes of this rank's calls of the kind.
        row: match of each of `local_calls`; -1: none.
    """
    kept_rows = np.full(len(local_calls), -1)
    at = np.flatnonzero(row >= 0)
    if not len(at):
        return kept_rows
    shift = np.searchsorted(other_calls, row[at]) - at
    edges = np.flatnonzero(np.diff(shift, prepend=shift[0] - 1, append=shift[-1] + 1))
    for begin, end in pairwise(edges):
        run = np.arange(at[begin], at[end - 1] + 1)
        right, x, y = run + shift[begin], a[other_calls], b[local_calls[run]]
        near = np.arange(right[0] - NEAR, right[0] + NEAR + 1)
        if len(run) < RUN or agreed(x - x[0], y - y[0], near) != right[0]:
            continue
        residuals = np.abs(straightened(y, x[right] - y))
        kept = residuals <= FAR * np.median(residuals)
        kept &= ~doubtful(x - x[0], y - y[0], right)
        kept_rows[run] = np.where(kept, other_calls[right], -1)
    # Fill gaps between two matches with the same shift.
    at = np.flatnonzero(kept_rows >= 0)
    shift = np.searchsorted(other_calls, kept_rows[at]) - at
    for k in np.flatnonzero((np.diff(at) > 1) & (np.diff(shift) == 0)):
        kept_rows[at[k] : at[k + 1]] = other_calls[np.arange(at[k], at[k + 1]) + shift[k]]
    return kept_rows


def fitted(at: Floats, difference: Floats, scatter: float) -> tuple[tuple[float, float], Callable[[Floats], Floats]]:
    """Fits a robust line (Huber weights) to differences of two clocks.

    Args:
        at: times, ns.
        difference: of the clocks at these times, ns.
        scatter: standard deviation of a difference, ns.

    Returns:
        Slope and intercept (ns) of the line, and a function that returns its standard error at given times, ns.
    """
    middle, length = float(at.mean()), float(np.std(at))
    slope = float(slopes(at[None], difference[None])[0])
    residuals = difference - slope * at
    weight = 1.0 / np.maximum(1.0, np.abs(residuals - np.median(residuals)) / (1.5 * scatter))
    for _ in range(8):
        center = float((weight * at).sum() / weight.sum())
        mean = float((weight * difference).sum() / weight.sum())
        wide = float((weight * (at - center) ** 2).sum())
        prior = (scatter / MAX_RATE) ** 2
        slope = float((weight * (at - center) * (difference - mean)).sum()) / (wide + prior)
        slope = min(max(slope, -MAX_RATE), MAX_RATE)
        residuals = difference - mean - slope * (at - center)
        weight = 1.0 / np.maximum(1.0, np.abs(residuals) / (1.5 * scatter))
    count = len(at)
    tilt = min(scatter / max(np.sqrt(count) * length, 1e-9), MAX_RATE)

    def error(when: Floats) -> Floats:
        away = np.abs(when - middle)
        outside = np.maximum(np.maximum(at.min() - when, when - at.max()), 0.0)
        errors: Floats = np.sqrt(scatter**2 / count + (tilt * away) ** 2) + 2e-18 * outside**2
        return errors

    return (slope, mean - slope * center), error


def running_median(values: Integers, reach: int = 4) -> Integers:
    """Returns the running median over `reach` neighbors on each side; the edges are padded."""
    if len(values) <= 2:
        return values
    reach = min(reach, (len(values) - 1) // 2)
    padded = np.pad(values, reach, mode="edge")
    medians: Integers = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1), axis=1).astype(
        np.int64
    )
    return medians
