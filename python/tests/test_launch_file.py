"""Files of launches are read as written; other files are refused in one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import downbeat
import netCDF4
import numpy as np
import pytest
from downbeat.data.netcdf import NetcdfFile
from downbeat.errors import UsageError
from launch_files import Cell, write_launch


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
