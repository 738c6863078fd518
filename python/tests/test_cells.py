"""Metrics and summaries, of known stamps and of those that downbeat-bench computes; its files, whole and damaged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import downbeat
import netCDF4
import numpy as np
import pytest
from damage import share_found
from downbeat.data.cells import STATISTICS, STEP
from downbeat.data.launch_file import CELL_FACTORS
from downbeat.data.netcdf import NetcdfFile
from downbeat.errors import UsageError
from downbeat.files import read_json, with_checksum, without_checksum, write_checked_json
from downbeat.report.export import ROWS
from downbeat.run import directory as places
from downbeat.run.experiment import open_experiment
from launch_files import Cell, seal, write_launch, write_trace
from report_data import two_cells
from stamps import FORMULAS, KNOWN, Stamps

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "build/openmpi/bin/downbeat-bench"


def test_metrics_of_known_stamps(tmp_path: Path) -> None:
    assert set(KNOWN) == set(FORMULAS)
    cell = Cell([[1.0, 1.5]], [[3.0, 5.5]], calls=2, deadline=0.75, delay=[[0.0, 0.25]])
    found = downbeat.sample_metrics(write_launch(tmp_path / "a.nc", [cell], observed_rank=1))
    assert {name: found[name].item() for name in FORMULAS} == KNOWN
    assert found.begin.item() == 1.0


def test_only_timed_ranks_have_a_latency(tmp_path: Path) -> None:
    cell = Cell([[1.0, 1.5]], [[3.0, 5.5]], timed=[1, 0])
    cells = downbeat.summarize_cells(write_launch(tmp_path / "a.nc", [cell]))
    assert cells.latency_avg_median.item() == cells.latency_max_median.item() == 2.0
    assert cells.makespan_median.item() == 4.5


def test_only_valid_samples_count(tmp_path: Path) -> None:
    exits = [[1, 1], [2, 2], [30, 30], [40, 40], [50, 50], [60, 60]]
    cell = Cell(np.zeros((6, 2)), exits, verdict=[0, 0, 1, 2, 3, 4])
    rejected = Cell(np.zeros((1, 2)), [[1, 1]], verdict=1, size=16)
    cells = downbeat.summarize_cells(write_launch(tmp_path / "a.nc", [cell, rejected]))
    assert cells.latency_avg_max.tolist()[0] == 2.0
    assert np.isnan(cells.latency_avg_median[1])
    assert cells[
        ["valid_count", "late_flag", "late_entry", "overrun", "discarded", "rejected"]
    ].to_numpy().tolist() == [
        [2, 1, 1, 1, 1, 3],
        [0, 1, 0, 0, 0, 1],
    ]


def test_unknown_metric(tmp_path: Path) -> None:
    path = write_launch(tmp_path / "a.nc", [Cell([[1.0, 1.5]], [[3.0, 5.5]])])
    with pytest.raises(UsageError, match="unknown metric 'latency'; choose one of latency_avg"):
        downbeat.sample_metrics(path, ["latency"])


def test_downbeat_bench_finds_the_metrics_that_follow_from_the_stamps(tmp_path: Path) -> None:
    """Of all that makes samples differ from plain ones."""
    file = tmp_path / "out.nc"
    command = [str(ROOT / "tools/launch"), "--mpi", "openmpi", "-n", "2", "--timeout", "300", str(BENCH)]
    command += ["bcast", "ping_pong", "iallreduce(compute=5us)", "-m", "8,1K", "-r", "30", "--observe", "1", "-q"]
    command += ["--timing", "per_call,batch(calls=3)", "--pattern", "one_late", "--delay", "5us", "-o", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr  # 3: a cell has fewer valid samples, and is still summarized
    stored = downbeat.open_launch(file)
    found = downbeat.summarize_cells(file)
    assert len(found) == stored.sizes["cell"] == 64
    for cell, one in stored.groupby("cell_index"):
        stamps = Stamps(
            entry=one.entry.to_numpy(),
            exit=one.exit.to_numpy(),
            delay=one.delay.to_numpy(),
            deadline=one.deadline.to_numpy(),
            timed=stored.timed.to_numpy()[int(cell)].astype(bool),
            calls=int(stored.calls[int(cell)]),
            observed=1,
        )
        for name, formula in FORMULAS.items():
            np.testing.assert_allclose(one[name], formula(stamps), rtol=1e-9, atol=1e-15, err_msg=name)
    fields = set(found) - {"cell", "status"} - {f"{one}_{name}" for one in FORMULAS for name in (*STATISTICS, STEP)}
    assert fields > {*CELL_FACTORS, "valid_count", "discarded", "requested", "max_of_means", "overlap_benefit_min"}
    for name in map(str, fields):  # that are counted anew among them
        assert np.array_equal(found[name], stored[name], equal_nan=found[name].dtype.kind == "f"), name
    units = {name: stored[name].attrs["units"] for name in found if name in stored and "units" in stored[name].attrs}
    steps = {f"{metric}_{STEP}": "s" for metric in FORMULAS if f"{metric}_{STEP}" in found}
    statistics = {f"{metric}_{name}": "s" for metric in FORMULAS for name in STATISTICS}
    assert found.attrs["units"] == units | steps | statistics


def two_samples() -> Cell:
    return Cell(entry=[[1.0, 1.5], [2.0, 2.25]], exit=[[3.0, 3.5], [4.0, 5.25]], deadline=[0.75, 2.0])


def test_names_are_text_and_coordinates(tmp_path: Path) -> None:
    path = write_launch(
        tmp_path / "a.nc", [two_samples(), Cell([[1.0, 1.0]], [[2.0, 2.0]], operation="reduce", size=64)]
    )
    data = downbeat.open_launch(path)
    assert data.operation.values.tolist() == ["bcast", "reduce"]
    assert data.coords["size"].values.tolist() == [8, 64]
    assert data.entry.dims == ("sample", "rank")
    assert data.entry.attrs["units"] == "s"
    assert data.exit.values.tolist() == [[3.0, 3.5], [4.0, 5.25], [2.0, 2.0]]


def test_samples_have_the_factors_of_their_cells(tmp_path: Path) -> None:
    cells = [two_samples(), Cell([[1.0, 1.0]], [[2.0, 2.0]], operation="reduce", size=64, synchronizer="window")]
    frame = downbeat.sample_metrics(write_launch(tmp_path / "a.nc", cells), ["makespan"]).to_dataframe()
    assert frame["operation"].tolist() == ["bcast", "bcast", "reduce"]
    assert frame["size"].tolist() == [8, 8, 64]
    assert frame["synchronizer"].tolist()[2] == "window"


@pytest.mark.parametrize("kept", [0, 5, 100, 3000, -8, -1])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, kept: int) -> None:
    """The library would read zeros."""
    whole = write_launch(tmp_path / "whole.nc", [two_samples()]).read_bytes()
    cut = tmp_path / "cut.nc"
    cut.write_bytes(whole[: kept if kept >= 0 else len(whole) + kept])
    with pytest.raises(UsageError, match="empty" if kept == 0 else "cut off"):
        downbeat.open_launch(cut)


def test_a_text_without_letters_is_no_damage(tmp_path: Path) -> None:
    """Some programs write it as one zero, some as nothing."""
    path = write_launch(tmp_path / "a.nc", [two_samples()], warnings="")
    assert downbeat.open_launch(path).exit.values.tolist() == [[3.0, 3.5], [4.0, 5.25]]


def write_foreign_netcdf(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.title = "Rain"


def write_future(path: Path) -> None:
    write_launch(path, [two_samples()], schema_version=99)


def write_other_experiment(path: Path) -> None:
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as file:
        file.setncatts({"schema": "downbeat-bench", "schema_version": 3, "title": "Round trips"})


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_text("latency,7\n"), "not a file of downbeat-bench"),
        (lambda path: path.write_bytes(b"CDF\x05" + b"\xff" * 64), "cut off or damaged"),
        (write_foreign_netcdf, "not a file of downbeat-bench"),
        (write_future, "schema version 99, and this downbeat reads 3"),
        (write_other_experiment, "has no samples of operations; it is: Round trips"),
        (lambda path: path.mkdir(), "is a directory"),
        (lambda _: None, "there is no file"),
    ],
)
def test_what_is_no_launch_is_refused_in_one_line(tmp_path: Path, write: object, message: str) -> None:
    assert callable(write)
    path = tmp_path / "some.nc"
    write(path)
    with pytest.raises(UsageError, match=message) as refused:
        downbeat.summarize_cells(path)
    assert "\n" not in str(refused.value)
    assert "some.nc" in str(refused.value)


def test_samples_of_a_cell_that_is_not_there_are_refused(tmp_path: Path) -> None:
    path = write_launch(tmp_path / "a.nc", [two_samples()])
    with netCDF4.Dataset(path, "a") as file:
        file["cell_index"][1] = 7
    with pytest.raises(UsageError, match="damaged"):
        downbeat.summarize_cells(path)


def test_a_run_that_was_stopped_keeps_its_samples(tmp_path: Path) -> None:
    path = write_launch(tmp_path / "a.nc", [two_samples()])
    with netCDF4.Dataset(path, "a") as file:
        file["status"][0] = -127
        for name in ("requested", "wall_time"):  # nothing was written there
            kind = file[name].dtype
            file[name][0] = netCDF4.default_fillvals[f"{kind.kind}{kind.itemsize}"]
    cells = downbeat.summarize_cells(path)
    assert cells.status.tolist() == ["cut short"]
    assert cells.valid_count.tolist() == [2]
    assert cells[["requested", "wall_time"]].isna().all(axis=None)


def test_fields_units_and_names_are_those_of_the_file(tmp_path: Path) -> None:
    path = write_launch(tmp_path / "a.nc", [two_samples()])
    with netCDF4.Dataset(path, "a") as file:
        file.createVariable("temperature", "f8", ("cell",)).units = "K"
        file["temperature"][:] = 300.0
        file["wall_time"].units = "min"
        file["status"].flag_meanings = "fine incomplete failed wrong"
    cells = downbeat.open_experiment(path).cells
    assert cells["temperature"].tolist() == [300.0]
    assert cells["status"].tolist() == ["fine"]
    units = cells.attrs["units"]
    assert (units["temperature"], units["wall_time"], units["makespan_p95"]) == ("K", "min", "s")
    assert "valid_count" not in units
    assert (units["size"], units["largest_delay"]) == ("byte", "s")


def test_a_file_of_an_earlier_version_names_the_one_that_reads_it(tmp_path: Path) -> None:
    old: dict[str, str | float] = {"schema_version": 2, "downbeat_version": "0.1.0", "git_revision": "abc"}
    path = write_launch(tmp_path / "a.nc", [two_samples()], **old)
    with pytest.raises(UsageError, match=r"schema version 2, and this downbeat reads 3; .* 0\.1\.0 \(abc\)"):
        downbeat.summarize_cells(path)


@pytest.mark.parametrize("version", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
def test_every_version_of_the_format_is_read_as_others_wrote_it(tmp_path: Path, version: str) -> None:
    random = np.random.default_rng(1)
    fixed, row = random.integers(-99, 99, 5), random.integers(-99, 99, (4, 3))  # of types whose rows are padded
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format=version) as data:  # type: ignore[arg-type]
        for name, length in (("five", 5), ("sample", None), ("rank", 3)):
            data.createDimension(name, length)
        for kind in ("i1", "i2", "i4", "f4", "f8"):
            data.createVariable(f"fixed_{kind}", kind, ("five",))[:] = fixed
            data.createVariable(f"record_{kind}", kind, ("sample", "rank"))[:] = row
            data.createVariable(f"alone_{kind}", kind, ("sample",))[:] = row[:, 0]
    file = NetcdfFile(tmp_path / "a.nc")
    assert file.dimensions == {"five": 5, "sample": 4, "rank": 3}
    for name, variable in file.variables.items():
        expected = {"fixed": fixed, "record": row, "alone": row[:, 0]}[name.partition("_")[0]]
        assert np.array_equal(variable[:], expected), name
    assert len(file.variables) == 15


def test_directory_of_files_is_an_experiment(tmp_path: Path) -> None:
    write_launch(tmp_path / "a.nc", [two_samples()])
    shutil.copy(tmp_path / "a.nc", tmp_path / "b.nc")
    experiment = downbeat.open_experiment(tmp_path)
    assert experiment.cells.launch.tolist() == [1, 2]
    assert np.ptp(experiment.cells.makespan_median) == 0
    assert experiment.cells.attrs["units"]["makespan_median"] == "s"


def test_an_empty_directory_is_no_experiment(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"neither plan\.json nor \.nc files"):
        downbeat.open_experiment(tmp_path)


FLIPS = 500
FIELDS = {"launches": 10, "ranks": (2, 4), "names": {"a": "é"}, "timeout": 0.5}


def samples_of(path: Path) -> Callable[[], object]:
    def read() -> object:
        launch = open_experiment(path).launches[0]
        frames = [part.to_csv() for rows in ROWS.values() for part in rows(launch)]
        return frames, {name: str(value) for name, value in launch.context.items()}

    return read


def trace_of(path: Path) -> Callable[[], object]:
    def read() -> object:
        trace = downbeat.open_trace(path)
        return trace.records.to_csv(), trace.processes.to_csv()

    return read


def object_of(path: Path) -> Callable[[], object]:
    def read() -> object:
        content = read_json(path)
        return json.dumps([content[name] for name in FIELDS], sort_keys=True)  # a flip may rename the checksum

    return read


def write_object(path: Path) -> Path:
    write_checked_json(path, FIELDS)
    return path


@pytest.mark.parametrize(
    ("write", "reader"),
    [
        (lambda path: seal(two_cells(path / "a.nc")), samples_of),
        (lambda path: write_trace(path / "job-node-000000.trace", checked=True), trace_of),
        (lambda path: write_object(path / "plan.json"), object_of),
    ],
    ids=["samples", "trace", "json"],
)
def test_no_flipped_bit_is_read(
    tmp_path: Path, write: Callable[[Path], Path], reader: Callable[[Path], Callable[[], object]]
) -> None:
    path = write(tmp_path)
    assert share_found(path, reader(path), FLIPS) > 0.97


def test_without_a_checksum_files_are_read_as_they_are(tmp_path: Path) -> None:
    """Those of older versions, of runs that were cut short, and of other programs that copy netCDF."""
    path = two_cells(tmp_path / "a.nc")
    whole = samples_of(path)()
    seal(path)
    assert samples_of(path)() == whole
    path.write_bytes(path.read_bytes()[:-3])
    assert samples_of(path)() == whole
    assert without_checksum({"launches": 1}) == {"launches": 1}


def test_a_file_that_changes_is_looked_at_again(tmp_path: Path) -> None:
    path = seal(two_cells(tmp_path / "a.nc"))
    downbeat.open_launch(path)
    content = bytearray(path.read_bytes())
    content[-200] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(10**18, 10**18))
    with pytest.raises(UsageError, match=r"a.nc' is damaged: its checksum"):
        downbeat.open_launch(path)


def test_a_plan_that_was_edited_is_refused(tmp_path: Path) -> None:
    assert without_checksum(with_checksum({"b": (1,), "a": None})) == {"b": [1], "a": None}
    path = tmp_path / places.PLAN
    write_checked_json(path, {"launches": 10})
    path.write_text(path.read_text(encoding="utf-8").replace("10", "90"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"plan.json' is damaged: its checksum"):
        read_json(path)
