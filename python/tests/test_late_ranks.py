"""Who causes the waiting, where that rank was, and where the time of each rank goes: drawn programs, known truth."""

from __future__ import annotations

import re
from pathlib import Path

import chromium
import numpy as np
import pandas as pd
import pytest
from downbeat.output.blocks import Depth, Line, Picture, Table
from downbeat.output.facts.trace import LongerBefore, WaitedBefore, WaitingForLateRanks
from downbeat.output.page import write_page
from downbeat.output.terminal import WIDTH, view_lines
from downbeat.trace.arrivals import Arrivals, arrivals_of, find_arrivals
from downbeat.trace.balance import PARTS, KindTimes, LeastInMessages, RankTimes, least_in_messages
from downbeat.trace.findings import waiting_verdict, way_before
from downbeat.trace.records import short_ticks
from downbeat.views.trace import MAX_BARS, arrivals_view, bar_lines, late_blocks
from test_arrivals import RUN, US, call, recording_of, records_of

WORK, OPERATION = 50.0, 3.0  # us


def drawn_program(seed: int) -> tuple[Arrivals, dict[str, float]]:
    """Returns the arrivals in a program with one late rank, and what is true of it.

    In a share of the steps a rank has more to compute before an allreduce, at one of two places; before the other one
    nobody has. Clocks are off by up to their bound, which is far less than the delay.
    """
    random = np.random.default_rng(seed)
    ranks = int(2 ** random.uniform(1, 6.01))
    late = int(random.integers(ranks))
    delay = 10 ** random.uniform(2, 4)  # us
    share = random.uniform(0.05, 1.0)
    bound = delay * 10 ** random.uniform(-4, -2)
    off = random.uniform(-1, 1, ranks) * bound
    now, made, wait, planted = np.zeros(ranks), [], 0.0, 0
    for step in range(120):
        for place in (16, 32):
            now = now + WORK + random.uniform(0, 0.02, ranks)
            if place == 32 and random.random() < share:
                now[late] += delay
                planted += 1
                wait += (now[late] - np.delete(now, late)).sum()
            end = now.max() + OPERATION + random.uniform(0, 0.1, ranks)
            stamps = ((now + off).tolist(), (end + off).tolist())
            made.append(call(*stamps, sequence=2 * step + place // 32, offset=place, bound=bound * US))
            now = end
    records = pd.concat(made, ignore_index=True)
    run = float(records["exit"].max())
    truth = {"ranks": ranks, "late": late, "delay": delay, "calls": planted, "wait": wait * US, "bound": bound}
    return arrivals_of(records_of(records), run, ranks), truth


@pytest.mark.parametrize("seed", range(8))
def test_the_late_rank_its_seconds_its_calls_and_its_place_are_those_planted(seed: int) -> None:
    found, truth = drawn_program(seed)
    first = found.late_ranks.frame().iloc[0]
    assert first["rank"] == truth["late"]
    within = truth["ranks"] * truth["calls"] * 2 * truth["bound"] * US
    assert first["wait"] == pytest.approx(truth["wait"], abs=within + 1e-3 * truth["wait"])
    assert first["costly"] == truth["calls"]
    assert first["late"] == pytest.approx(truth["delay"] * US, abs=(2 * truth["bound"] + 0.2) * US)
    # Between the two calls, by its own clock.
    assert first["before"].endswith("(solve (app+0x10))")
    assert first["after"].endswith("(solve (app+0x20))")
    assert first["takes"] - first["others"] == pytest.approx(truth["delay"] * US, abs=0.2 * US)
    assert first["others"] == pytest.approx(WORK * US, abs=0.2 * US)
    verdict = waiting_verdict(found)
    assert isinstance(verdict, WaitingForLateRanks)
    assert (verdict.late[0].rank, verdict.late[0].calls) == (truth["late"], truth["calls"])
    assert verdict.waited_s * verdict.late[0].share == pytest.approx(first["wait"] / truth["ranks"])
    (table,) = (block for block in late_blocks(found) if isinstance(block, Table))
    assert table.frame["caused_s"].iloc[0] == pytest.approx(first["wait"] / truth["ranks"])


def test_the_rank_that_costs_most_is_first_not_the_one_that_is_last_most_often() -> None:
    """A loader: rank 3 is 20 ms late in each twentieth call; in the others rank 0 is, by a few us."""
    made = []
    for step in range(400):
        late = step % 20 == 0
        entries, end = ([0, 0, 0, 20_000], 20_005) if late else ([3, 0, 0, 0], 8)
        made.append(call(entries, [end] * 4, sequence=step, begin=0.03 * step))
    found = find_arrivals(recording_of(*made))
    assert found.late_ranks.frame()["rank"].tolist() == [3, 0]
    first = found.late_ranks.frame().iloc[0]
    assert (first["costly"], first["calls"]) == (20, 20)
    assert first["late"] == pytest.approx(20e-3)


def test_who_comes_last_to_a_broadcast_is_not_blamed_for_a_late_root() -> None:
    made = [call([10, 0, 30], [40] * 3, "bcast", sequence=step, root=0, begin=1e-3 * step) for step in range(20)]
    found = find_arrivals(recording_of(*made))
    assert found.late_ranks.frame()["rank"].tolist() == [0]
    assert found.late_ranks.frame()["wait"].tolist() == pytest.approx([20 * 10 * US])
    assert found.sites.frame()[["last_rank", "last_share", "last_wait"]].to_numpy().tolist() == [[0, 1.0, 1.0]]


def test_nobody_is_blamed_where_the_clocks_cannot_tell_two_ranks_apart() -> None:
    """Ranks 1 and 2 are late by as much, within the bound; that rank 0 waits is clear."""
    made = [call([0, 100, 101], [110] * 3, sequence=step, begin=1e-3 * step, bound=2 * US) for step in range(50)]
    found = find_arrivals(recording_of(*made))
    assert found.sites.frame()["wait"].iloc[0] > 0
    assert not len(found.late_ranks)
    assert found.sites.frame()["last_rank"].tolist() == [-1]


def test_without_good_clocks_the_time_in_the_calls_shows_who_comes_last() -> None:
    """Rank 2 is always 50 us late, the clocks are known to 100 us; ranks leave together."""
    random = np.random.default_rng(2)
    made, off = [], np.array([-40.0, 90.0, 20.0, 70.0])
    for step in range(50):
        entry = random.uniform(0, 5, 4)
        entry[2] += 50
        end = np.full(4, entry.max() + 4)
        made.append(
            call((entry + off).tolist(), (end + off).tolist(), sequence=step, begin=1e-3 * step, bound=100 * US)
        )
    (site,) = (row for _, row in find_arrivals(recording_of(*made)).sites.frame().iterrows())
    assert (site["apart"], site["last_rank"], site["quick_rank"]) == (0.0, -1, 2)
    assert site["quick_time"] < 10 * US < 40 * US < site["quick_others"]


def test_a_rank_that_came_late_out_of_the_call_before_is_not_said_to_compute_longer() -> None:
    made = []
    for step in range(20):
        begin = 1e-3 * step
        made.append(call([0, 0], [10, 110], "reduce", begin, 2 * step, root=1, offset=16))
        made.append(call([60, 160], [170, 170], "allreduce", begin, 2 * step + 1, offset=32))
    first = find_arrivals(recording_of(*made)).late_ranks.frame().iloc[0]
    assert first["rank"] == 1
    assert first["takes"] == pytest.approx(first["others"])
    assert first["left"] == pytest.approx(100 * US)


def test_gaps_in_a_sample_are_known_only_where_no_call_can_be_missing() -> None:
    made = [call([0, 40], [50, 50], sequence=step, begin=1e-3 * step) for step in range(64)]
    whole = recording_of(*made)
    kept = np.isin(whole.records.sequence, [0, 1, 2, 10, 20, 21])
    profile = whole.profile.replaced(thinning=np.full(len(whole.profile), 3))
    found = arrivals_of(whole.records[kept], RUN, 2, profile)
    rows = found.rows.frame()
    known = rows[rows["gap"].notna()]
    assert sorted(set(known["sequence"])) == [1, 2, 21]


def test_the_parts_of_a_rank_add_up_to_the_run() -> None:
    found, _ = drawn_program(3)
    assert not len(found.by_rank)  # records alone do not say what else a rank did
    made = [call([0, 40], [50, 50], sequence=step, begin=1e-3 * step) for step in range(64)]
    found = find_arrivals(recording_of(*made))
    table = found.by_rank.frame().set_index("rank")
    assert table[list(PARTS)].sum(axis=1).tolist() == pytest.approx([RUN, RUN])
    assert table["waiting"].tolist() == pytest.approx([64 * 40 * US, 0.0], abs=1e-12)
    assert table["operation"].tolist() == pytest.approx([64 * 10 * US] * 2)
    assert table["point_to_point"].tolist() == pytest.approx([0.25 * RUN] * 2)


def test_bars_are_as_long_as_times_and_fit() -> None:
    ranks = 40
    table = pd.DataFrame(dict.fromkeys(PARTS, 0.0), index=range(ranks)).assign(rank=range(ranks))
    table["computing"], table["waiting"] = 0.5, 0.5
    table.loc[7, ["computing", "waiting"]] = [1.0, 0.0]
    lines = bar_lines(RankTimes.of_frame(table), False, [7])
    assert max(map(len, lines)) <= WIDTH
    bars = lines[1 : 1 + MAX_BARS]
    assert sum(line.count(".") == 2 * line.count("#") for line in bars) == 0
    assert sum(line.count("#") == 0 for line in bars) == 1
    assert all(abs(line.count(".") - line.count("#")) <= 1 for line in bars if "#" in line)


def test_the_first_picture_of_the_page_is_where_the_time_goes() -> None:
    made = [
        call([0, 40], [50, 50], sequence=step, begin=1e-3 * step, communicator="row (00000000000000ab)")
        for step in range(64)
    ]
    found = find_arrivals(recording_of(*made))
    page = arrivals_view(found, "Arrivals", depth=Depth.PAGE)
    first = page.blocks[0]
    assert isinstance(first, Line)
    assert first.role == "answer"
    assert next(block for block in page.blocks if isinstance(block, Picture)) is page.pictures[0]
    assert page.pictures[0].numbers["waiting"].sum() == pytest.approx(64 * 40 * US)
    assert found.sites.frame()["communicators"].tolist() == ["row"]
    assert max(map(len, view_lines(page))) <= WIDTH


@pytest.mark.thorough
@pytest.mark.skipif(not chromium.PROGRAM, reason="chromium is not installed")
@pytest.mark.parametrize("ranks", [2, 64])
def test_the_headline_and_the_time_by_rank_are_on_the_first_screen(ranks: int, tmp_path: Path) -> None:
    made = [call([0] * (ranks - 1) + [4000], [4010] * ranks, sequence=step, begin=0.02 * step) for step in range(50)]
    write_page(tmp_path / "page.html", arrivals_view(find_arrivals(recording_of(*made)), "Arrivals", depth=Depth.PAGE))
    for width, dark in ((1280, False), (420, True)):
        seen = chromium.look(tmp_path / "page.html", tmp_path, width, dark=dark)
        assert seen["width"] <= width
        assert re.search(rf"rank\s+{ranks - 1}\s+causes\s+100\s+%", seen["text"])
        *_, height, top = seen["pictures"][0]
        assert width < 1280 or top + height <= 800


def messages_of(times: list[float], calls: list[int], computing: list[float]) -> LeastInMessages | None:
    """Returns who spends least time in messages, of ranks with these times."""
    ranks = range(len(times))
    none = dict.fromkeys(("waiting", "operation", "other_MPI"), 0.0)
    by_rank = pd.DataFrame({"rank": ranks, "computing": computing, "point_to_point": times} | none)
    kinds = pd.DataFrame({"rank": ranks, "kind": "point-to-point", "calls": calls, "time": times, "analyzed": 0.0})
    return least_in_messages(RankTimes.of_frame(by_rank), KindTimes.of_frame(kinds))


def test_in_messages_the_late_rank_waits_least() -> None:
    """Drawn rings: in each step a rank computes longer, and its neighbors, and theirs, wait for it."""
    random = np.random.default_rng(5)
    for _ in range(40):
        ranks, late = int(random.integers(2, 65)), 0
        late = int(random.integers(ranks))
        now, inside, outside = (np.zeros(ranks) for _ in range(3))
        for _ in range(400):
            work = 1.0 + 0.05 * random.random(ranks) + (np.arange(ranks) == late)
            sent = now + work
            now = np.maximum(sent, np.maximum(np.roll(sent, 1), np.roll(sent, -1))) + 0.01
            outside += work
            inside += now - sent
        found = messages_of(inside.tolist(), [800] * ranks, outside.tolist())
        assert found is not None
        assert (found.rank, found.why_not) == (late, "")
        assert found.time == pytest.approx(inside[late])
        fewer = [800 - 400 * (rank == late) for rank in range(ranks)]
        refused = messages_of(inside.tolist(), fewer, outside.tolist())
        assert refused is not None
        assert refused.why_not
        # It is in collectives instead, or nobody is late.
        for times, computing in ((inside, np.zeros(ranks)), (np.full(ranks, inside.mean()), outside)):
            refused = messages_of(times.tolist(), [800] * ranks, computing.tolist())
            assert refused is not None
            assert refused.why_not


def test_who_waited_for_a_message_is_not_said_to_compute_longer() -> None:
    """Rank 1 is 100 us late because it waited 100 us in another MPI call; by the sentence it may be another's fault."""
    made = [
        call([50, 150], [160, 160], sequence=step, begin=1e-3 * step, elsewhere=[0.0, 100 * US]) for step in range(20)
    ]
    found = find_arrivals(recording_of(*made))
    first = found.late_ranks.frame().iloc[0]
    assert (first["rank"], first["inside"], first["inside_others"]) == (1, pytest.approx(100 * US), 0.0)
    assert isinstance(way_before(found.late_ranks, 0), WaitedBefore)
    made = [one.assign(elsewhere=0.0) for one in made]
    fact = way_before(find_arrivals(recording_of(*made)).late_ranks, 0)
    assert type(fact) is LongerBefore
    assert fact.takes_s - fact.others_s == pytest.approx(100 * US)


def test_short_ticks_are_shifted_as_they_say() -> None:
    stored = np.array([0, 1, 2047, 1 << 11 | 1024, 31 << 11 | 2047], dtype=np.uint16)
    assert short_ticks(stored).tolist() == [0, 1, 2047, 2048, 2047 << 31]
