"""libdownbeat-preload against what programs planned, and against how they end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import downbeat
import numpy as np
import pandas as pd
import pytest
import slurm
from damage import share_found
from downbeat.trace.file import SUMS
from on_hosts import built, need_hosts, run_hosts, under_each_mpi
from programs import launcher_words, program, run_traced
from scipy.stats import theilslopes

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEBIAN = pytest.mark.parametrize("mpi", ["openmpi", "mpich"])


@pytest.fixture
def trace_directory(tmp_path: Path) -> Path:
    """Returns where a trace goes."""
    return tmp_path / "trace"


def traced(directory: Path, mpi: str, words: list[str], *options: str, **variables: str) -> downbeat.Trace:
    """Runs a program that is to succeed; returns what was recorded."""
    done = run_traced(directory, mpi, words, *options, **variables)
    assert done.returncode == 0, done.stderr
    return downbeat.open_trace(directory)


def arrivals_of(directory: Path) -> str:
    """Returns what downbeat arrivals prints."""
    command = [sys.executable, "-m", "downbeat", "arrivals", str(directory)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


def of_rank(records: pd.DataFrame, rank: int) -> pd.DataFrame:
    """Returns what a rank did, in the order of its entries."""
    return records[records["rank"] == rank].reset_index(drop=True)


def compare_with_plan(directory: Path, mpi: str, *options: str, computes: int = 0, **variables: str) -> None:
    """Checks every timestamp of planned.c: recorded between its own, to within the bound, on a global clock."""
    words = [program(mpi, "planned"), "300", "10000000", str(computes)]
    done = run_traced(directory, mpi, words, *options, **variables)
    assert done.returncode == 0, done.stderr
    check_plan(done.stdout, downbeat.open_trace(directory).records, 300)


def line_to_the_global_clock(first: pd.DataFrame) -> tuple[float, float]:
    """Fits the line from true time to the clock of process 0, which is the global one.

    A recorded time follows the program's own reading after some 10 ns, or after cold caches and interruptions. These
    are long for most entries on a busy machine, so the line goes through the quickest record of each tenth of the run.
    """
    true = np.concatenate([first["true_entry"], first["true_waited"]])
    recorded = np.concatenate([first["entry"], first["waited"]])
    known = ~np.isnan(recorded)  # calls that block have no time of a wait
    true, recorded = true[known], recorded[known]
    slope = theilslopes(recorded, true)[0]
    tenths = np.array_split(np.argsort(true), 10)
    quickest = [rows[np.argmin(recorded[rows] - slope * true[rows])] for rows in tenths]
    slope = theilslopes(recorded[quickest], true[quickest])[0]
    return slope, float(np.median(recorded[quickest] - slope * true[quickest]))


def check_plan(stdout: str, records: pd.DataFrame, calls: int) -> None:
    """Checks what was recorded of planned.c against what it printed."""
    said = [line.split()[1:] for line in stdout.splitlines() if line.startswith("call ")]
    plan = pd.DataFrame(said, columns=["rank", "i", "true_entry", "true_exit", "true_waited"]).astype(np.int64)
    origin = plan["true_entry"].min()
    times = ["true_entry", "true_exit", "true_waited"]
    plan[times] = (plan[times] - origin) * 1e-9
    found = records[records["operation"] == "allreduce"].copy()
    found["i"] = found.groupby("rank").cumcount()
    found = found[found["i"] % 2 == 1].assign(i=found["i"] // 2).merge(plan, on=["rank", "i"])
    assert len(found) == 2 * calls

    slope, intercept = line_to_the_global_clock(found[found["rank"] == 0])
    early = found["entry"] - (intercept + slope * found["true_entry"])
    late = intercept + slope * found["true_exit"] - found["exit"]
    tolerance = 0.5e-6  # of the line, and of readings
    waited = found["waited"] - (intercept + slope * found["true_waited"])  # NaN where a call blocks
    assert not (waited <= -found["bound"] - tolerance).any()
    assert not (found["waited"] > found["exit"]).any()
    assert (early > -found["bound"] - tolerance).all(), (early + found["bound"]).min()
    assert (late > -found["bound"] - tolerance).all(), (late + found["bound"]).min()
    other = found["rank"] == 1
    assert abs(np.quantile(np.fmin(early, waited)[other], 0.25)) < found["bound"][other].max() + tolerance


@pytest.mark.parametrize("computes", [0, 10000], ids=["blocking", "nonblocking"])
@DEBIAN
def test_stamps_are_within_their_bounds_of_the_plan(mpi: str, computes: int, trace_directory: Path) -> None:
    validation = "offset=1e-3,skew=10e-6,wander=1e-7,seed=3"
    compare_with_plan(trace_directory, mpi, computes=computes, DOWNBEAT_VALIDATION=validation)
    kinds = set(downbeat.open_trace(trace_directory).records["kind"])
    assert ("nonblocking" in kinds) == (computes > 0)


@pytest.mark.thorough
def test_synchronizations_between_keep_the_bound_low(trace_directory: Path) -> None:
    validation = "offset=1e-3,skew=10e-6,wander=1e-7,seed=5"
    compare_with_plan(trace_directory, "openmpi", "--sync-every", "0.5", DOWNBEAT_VALIDATION=validation)
    processes = downbeat.open_trace(trace_directory).processes
    # 3 s of calls: one in MPI_Init, one in MPI_Finalize, and every half second.
    assert processes["syncs"].nunique() == 1
    assert 4 <= processes["syncs"][0] <= 9


@pytest.mark.thorough
@under_each_mpi
def test_stamps_of_two_hosts_are_within_their_bounds(mpi: str, trace_directory: Path) -> None:
    need_hosts()
    library = ROOT / "build" / mpi / "lib" / "libdownbeat-preload.so"
    settings = {
        "LD_PRELOAD": str(library),
        "DOWNBEAT_PRELOAD_DIR": str(trace_directory),
        "DOWNBEAT_PRELOAD_SYNC_EVERY": "0.5",
        "DOWNBEAT_VALIDATION": "offset=1e-3,skew=10e-6,wander=1e-7,seed=3",
    }
    words = ["env", *(f"{name}={value}" for name, value in settings.items()), built(mpi, "preload-planned")]
    outcome = run_hosts("--hosts", "2", "--mpi", mpi, "--timeout", "60", "--", *words, "200", "10000000")
    assert outcome.status == 0, outcome.stderr
    assert len(list(trace_directory.glob("*.trace"))) == 2  # a file per host
    assert not list(trace_directory.glob("*.part"))
    check_plan(outcome.stdout, downbeat.open_trace(trace_directory).records, 200)


def test_a_flipped_bit_is_found(trace_directory: Path) -> None:
    traced(trace_directory, "openmpi", [program("openmpi", "planned"), "20", "1000000"], "--harmonize")
    (trace,) = trace_directory.glob("*.trace")

    def records() -> str:
        return str(downbeat.open_trace(trace).records.to_csv())

    assert share_found(trace, records, 40) == 1


def test_each_library_records(each_library: str, trace_directory: Path) -> None:
    trace = traced(trace_directory, each_library, [program(each_library, "forms")])
    records = of_rank(trace.records, 0)
    persistent = records[records["kind"] == "persistent"]
    plain = records[records["kind"] != "persistent"]
    assert list(plain["operation"]) == [
        "bcast",
        "allreduce",
        "barrier",
        "bcast",
        "reduce",
        "scan",
        *["allgather", "bcast"] * 3,
        "bcast",
        "reduce",
    ]
    assert list(plain["kind"][:6]) == ["nonblocking"] * 6
    assert list(plain["bytes"]) == [16, 16, 0, 8, 16, 16, 4, 4, 4, 8, 4, 12, 4, 12]
    assert plain["root"].iloc[-1] == 1
    assert plain["root"].iloc[4] == 1
    assert records["complete"].all()
    assert (records["exit"] >= records["entry"]).all()
    assert (records["returned"] >= records["entry"]).all()
    assert (plain["exit"][plain["kind"] == "nonblocking"] > plain["returned"][plain["kind"] == "nonblocking"]).all()
    # MPICH 4.0.2 and those after it have persistent collectives, and so has Open MPI in one way or another.
    assert list(persistent["round"]) == [1, 2, 3, 4]
    assert persistent["operation"].eq("allreduce").all()
    assert persistent["sequence"].nunique() == 1
    # Calls that MPI_Pcontrol switched off are not recorded, but counted.
    world = plain[plain["communicator"].str.startswith("MPI_COMM_WORLD")]
    assert world["sequence"].iloc[-1] - world["sequence"].iloc[-2] == 3  # it, and the persistent one


@DEBIAN
def test_communicators_are_the_same_on_all_ranks(mpi: str, trace_directory: Path) -> None:
    records = traced(trace_directory, mpi, [program(mpi, "forms"), "thread"]).records
    twins = records[records["communicator"].str.contains("first|second|third")]
    per_rank = twins.groupby("rank")["communicator"].agg(list)
    assert per_rank[0] == per_rank[1]
    assert len(set(per_rank[0])) == 3
    alone = records[records["operation"] == "allgather"]
    assert alone["communicator"].nunique() == 2  # MPI_COMM_SELF is another one on each
    calls = records[records["communicator"].isin(per_rank[0] + ["MPI_COMM_WORLD"])]
    matched = calls.groupby(["communicator", "sequence", "round"])
    assert (matched["operation"].nunique() == 1).all()


@DEBIAN
def test_communicators_that_threads_make_at_once_are_the_same_on_all_ranks(mpi: str, trace_directory: Path) -> None:
    records = traced(trace_directory, mpi, [program(mpi, "makers")]).records
    if records.empty:
        pytest.skip("the library has no threads")
    named = records["communicator"].astype(str).str.extract(r"^(thread .*) \((\w+)\)$")
    assert named[0].nunique() == 3 * 20 * 3
    assert (named.groupby(0)[1].nunique() == 1).all()
    assert named[1].nunique() == 3 * 20 * 3


@DEBIAN
def test_threads_lose_no_record(mpi: str, trace_directory: Path) -> None:
    trace = traced(trace_directory, mpi, [program(mpi, "threads")])
    records = trace.records
    if records.empty:
        pytest.skip("the library has no threads")
    assert len(records) == 2 * 4 * 2 * 5000
    assert records["complete"].all()
    assert trace.processes["records_dropped"].eq(0).all()
    for (_, _), own in records.groupby(["rank", "communicator"]):
        assert own["thread"].nunique() == 1
        assert list(own["sequence"]) == list(range(10000))
        assert (own["exit"] >= own["entry"]).all()


@pytest.mark.parametrize("records", [10, 1000, 7000])
def test_memory_is_bounded_and_all_calls_are_added_up(records: int, trace_directory: Path) -> None:
    done = run_traced(trace_directory, "openmpi", [program("openmpi", "threads")], "--records", str(records))
    assert done.returncode == 0
    trace = downbeat.open_trace(trace_directory)
    profile = trace.profile[trace.profile["calls"] > 0]
    assert profile["calls"].tolist() == [5000] * 16
    assert (profile["call_time"] > 0).all()
    assert profile["bytes"].tolist() == [4 * 5000] * 16
    assert trace.processes["records"].tolist() == [records, records]
    assert trace.processes["records_dropped"].sum() == 0
    assert trace.sampled
    assert 0 < len(trace.records) <= 2 * records
    assert "added up" in done.stderr


@pytest.mark.thorough
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_on_a_full_disk_all_calls_are_added_up(tmp_path: Path) -> None:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500k", "none", tmp_path], check=False).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        done = run_traced(tmp_path / "trace", "openmpi", [program("openmpi", "threads")])
        trace = downbeat.open_trace(tmp_path / "trace")
        shown = arrivals_of(tmp_path / "trace")
    finally:
        subprocess.run(["umount", "--lazy", tmp_path], check=True)
    assert done.returncode == 0
    assert trace.profile["calls"].sum() == 2 * 4 * 2 * 5000
    assert trace.sampled
    assert 0 < len(trace.records) < 2 * 4 * 2 * 5000
    for said in (done.stderr, shown):
        assert "free space" in " ".join(said.split())
    assert "nan" not in done.stdout + shown


def test_the_sample_is_the_same_on_all_ranks_and_stands_for_all(trace_directory: Path) -> None:
    words = [program("openmpi", "planned"), "2000", "30000"]
    done = run_traced(trace_directory, "openmpi", words, "--records", "500")
    assert done.returncode == 0, done.stderr
    trace = downbeat.open_trace(trace_directory)
    profile = trace.profile[trace.profile["calls"] > 0]
    assert profile.groupby("operation")["calls"].sum().to_dict() == {"barrier": 2, "allreduce": 8000, "gather": 2}
    per_rank = [set(of_rank(trace.records, rank)["sequence"]) for rank in (0, 1)]
    assert per_rank[0] == per_rank[1]
    assert {0, 4001} <= per_rank[0]  # what is rare is there
    weight = 2.0 ** trace.profile["thinning"].to_numpy()[trace.records["row"]]
    assert weight[trace.records["operation"] == "allreduce"].sum() == pytest.approx(8000, rel=0.5)
    # The program's own stamps are around ours: all of them, and the sum is of all calls.
    said = [line.split() for line in done.stdout.splitlines() if line.startswith("call ")]
    stamps = np.array([[float(word) for word in words[1:]] for words in said])
    own = (stamps[:, 3] - stamps[:, 2]).sum() * trace.recording.sections[0].clocks.tick()
    times = profile[profile["operation"] == "allreduce"].groupby("offset")["call_time"].sum()
    # Interruptions are lacking between its stamps and ours.
    assert 0.5 < times[times.index.max()] / own < 1.001


def test_signals_lose_no_record(tmp_path: Path) -> None:
    source = tmp_path / "timer.c"
    source.write_text(  # as if a timer went off whenever a signal is let through
        "#define _GNU_SOURCE\n#include <errno.h>\n#include <fcntl.h>\n#include <mpi.h>\n#include <signal.h>\n"
        "int posix_fallocate(int file, off_t offset, off_t size) {\n"
        "    sigset_t blocked;\n"
        "    pthread_sigmask(SIG_SETMASK, NULL, &blocked);\n"
        "    if (!sigismember(&blocked, SIGALRM))\n"
        "        return EINTR;\n"
        "    return fallocate(file, 0, offset, size) == 0 ? 0 : errno;\n}\n"
        "int main(int argc, char **argv) {\n"
        "    MPI_Init(&argc, &argv);\n"
        "    for (int i = 0; i < 60000; ++i)\n"
        "        MPI_Barrier(MPI_COMM_SELF);\n"
        "    return MPI_Finalize();\n}\n"
    )
    app = tmp_path / "timer"
    subprocess.run(["mpicc.openmpi", "-rdynamic", source, "-o", app], check=True)
    trace = traced(tmp_path / "trace", "openmpi", [str(app)])
    assert len(trace.records) == 2 * 60000


def test_names_of_cpp_are_plain_and_stay_when_the_program_is_gone(tmp_path: Path, trace_directory: Path) -> None:
    source = tmp_path / "solver.cc"
    source.write_text(
        "#include <mpi.h>\n"
        "namespace solver { template <class T> void step(T) { MPI_Barrier(MPI_COMM_WORLD); } }\n"
        "int main() { MPI_Init(nullptr, nullptr); for (int i = 0; i < 9; i++) solver::step(i); MPI_Finalize(); }\n"
    )
    app = tmp_path / "app"
    subprocess.run(["mpicxx.openmpi", "-rdynamic", "-O0", source, "-o", app], check=True)
    traced(trace_directory, "openmpi", [str(app)])
    app.unlink()
    shown = " ".join(arrivals_of(trace_directory).split())
    assert "void solver::step<int>(int)" in shown
    assert f"'{app}'" in shown


@DEBIAN
def test_time_in_other_calls_of_mpi_is_the_programs(mpi: str, tmp_path: Path, trace_directory: Path) -> None:
    done = run_traced(trace_directory, mpi, [program(mpi, "kinds"), str(tmp_path / "file")])
    assert done.returncode == 0, done.stderr
    said = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("kind ")]
    own = pd.DataFrame(said, columns=["rank", "place", "calls", "time"]).astype(float)
    own["kind"] = [SUMS[int(place)] for place in own["place"]]
    trace = downbeat.open_trace(trace_directory)
    both = own.merge(trace.sums, on=["rank", "kind"], suffixes=("_own", ""))
    assert len(both) == 8
    assert (both["calls"] == both["calls_own"]).all()
    assert (both["time"] <= both["time_own"]).all()
    assert both["time"].sum() > 0.5 * both["time_own"].sum()  # interruptions between its stamps and ours are lacking
    for rank, inside in trace.sums.groupby("rank")["time"].sum().items():
        first, second = trace.records.loc[trace.records["rank"] == rank, "elsewhere"]
        assert first == pytest.approx(inside, rel=2e-3)  # 11 bits, and the rate of a clock
        assert second == 0


@pytest.mark.thorough
def test_places_of_freed_communicators_are_used_again(trace_directory: Path) -> None:
    words = [program("openmpi", "makers"), "60"]
    trace = traced(trace_directory, "openmpi", words, "--records", "20")
    if trace.profile["calls"].sum() == 0:
        pytest.skip("the library has no threads")
    assert trace.profile.groupby("rank")["calls"].sum().tolist() == [540, 540]
    assert trace.processes["communicators_dropped"].sum() == 0
    assert all(len(section.tables.communicators) < 150 for section in trace.sections)
    assert all(len(section.tables.profile) < 200 for section in trace.sections)


@DEBIAN
@pytest.mark.parametrize(
    ("how", "ending"), [("abort", "aborted"), ("signal", "running"), ("segv", "running"), ("exit", "running")]
)
def test_a_program_that_crashes_leaves_what_it_recorded(mpi: str, how: str, ending: str, trace_directory: Path) -> None:
    done = run_traced(trace_directory, mpi, [program(mpi, "ends"), how])
    assert done.returncode != 0
    assert "without MPI_Finalize" in done.stderr
    trace = downbeat.open_trace(trace_directory)
    assert ending in set(trace.processes["ending"])
    records = of_rank(trace.records, int(trace.processes["rank"][trace.processes["ending"] == ending].iloc[0]))
    assert len(records) == 10
    assert records["complete"].all()
    assert records["bound"].notna().all()


def test_a_program_without_collectives_says_so(trace_directory: Path) -> None:
    done = run_traced(trace_directory, "openmpi", [program("openmpi", "ends"), "none"])
    assert done.returncode == 0
    assert "any collective" in done.stderr


@DEBIAN
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("DOWNBEAT_PRELOAD_MOD", "record", "valid names: DOWNBEAT_PRELOAD_ followed by one of MODE, DIR"),
        ("DOWNBEAT_PRELOAD_CALLERS", "me", "valid: executable, all"),
        ("DOWNBEAT_PRELOAD_RECORDS", "many", "valid: a whole number from 1"),
        ("DOWNBEAT_PRELOAD_RECORDS", "12x", "valid: a whole number from 1"),
        ("DOWNBEAT_PRELOAD_RECORDS", "0", "valid: a whole number from 1"),
        ("DOWNBEAT_PRELOAD_SKIP", "+1", "valid: a whole number from 0"),
        ("DOWNBEAT_PRELOAD_MODE", "", "valid: record, harmonize, or record,harmonize"),
        ("DOWNBEAT_PRELOAD_SYNC_EVERY", "0", "valid: off, or seconds from 0.001"),
    ],
)
def test_a_bad_setting_ends_the_program_with_one_line(
    mpi: str, name: str, value: str, said: str, tmp_path: Path
) -> None:
    words, env = launcher_words(mpi, 2)
    library = ROOT / "build" / mpi / "lib" / "libdownbeat-preload.so"
    done = subprocess.run(
        [*words, "env", f"LD_PRELOAD={library}", f"{name}={value}", program(mpi, "ends"), "none"],
        capture_output=True, text=True, check=False, env=env, cwd=tmp_path, timeout=100,
    )  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if line.startswith("downbeat:")]
    assert done.returncode != 0
    assert len(lines) == 1
    assert name in lines[0]
    assert said in lines[0]
    assert not list(tmp_path.iterdir())


def preloaded(mpi: str, built_for: str, *words: str) -> tuple[list[str], dict[str, str]]:
    """Returns the command of a program on two ranks with libdownbeat-preload of a build, and its environment."""
    launcher, env = launcher_words(mpi, 2)
    library = ROOT / "build" / built_for / "lib" / "libdownbeat-preload.so"
    return [*launcher, "env", f"LD_PRELOAD={library}", *words], env


@pytest.mark.parametrize(("mpi", "built_for"), [("openmpi", "mpich"), ("mpich", "openmpi"), ("openmpi5", "mpich5")])
def test_a_library_of_the_other_abi_is_refused_in_one_line(mpi: str, built_for: str, tmp_path: Path) -> None:
    command, env = preloaded(mpi, built_for, program(mpi, "ends"), "none")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=tmp_path, timeout=100)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("downbeat:")]
    families = {True: "Open MPI", False: "MPICH or a library of its ABI"}
    assert done.returncode != 0
    built, running = line.index(families[mpi == "mpich"]), line.index(families[mpi != "mpich"])
    assert built < running
    assert "Segmentation" not in done.stderr


@pytest.mark.parametrize(("mpi", "built_for"), [("openmpi", "openmpi5"), ("mpich5", "mpich")])
def test_a_library_of_the_same_abi_will_do(mpi: str, built_for: str, tmp_path: Path) -> None:
    command, env = preloaded(mpi, built_for, program(mpi, "ends"))
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=tmp_path, timeout=100)
    assert done.returncode == 0, done.stderr
    assert len(downbeat.open_trace(tmp_path / "downbeat-trace").records) == 20


@pytest.mark.thorough  # MPICH
@pytest.mark.parametrize("kind", ["symbolic", "hard"])
def test_links_that_a_neighbor_plants_lead_to_no_other_file(kind: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    content = "years of work"
    victim.write_text(content)
    mode = "DOWNBEAT_PRELOAD_MODE=record,harmonize"
    command, env = preloaded("mpich", "mpich", mode, program("mpich", "planned"), "100", "10000000")
    with subprocess.Popen(command, env=env, cwd=tmp_path, stdout=subprocess.DEVNULL) as running:
        while not (parts := list(tmp_path.glob("downbeat-trace/*-rank-000000.part"))) and running.poll() is None:
            time.sleep(0.01)
        job = str(parts[0]).removesuffix("-rank-000000.part")
        for name in ("-node-000000.tmp", "-node-000000.trace"):
            (os.symlink if kind == "symbolic" else os.link)(victim, job + name)
        assert running.wait(100) == 0
    assert victim.read_text() == content
    assert len(downbeat.open_trace(Path(job + "-node-000000.trace")).records) >= 200


def starts(directory: Path) -> list[dict[str, Any]]:
    """Returns what was measured after barriers with a common start."""
    return cast(list[dict[str, Any]], downbeat.open_trace(directory).starts.to_dict("records"))


@pytest.mark.thorough
@DEBIAN
def test_starts_have_the_mean_of_the_program(mpi: str, tmp_path: Path) -> None:
    # An interruption between the program's reading of its clock and ours is in one mean only: the best of several runs.
    differences = []
    for attempt in range(5):
        directory = tmp_path / str(attempt)
        words = [program(mpi, "osu_like"), "2000", "100"]
        done = run_traced(directory, mpi, words, "--harmonize", "--no-record", "--skip", "100")
        assert done.returncode == 0, done.stderr
        said = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("mean ")]
        means = pd.DataFrame(said, columns=["rank", "bytes", "mean"]).astype(float)
        rows = starts(directory)
        assert [row["size_up_to"] for row in rows] == [8, 256, 8192]
        for row in rows:
            assert row["samples"] == 2000
            assert row["skipped"] == 100
            assert row["operation"] == "reduce"
            assert row["valid"] + row["rejected"] + row["unresolved"] == 2000
            assert row["unresolved"] <= 1
            assert row["valid"] > 200
            assert 0 <= row["spread_mean_s"] <= row["spread_max_s"]
            assert row["error_bound_s"] < 1e-5
        own = means.groupby("bytes")["mean"].agg(["mean", "max"]) * 1e-6
        found = pd.DataFrame(rows)[["mean_s", "mean_of_slowest_rank_s"]].to_numpy()
        differences.append(np.abs(found - own.to_numpy()) - 0.02 * own.to_numpy())
    # The smallest difference of each number over the runs.
    assert np.min(differences, axis=0).max() < 0.1e-6


@DEBIAN
def test_barriers_of_libraries_are_left_alone(mpi: str, trace_directory: Path) -> None:
    words = [program(mpi, "callers")]
    done = run_traced(trace_directory, mpi, words, "--harmonize")
    assert done.returncode == 0, done.stderr
    (row,) = starts(trace_directory)
    assert row["operation"] == "bcast"
    assert row["samples"] == 20
    records = of_rank(downbeat.open_trace(trace_directory).records, 0)
    barriers = records[records["operation"] == "barrier"]
    own = barriers["module"].str.endswith("preload-callers")
    assert own.sum() == 20
    assert (barriers["symbol"] == "library_barrier").sum() == 20


def test_barriers_of_libraries_if_asked(trace_directory: Path) -> None:
    words = [program("openmpi", "callers")]
    done = run_traced(trace_directory, "openmpi", words, "--harmonize", "--callers", "all")
    assert done.returncode == 0, done.stderr
    assert [row["operation"] for row in starts(trace_directory)] == ["bcast", "allreduce"]


@pytest.mark.parametrize("mpi", ["openmpi", pytest.param("mpich", marks=pytest.mark.nightly)])
def test_a_parallel_hdf5_program_has_the_barriers_of_hdf5(mpi: str, tmp_path: Path) -> None:
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", f"hdf5-{mpi}"], capture_output=True, text=True, check=False
    )
    if flags.returncode != 0:
        pytest.skip(f"libhdf5-{mpi}-dev is not installed")
    binary = tmp_path / "writer"
    command = [f"mpicc.{mpi}", str(HERE / "hdf5.c"), "-o", str(binary), *flags.stdout.split()]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    harmonized = {}
    for callers in ("executable", "all"):
        words = [str(binary), str(tmp_path / f"{callers}.h5")]
        done = run_traced(tmp_path / callers, mpi, words, "--harmonize", "--callers", callers)
        assert done.returncode == 0, done.stderr
        harmonized[callers] = {Path(row["barrier_module"]).name for row in starts(tmp_path / callers)}
    assert harmonized["executable"] == {"writer"}
    # It calls barriers, or there were nothing to leave alone.
    assert any(name.startswith("libhdf5") for name in harmonized["all"])
    records = of_rank(downbeat.open_trace(tmp_path / "executable").records, 0)
    barriers = records[records["operation"] == "barrier"]["module"].astype(str)
    assert barriers.str.endswith("/writer").sum() == 10
    assert barriers.str.contains("libhdf5").any()


@DEBIAN
@pytest.mark.parametrize("source", ["bindings.f90", "bindings_f08.f90"])
def test_fortran(mpi: str, source: str, tmp_path: Path, trace_directory: Path) -> None:
    compiler = shutil.which(f"mpif90.{mpi}")
    if compiler is None or shutil.which("gfortran") is None:
        pytest.skip("there is no Fortran compiler")
    binary = tmp_path / "bindings"
    built = subprocess.run(
        [compiler, str(HERE / source), "-o", str(binary)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert built.returncode == 0, built.stderr
    trace = traced(trace_directory, mpi, [str(binary)], "--harmonize")
    records = of_rank(trace.records, 0)
    assert list(records["operation"]) == ["barrier", "allreduce", "bcast"] * 10
    assert list(records["bytes"][:3]) == [0, 16, 16]
    assert records["complete"].all()
    assert records["module"].str.endswith("/bindings").all()
    (row,) = starts(trace_directory)
    assert row["operation"] == "allreduce"
    assert row["samples"] == 10


@pytest.mark.nightly
def test_srun_hands_the_variables_on(trace_directory: Path) -> None:
    need_hosts()
    if slurm.lacking():
        pytest.skip("slurm-wlm is not installed")
    downbeat_command = (sys.executable, "-m", "downbeat", "trace", "--harmonize", "-o", str(trace_directory), "--")
    words = ("srun", "--mpi=pmix", "-N", "2", "-n", "2", built("openmpi", "preload-osu_like"), "200")
    options = ("--hosts", "2", "--mpi", "openmpi", "--slurm", "--timeout", "100")
    outcome = run_hosts(*options, "--", *downbeat_command, *words, env={"PYTHONPATH": str(ROOT / "python")})
    assert outcome.status == 0, outcome.stderr
    assert len(starts(trace_directory)) == 3
    assert sorted(downbeat.open_trace(trace_directory).processes["host"]) == ["host0", "host1"]
