"""Every flipped bit of a file that Downbeat wrote is found, or changes nothing that is read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import downbeat
import pytest
from damage import share_found
from downbeat.errors import UsageError
from downbeat.files import read_json, with_checksum, without_checksum, write_checked_json
from downbeat.report.export import ROWS
from downbeat.run import directory as places
from downbeat.run.experiment import open_experiment
from launch_files import seal
from report_data import two_cells
from trace_files import write_trace

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
    with pytest.raises(UsageError, match=r"a.nc' is damaged: its checksum is that of another content"):
        downbeat.open_launch(path)


def test_a_plan_that_was_edited_is_refused(tmp_path: Path) -> None:
    assert without_checksum(with_checksum({"b": (1,), "a": None})) == {"b": [1], "a": None}
    path = tmp_path / places.PLAN
    write_checked_json(path, {"launches": 10})
    path.write_text(path.read_text(encoding="utf-8").replace("10", "90"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"plan.json' is damaged: its checksum is that of another content"):
        read_json(path)
