"""Arrivals, from made-up traces whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from downbeat.errors import UsageError
from downbeat.output.blocks import Depth, Line
from downbeat.output.facts.trace import (
    CallsWithoutSite,
    LittleWaiting,
    ModuleAbsent,
    NothingAnalyzed,
    RecordsLeftOut,
    SharedProcessors,
    SiteNotAnalyzed,
    SiteNotResolved,
    SiteWaiting,
    WaitedForProcessor,
)
from downbeat.output.page import render_page
from downbeat.output.records import plain, view_record
from downbeat.output.terminal import WIDTH, view_lines
from downbeat.output.words import long
from downbeat.trace.arrivals import BEYOND, Arrivals, arrivals_of, find_arrivals, run_seconds
from downbeat.trace.calls import match_arrivals, whole_calls
from downbeat.trace.clocks import Clocks
from downbeat.trace.communicators import NOT_KNOWN
from downbeat.trace.file import HEADER, TABLES
from downbeat.trace.findings import site_facts, waiting_verdict, ways_before
from downbeat.trace.patterns import MAX_LINES, REPRESENTATIVES, export_text, represent
from downbeat.trace.phases import Phases
from downbeat.trace.pictures import STRETCHES
from downbeat.trace.profile import UNPLACED, Profile
from downbeat.trace.recording import Processes, Recording, Sums, open_recording
from downbeat.trace.records import Records
from downbeat.trace.sites import absent_modules, short_line, site_names
from downbeat.views.trace import arrivals_view
from launch_files import packed
from matplotlib.collections import QuadMesh

US = 1e-6
RUN = 1.0  # s


def call(
    entries: Sequence[float],
    exits: Sequence[float],
    operation: str = "allreduce",
    begin: float = 0.0,
    sequence: int = 0,
    **fields: object,
) -> pd.DataFrame:
    """Makes a call: entries and exits of each rank in us after `begin` (s)."""
    ranks = len(entries)
    return pd.DataFrame(
        {
            "rank": range(ranks),
            "operation": operation,
            "kind": "blocking",
            "communicator": "world",
            "size": float(ranks),
            "comm_rank": np.arange(float(ranks)),
            "sequence": sequence,
            "round": 0,
            "bytes": 8.0,
            "root": np.nan,
            "entry": begin + np.array(entries) * US,
            "returned": begin + np.array(exits) * US,
            "waited": np.nan,
            "exit": begin + np.array(exits) * US,
            "bound": 0.0,
            "module": "/nowhere/app",
            "offset": 16,
            "symbol": "solve",
            "phase": "",
            "thread": 0,
            "beyond": 0,
            "complete": True,
        }
        | fields
    )


def records_of(frame: pd.DataFrame) -> Records:
    """Makes records of calls."""
    usual: dict[str, Any] = {
        "elsewhere": np.nan,
        "group": -1,
        "together": 1,
        "row": 0,
        "is_root": frame["comm_rank"] == frame["root"],
    }
    full = frame.assign(**{name: value for name, value in usual.items() if name not in frame})
    return Records.of_frame(full.astype(dict.fromkeys(WORDS, "category")))


WORDS = ("operation", "kind", "communicator", "module", "symbol", "phase")


def matched(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Matches calls; returns their rows and themselves."""
    records = records_of(frame)
    rows, calls = match_arrivals(records, *whole_calls(records))
    return rows.frame(), calls.frame()


def recording_of(*calls: pd.DataFrame) -> Recording:
    """Makes a recording of a run of one second."""
    records = pd.concat(calls, ignore_index=True)
    ranks = int(records["rank"].max()) + 1
    process: dict[str, Any] = dict.fromkeys((each.name for each in Processes.columns()), 0)
    process |= {"world_size": ranks, "host": "node", "processors": 64, "ready": 0.0}
    synchronization = dict.fromkeys((each.name for each in Clocks.columns()), 0)
    messages = {"kind": "point-to-point", "calls": 10, "time": 0.25 * RUN}
    section = SimpleNamespace(tables=SimpleNamespace(phases=np.zeros(0, TABLES["phases"])), header=HEADERS[0], rank=0)
    recording = SimpleNamespace(
        records=records_of(records.assign(row=records.groupby(PROFILE, sort=False).ngroup())),
        processes=Processes.of_rows([process | {"rank": rank} for rank in range(ranks)]),
        sections=[section],
        phases=Phases.of_rows([]),
        clocks=Clocks.of_rows([synchronization | {"global_ns": time} for time in (0, int(RUN * 1e9))]),
        profile=profile_of(records),
        sampled=False,
        sums=Sums.of_rows([messages | {"rank": rank} for rank in range(ranks)]),
    )
    return cast(Recording, recording)


def with_tables(recording: Recording, **tables: object) -> Recording:
    """Returns a recording with some other tables."""
    return cast(Recording, SimpleNamespace(**vars(recording) | tables))


HEADERS = np.zeros(1, HEADER)
PROFILE = ["rank", "operation", "kind", "communicator", "size", "beyond", "module", "offset", "symbol", "phase"]


def profile_of(records: pd.DataFrame) -> Profile:
    """Adds calls up as libdownbeat-preload does."""
    done = records["complete"]
    both = records.assign(
        calls=done.astype(int),
        call_time=(records["returned"] - records["entry"]).where(done | (records["kind"] != "blocking"), 0.0),
        wait_time=(records["exit"] - records["waited"]).fillna(0.0).where(done, 0.0),
    )
    sums = both.groupby(PROFILE, sort=False)[["calls", "bytes", "call_time", "wait_time"]].sum()
    return Profile.of_frame(sums.reset_index().assign(build_id="", thinning=0, size_up_to=8.0))


def waits(frame: pd.DataFrame) -> list[float]:
    """Returns the waits of a call's ranks, in us."""
    return [round(wait / US, 3) for wait in matched(frame)[0]["wait"]]


@pytest.mark.parametrize(
    ("operation", "root", "expected"),
    [
        ("allreduce", np.nan, [30, 20, 0]),  # all wait for the last
        ("bcast", 1, [10, 0, 0]),  # all wait for the root
        ("reduce", 1, [0, 20, 0]),  # the root waits for all
        ("scan", np.nan, [0, 0, 0]),  # each waits for those before it, who came before
        ("neighbor_alltoall", np.nan, [0, 0, 0]),  # nobody knows
    ],
)
def test_who_waits_for_whom_follows_from_the_operation(operation: str, root: float, expected: list[float]) -> None:
    assert waits(call([0, 10, 30], [40, 40, 40], operation, root=root)) == expected


@pytest.mark.parametrize(
    ("operation", "root", "expected"),
    [
        (
            "allreduce",
            None,
            [30, 20, 5, 0],
        ),  # each waits for the other group's last: 30 for the first, 10 for the second
        ("barrier", None, [30, 20, 5, 0]),
        ("bcast", 1, [0, 0, 5, 0]),  # rank 1 gives, at 10; who is beside it takes no part
        ("gather", 1, [0, 20, 0, 0]),  # rank 1 takes
    ],
)
def test_between_two_groups_ranks_wait_for_the_other_one(
    operation: str, root: int | None, expected: list[float]
) -> None:
    roots = [np.nan] * 4 if root is None else [np.nan, np.nan, 1.0, 1.0]
    gives = [False] * 4 if root is None else [False, True, False, False]
    records = call([0, 10, 5, 30], [40] * 4, operation, root=roots, is_root=gives, comm_rank=[0.0, 1.0, 0.0, 1.0])
    rows, _ = matched(records.assign(group=[0, 0, 1, 1]))
    assert (rows.sort_values("rank")["wait"] / US).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("beyond", [1, 2])
def test_who_is_late_is_not_told_where_ranks_are_beyond_the_trace(beyond: int) -> None:
    inner = [call([0, 30], [40, 40], "bcast", sequence=number, root=0, beyond=beyond) for number in range(3)]
    found = find_arrivals(recording_of(*inner))
    assert found.left_out == {BEYOND[beyond]: 6}
    assert found.sites.frame()[["calls", "sampled", "wait", "beyond"]].to_numpy().tolist() == [[3, 0, 0.0, beyond]]
    (site,) = site_facts(found)
    assert isinstance(site, SiteNotAnalyzed)
    assert site.reason == BEYOND[beyond]


def true_wait(operation: str, entries: np.ndarray, exits: np.ndarray, root: int) -> np.ndarray:
    """Returns how long each rank waits for those whose data it needs."""
    ranks = list(range(len(entries)))
    needed: dict[str, list[list[int]]] = {
        "bcast": [[root] for _ in ranks],
        "reduce": [ranks if rank == root else [] for rank in ranks],
        "scan": [ranks[:rank] for rank in ranks],
        "allreduce": [ranks for _ in ranks],
    }
    last = [max([*(float(entries[other]) for other in others), -np.inf]) for others in needed[operation]]
    waits: np.ndarray = np.maximum(0.0, np.minimum(exits, last) - entries)
    return waits


@pytest.mark.parametrize("operation", ["allreduce", "bcast", "reduce", "scan"])
def test_each_wait_is_within_the_error_that_is_said(operation: str) -> None:
    """Clocks that are off by up to their own bound, some known ten times better than others."""
    random = np.random.default_rng(7)
    for number in range(60):
        bounds = 10.0 ** random.uniform(-2, 1, 4)
        entries = random.exponential(4, 4)
        exits = entries.max() + random.uniform(1, 3, 4)
        off = random.choice([-1, 1], 4) * bounds
        root = int(random.integers(4))
        measured = call(
            (entries + off).tolist(), (exits + off).tolist(), operation, begin=number, root=root, bound=bounds * US
        )
        rows, _ = matched(measured)
        wrong = np.abs(rows["wait"].to_numpy() / US - true_wait(operation, entries, exits, root))
        assert (wrong <= rows["wait_error"].to_numpy() / US + 1e-6).all()
        # No more than that: a rank of bcast and the root, of others it and whose clock is known least, both ways.
        least = bounds[root] if operation == "bcast" else bounds.max()
        assert (rows["wait_error"].to_numpy() / US <= 2 * (bounds + least) + 1e-6).all()
        if operation in ("bcast", "reduce"):
            alone = [root] if operation == "bcast" else [rank for rank in range(4) if rank != root]
            assert rows["wait_error"].to_numpy()[alone].tolist() == [0.0] * len(alone)


def test_threads_share_the_time_of_their_rank() -> None:
    """Four threads of two ranks, each in its own communicator, half of the time in a collective."""
    calls = [
        call([0, 0], [5000, 5000], begin=0.01 * turn, sequence=turn, communicator=f"of thread {thread}", thread=thread)
        for turn in range(100)
        for thread in range(4)
    ]
    found = find_arrivals(recording_of(*calls))
    assert found.sites.frame()["share"].tolist() == pytest.approx([0.5])
    assert found.threads == 8
    assert view_record(arrivals_view(found, ""))["threads"] == 8


def test_in_a_scan_ranks_wait_for_those_before_them() -> None:
    assert waits(call([30, 10, 0], [40, 40, 40], "scan")) == [0, 20, 30]
    assert waits(call([0, 20, 10, 5], [40, 40, 40, 40], "exscan")) == [0, 0, 10, 15]


def test_who_leaves_before_the_last_comes_waits_no_longer_than_that() -> None:
    assert waits(call([0, 5, 100], [12, 110, 110])) == [12, 95, 0]


def test_nothing_is_called_late_within_the_bound_of_the_clocks() -> None:
    late = call([0, 1, 2], [10, 10, 10], bound=0.6 * US)
    rows, calls = matched(late)
    assert [round(wait / US, 3) for wait in rows["wait"]] == [2, 0, 0]  # 1 us is within the two bounds, 2 are not
    assert calls["last_rank"].tolist() == [-1]
    # Rank 1 may have entered at 0.4 us, and rank 2 at 2.6 us.
    assert rows["wait_error"].tolist() == pytest.approx([1.2 * US, 2.2 * US, 1.2 * US])
    near = recording_of(call([0, 1, 1], [10, 10, 10], bound=0.6 * US))
    found = find_arrivals(near)
    assert found.sites.frame()["apart"].tolist() == [0.0]
    (site,) = site_facts(found)
    assert isinstance(site, SiteNotResolved)
    assert site.error_s == pytest.approx(1.2 * US)
    assert found.late_ranks.frame().empty


def test_the_true_share_of_waiting_is_within_the_limits_that_are_said() -> None:
    """Clocks that are off by up to their bound, another one for each call."""
    random = np.random.default_rng(1)
    for bound in (0.1 * US, 2 * US, 20 * US):
        bounds = bound * np.array([0.1, 1.0, 0.3, 1.0])  # some clocks are known better
        calls, true = [], 0.0
        for number in range(200):
            entries = random.exponential(10, 4)
            exits = np.full(4, entries.max() + 5)
            true += float((entries.max() - entries).sum()) * US
            off = random.uniform(-1, 1, 4) * bounds / US
            calls.append(
                call(
                    (entries + off).tolist(), (exits + off).tolist(), begin=number * 1e-3, sequence=number, bound=bounds
                )
            )
        (site,) = (row for _, row in find_arrivals(recording_of(*calls)).sites.frame().iterrows())
        assert abs(site["wait"] - true) <= site["wait_error"]


def some_calls(count: int = 100) -> list[pd.DataFrame]:
    """Makes calls to which rank 2 of 3 comes 30 us late, but for each fourth; the operation takes 10 us."""
    made = []
    for number in range(count):
        late = 30.0 if number % 4 else 0.0
        end = late + 12.0
        made.append(call([0, 2, late], [end] * 3, begin=number * RUN / count, sequence=number))
    return made


def test_who_costs_most_is_named_also_for_one_call() -> None:
    made = [call([12, 0, 5], [20] * 3, begin=number * RUN / 100, sequence=number) for number in range(99)]
    made.append(call([0, 0, 9000], [9010] * 3, begin=0.99, sequence=99))
    (site,) = (row for _, row in find_arrivals(recording_of(*made)).sites.frame().iterrows())
    assert (site["last_rank"], site["last_share"]) == (2, 0.01)
    assert site["last_wait"] == pytest.approx(18000 / (18000 + 99 * (12 + 7)))


def test_the_verdict_says_where_how_long_and_who() -> None:
    found = find_arrivals(recording_of(*some_calls()))
    (site,) = (row for _, row in found.sites.frame().iterrows())
    time = 0.75 * (42 + 40 + 12) + 0.25 * (12 + 10 + 12)
    wait = 0.75 * (30 + 28) + 0.25 * (2 + 0 + 2)
    assert site["time"] == pytest.approx(100 * time * US)
    assert site["wait"] == pytest.approx(100 * wait * US)
    assert site["after_last"] == pytest.approx(12 * US)
    assert site["spread_p50"] == pytest.approx(30 * US)
    assert (site["last_rank"], site["last_share"]) == (2, 0.75)
    assert site["share"] == pytest.approx(100 * time * US / (3 * RUN))
    (fact,) = site_facts(found)
    assert isinstance(fact, SiteWaiting)
    assert (fact.wait, fact.last_calls) == pytest.approx((wait / time, 0.75))
    assert fact.last_rank == 2
    assert fact.last_wait == pytest.approx(58 * 0.75 / wait)
    verdict = waiting_verdict(found)
    assert isinstance(verdict, LittleWaiting)
    assert verdict.share == pytest.approx(100 * wait * US / (3 * RUN))
    assert not ways_before(found)


def test_calls_that_a_rank_did_not_record_are_left_out_and_counted() -> None:
    calls = some_calls(8)
    calls[3] = calls[3].iloc[:2]
    calls[5].loc[1, "complete"] = False
    found = find_arrivals(recording_of(*calls))
    assert found.sites.frame()["sampled"].tolist() == [6]
    assert found.sites.frame()["calls"].tolist() == [7]  # 22 of 24 are complete
    assert list(found.left_out.values()) == [5]
    assert RecordsLeftOut(5, BEYOND[0]) in arrivals_view(found, "").facts


def test_call_sites_are_told_apart_and_come_by_time() -> None:
    short = [call([0, 0], [1, 1], "bcast", number * 1e-3, number, root=0, offset=32) for number in range(50)]
    long = [call([0, 0], [90, 90], begin=number * 1e-3 + 5e-4, sequence=50 + number) for number in range(10)]
    found = find_arrivals(recording_of(*short, *long))
    assert found.sites.frame()["operation"].tolist() == ["allreduce", "bcast"]
    assert found.sites.frame()["calls"].tolist() == [10, 50]
    assert set(found.rows.frame()[found.rows.frame()["site"] == 1]["operation"]) == {"bcast"}


def test_a_nonblocking_collective_waits_where_its_completion_is_waited_for() -> None:
    def waiting(waited: Sequence[float], exits: Sequence[float]) -> pd.DataFrame:
        begins = [one * US for one in waited]
        return call([0, 50], exits, kind="nonblocking", returned=[1 * US, 51 * US], waited=begins)

    frame = waiting([20, 55], [62, 60])
    rows, _ = matched(frame)
    assert (rows["wait"] / US).tolist() == pytest.approx([30, 0])
    assert (rows["time"] / US).tolist() == pytest.approx([1 + 42, 1 + 5])
    assert (rows["overlap"] / US).tolist() == pytest.approx([19, 4])
    found = find_arrivals(recording_of(frame))
    assert found.sites.frame()["time"].tolist() == pytest.approx([49 * US])
    (fact,) = site_facts(found)
    assert isinstance(fact, SiteWaiting)
    assert (fact.call, fact.later) == ("MPI_Iallreduce", True)
    assert (fact.overlap_s, fact.wait) == pytest.approx((11.5 * US, 30 / 49))
    # A completion that is there when it is asked for costs nobody a wait, however late a rank came.
    assert matched(waiting([100, 100], [101, 101]))[0]["wait"].tolist() == [0.0, 0.0]


def test_without_any_collective_that_is_said() -> None:
    found = find_arrivals(recording_of(call([0, 0], [1, 1], complete=False)))
    view = arrivals_view(found, "Arrivals", depth=Depth.PAGE)
    assert NothingAnalyzed() in view.facts
    assert view_record(view)["sites"] == []
    assert long(NothingAnalyzed()) in render_page(view)


def delays_in(text: str) -> np.ndarray:
    """Returns the delays of a file for `trace(file=...)`."""
    return np.array([line.split() for line in text.splitlines() if not line.startswith("#")], dtype=float)


def test_few_calls_are_exported_as_they_are() -> None:
    found = find_arrivals(recording_of(*some_calls(12)))
    delays = delays_in(export_text(found, 0))
    assert delays.shape == (12, 3)
    assert delays[:, 2].tolist() == pytest.approx([30 * US if number % 4 else 0 for number in range(12)])
    with pytest.raises(UsageError, match="there is no call site 2; the table has 1 to 1"):
        export_text(found, 1)


def test_many_calls_are_exported_by_representatives_that_occur_as_often() -> None:
    found = find_arrivals(recording_of(*some_calls(1000)))
    delays = delays_in(export_text(found, 0))
    assert len(delays) == MAX_LINES
    assert (delays[:, 2] > 0).mean() == pytest.approx(0.75)
    assert (delays[:20, 2] > 0).mean() == pytest.approx(0.75)  # whoever takes a few has a fair sample


def test_representatives_are_recorded_calls_and_stand_for_all() -> None:
    random = np.random.default_rng(3)
    kinds = np.array([[0, 0, 50], [0, 200, 0], [1, 1, 0]]) * US
    delays = kinds[random.integers(0, 3, 3000)] * random.lognormal(0, 0.2, (3000, 1))
    chosen, weights = represent(delays)
    assert len(chosen) <= REPRESENTATIVES
    assert weights.sum() == 3000
    assert all((delays == call).all(axis=1).any() for call in chosen)
    for kind in kinds:
        mine = (chosen.argmax(axis=1) == kind.argmax()) & (np.sign(chosen) == np.sign(kind)).all(axis=1)
        assert weights[mine].sum() == pytest.approx(1000, abs=100)


def test_the_page_has_every_picture_and_the_table() -> None:
    found = find_arrivals(recording_of(*some_calls()))
    page = arrivals_view(found, "Arrivals", np.array([5 * US]), Depth.PAGE)
    names = [picture.name for picture in page.pictures]
    assert names == ["time-by-rank", "lateness-1", "spread-1", "shape-1", "calls-1"]
    assert "rank 2 causes 9" in render_page(page)
    shape = page.pictures[3].numbers
    assert shape["p50_us"].tolist() == pytest.approx([0, 2, 30])


def test_each_row_of_the_map_is_at_its_rank() -> None:
    page = arrivals_view(find_arrivals(recording_of(*some_calls())), "Arrivals", depth=Depth.PAGE)
    (picture,) = (picture for picture in page.pictures if picture.name == "lateness-1")
    (mesh,) = (each for each in picture.figure.axes[0].collections if isinstance(each, QuadMesh))
    assert np.asarray(mesh.get_coordinates())[:, 0, 1].tolist() == [-0.5, 0.5, 1.5, 2.5]


def test_the_output_fits_80_columns_and_has_the_baseline() -> None:
    found: Arrivals = find_arrivals(recording_of(*some_calls()))
    view = arrivals_view(found, "", np.array([7.5 * US]))
    lines = view_lines(view)
    assert max(map(len, lines)) <= WIDTH
    assert any("7.50" in line and "12.00" in line for line in lines)
    assert plain(view_record(view))["sites"][0]["baseline"] == pytest.approx(7.5 * US)  # type: ignore[index]


def test_places_are_named_by_what_is_known(tmp_path: Path) -> None:
    places = call([0, 0], [1, 1], module="/x/app", offset=[16, 32], symbol=["", "solve"])
    assert site_names(records_of(places)) == {
        ("/x/app", 16): "app+0x10",
        ("/x/app", 32): "solve (app+0x20)",
    }
    assert short_line("/home/a/solver.f90:212 (discriminator 2)") == "solver.f90:212"
    assert short_line("/home/a/solver.f90:?") == ""


def test_a_module_that_is_not_here_or_was_built_again_is_named(tmp_path: Path) -> None:
    assert absent_modules({"/nowhere/app": "12"}) == {"/nowhere/app": ModuleAbsent("/nowhere/app", rebuilt=False)}
    here = str(Path("/proc/self/exe").resolve())
    assert absent_modules({here: "", "not known": ""}) == {}
    found = absent_modules({here: "0123"})
    assert not found or found[here].rebuilt  # nothing without readelf, or without a build-id


def test_percentages_are_of_the_whole_run_and_the_sampling_error_is_honest() -> None:
    random = np.random.default_rng(7)
    inside = []
    for _ in range(20):
        # Two sites on one communicator, of one operation; one of them is rare, so all of its calls are kept.
        count, rare = int(random.integers(2000, 20000)), int(random.integers(1, 20))
        late = random.lognormal(0, random.uniform(0.1, 1.5), count) * (random.random(count) < random.uniform(0.01, 1))
        frame = call([0, 0], [0, 0])
        frame = frame.loc[np.tile([0, 1], count + rare)].reset_index(drop=True)
        number = np.repeat(np.arange(count + rare), 2)
        delay = np.append(late, np.full(rare, 1000.0))[number]
        site = np.where(number < count, 16, 32)
        frame = frame.assign(sequence=number, offset=site, entry=1e-3 * number + delay * (frame["rank"] == 1) * US)
        frame["exit"] = frame["returned"] = 1e-3 * number + (delay + random.uniform(1, 2, count + rare)[number]) * US
        whole = recording_of(frame)
        truth = find_arrivals(whole).sites.frame().set_index("offset")
        thinning = int(random.integers(2, 6))
        kept = (random.random(count + rare) < 0.5**thinning)[number] | (site == 32)
        profile = whole.profile.replaced(thinning=np.where(whole.profile.offset == 16, thinning, 0))
        run = run_seconds(whole)
        found = arrivals_of(whole.records[kept], run, 2, profile).sites.frame().set_index("offset")
        assert found["calls"].to_dict() == {16: count, 32: rare}
        assert found["time"].to_dict() == pytest.approx(truth["time"].to_dict())
        assert found["share"].to_dict() == pytest.approx(truth["share"].to_dict())
        assert found["wait"][32] == pytest.approx(truth["wait"][32])
        assert found["wait_sampling"][32] == 0
        assert found["sampled"][16] < count
        inside += [abs(found["wait"][16] - truth["wait"][16]) <= found["wait_sampling"][16]]
        inside += [abs(found["spread_p50"][16] - truth["spread_p50"][16]) <= found["spread_p50_error"][16] + 1e-12]
    assert np.mean(inside) >= 0.9  # of intervals of 95 %


def test_calls_without_a_row_in_the_profile_are_counted_and_have_no_site() -> None:
    recording = recording_of(call([0, 0], [1, 1]))
    rows = recording.profile.frame()
    unplaced = rows[:1].assign(
        operation=UNPLACED, communicator=NOT_KNOWN, size=np.nan, module=NOT_KNOWN, offset=0, calls=3, call_time=0.5
    )
    profile = Profile.of_frame(pd.concat([rows, unplaced], ignore_index=True))
    full = with_tables(recording, profile=profile)
    arrivals = find_arrivals(full)
    assert arrivals.sites.calls.tolist() == find_arrivals(recording).sites.calls.tolist() == [1]
    (fact,) = (each for each in arrivals.notes if isinstance(each, CallsWithoutSite))
    assert fact.calls == 3
    assert fact.seconds == pytest.approx(0.5)


def test_time_in_other_calls_of_mpi_is_said() -> None:
    lines = view_lines(arrivals_view(find_arrivals(recording_of(*some_calls())), ""))
    (line,) = (line for line in lines if line.startswith("point-to-point"))
    assert line.split() == ["point-to-point", "30", "25.0", "25.0", "(0)", "25.0", "(0)", "0.0"]


def test_more_ranks_than_processors_comes_after_the_verdict() -> None:
    recording = recording_of(*some_calls())
    busy = recording.processes.replaced(processors=np.full(3, 2), ready=np.array([0.0, 0.1, 0.5]))
    found = find_arrivals(with_tables(recording, processes=busy))
    shared, waited = found.warnings
    assert shared == SharedProcessors(recording.processes.host[0], 3, 2)
    assert isinstance(waited, WaitedForProcessor)
    assert (waited.mean_s, waited.rank, waited.most_s) == pytest.approx((0.2, 2, 0.5))
    lead = [block for block in arrivals_view(found, "").blocks if isinstance(block, Line)][:3]
    assert [block.role for block in lead] == ["answer", "warning", "warning"]


def test_the_page_stays_small_however_many_calls_there_are() -> None:
    frame = call([0, 0], [30, 30]).loc[np.tile([0, 1], 30_000)].reset_index(drop=True)
    number = np.repeat(np.arange(30_000), 2)
    late = np.random.default_rng(1).lognormal(0, 1, 30_000)[number] * (frame["rank"] == 1) * US
    frame = frame.assign(sequence=number, entry=1e-4 * number + late, exit=1e-4 * number + 30 * US)
    found = find_arrivals(recording_of(frame.assign(returned=frame["exit"])))
    page = arrivals_view(found, "Arrivals", depth=Depth.PAGE)
    spread = next(picture for picture in page.pictures if picture.name == "spread-1").numbers
    assert len(spread) == STRETCHES
    assert spread["p100_us"].max() == pytest.approx(late.max() / US)
    assert spread["p50_us"].median() == pytest.approx(1.0, rel=0.1)
    assert len(render_page(page)) < 1e6


def test_a_program_that_ended_before_its_clocks_were_known_has_no_times(tmp_path: Path) -> None:
    tables = {
        name: np.zeros(int(name in ("communicators", "sites", "profile")), dtype) for name, dtype in TABLES.items()
    }
    (tmp_path / "job.trace").write_bytes(packed(0, tables) + packed(1, tables))
    found = find_arrivals(open_recording(tmp_path / "job.trace"))
    assert (found.run, len(found.kinds), len(found.by_rank)) == (0.0, 0, 0)
    assert NothingAnalyzed() in arrivals_view(found, "Arrivals").facts
    assert long(NothingAnalyzed()) in render_page(arrivals_view(found, "Arrivals", depth=Depth.PAGE))
