"""Bad arguments end the run before it measures, in one line that says what is wrong and what would be valid."""

from __future__ import annotations

import errno
import os
import re
import tomllib
from pathlib import Path

import pytest
from conftest import ONE_LIBRARY, Bench, Outcome, run_bench

ROOT = Path(__file__).resolve().parents[2]

# A row for each rule: all counts, for one, are read by one parser. Found without a launcher, too, by --check.
BAD = [
    ("", "no operation is given; choose from barrier, bcast, "),
    ("barier", "unknown operation 'barier'; did you mean 'barrier'?"),
    ("xyzzy", "unknown operation 'xyzzy'; choose one of barrier, bcast, "),
    ("osu_allreduce", "unknown operation 'osu_allreduce'; did you mean 'allreduce'?"),
    ("latency", "unknown operation 'latency'; did you mean 'ping_pong'?"),
    ("allreduce -i 100", "OSU's -i is -r here"),
    ("allreduce -msglog 4:10", "IMB's -msglog is -m, e.g. 8:64K, here"),
    ("bcast --warmpu 3", "did you mean '--warmup'?"),
    ("barrier barrier", "operation 'barrier' is given twice"),
    ("barrier -m 8", "--sizes needs an operation that has a message size"),
    ("barrier allreduce --with root=0", "--with 'root=0' has no effect: no operation given here has that parameter"),
    ("bcast --with root=-1", "'bcast(root=-1)': root cannot be '-1'; use rotating, or an integer from 0 to"),
    ("bcast(compute=1us)", "unknown parameter 'compute'; choose one of type, buffers, root"),
    ("ibcast(tests=3)", "ibcast(tests=3) has tests, but no computation to spread them over"),
    ("ping_pong(second=0)", "first and second of ping_pong are both 0; use two different ranks"),
    ("bcast -m 8Q", "'8Q' is not a message size; use"),
    ("bcast -m 2G", "bcast cannot take messages of 2147483648 bytes; use at most 2147483647 bytes"),
    ("reduce -m 6", "reduce cannot take messages of 6 bytes; use a multiple of 4 bytes"),
    ("barrier --sync mpi_barier", "unknown synchronizer 'mpi_barier'; did you mean 'mpi_barrier'?"),
    ("barrier --sync harmonize(slack=1us)", "slack cannot be '1us'; use one of default, auto, published"),
    ("barrier -r 0", "--repetitions cannot be '0'; use an integer from 1 to 1000000000"),
    ("barrier --warmup -1", "unknown warm-up rule '-1'; choose one of fixed, stationary"),
    ("barrier --stop budget(time=5)", "time cannot be '5'; use 1us to 1000000s with a unit (ns, us, ms, s)"),
    ("barrier --stop precision(metric=speed)", "metric cannot be 'speed'; use one of latency_avg, latency_max"),
    ("barrier --stop precision(min=100,max=50)", "cannot be 'precision(min=100,max=50)': max is less than min"),
    ("barrier --warmup stationary(min=100,max=10)", "cannot be 'stationary(min=100,max=10)': max is less than min"),
    ("neighbor_alltoall(topology=graph,dimensions=3)", "topology=graph has no dimensions; leave it out"),
    ("neighbor_alltoall(degree=3)", "topology=cartesian has no degree; leave it out"),
    ("./op.so(a(b)", "operation cannot be './op.so(a(b)': the closing parenthesis is missing"),
    ("barrier -o s.nc -o ./s.nc", "file './s.nc' is given twice; give it once"),
    ("bcast --with \udcff", "'\\xff' is not text at byte 1; use UTF-8 without control characters"),
    ("bcast --with a\x1b[31m", "'a\\x1b[31m' is not text at byte 2; use UTF-8 without control characters"),
    ("barrier --stop fixed -r 5", "--repetitions and --stop exclude each other"),
    ("barrier --stop fixed,budget", "stopping rule cannot be 'fixed,budget'; give only one"),
    ("barrier --timing window --sync harmonize", "timing scheme window needs synchronizer window, not harmonize"),
    ("barrier --pattern late", "unknown arrival pattern 'late'; did you mean 'one_late'?"),
    ("barrier --pattern one_late", "arrival pattern one_late needs a delay; add e.g. --delay 10us"),
    ("barrier --pattern one_late --delay 10", "--delay cannot be '10'; use a duration up to 3600s with a unit"),
    ("barrier --pattern one_late --delay 1e300s", "--delay cannot be '1e300s'; use a duration up to 3600s"),
    ("barrier --pattern one_late --delay 10us,0.01ms", "delay '0.01ms' is given twice"),
    ("barrier --pattern one_late --delay 0", "--delay cannot be '0' alone"),
    (
        "barrier --pattern one_late --delay -1x",
        "--delay cannot be '-1x'; use a multiple from 0.001x to 1000000x, or a duration",
    ),
    ("barrier --pattern trace", "parameter file is required"),
    ("barrier --delay 1us", "--delay needs an arrival pattern that delays ranks; add --pattern with one of one_late"),
    ("barrier --permute", "--permute needs an arrival pattern that delays ranks"),
    ("nothing --sync window(size=0)", "size cannot be '0'; use auto, or 1ns to"),
    ("nothing --sync harmonize(after=window)", "after cannot be 'window'; use one of none, mpi_barrier"),
    (
        "nothing --sync window(overrun=repeat) --timing batch_synced(calls=3)",
        "use per_call, batch or window with it",
    ),
    ("barrier --tolerance nan", "--tolerance cannot be 'nan'; use seconds from 0 to 1 without unit"),
    ("barrier --sync dissemination", "unknown synchronizer 'dissemination'; did you mean 'bruck'?"),
    ("barrier --stop precision(metric=sigma)", "metric cannot be 'sigma'; did you mean 'exit_skew'?"),
    ("barrier --late flag", "--late cannot be 'flag'; use flags, or seconds from 0 to 1"),
    ("barrier --late-ranks 1.5", "--late-ranks cannot be '1.5'; use a share from 0 to 1"),
    ("barrier --format xml", "unknown format 'xml'; choose one of table, csv, json"),
    (
        "barrier -o out.dat",
        "the file type of 'out.dat' is unknown; use one of the suffixes .csv, .json, .nc",
    ),
    ("barrier -o out.otf2", "timelines are exported; write a file .nc, then run: downbeat export FILE.nc --to"),
    ("barrier --frobnicate", "--frobnicate; choose one of --help, --version, --sizes"),
    ("barrier -r", "--repetitions: 1 required N missing"),
    ("barrier -r 1 -r 2", "--repetitions:"),
    ("barrier clock", "clock is a subcommand, not an operation; give it as the first word"),
    ("list barriers", "unknown kind 'barriers'; choose one of scheme, offset, clock"),
    ("list --format csv", "unknown format 'csv'; choose one of table, json"),
    ("clock --schemes hca4", "--schemes cannot be 'hca4': 'hca4' is unknown; choose one of disciplined, hca3_offset"),
    ("clock --schemes hca3(fit=1)", "fit cannot be '1'; use a whole number from 2"),
    ("clock --schemes skampi,skampi", "scheme 'skampi' is given twice"),
    ("clock --waits 0,3601", "--waits cannot be '3601'; use seconds from 0 to 3600 without unit"),
    ("clock --waits 0,0.0", "wait '0.0' is given twice"),
    ("clock --estimator best", "--estimator cannot be 'best': 'best' is unknown; choose one of skampi, netgauge"),
    ("clock barrier", "not expected: barrier"),
    ("clock --sizes 8", "choose one of --help, --schemes, --waits"),
    ("drift --duration 1", "1 s in steps of 0.5 s make 3 measurements; use 4 to"),
    ("drift --seed 1", "not expected: 1"),
]

# Found where ranks are known.
BAD_RANKS = [
    ("nothing --sync roundtime(factor=5,lead=1ms)", "factor and lead both set the start time; give only one of"),
    ("bcast --with root=2", "root of bcast cannot be '2'; use 0 to 1, or rotating"),
    ("ping_pong(second=2)", "second of ping_pong cannot be '2'; use 0 to 1"),
    ("barrier --pattern one_late(rank=2) --delay 1us", "'one_late(rank=2)'; use a rank from 0 to 1"),
    ("barrier --pattern bell --delay 1us", "bell needs at least 3 ranks; there are 2"),
    ("barrier --pattern node_steps --delay 1us", "node_steps needs ranks on at least 2 nodes"),
    ("barrier --observe 2", "--observe cannot be '2'; use an integer from 0 to 1"),
    ("clock --sample 2", "--sample cannot be '2'; use all, or 1 to 1"),
    ("clock --sample some", "--sample cannot be 'some'; use all, or 1 to 1"),
    ("rtt --pairs 0:2", "--pairs cannot contain '0:2'; use two different ranks from 0 to 1, e.g. 0:1"),
]


pytestmark = [ONE_LIBRARY, pytest.mark.shared]


def expect_refused(outcome: Outcome, message: str) -> None:
    assert outcome.status == 2
    assert len(outcome.own_lines) == 1
    assert message in outcome.own_lines[0]
    assert outcome.stdout == ""


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_arguments(mpi: str, tmp_path: Path, arguments: str, message: str) -> None:
    expect_refused(run_bench(mpi, tmp_path, "--check", *arguments.split(), ranks=0), message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("arguments", "message"), BAD_RANKS)
def test_bad_ranks(bench: Bench, arguments: str, message: str) -> None:
    expect_refused(bench(*arguments.split()), message)


@pytest.mark.parametrize(
    "arguments",
    [
        "bcast allgather -m 8:1M -r 1000000000 --late-ranks 0.01 --observe 7 -o out.nc",
        "ping_pong(second=5) neighbor_alltoall --sync window --pattern one_late(rank=3),trace(file=a) --delay 2x",
        "clock --schemes hca3(fit=40) --sample 3 --check",
        "rtt --pairs 0:5",
        "list --check scheme",
    ],
)
def test_check_measures_nothing_and_knows_no_ranks(mpi: str, tmp_path: Path, arguments: str) -> None:
    words = arguments.split()
    outcome = run_bench(mpi, tmp_path, *words, *[] if "--check" in words else ["--check"], ranks=0)
    assert (outcome.status, outcome.stdout, outcome.own_lines) == (0, "", [])
    assert list(tmp_path.iterdir()) == []


def test_check_knows_the_ranks_of_a_launch(bench: Bench) -> None:
    assert bench("--check", "barrier").status == 0
    expect_refused(bench("--check", "barrier", "--observe", "2"), "--observe cannot be '2'")


@pytest.mark.parametrize(
    ("subcommand", "option"),
    [
        ("clock", "--schemes"),
        ("rtt", "--resamples"),
        ("drift", "--duration"),
        ("skew", "--sync"),
        ("pairs", "--within"),
        ("algorithms", "--root"),
        ("list", "--format"),
    ],
)
def test_help_of_subcommands(bench: Bench, subcommand: str, option: str) -> None:
    outcome = bench(subcommand, "--help")
    assert outcome.status == 0
    assert f"Usage: downbeat-bench {subcommand}" in outcome.stdout
    assert option in outcome.stdout
    assert all(len(line) <= 80 for line in outcome.stdout.splitlines())


# Each outlasts the time limit if it measures first.
LONG = {
    "barrier -r 1000000000": ["out.nc", "out.csv", "out.json"],
    "clock --waits 3600": ["out.nc"],
    "rtt --interval 3600": ["out.nc"],
    "drift --duration 3600": ["out.nc"],
}


@pytest.mark.parametrize(("arguments", "name"), [(words, name) for words, names in LONG.items() for name in names])
def test_a_file_that_cannot_be_written_is_noticed_before_measuring(bench: Bench, arguments: str, name: str) -> None:
    outcome = bench(*arguments.split(), "-o", f"absent/{name}")
    assert outcome.status == 1
    (line,) = outcome.own_lines
    assert f"absent/{name}" in line
    assert os.strerror(errno.ENOENT) in line


@pytest.mark.parametrize("subcommand", ["clock", "rtt", "drift", "pairs"])
def test_subcommands_need_two_ranks(mpi: str, tmp_path: Path, subcommand: str) -> None:
    outcome = run_bench(mpi, tmp_path, subcommand, ranks=1)
    assert outcome.status == 2
    assert len(outcome.own_lines) == 1
    assert "only one" in outcome.own_lines[0]


def test_a_setting_of_the_library_that_cannot_be(bench: Bench) -> None:
    # The library's own line is all; downbeat run does not try again what is refused.
    outcome = bench("barrier", env={"DOWNBEAT_CLOCK": "sundial"})
    assert outcome.status == 2
    assert outcome.own_lines == []
    assert "DOWNBEAT_CLOCK=sundial" in outcome.stderr and "tsc" in outcome.stderr


@pytest.mark.parametrize("name", ["/dev/zero", "fifo"])
def test_a_trace_without_end_is_refused(bench: Bench, tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    outcome = bench("barrier", "--pattern", f"trace(file={name})")
    assert outcome.status == 1
    (line,) = outcome.own_lines
    assert f"'{name}'" in line and "regular file" in line


def test_a_trace_of_another_editor(bench: Bench, tmp_path: Path) -> None:
    """A byte order mark is no part of a delay; UTF-16 is refused in a line."""
    text = "".join(f"{delay}e-5 " for delay in range(2)) + "\n"
    (tmp_path / "marked.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    outcome = bench("barrier", "-r", "5", "--pattern", "trace(file=marked.txt)")
    assert outcome.status == 0, outcome.stderr
    (tmp_path / "only.txt").write_bytes(b"\xef\xbb\xbf")
    for name, encoding in {"a": "utf-16", "b": "utf-16-be", "c": "utf-32"}.items():
        (tmp_path / f"{name}.txt").write_bytes(text.encode(encoding))
        outcome = bench("barrier", "--pattern", f"trace(file={name}.txt)")
        assert outcome.status != 0
        assert len(outcome.own_lines) == 1
        assert "UTF-8" in outcome.own_lines[0]
    assert len(bench("barrier", "--pattern", "trace(file=only.txt)").own_lines) == 1


def test_help_names_what_there_is(bench: Bench) -> None:
    outcome = bench("--help")
    assert outcome.status == 0
    for word in (
        "allreduce",
        "clock --help",
        "drift",
        "mpi_barrier",
        "harmonize",
        "netcdf",
        "--tolerance",
        "--late-ranks",
        "Exit status",
    ):
        assert word in outcome.stdout
    assert outcome.stdout.count("Usage:") == 1
    assert all(len(line) <= 80 for line in outcome.stdout.splitlines())


def test_version(bench: Bench) -> None:
    outcome = bench("--version")
    assert outcome.status == 0
    program, library, mpi, build = outcome.stdout.splitlines()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert re.fullmatch(rf"downbeat-bench {re.escape(version)} \([0-9a-z-]+\)", program)
    assert library == f"libdownbeat {version}"
    name, standard = mpi.rsplit(", ", 1)
    assert re.fullmatch(r"MPI \S.*", name) and re.fullmatch(r"standard \d\.\d", standard)
    assert re.fullmatch(r"built\sby\s\w+\s[0-9.]+,\s\w*", build)
