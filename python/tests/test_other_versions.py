"""Files of other versions: what version 0.1 wrote is read by all later ones, and what a later one may add is no damage.

`written/version-0.1.tar.xz` has what 0.1 wrote: `results` of `downbeat run barrier bcast allreduce --sizes 8,64 --sync
mpi_barrier,harmonize -n 2 --launches 5 --repetitions 4 -- --warmup 'fixed(calls=1)'`, and `trace` of `downbeat trace`,
20 steps in which rank 1 comes 2 ms late. They are never written anew.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import netCDF4
import numpy as np
import pandas as pd
import pytest
from downbeat.comparison.settings import context_differences
from downbeat.data.metrics import METRICS, Metric
from downbeat.run.experiment import open_experiment
from downbeat_command import downbeat as run_downbeat

WRITTEN = Path(__file__).parent / "written"
STARTS = "synchronizer=harmonize synchronizer=mpi_barrier"
READERS = {
    "show": "results",
    "show-metric": "results --metric exit_skew --json -",
    "show-launch": "results/launches/openmpi-n2-default-001/samples.nc",
    "compare": f"results {STARTS} --json -",
    "compare-two": "results copy --json verdicts.json",
    "compare-history": "copy --history results --json verdicts.json",
    "report": "results -o page.html --pictures pictures",
    "report-two": "results copy -o page.html",
    "export": "results --to csv",
    "export-samples": "results --rows samples --to json",
    "export-stamps": "results --rows stamps --to parquet -o stamps.parquet",
    "export-launch": "results/launches/openmpi-n2-default-001/samples.nc --to perfetto -o launch.json",
    "export-trace": "trace --to perfetto -o trace.json",
    "export-kineto": "trace --to kineto -o traces",
    "arrivals": "trace",
    "arrivals-page": "trace -o arrivals.html",
    "align": "trace -o merged.json",
}
SPREAD = "spread"


@pytest.fixture(name="old")
def unpacked(tmp_path: Path) -> Path:
    """Returns a directory with what version 0.1 wrote, and `copy`, the same experiment again."""
    with tarfile.open(WRITTEN / "version-0.1.tar.xz") as archive:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.4 and later
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(tmp_path)
    shutil.copytree(tmp_path / "results", tmp_path / "copy")
    return tmp_path


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets this version have a metric more."""
    monkeypatch.setitem(METRICS, SPREAD, Metric("10th to 90th percentile of exits", 2, "spread of exits", False))


def files_of(directory: Path) -> list[Path]:
    return sorted(directory.glob("launches/*/samples.nc"))


def change(path: Path, edit: Callable[[netCDF4.Dataset], None]) -> None:
    """Changes a file of samples, which then has no checksum."""
    path.write_bytes(path.read_bytes()[:-24])
    with netCDF4.Dataset(path, "a") as file:
        edit(file)


def add_what_is_new(file: netCDF4.Dataset) -> None:
    """Adds what a later downbeat-bench may write."""
    spread = file.createVariable(SPREAD, "f8", ("sample",))
    spread.setncatts({"units": "s", "clock_bounds": 2, "step": "none", "label": "spread", "long_name": "spread"})
    spread[:] = np.arange(1, len(file.dimensions["sample"]) + 1) * 1e-6
    file.createDimension("quarter", 4)
    file.createVariable("quartile", "f8", ("cell", "quarter"))[:] = 1.0
    file.createVariable("temperature", "f8", ("cell",))[:] = 40.0
    file.createVariable("humidity", "f8", ("sample",))[:] = 0.5
    file.createVariable("kernel", "S1", ("rank", "quarter"))[:] = b"k"
    file.setncatts({"cooldown_s": 0.5, "clock_check_again": np.random.default_rng(1).random(), "colors": "red blue"})


def read_all(where: Path) -> dict[str, str]:
    """Runs all commands that read; returns what they print."""
    printed = {}
    shutil.rmtree(where / "traces", ignore_errors=True)
    for name, arguments in READERS.items():
        done = run_downbeat(name.partition("-")[0], *arguments.split(), where=where)
        assert done.returncode == 0, (name, done.stderr)
        printed[name] = done.stdout
    return printed


def test_what_version_0_1_wrote_is_read(old: Path) -> None:
    printed = read_all(old)
    # The latencies that follow from the stamps.
    launch = open_experiment(old / "results").launches[0]
    data = launch.open()
    valid = (data["verdict"] == 0).to_numpy()
    latency = (data["exit"] - data["entry"]).to_numpy().mean(axis=1)
    index = data["cell_index"].to_numpy()
    means = [latency[valid & (index == cell)].mean() for cell in range(data.sizes["cell"])]
    np.testing.assert_allclose(launch.cells["latency_avg_mean"], means, rtol=1e-9)
    record = json.loads(printed["show-metric"])
    assert (record["launches"], len(record["cells"])) == (5, 10)
    assert set(json.loads(printed["compare"])["where_a"].values()) == {"harmonize"}
    assert "rank 1" in printed["arrivals"]


@pytest.mark.thorough
@pytest.mark.usefixtures("later")
def test_a_metric_that_came_later_is_missing_in_old_files_alone(old: Path) -> None:
    for command, words in {"show": "results", "compare": f"results {STARTS}"}.items():
        done = run_downbeat(command, *words.split(), "--metric", SPREAD, where=old)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"'{SPREAD}'" in done.stderr
        assert done.stderr.count("\n") == 1

    # An experiment that a later version continued: its launches have the metric, and the others are named.
    for file in files_of(old / "copy")[1:]:
        change(file, add_what_is_new)
    read_all(old)
    cells = open_experiment(old / "copy").cells
    assert cells.groupby("launch")[f"{SPREAD}_median"].count().tolist()[0] == 0
    assert cells.groupby("launch")[f"{SPREAD}_median"].count().tolist()[1:] == [10, 10, 10, 10]
    assert f"without {SPREAD}" in " ".join(run_downbeat("show", "copy", "--metric", SPREAD, where=old).stdout.split())
    done = run_downbeat("compare", "copy", *STARTS.split(), "--metric", SPREAD, "--json", "-", where=old)
    written = json.loads(done.stdout)
    assert any("1 launch" in note and SPREAD in note for note in written["notes"])
    assert {cell["launches_a"] for cell in written["cells"]} == {4}
    # A session of a history that lacks it does not take part.
    history = ["copy", "--history", "results", "--metric", SPREAD, "--json", "-"]
    written = json.loads(run_downbeat("compare", *history, where=old).stdout)
    assert {cell["sessions"] for cell in written["cells"]} <= {None, 0}
    for rows in ("cells", "samples"):
        done = run_downbeat("export", "copy", "--rows", rows, "--to", "parquet", "-o", "copy.parquet", where=old)
        assert done.returncode == 0, done.stderr
        name = f"{SPREAD}_s" if rows == "samples" else f"{SPREAD}_median_s"
        counts = pd.read_parquet(old / "copy.parquet").groupby("launch")[name].count()
        assert (counts > 0).tolist() == [False, True, True, True, True]


@pytest.mark.thorough
def test_what_a_later_version_adds_is_read_as_far_as_it_is_known(old: Path) -> None:
    before = open_experiment(old / "copy").cells
    for file in files_of(old / "copy"):
        change(file, add_what_is_new)
    read_all(old)
    after = open_experiment(old / "copy").cells
    pd.testing.assert_frame_equal(after[before.columns], before)
    written = json.loads(run_downbeat("compare", "results", "copy", "--json", "-", where=old).stdout)
    differ = [line for line in written["notes"] if line.startswith("A and B differ in")]
    assert len(differ) == 2, differ
    assert any("cooldown s" in line and "0.5" in line for line in differ)
    page = run_downbeat("report", "results", "copy", "-o", "-", where=old).stdout
    assert "cooldown s" in page


def test_a_file_without_a_first_metric_is_damaged(old: Path) -> None:
    file = files_of(old / "results")[0]
    change(file, lambda data: data.renameVariable("makespan", "makespam"))
    for command in ("show", "report"):
        done = run_downbeat(command, "results", where=old)
        assert done.returncode == 2
        assert "'makespan'" in done.stderr


def test_every_setting_that_differs_is_named(old: Path) -> None:
    """Also where a file is of a version that did not have it."""
    base = dict(open_experiment(old / "results").launches[0].context)
    for name, value in {
        "max_attempts": 7,
        "tolerance_s": 3e-6,
        "late_s": 1e-6,
        "compiler": "clang",
        "clock_new": 1,
    }.items():
        (line,) = context_differences([base], [base | {name: value}])
        assert str(value) in line
    without = {name: value for name, value in base.items() if name != "max_attempts"}
    (line,) = context_differences([without], [base])
    assert "recorded / 20" in line
    assert context_differences([base], [base | {"late_ranks": "none"}]) == []
