"""Calls that end without a return, barriers that ranks call from different places, names, and options: all recorded."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import downbeat
import pytest
from programs import launcher_words, program, run_traced, run_traced_on

DEBIAN = pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
MODES = pytest.mark.parametrize("options", [[], ["--harmonize"]], ids=["plain", "harmonized"])


def run_plain(mpi: str, words: list[str], ranks: int = 2) -> subprocess.CompletedProcess[str]:
    """Runs a program without Downbeat."""
    launcher, env = launcher_words(mpi, ranks)
    return subprocess.run([*launcher, *words], capture_output=True, text=True, check=False, env=env, timeout=60)


def run_both(
    directory: Path, mpi: str, words: list[str], *options: str, ranks: int = 2
) -> tuple[downbeat.Trace, list[str], str]:
    """Runs a program traced, and without; both must print the same. Returns the trace, the lines, and the messages."""
    plain = run_plain(mpi, words, ranks)
    done = run_traced_on(ranks, directory, mpi, words, *options)
    lines = sorted(done.stdout.splitlines())
    assert (done.returncode, lines) == (plain.returncode, sorted(plain.stdout.splitlines())), done.stderr
    assert done.returncode == 0
    return downbeat.open_trace(directory), lines, done.stderr


@MODES
@pytest.mark.parametrize("how", ["throw", "jump", "signal"])
@DEBIAN
def test_calls_after_one_that_was_left_are_recorded(mpi: str, how: str, options: list[str], tmp_path: Path) -> None:
    trace, lines, _ = run_both(tmp_path / "trace", mpi, [program(mpi, "left"), how], *options)
    assert set(trace.processes["ending"]) == {"finalized"}
    calls = trace.profile.groupby(["rank", "operation", "kind"], observed=True)["calls"].sum()
    for line in lines:
        rank, lefts, allreduces, barriers = (int(word) for word in line.replace(":", "").split() if word.isdigit())
        assert lefts >= 6
        assert calls[rank, "allreduce", "blocking"] == allreduces
        assert calls[rank, "barrier", "blocking"] == barriers
        assert calls[rank, "barrier", "nonblocking"] == 3
        assert calls.get((rank, "bcast", "blocking"), 0) == 0
        assert calls.get((rank, "bcast", "nonblocking"), 0) == 0
    if options:
        assert sum(row["samples"] for row in trace.starts.to_dict("records")) == allreduces


PROGRAM_SITE = r"its rank {} calls it from the executable, at \S+/preload-mixed\+0x"
LIBRARY_SITE = r"its rank {} from a library, .* at \S+/libpreload-library.so\+0x\w+ \(library_(profiled_)?barrier\)"


@pytest.mark.parametrize(
    ("how", "ranks", "sites"),
    [
        ("writer", 2, PROGRAM_SITE.format(1) + ".*" + LIBRARY_SITE.format(0)),
        ("writer", 4, "barrier of 4 .*" + PROGRAM_SITE.format(1) + ".*" + LIBRARY_SITE.format(0)),
        ("profiled", 3, PROGRAM_SITE.format(1) + ".*" + LIBRARY_SITE.format(0)),
        ("part", 4, "barrier of 3 .*" + PROGRAM_SITE.format(1) + ".*" + LIBRARY_SITE.format(0)),
        ("turns", 2, PROGRAM_SITE.format(1) + ".*" + LIBRARY_SITE.format(0)),
        ("later", 2, None),
        ("switch", 2, None),
    ],
)
@DEBIAN
def test_barriers_of_two_places_go_on_and_both_are_named(
    mpi: str, how: str, ranks: int, sites: str | None, tmp_path: Path
) -> None:
    words = [program(mpi, "mixed"), how]
    trace, _, said = run_both(tmp_path / "trace", mpi, words, "--harmonize", ranks=ranks)
    assert set(trace.processes["ending"]) == {"finalized"}
    assert bool(len(trace.starts)) == (how not in {"writer", "profiled"})  # the program calls one on all ranks
    lines = [line for line in said.splitlines() if "gets no common start" in line]
    assert len(lines) == (sites is not None)
    assert sites is None or re.search(sites, lines[0]), lines


def waiting_lines(said: str) -> list[str]:
    return [line for line in said.splitlines() if "has waited" in line]


def test_a_late_rank_is_named_as_possible_once(tmp_path: Path) -> None:
    _, _, said = run_both(tmp_path / "trace", "openmpi", [program("openmpi", "mixed"), "late", "8"], "--harmonize")
    assert sum("preload-mixed+0x" in line for line in said.splitlines()) <= 2
    assert len(waiting_lines(said)) == 1
    assert not [file for file in (tmp_path / "trace").iterdir() if file.name.startswith(".")]


@DEBIAN
def test_a_barrier_past_the_library_is_no_silent_hang(mpi: str, tmp_path: Path) -> None:
    assert run_plain(mpi, [program(mpi, "mixed"), "past"]).returncode == 0
    done = run_traced_on(3, tmp_path / "trace", mpi, [program(mpi, "mixed"), "past"], "--harmonize")
    assert done.returncode != 0  # it ends itself
    (line,) = waiting_lines(done.stderr)
    assert "preload-mixed+0x" in line
    assert "past libdownbeat-preload" in line


@DEBIAN
def test_names_are_kept_whatever_they_are(mpi: str, tmp_path: Path) -> None:
    trace, _, _ = run_both(tmp_path / "trace", mpi, [program(mpi, "names")])
    calls = trace.records["communicator"].astype(str).value_counts()
    short = mpi == "openmpi"  # MPI_MAX_OBJECT_NAME is 64
    names = {name.rpartition(" (")[0] for name in calls.index}
    assert names == {
        r'line\nbreak\tand "quote"',
        r"\xff\xfe not UTF-8",
        r"\x1b[2J\u202e",
        63 * "x" if short else 66 * "x" + "...",
        "x" + (31 * "é" if short else 32 * "é" + "..."),
        "all",
    }
    assert set(calls) == {2, 2 * 120 // 5}
    shown = trace.arrivals()["name"]
    assert shown.notna().all()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--sync-every", "0"),
        ("--sync-every", "1e-4"),
        ("--sync-every", "soon"),
        ("--sync-every", "1e7"),
        ("--callers", "everyone"),
        ("--callers", ""),
        ("--records", "4000000001"),
        ("--skip", "4000000001"),
        ("--output", "/tmp/" + "x/" * 600),
    ],
)
@DEBIAN
def test_values_are_refused_before_anything_starts(mpi: str, option: str, value: str, tmp_path: Path) -> None:
    started = tmp_path / "started"
    words = ["sh", "-c", f"touch {started}; exec {program(mpi, 'names')}"]
    done = run_traced(tmp_path / "trace", mpi, words, option, value)
    assert done.returncode == 2
    assert option in done.stderr
    assert "valid" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not started.exists()
    assert not (tmp_path / "trace").exists()


def test_variables_are_refused_before_anything_starts(tmp_path: Path) -> None:
    words = [program("openmpi", "names")]
    done = run_traced(tmp_path / "trace", "openmpi", words, DOWNBEAT_PRELOAD_RANKS="some")
    assert done.returncode == 2
    assert "DOWNBEAT_PRELOAD_RANKS" in done.stderr
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["trace", "-o", "", "--", "mpirun", "-n", "1", "true"],
        ["arrivals", ""],
        ["arrivals", "trace", "-o", ""],
        ["run", "bcast", "-o", ""],
        ["report", "results", "-o", ""],
        ["show", ""],
        ["tune", "bcast", "-o", ""],
        ["align", "a.json", "-o", ""],
        ["export", "results", "--to", "csv", "-o", ""],
    ],
    ids=lambda words: words[0],
)
def test_an_empty_path_is_no_path(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "downbeat", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)
    assert done.returncode == 2
    assert "is empty" in done.stderr
    assert not list(tmp_path.iterdir())
