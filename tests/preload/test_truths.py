"""Numbers of libdownbeat-preload against those of programs that know them."""

from __future__ import annotations

from pathlib import Path

import downbeat
import numpy as np
import pytest
from downbeat.run.libraries import LIBRARIES
from programs import preload_library, program, run_preloaded

pytestmark = pytest.mark.thorough

MPIS = pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
NOT_A_ROOT, ITSELF, BESIDE = -1, -2, -3


def run(
    directory: Path, mpi: str, words: list[str], ranks: int = 2, **variables: str
) -> tuple[str, list[downbeat.Trace]]:
    """Returns what a program printed, and the trace of each job."""
    done = run_preloaded(
        directory, mpi, [preload_library(mpi)], [program(mpi, words[0]), *words[1:]], ranks, **variables
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, [downbeat.open_trace(path) for path in sorted(directory.glob("*.trace"))]


@MPIS
@pytest.mark.parametrize("records", ["20", "1000000"])
def test_waiting_on_freed_communicators_is_kept(mpi: str, records: str, tmp_path: Path) -> None:
    stdout, (trace,) = run(tmp_path, mpi, ["truths", "freed"], DOWNBEAT_PRELOAD_RECORDS=records)
    own = {int(line.split()[1]): int(line.split()[2]) * 1e-9 for line in stdout.splitlines()}
    found = trace.profile.groupby("rank")["wait_time"].sum()
    starts = {int(line.split()[1]): int(line.split()[3]) * 1e-9 for line in stdout.splitlines()}
    called = trace.profile.groupby("rank")["call_time"].sum()
    assert own[0] > 60 * 1e-3  # it waits for the other
    for rank in own:
        assert 0.4 * starts[rank] < called[rank] < starts[rank]
        assert 0.8 * own[rank] - 2e-3 < found[rank] < own[rank]


@MPIS
def test_messages_have_no_part_in_the_waiting_of_collectives(mpi: str, tmp_path: Path) -> None:
    _, (trace,) = run(tmp_path, mpi, ["truths", "some"])
    records = trace.records.sort_values(["rank", "sequence"])
    assert list(records["together"]) == [1, 1, 1, 2, 2, 2, 2, 2, 2] * 2
    whole = (records["exit"] - records["waited"]) / records["together"]
    assert np.allclose(
        trace.profile.groupby("rank")["wait_time"].sum(), whole.groupby(records["rank"]).sum(), rtol=1e-3, atol=1e-8
    )


@MPIS
def test_communicators_of_one_group_are_told_apart(mpi: str, tmp_path: Path) -> None:
    _, (trace,) = run(tmp_path, mpi, ["truths", "twins"])
    found: dict[bytes, set[int]] = {}
    for section in trace.sections:
        for each in section.tables.communicators:
            if b" " in each["name"]:
                found.setdefault(each["name"], set()).add(int(each["identity"]))
    assert len(found) == 10
    assert all(len(identities) == 1 for identities in found.values())  # the same on both ranks
    assert len(set.union(*found.values())) == 10


def roots(trace: downbeat.Trace) -> list[tuple[int, int, int, str, int]]:
    """Returns second, has_outside_members, rank in its group, operation, root of records on intercommunicators."""
    found = []
    for section in trace.sections:
        profile, records = section.tables.profile, section.tables.records
        for record in records:
            row = profile[record["row"]]
            comm = section.tables.communicators[row["communicator"]]
            if comm["inter"]:
                operation = section.operations[row["operation"]]
                place = (int(comm["second"]), int(comm["has_outside_members"]), int(comm["rank"]))
                found.append((*place, operation, int(record["root"])))
    return sorted(found)


@pytest.mark.parametrize("mpi", LIBRARIES)
def test_groups_and_roots_of_an_intercommunicator(mpi: str, tmp_path: Path) -> None:
    # Odd ranks are the second group, and its rank 1 gives.
    _, (trace,) = run(tmp_path, mpi, ["intercommunicators"], 4)
    assert roots(trace) == sorted(
        (second, 0, rank, operation, root)
        for second, rank, given in [(0, 0, 1), (0, 1, 1), (1, 0, BESIDE), (1, 1, ITSELF)]
        for operation, root in [("bcast", given), ("allreduce", NOT_A_ROOT)]
    )


@pytest.mark.parametrize("mpi", ["openmpi", "openmpi5", "mpich5"])  # others cannot spawn here, with us or without
def test_spawned_jobs_have_a_remote_group_outside(mpi: str, tmp_path: Path) -> None:
    _, traces = run(tmp_path, mpi, ["intercommunicators", "spawn"], 3)
    parents = [(0, 1, 0, "bcast", BESIDE), (0, 1, 1, "bcast", ITSELF), (0, 1, 2, "bcast", BESIDE)]
    children = [(0, 1, rank, "bcast", 1) for rank in range(2)]
    expected = [
        sorted(calls + [(*call[:3], "allreduce", NOT_A_ROOT) for call in calls]) for calls in (parents, children)
    ]
    assert sorted(map(roots, traces), key=len, reverse=True) == expected
    for trace in traces:
        merged = [c for s in trace.sections for c in s.tables.communicators if c["name"] == b"merged"]
        assert all(c["has_outside_members"] and not c["inter"] and c["size"] == 5 for c in merged)
