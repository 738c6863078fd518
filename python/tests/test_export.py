"""Exported numbers are the measured ones in every kind of file, and a file is whole or absent."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from pathlib import Path

import downbeat
import downbeat_command
import netCDF4
import numpy as np
import pandas as pd
import pytest
from downbeat.errors import DownbeatError
from downbeat.files import replacing
from downbeat.report.export import FILE_KINDS, ROWS
from downbeat.run.directory import write_plan, write_record
from downbeat.run.plan import Library, Measurement, Plan
from launch_files import Cell, write_launch

READERS: dict[str, Callable[..., pd.DataFrame]] = {
    "csv": pd.read_csv,
    "parquet": pd.read_parquet,
    "json": lambda file: pd.read_json(file, lines=True, precise_float=True),
}
KIND = pytest.mark.parametrize("kind", FILE_KINDS)


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Returns how the command ends: exit status, standard output, standard error."""
    done = downbeat_command.downbeat("export", *arguments, where=Path())
    return done.returncode, done.stdout, done.stderr


def write_two_launches(directory: Path) -> Path:
    """Writes two files; the second has no valid sample of its cell."""
    directory.mkdir()
    write_launch(directory / "a.nc", [Cell([[1.0, 1.5], [2.0, 2.25]], [[3.0, 3.5], [4.0, 5.25]], verdict=[0, 3])])
    write_launch(directory / "b.nc", [Cell([[1.0, 1.5]], [[3.0, 3.5]], verdict=1, other={"status": 2})])
    return directory


@KIND
def test_rows_are_what_was_measured(tmp_path: Path, kind: str) -> None:
    source = write_two_launches(tmp_path / "e")
    found = {}
    for rows in ROWS:
        output = tmp_path / f"{rows}.{kind}"
        assert run(source, "--to", kind, "--rows", rows, "-o", output) == (0, "", "")
        found[rows] = READERS[kind](output)
    cells, samples, stamps = found["cells"], found["samples"], found["stamps"]
    assert cells["launch"].tolist() == [1, 2]
    assert cells["status"].tolist() == ["ok", "failed"]
    assert cells["valid_count"].tolist() == [1, 0]
    assert cells["latency_avg_median_s"].tolist()[0] == 2.0
    assert np.isnan(cells["latency_avg_median_s"][1])
    assert samples["verdict"].tolist() == ["valid", "warmup", "late_flag"]
    assert samples["latency_avg_s"].tolist() == [2.0, 2.5, 2.0]
    assert samples["size_byte"].tolist() == [8, 8, 8]
    assert samples["deadline_s"].isna().all()
    places = [(1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1), (2, 0, 0), (2, 0, 1)]
    assert [*stamps[["launch", "attempt", "rank"]].itertuples(index=False, name=None)] == places
    assert stamps["entry_s"].tolist() == [1.0, 1.5, 2.0, 2.25, 1.0, 1.5]
    assert stamps["exit_s"].tolist() == [3.0, 3.5, 4.0, 5.25, 3.0, 3.5]


@KIND
def test_launches_of_an_older_program_may_lack_fields(tmp_path: Path, kind: str) -> None:
    source = write_two_launches(tmp_path / "e")
    for name, text in (("a", ""), ("b", "rank 1")):
        with netCDF4.Dataset(source / f"{name}.nc", "a") as file:
            file.createVariable(f"number_{name}", "i8", ("cell",))[:] = 7
            if text:
                file.createVariable("error", "S1", ("cell", "name_len"))[0, :6] = np.array(list(text), dtype="S1")
    assert run(source, "--to", kind, "-o", tmp_path / "out") == (0, "", "")
    cells = READERS[kind](tmp_path / "out")
    assert cells[["number_a", "number_b"]].fillna(0).to_numpy().tolist() == [[7, 0], [0, 7]]
    assert cells["error"].fillna("").tolist() == ["", "rank 1"]
    assert cells["latency_avg_median_s"].tolist()[0] == 2.0


@KIND
def test_no_digit_is_lost(tmp_path: Path, kind: str) -> None:
    entry = np.random.default_rng(1).random((50, 2)) * 1e-6
    path = write_launch(tmp_path / "a.nc", [Cell(entry, entry + 1.2345678901234567e-7)])
    run(path, "--to", kind, "--rows", "stamps", "-o", tmp_path / "out")
    read = READERS[kind](tmp_path / "out")
    assert np.array_equal(read["entry_s"].to_numpy().reshape(50, 2), entry)


@KIND
def test_a_file_without_samples_has_columns(tmp_path: Path, kind: str) -> None:
    path = write_launch(tmp_path / "a.nc", [Cell(np.empty((0, 2)), np.empty((0, 2)), other={"status": -127})])
    for rows in ("samples", "stamps"):
        assert run(path, "--to", kind, "--rows", rows, "-o", tmp_path / "out")[0] == 0
        if kind != "json":  # which has no line of names
            read = READERS[kind](tmp_path / "out")
            assert len(read) == 0
            assert "verdict" in read
    assert READERS["csv"](io.StringIO(run(path, "--to", "csv")[1]))["status"].tolist() == ["cut short"]


@KIND
@pytest.mark.parametrize("before", ["what was there", None])
def test_what_fails_midway_leaves_what_was_there(tmp_path: Path, kind: str, before: str | None) -> None:
    source = tmp_path / "e"
    write_plan(source, Plan("e", Measurement(("bcast",)), (Library("some", "bench"),), launches=2))
    for number in (1, 2):
        place = source / "launches" / f"some-n2-default-{number:03}"
        place.mkdir(parents=True)
        write_launch(place / "samples.nc", [Cell([[1.0, 1.5]], [[3.0, 3.5]])])
        write_record(place, {"library": "some", "ranks": 2, "environment": "default", "number": number})
    with (source / "launches/some-n2-default-002/samples.nc").open("r+b") as file:
        file.truncate(1000)
    output = tmp_path / "out"
    if before is not None:
        output.write_text(before)
    status, _, errors = run(source, "--to", kind, "-o", output)
    assert status == 2
    assert "samples.nc' is cut off" in errors
    assert [path.name for path in tmp_path.iterdir() if path != source] == (["out"] if before else [])
    assert before is None or output.read_text() == before
    assert run(source, "--to", "csv")[1].count("\n") == 2  # the first launch was written before the second one failed


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "out"
    path.write_text("before")

    def fail() -> None:
        with replacing(path) as file:
            file.write("part")
            raise error

    with pytest.raises((DownbeatError, KeyboardInterrupt)):
        fail()
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
    assert path.read_text() == "before"
    with replacing(path, binary=True) as file:
        file.write(b"after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"


def test_a_link_beside_a_file_is_not_followed(tmp_path: Path) -> None:
    path, other = tmp_path / "out", tmp_path / "other"
    other.write_text("before")
    path.with_name("out.new").symlink_to(other)
    with replacing(path) as file:
        file.write("after")
    assert (path.read_text(), other.read_text()) == ("after", "before")
    assert not path.with_name("out.new").is_symlink()


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    source = write_launch(tmp_path / "a.nc", [Cell([[1.0, 1.5]], [[3.0, 3.5]])])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert run(source, "--to", "csv", "-o", pipe)[0] == 0
    reader.join(timeout=60)
    assert pipe.is_fifo()
    assert read[0] == run(source, "--to", "csv")[1]
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    run(source, "--to", "csv", "-o", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == read[0]


def test_the_command_complains_in_one_line(tmp_path: Path) -> None:
    source = write_launch(tmp_path / "a.nc", [Cell([[1.0, 1.5]], [[3.0, 3.5]])])
    (tmp_path / "é.nc").symlink_to(source)
    for arguments, expected, message in [
        ((source, "--to", "xml"), 2, "unknown format 'xml'; choose one of csv, parquet, json, perfetto"),
        ((source, "--to", "csv", "--rows", "x"), 2, "unknown rows 'x'; choose one of cells, samples, stamps"),
        ((source, "--to", "parquet"), 2, "parquet cannot go to standard output; give a file with --output"),
        ((source, "--to", "csv", "-o", source), 2, "is the source of the export"),
        ((tmp_path / "é.nc", "--to", "csv", "-o", source), 2, "is the source of the export"),
        ((source, "--to", "csv", "-o", tmp_path / "no" / "x"), 1, "cannot write"),
        ((source, "--to", "csv", "-o", tmp_path), 1, "cannot write"),
        ((source, "--to", "parquet", "-o", "/dev/full"), 1, "cannot write '/dev/full': No space left on device"),
        ((tmp_path / "none", "--to", "csv"), 2, "there is no experiment"),
    ]:
        status, output, errors = run(*arguments)
        assert (status, output, errors.count("\n")) == (expected, "", 1)
        assert message in errors
    assert downbeat.open_launch(source).sizes["sample"] == 1


def test_a_name_is_no_formula_of_a_spreadsheet() -> None:
    names = ["=1+1", "+A1", "-2", "@SUM(A1)", "\t=1", "bcast", "", None, "a=b"]
    frame = pd.DataFrame({"operation": names, "mean_s": [-1.0] * len(names)})
    stream = io.StringIO()
    FILE_KINDS["csv"].write([frame, frame.astype({"operation": "category"})], stream)
    written = ["'=1+1", "'+A1", "'-2", "'@SUM(A1)", "'\t=1", "bcast", "", "", "a=b"]
    assert stream.getvalue().splitlines()[1:] == [f"{name},-1.0" for name in written] * 2
    assert frame["operation"][0] == "=1+1"
