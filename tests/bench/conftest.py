"""How the tests run downbeat-bench: every test under MPICH, and in `make nightly` under Open MPI, too."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

ROOT = Path(__file__).resolve().parents[2]
RANKS = 2
TIMEOUT_SECONDS = 120
# Stamps and CLOCK_MONOTONIC_RAW are cut to whole ns, at either end of a time.
ROUNDING = 3e-9  # s
# The rate of the library's counter, which is calibrated against CLOCK_MONOTONIC_RAW over 10 ms at least, where either
# end may be off by 250 ns.
CALIBRATION = 50e-6
# cmake/DownbeatCompile.cmake has them for CTest.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:fast_unwind_on_malloc=0",
    "LSAN_OPTIONS": f"suppressions={ROOT}/tests/lsan.supp:print_suppressions=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


@dataclass(frozen=True)
class Outcome:
    """Status and output of a run."""

    status: int
    stdout: str
    stderr: str

    @property
    def own_lines(self) -> list[str]:
        """The program's own lines on standard error; launchers add others."""
        return [line for line in self.stderr.splitlines() if line.startswith("downbeat-bench:")]


Bench = Callable[..., Outcome]


def shows(word: str, value: float) -> bool:
    """Returns whether a word of a table is a value, rounded to as many decimals as the word has."""
    unit = 10.0 ** -len(word.partition(".")[2])
    return abs(float(word) - value) <= 0.5 * unit * (1 + 1e-6)


@dataclass
class Built:
    """Which downbeat-bench is tested: that of build/<MPI library>, or that of a tree of its own."""

    tree: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


BUILT = Built()


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--sanitize"):
        BUILT.tree, BUILT.variables = "sanitize", SANITIZERS


def run_bench(
    mpi: str, directory: Path, *arguments: str, env: Mapping[str, str] | None = None, ranks: int = RANKS
) -> Outcome:
    """Runs downbeat-bench in a directory; without a launcher if `ranks` is 0."""
    program = ROOT / "build" / (BUILT.tree or mpi) / "bin" / "downbeat-bench"
    if not program.exists():
        pytest.fail(f"{program} is not built")
    # The library refuses variables DOWNBEAT_* that it does not know.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DOWNBEAT_")}
    launch = [str(ROOT / "tools/launch"), "--mpi", mpi, "-n", str(ranks), "--timeout", str(TIMEOUT_SECONDS)]
    done = subprocess.run(
        [*(launch if ranks else []), str(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        env={**clean, **BUILT.variables, **(env or {})},
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session", params=["mpich", pytest.param("openmpi", marks=pytest.mark.nightly)])
def mpi(request: pytest.FixtureRequest) -> str:
    """Returns the MPI library to run under."""
    return str(request.param)


# For what no MPI library can change: arguments, files, tables, what is done with samples. MPICH's launcher is the
# quickest, above all where the program fails: Open MPI's takes 2 s then.
ONE_LIBRARY = pytest.mark.parametrize("mpi", ["mpich"], indirect=True)


@pytest.fixture
def bench(mpi: str, tmp_path: Path) -> Bench:
    """Returns a function that runs downbeat-bench in a directory of the test's own."""
    return partial(run_bench, mpi, tmp_path)


def read_dataset(path: Path) -> xr.Dataset:
    """Returns the whole content of a netCDF file."""
    with xr.open_dataset(path, engine="netcdf4") as data:
        return data.load()


def read_records(path: Path) -> list[dict[str, Any]]:
    """Returns the objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def read_rows(path: Path, column: str) -> list[dict[str, str]]:
    """Returns the rows of the table of a CSV file that has a column."""
    tables = [list(csv.DictReader(text.splitlines())) for text in path.read_text().split("\n\n")]
    return next(rows for rows in tables if column in rows[0])
