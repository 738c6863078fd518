"""Bad arguments end the run before it measures, in one line that says what is wrong and what would be valid."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Bench

BAD = [
    ("", "no operation is given; valid are barrier, bcast, reduce, allreduce"),
    ("barier", "unknown operation 'barier'; valid are barrier, bcast, reduce, allreduce"),
    ("barrier barrier", "operation 'barrier' is given twice"),
    ("barrier -m 8", "--sizes is given, but no operation that has a size; these have: bcast, reduce, allreduce"),
    ("barrier allreduce --root 0", "--root is given, but no operation that has a root; these have: bcast, reduce"),
    ("bcast --root 2", "--root cannot be '2'; valid are 0 to 1"),
    ("bcast --root -1", "--root cannot be '-1'; valid are 0 to 1"),
    ("bcast -m 64:8", "the range '64:8' is empty"),
    ("bcast -m 8:100", "the ends of the range '8:100' are not both powers of two"),
    ("bcast -m 8,8", "message size 8 is given twice"),
    ("bcast -m 8Q", "'8Q' is no message size; valid are"),
    ("bcast -m 0", "'0' is no message size; valid are"),
    ("bcast -m 2G", "bcast cannot take messages of 2147483648 bytes; valid are at most 2147483647 bytes"),
    ("reduce -m 6", "reduce cannot take messages of 6 bytes; valid are multiples of 4 bytes"),
    ("barrier --sync mpi_barier", "unknown synchronizer 'mpi_barier'; valid are mpi_barrier, harmonize"),
    ("barrier --sync harmonize,", "unknown synchronizer ''; valid are mpi_barrier, harmonize"),
    ("barrier --sync harmonize,harmonize", "synchronizer 'harmonize' is given twice"),
    ("barrier -r 0", "--repetitions cannot be '0'; valid are 1 to 1000000000"),
    ("barrier -r 1e3", "--repetitions cannot be '1e3'; valid are 1 to 1000000000, whole numbers"),
    ("barrier --warmup -1", "--warmup cannot be '-1'; valid are 0 to"),
    ("barrier --max-attempts 0", "--max-attempts cannot be '0'; valid are 1 to"),
    ("barrier --tolerance nan", "--tolerance cannot be 'nan'; valid are"),
    ("barrier --tolerance -1e-6", "--tolerance cannot be '-1e-6'; valid are"),
    ("barrier --tolerance 1us", "--tolerance cannot be '1us'; valid are"),
    ("barrier --seed -1", "--seed cannot be '-1'; valid are 0 to"),
    ("barrier --format xml", "unknown format 'xml'; valid are table, csv, json"),
    ("barrier -o out.txt", "the kind of file 'out.txt' is unknown; valid suffixes are .csv, .json, .nc"),
    ("barrier -o out.nc -o out.nc", "file 'out.nc' is given twice"),
    ("barrier --frobnicate", "--frobnicate; valid options are --help, --version, --sizes"),
    ("barrier -r", "--repetitions: 1 required N missing"),
    ("barrier -r 1 -r 2", "--repetitions:"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_arguments(bench: Bench, tmp_path: Path, arguments: str, message: str) -> None:
    outcome = bench(*arguments.split())
    assert outcome.status == 2
    assert len(outcome.own_lines) == 1
    assert message in outcome.own_lines[0]
    assert outcome.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["out.nc", "out.csv", "out.json"])
def test_a_file_that_cannot_be_written_is_noticed_before_measuring(bench: Bench, name: str) -> None:
    # So many repetitions would outlast the time limit.
    outcome = bench("barrier", "-r", "1000000000", "-o", f"absent/{name}")
    assert outcome.status == 1
    assert len(outcome.own_lines) == 1
    assert f"cannot write 'absent/{name}'" in outcome.own_lines[0]
    assert "No such file or directory" in outcome.own_lines[0]


def test_a_setting_of_the_library_that_cannot_be(bench: Bench) -> None:
    outcome = bench("barrier", env={"DOWNBEAT_CLOCK": "sundial"})
    assert outcome.status == 1
    assert len(outcome.own_lines) == 1
    assert "the clocks cannot be prepared" in outcome.own_lines[0]
    assert "sundial" in outcome.stderr


def test_help_names_what_there_is(bench: Bench) -> None:
    outcome = bench("--help")
    assert outcome.status == 0
    for word in ("allreduce", "mpi_barrier", "harmonize", "netcdf", "--tolerance", "Exit status"):
        assert word in outcome.stdout
    assert outcome.stdout.count("Usage:") == 1


def test_version(bench: Bench) -> None:
    outcome = bench("--version")
    assert outcome.status == 0
    assert outcome.stdout.startswith("downbeat-bench ")
