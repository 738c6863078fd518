"""Damaged and foreign files, mangled command lines: an answer or one line that names the trouble, never a traceback.

A reader is a row of `READERS`: it makes real files, and reads all that there is in them. `make test` damages each often
enough that it is 10,000 inputs together, `make nightly` a hundred times as often. Seeds are printed with what fails.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import downbeat
import netCDF4
import numpy as np
import pytest
from damage import flipped, other_shape, other_text, other_words, replaced_fields
from downbeat.comparison.conditions import open_history
from downbeat.errors import DownbeatError, UsageError
from downbeat.files import read_json, write_json
from downbeat.output.records import plain, view_record
from downbeat.output.terminal import view_lines
from downbeat.report.export import ROWS
from downbeat.run import directory as places
from downbeat.run.bench import kept_builds
from downbeat.run.experiment import open_experiment
from downbeat.run.machine import Finding
from downbeat.run.plan import Library, Measurement, Plan
from downbeat.run.planning import planned
from downbeat.run.request import read_request
from downbeat.text import one_line
from downbeat.trace.arrivals import find_arrivals
from downbeat.tune import mpich
from downbeat.tune import sweep as probing
from downbeat.tune.late_arrivals import read_traces
from downbeat.views.clocks import clock_file_view
from downbeat.views.results import results_view
from downbeat.views.trace import arrivals_view, recording_view
from downbeat_command import downbeat as run_downbeat
from fake_programs import script
from launch_files import ATTRIBUTES, write_trace
from report_data import two_cells

Damage = Callable[[bytes, random.Random], bytes]
KEY = "fake-n2-default-001"
NIGHTLY = 100  # times as many inputs
BINARY: tuple[Damage, ...] = (flipped, replaced_fields)
OBJECTS: tuple[Damage, ...] = (flipped, other_text, other_shape, other_shape)
TEXT: tuple[Damage, ...] = (flipped, other_text, other_text)


@dataclass(frozen=True)
class Reader:
    """The reader of a kind of file.

    Attributes:
        make: writes what is needed into a directory, and returns the file that is damaged.
        read: reads all of the file; gets its path.
        damages: ways of damaging the file.
        inputs: how many damaged files `make test` tries.
        refused: the share of them that must be refused at least: if all are read, nothing is checked.
    """

    make: Callable[[Path], Path]
    read: Callable[[Path], object]
    damages: tuple[Damage, ...]
    inputs: int
    refused: float


def make_samples(directory: Path) -> Path:
    return two_cells(directory / "a.nc")


def read_launch(path: Path) -> None:
    experiment = open_experiment(path)
    view_lines(results_view(experiment, "latency_avg"))
    for rows in ROWS.values():
        list(rows(experiment.launches[0]))


def make_dataset(directory: Path) -> Path:
    """Writes a file as `downbeat-bench clock` does."""
    path = directory / "clock.nc"
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as file:
        file.setncatts(ATTRIBUTES | {"title": "Errors of clock synchronization schemes"})
        for name, size in {"scheme": 2, "wait": 3, "scheme_length": 8}.items():
            file.createDimension(name, size)
        schemes = file.createVariable("scheme", "S1", ("scheme", "scheme_length"))
        schemes[:] = np.array([b"hca3", b"skampi"], "S8").view("S1").reshape(2, 8)
        schemes.setncattr("_Encoding", "utf-8")
        for name in ("offset_max", "duration_median"):
            variable = file.createVariable(name, "f8", ("scheme", "wait"))
            variable.units, variable[:] = "s", np.full((2, 3), 1e-6)
    return path


def read_dataset(path: Path) -> None:
    view = clock_file_view(path)
    view_lines(view)
    json.dumps(plain(view_record(view)))


def make_algorithms(directory: Path) -> Path:
    """Writes a file as `downbeat-bench algorithms` does."""
    path = directory / "algorithms.nc"
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as file:
        file.setncatts(ATTRIBUTES)
        for name, size in {"algorithm": 2, "rank": 2, "peer": 2, "length": 8}.items():
            file.createDimension(name, size)
        for name, words in {"algorithm": [b"default", b"linear"], "refusal": [b"", b""]}.items():
            file.createVariable(name, "S1", ("algorithm", "length"))[:] = np.array(words, "S8").view("S1").reshape(2, 8)
        for name in ("messages", "bytes"):
            file.createVariable(name, "i8", ("algorithm", "rank", "peer"))[:] = np.ones((2, 2, 2))
        file.createVariable("calls", "i8", ("algorithm", "rank"))[:] = np.ones((2, 2))
    return path


def make_experiment(directory: Path) -> Path:
    """Writes an experiment of one launch, just as `downbeat run` leaves it."""
    places.write_plan(directory, Plan("night", Measurement(("bcast",)), (Library("fake", "bench"),), launches=1))
    findings = [Finding("clock", "tsc", "good", "").__dict__]
    write_json(directory / places.MACHINE, {"schema_version": 1, "findings": findings})
    launch = directory / places.LAUNCHES / KEY
    launch.mkdir(parents=True)
    two_cells(launch / places.SAMPLES)
    record = {"library": "fake", "ranks": 2, "environment": "default", "variant": "default", "number": 1}
    places.write_record(launch, record)
    # Without checksums, which would refuse the damage first (test_cells.py).
    for path in directory.rglob("*.json"):
        write_json(path, read_json(path))
    return directory


def part_of_experiment(*names: str) -> Callable[[Path], Path]:
    """Returns what makes an experiment, and returns a file of it."""
    return lambda directory: make_experiment(directory).joinpath(*names)


def read_experiment(path: Path) -> None:
    directory = path if path.is_dir() else next(one for one in path.parents if (one / places.PLAN).exists())
    places.complete(directory)
    _ = open_experiment(directory).machine
    open_history([directory], [])


def make_request(directory: Path) -> Path:
    script(directory / "bench", "#!/bin/sh\n")
    path = directory / "test.toml"
    path.write_text(
        'name = "night"\noperations = ["bcast", "allreduce(type=double)"]\nsizes = "8:1K"\nranks = [2, 4]\n'
        'width = 0.02\nsync = ["harmonize"]\nrepetitions = 100\nlaunches = 5\ntimeout = 60.0\nseed = 7\n'
        '[[libraries]]\nname = "here"\nbench = "./bench"\n[environments.tcp]\nOMPI_MCA_btl = "tcp,self"\n'
        '[variants.old]\nbench = "./bench"\n[variants.new]\nA = "b"\n',
        encoding="utf-8",
    )
    return path


def read_plan(path: Path) -> None:
    planned(read_request(path), lambda _: None)


def make_trace(directory: Path) -> Path:
    return write_trace(directory / "job-node-000000.trace")


def read_trace(path: Path) -> None:
    trace = downbeat.open_trace(path)
    assert len(trace.processes) and len(trace.records) >= 0 and len(trace.starts) >= 0 and len(trace.phases) >= 0


def read_arrivals(path: Path) -> None:
    trace = downbeat.open_trace(path.parent)
    view_lines(recording_view(trace.recording, path.parent))
    view_lines(arrivals_view(find_arrivals(trace.recording), ""))


def make_kept_build(directory: Path) -> Path:
    """Writes what `downbeat build` leaves; the directory is the cache."""
    path = directory / "downbeat" / "build.json"
    path.parent.mkdir()
    path.write_text('{"mpi": "openmpi", "wrapper": "/usr/bin/mpicc", "library": "Open MPI", "date": "2026-01-01"}')
    return path


def read_kept_build(path: Path) -> None:
    for build in kept_builds({"XDG_CACHE_HOME": str(path.parents[1]), "PATH": ""}):
        assert all(isinstance(value, str) for value in (build.mpi, build.wrapper, build.date))


def make_probe(directory: Path) -> Path:
    path = directory / "bcast-n2.json"
    content = {"version": "Open MPI 4", "of": {"options": {}, "algorithms": ["a"]}, "usable": ["a"], "excluded": {}}
    write_json(path, {"schema_version": probing.SCHEMA_VERSION, **content})
    return path


def make_mpich(directory: Path) -> Path:
    path = directory / "libmpi.so"
    trees: list[dict[str, object]] = [
        {"collective=bcast": {"composition=MPIDI_a": {}}},
        {"collective=bcast": {"algorithm=MPIR_a": {}}},
    ]
    path.write_bytes(b"\x7fELF" + b"".join(json.dumps(tree).replace(" ", "").encode() + b"\0" for tree in trees))
    return path


READERS = {
    "samples": Reader(make_samples, read_launch, BINARY, 150, 0.3),
    "samples, opened": Reader(make_samples, downbeat.open_launch, BINARY, 150, 0.3),
    "clocks": Reader(make_dataset, read_dataset, BINARY, 300, 0.2),
    "algorithms": Reader(make_algorithms, read_traces, BINARY, 500, 0.2),
    "samples of an experiment": Reader(
        part_of_experiment(places.LAUNCHES, KEY, places.SAMPLES), read_experiment, BINARY, 300, 0.0
    ),
    "plan.json": Reader(part_of_experiment(places.PLAN), read_experiment, OBJECTS, 1250, 0.5),
    "launch.json": Reader(part_of_experiment(places.LAUNCHES, KEY, places.RECORD), read_experiment, OBJECTS, 1250, 0.5),
    "machine.json": Reader(part_of_experiment(places.MACHINE), read_experiment, OBJECTS, 1000, 0.3),
    "experiment.toml": Reader(make_request, read_plan, TEXT, 1060, 0.3),
    "trace": Reader(make_trace, read_trace, BINARY, 600, 0.1),
    "trace, its arrivals": Reader(make_trace, read_arrivals, BINARY, 40, 0.1),
    "builds": Reader(make_kept_build, read_kept_build, OBJECTS, 1000, 0.0),
    "probes": Reader(make_probe, probing.read_stored, OBJECTS, 1000, 0.3),
    "libmpi.so": Reader(make_mpich, mpich.own_trees, TEXT, 1000, 0.3),
}

# Each is harmless; what launches is replaced (`harmless`).
COMMAND_LINES = (
    "show a.nc --metric makespan --json out.json",
    "compare a.nc synchronizer=mpi_barrier synchronizer=harmonize --confidence 0.9",
    "export a.nc --to csv --rows samples -o out.csv",
    "run bcast reduce --sizes 8:64 -n 2 --mpi fake --bench ./bench --dry-run",
    "run test.toml --launches 3 --env tcp:A=b --dry-run -- --late 1e-6",
    "tune bcast -o rules --sizes 8:64 --bench ./bench --margin 0.1 -- --late 1e-6",
    "reproduce hoefler2008-fig4 --ranks 2,4 --quick --list",
    "arrivals trace --json out.json --export pattern.txt --site 1",
    "trace -o new --skip 3 --records 100 -- ./launcher -n 2 ./bench",
    "doctor --seconds 0 --bench fake=./bench --json out.json",
    "report a.nc -o out.html",
    "build --mpi ./mpicc --jobs 2",
)


class StopError(DownbeatError):
    """The command line was understood: what it asks for would begin."""


@contextlib.contextmanager
def harmless(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keeps commands from launching, building and measuring: their command line is what is tried."""

    def stop(*_args: object, **_others: object) -> None:
        raise StopError("stopped by the test")

    with monkeypatch.context() as patch:
        for name in (
            "downbeat.commands.run.run_plan",
            "downbeat.tune.tuning.tune",
            "downbeat_papers.perform.perform",
            "downbeat.run.bench.build_programs",
            "downbeat.run.trial.try_start",
            "downbeat.views.report.make_report",
            "downbeat.run.noise.measure",
        ):
            patch.setattr(name, stop)
        real = subprocess.Popen.__init__

        def popen(self: subprocess.Popen[Any], args: Any, *others: Any, **options: Any) -> None:  # noqa: ANN401
            program = Path(str(args if isinstance(args, str) else args[0])).name
            if program not in ("ldd", "ldconfig", "addr2line", "readelf", "uname", "git"):
                raise FileNotFoundError(2, "stopped by the test", program)
            real(self, args, *others, **options)

        patch.setattr(subprocess.Popen, "__init__", popen)
        yield


def counts(inputs: int) -> list[Any]:
    """Returns the first seed and the number of seeds, for `make test` and for `make nightly`."""
    return [
        pytest.param(0, inputs, id="some"),
        pytest.param(inputs, NIGHTLY * inputs, marks=pytest.mark.nightly, id="many"),
    ]


@pytest.mark.parametrize(
    ("name", "first", "count"),
    [
        pytest.param(name, *param.values, id=f"{name}-{param.id}", marks=param.marks)
        for name, reader in READERS.items()
        for param in counts(reader.inputs)
    ],
)
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, name: str, first: int, count: int) -> None:
    reader = READERS[name]
    path = reader.make(tmp_path)
    content = path.read_bytes()
    reader.read(path)  # whole
    refused = 0
    for seed in range(first, first + count):
        chance = random.Random(seed)
        path.write_bytes(chance.choice(reader.damages)(content, chance))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # infinities, which are numbers of the file
                reader.read(path)
        except DownbeatError as error:
            said = one_line(str(error))
            assert said, f"seed {seed}: {said}"
            refused += 1
        except Exception as error:
            shutil.copy(path, tmp_path / "kept")
            raise AssertionError(f"seed {seed}: {error!r}") from error
    assert refused >= reader.refused * count


@pytest.mark.parametrize(("field", "said"), [("cell_index", "unknown cells"), ("verdict", "unknown verdicts")])
@pytest.mark.parametrize("rows", ["samples", "stamps"])
def test_a_number_that_stands_for_nothing_is_refused(tmp_path: Path, field: str, said: str, rows: str) -> None:
    path = make_samples(tmp_path)
    with netCDF4.Dataset(path, "a") as file:
        file.variables[field][-1] = 37
    launch = open_experiment(path).launches[0]
    with pytest.raises(UsageError, match=said):
        list(ROWS[rows](launch))


def parts_of(path: Path) -> list[tuple[str, str]]:
    """Returns the variables, dimensions and attributes of a netCDF file: the variable, and the attribute or ""."""
    with netCDF4.Dataset(path) as file:
        attributes = [(name, one) for name, variable in file.variables.items() for one in variable.ncattrs()]
        return [*((name, "") for name in (*file.variables, *file.dimensions)), *attributes]


@pytest.mark.parametrize("name", ["samples", "samples, opened", "clocks", "algorithms"])
def test_a_file_that_lacks_one_thing_is_read_or_refused(tmp_path: Path, name: str) -> None:
    reader = READERS[name]
    path = reader.make(tmp_path)
    content = path.read_bytes()
    for part, attribute in parts_of(path):
        path.write_bytes(content)
        with netCDF4.Dataset(path, "a") as file:
            if attribute:
                file.variables[part].delncattr(attribute)
            elif part in file.variables:
                file.renameVariable(part, "other")
            else:
                file.renameDimension(part, "other")
        with contextlib.suppress(DownbeatError):
            reader.read(path)
    path.write_bytes(content)
    reader.read(path)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "foreign", ["", "\0", "GIF89a\0\0", "\x7fELF", "<html>", "[", "CDF\5", "\x89HDF\r\n", "x" * 9999]
)
def test_a_foreign_file_is_refused(tmp_path: Path, name: str, foreign: str) -> None:
    reader = READERS[name]
    path = reader.make(tmp_path)
    path.write_bytes(foreign.encode("latin-1"))
    with contextlib.suppress(UsageError, DownbeatError):
        reader.read(path)


@pytest.mark.parametrize(("first", "count"), counts(400))
def test_a_mangled_command_line_is_obeyed_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int, count: int
) -> None:
    make_samples(tmp_path)
    make_request(tmp_path)
    (tmp_path / "trace").mkdir()
    make_trace(tmp_path / "trace")
    script(tmp_path / "launcher", "#!/bin/sh\n")
    refused = 0
    for seed in range(first, first + count):
        chance = random.Random(seed)
        words = other_words(chance.choice(COMMAND_LINES).split(), chance)
        if "/proc/self/mem" in words or any("\0" in word for word in words):
            continue  # no command line has a 0
        try:
            with harmless(monkeypatch), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                done = run_downbeat(*words, where=tmp_path)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {words}: {error!r}") from error
        assert done.returncode in (0, 1, 2, 3), f"seed {seed}: {words}"
        if done.returncode in (1, 2) and "stopped by the test" not in done.stderr:
            assert done.stderr, f"seed {seed}: {words}"
            refused += 1
    assert refused > count / 4


def test_there_are_enough_inputs() -> None:
    assert sum(reader.inputs for reader in READERS.values()) + 400 >= 10_000
