"""Arrivals of programs with threads, from made-up recordings whose truth is known: shares are those of processes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from downbeat.output.facts.trace import RunAndAccuracy
from downbeat.text import MICROSECONDS
from downbeat.trace.arrivals import Arrivals, find_arrivals, of_phase
from downbeat.trace.balance import PARTS
from downbeat.trace.phases import Phases
from downbeat.trace.recording import Recording
from downbeat.views.trace import arrivals_view
from test_arrivals import US, call, profile_of, recording_of, records_of, with_tables

RUN_US = 1_000_000
RANKS = 3


def planned(draw: np.random.Generator, threads: int) -> Iterator[pd.DataFrame]:
    """Yields calls of threads, each on its own communicator, at the same time; times are whole microseconds."""
    for thread in range(threads):
        alone = draw.random() < 0.3
        now = int(draw.integers(0, RUN_US // 2)) if alone else 0
        late = int(draw.integers(RANKS))
        for number in range(int(draw.integers(3, 25))):
            entries = now + draw.integers(0, 4000, RANKS)
            entries[late] += int(draw.integers(0, 8000))
            end = int(entries.max()) + int(draw.integers(1, 2000))
            if end > RUN_US:
                break
            yield call(
                entries.tolist(),
                [end] * RANKS,
                sequence=number,
                communicator=f"of {thread}",
                offset=16 * (1 + thread % 2),
                thread=thread,
                phase=f"part {number % 2}",
            )
            now = end + int(draw.integers(0, 10_000))


def truth(calls: list[pd.DataFrame]) -> dict[str, np.ndarray]:
    """Returns the time of each rank, us, that is waiting and operation, microsecond by microsecond."""
    waiting, inside = np.zeros((RANKS, RUN_US), np.int16), np.zeros((RANKS, RUN_US), np.int16)
    for one in calls:
        entries = np.rint(one["entry"] / US).astype(int)
        ends = np.rint(one["exit"] / US).astype(int)
        for rank in range(RANKS):
            waiting[rank, entries[rank] : entries.max()] += 1
            inside[rank, entries[rank] : ends[rank]] += 1
    each = 1.0 / inside.clip(min=1)
    return {"waiting": (waiting * each).sum(axis=1), "any": (inside > 0).sum(axis=1)}


def with_sums(recording: Recording, seconds: float) -> Recording:
    """Returns a recording with so long in point-to-point messages on each rank."""
    return with_tables(recording, sums=recording.sums.replaced(time=np.full(len(recording.sums), seconds)))


def with_phases(recording: Recording) -> Recording:
    """Returns a recording whose phases take half of the run each."""
    rows = [{"rank": rank, "phase": f"part {p}", "begins": 1, "time": 0.5} for rank in range(RANKS) for p in range(2)]
    return with_tables(recording, phases=Phases.of_rows(rows))


def agrees_with_itself(found: Arrivals) -> None:
    """Checks that tables and bars of an output show the same times, none longer than the run."""
    bars = found.by_rank.frame().set_index("rank")
    kinds = found.kinds.frame()
    collectives = kinds[kinds["kind"] == "collectives"].set_index("rank")["time"]
    assert bars[list(PARTS)].sum(axis=1).to_numpy() == pytest.approx(found.run)
    assert (bars["waiting"] + bars["operation"]).to_numpy() == pytest.approx(collectives.to_numpy())
    assert found.sites.frame()["time"].sum() == pytest.approx(collectives.sum())
    assert found.sites.frame()["share"].sum() == pytest.approx(collectives.mean() / found.run)
    assert found.sites.frame()["wait"].sum() == pytest.approx(bars["waiting"].sum())
    assert found.late_ranks.frame()["wait"].sum() <= found.sites.frame()["wait"].sum() * (1 + 1e-9)
    assert kinds.groupby("rank")["time"].sum().max() <= found.run * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_threads_at_once_divide_the_time_of_their_process(seed: int) -> None:
    draw = np.random.default_rng(seed)
    calls = list(planned(draw, int(draw.integers(1, 7))))
    rank = int(draw.integers(RANKS))  # its threads are others than those of the other ranks
    for one in calls:
        one["thread"] = np.where(one["rank"] == rank, 7 * one["thread"] + 100, one["thread"])
    found = find_arrivals(with_sums(with_phases(recording_of(*calls)), draw.choice([0.0, 0.25, 0.9])))
    agrees_with_itself(found)
    true = truth(calls)
    bars = found.by_rank.frame().set_index("rank")
    assert (bars["waiting"] * MICROSECONDS).to_numpy() == pytest.approx(true["waiting"], abs=1)
    assert ((bars["waiting"] + bars["operation"]) * MICROSECONDS).to_numpy() == pytest.approx(true["any"], abs=1)
    parts = [of_phase(found, f"part {number}") for number in range(2)]
    assert sum(float(part.sites.share.sum()) * part.run for part in parts) == pytest.approx(
        float(found.sites.share.sum()) * found.run
    )


def of_one_thread(calls: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Returns the same calls, made by the first thread of each process."""
    return [one.assign(thread=0) for one in calls]


@pytest.mark.parametrize("seed", range(8))
def test_threads_in_turn_are_as_one_thread(seed: int) -> None:
    """A new thread for each step, a pool in turn or at random, a main thread with helpers; on some ranks only."""
    draw = np.random.default_rng(seed)
    calls, now, late = [], 0, int(draw.integers(RANKS))
    for number in range(int(draw.integers(20, 80))):
        entries = now + draw.integers(0, 300, RANKS)
        entries[late] += 2000
        end = int(entries.max()) + int(draw.integers(1, 300))
        calls.append(call(entries.tolist(), [end] * RANKS, sequence=number, offset=16 * (1 + number % 2)))
        now = end + int(draw.integers(0, 2500))
    pools = [
        draw.permutation(len(calls)),
        np.arange(len(calls)) % 4,
        draw.integers(0, 5, len(calls)),
        np.where(draw.random(len(calls)) < 0.8, 0, np.arange(len(calls))),
        np.zeros(len(calls)),
    ]
    chosen = [pools[int(draw.integers(len(pools)))] for _ in range(RANKS)]
    threaded = [
        one.assign(thread=[int(pool[number]) for pool in chosen]) for number, one in enumerate(of_one_thread(calls))
    ]
    several, alone = (find_arrivals(recording_of(*some)) for some in (threaded, of_one_thread(calls)))
    agrees_with_itself(several)
    facts, facts_alone = (arrivals_view(some, "").facts for some in (several, alone))
    assert [fact for fact in facts if not isinstance(fact, RunAndAccuracy)] == [
        fact for fact in facts_alone if not isinstance(fact, RunAndAccuracy)
    ]
    pd.testing.assert_frame_equal(several.sites.frame(), alone.sites.frame())
    pd.testing.assert_frame_equal(several.by_rank.frame(), alone.by_rank.frame())
    pd.testing.assert_frame_equal(several.kinds.frame(), alone.kinds.frame())
    assert [fact.threads for fact in facts if isinstance(fact, RunAndAccuracy)] == [several.threads]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_of_a_sample_the_mean_number_of_threads_in_calls_is_estimated(threads: int) -> None:
    """Threads that are in calls at the same times, of whose calls one in eight has a record."""
    draw = np.random.default_rng(threads)
    calls = []
    for number in range(1000):
        entries = (600 * number + np.array([0, 0, 500])).tolist()
        calls += [
            call(entries, [600 * number + 510] * RANKS, sequence=number, communicator=f"of {one}", thread=one)
            for one in range(threads)
        ]
    whole = recording_of(*calls)
    kept = [one for one in calls if draw.random() < 1 / 8]
    records = pd.concat(kept, ignore_index=True)
    keys = ["rank", "communicator"]
    rows = whole.profile.frame().reset_index().set_index(keys)["index"]
    records = records.assign(row=rows.loc[pd.MultiIndex.from_frame(records[keys])].to_numpy())
    profile = profile_of(pd.concat(calls, ignore_index=True))
    profile = profile.replaced(thinning=np.full(len(profile), 3))
    found = find_arrivals(with_tables(whole, records=records_of(records), profile=profile, sampled=True))
    bars = found.by_rank.frame().set_index("rank")
    assert bars["waiting"].to_numpy() == pytest.approx([0.5, 0.5, 0.0], rel=0.15)
    agrees_with_itself(found)
