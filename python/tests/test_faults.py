"""What is damaged, hostile or half there: one line that names it, never a traceback and never a number."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import downbeat
import netCDF4
import numpy as np
import pandas as pd
import pytest
from downbeat.commands.report import report
from downbeat.data.samples import read_samples
from downbeat.errors import DownbeatError, UsageError
from downbeat.experiment import directory as places
from downbeat.experiment.durable import read_json
from downbeat.experiment.execute import execute
from downbeat.experiment.experiment import open_experiment
from downbeat.experiment.measurement import Measurement
from downbeat.experiment.plan import Plan
from downbeat.pictures.picture import Picture
from downbeat.pictures.style import new_figure
from downbeat.report.page import Page, Section, Table, write_page
from downbeat.report.svg import picture_svg
from downbeat.text import one_line, printable
from downbeat_command import downbeat as run_downbeat
from fake_programs import FakeBench, environment
from report_data import two_cells

HOSTILE = "a$b^c$ \x1b]0;gone\x07 \ufffe\u202e <b>"


@pytest.fixture
def experiment(tmp_path: Path) -> tuple[FakeBench, Plan, Path]:
    """An experiment of two launches, and what continues it."""
    fake = FakeBench(tmp_path / "fake")
    plan = Plan("test", Measurement(("bcast",), {"sizes": "8"}), (fake.library(),), launches=2)
    where = tmp_path / "experiment"
    execute(plan, where)
    return fake, plan, where


@pytest.mark.parametrize(
    ("file", "damage", "says"),
    [
        (places.PLAN, lambda content: [content], "is damaged: it is not an object"),
        (places.PLAN, lambda content: content | {"launches": "two"}, "is damaged: launches is not a whole number"),
        (places.PLAN, lambda content: content | {"ranks": 2}, "is damaged: ranks is not a list"),
        (places.PLAN, lambda content: content | {"libraries": [7]}, r"is damaged: libraries\[0\] is not an object"),
        (places.PLAN, lambda content: content | {"colour": 1}, "is damaged: it has an unknown colour"),
        (places.PLAN, lambda content: content | {"ranks": [3]}, "is not a launch of '.*plan.json'"),
        (places.MACHINE, lambda _: [], "machine.json' is damaged: it is not an object"),
        (places.MACHINE, lambda _: {}, "machine.json' is damaged: it has no 'findings'"),
        (places.MACHINE, lambda _: {"findings": [{"check": "a"}]}, r"damaged: findings\[0\] has no seen"),
        (places.MACHINE, lambda _: {"findings": [{"check": "a", "seen": "b", "verdict": "c"}]}, "is not one of good,"),
        (places.RECORD, lambda content: content | {"ranks": "2"}, "launch.json' is damaged: ranks is not a whole"),
        (places.RECORD, lambda content: content["variables"], "launch.json' is damaged: it has no library"),
        (places.RECORD, lambda content: content | {"number": 2}, "holds launch fake-n2-default-002; remove it"),
    ],
)
def test_json_of_another_shape_is_named(
    experiment: tuple[FakeBench, Plan, Path], file: str, damage: object, says: str
) -> None:
    assert callable(damage)
    _, _, where = experiment
    path = where / places.LAUNCHES / "fake-n2-default-001" / file if file == places.RECORD else where / file
    path.write_text(json.dumps(damage(read_json(path))), encoding="utf-8")  # without a checksum, as of older versions
    with pytest.raises(UsageError, match=says):
        _ = open_experiment(where).machine


def test_a_launch_without_its_record_is_launched_again(experiment: tuple[FakeBench, Plan, Path]) -> None:
    fake, plan, where = experiment
    (where / "launches/fake-n2-default-001/launch.json").unlink()
    (where / "launches/fake-n2-default-002/launch.json").write_text("{", encoding="utf-8")
    outcome = execute(plan, where)
    assert (outcome.failures, outcome.lacking) == ([], {})
    assert len(fake.starts()) == 4
    assert len(open_experiment(where).launches) == 2


def test_a_copy_of_a_launch_does_not_count(experiment: tuple[FakeBench, Plan, Path]) -> None:
    fake, plan, where = experiment
    copy = where / "launches/fake-n2-default-003"
    shutil.copytree(where / "launches/fake-n2-default-001", copy)
    with pytest.raises(UsageError, match="default-003' holds launch fake-n2-default-001"):
        open_experiment(where)
    execute(Plan(plan.name, plan.measurement, plan.libraries, launches=3), where)
    assert len(fake.starts()) == 3
    assert [one.number for one in open_experiment(where).launches] == [1, 2, 3]


def test_failures_are_numbered_after_those_that_are_left(tmp_path: Path) -> None:
    fake = FakeBench(tmp_path / "fake", "exit 9")
    plan = Plan("test", Measurement(("bcast",), {}), (fake.library(),), launches=1)
    where = tmp_path / "experiment"
    execute(plan, where)
    key = "fake-n2-default-001"
    shutil.rmtree(where / "failed" / f"{key}-1")
    execute(plan, where)
    assert {path.name for path in (where / "failed").iterdir()} == {f"{key}-{number}" for number in range(2, 7)}


def test_what_a_run_that_was_cut_short_did_not_write_is_no_number(tmp_path: Path) -> None:
    path = two_cells(tmp_path / "a.nc")
    with netCDF4.Dataset(path, "a") as file:
        for name in ("status", "requested", "wall_time", "calls"):
            kind = file[name].dtype
            file[name][:] = netCDF4.default_fillvals[f"{kind.kind}{kind.itemsize}"]
    data = downbeat.open_launch(path)
    assert all(np.isnan(data[name]).all() for name in ("status", "requested", "wall_time", "calls"))
    assert data["size"].to_numpy().tolist() == [8, 8]
    assert downbeat.summarize_cells(path)["wall_time"].isna().all()
    assert read_samples(path)["latency_avg"].max() == pytest.approx(2e-6)
    done = run_downbeat("report", path, "-o", "a.html", where=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert not any(fill in page for fill in ("9.97e", "9.969e", "922337203"))


def test_printable_text_shows_what_a_terminal_would_obey() -> None:
    assert printable("a\x1b[31m\u202e\ufffe\x9b\n\tb\u00a0\u2212") == "a\\x1b[31m\\u202e\\ufffe\\x9b\n\tb\u00a0\u2212"
    assert one_line(" a \n b\x07\n") == "a b\\x07"


def test_names_of_others_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    path = two_cells(tmp_path / "a.nc", "op(title=\x1b]0;x)")
    for words in (("show", path), ("compare", path, "synchronizer=mpi_barrier", "synchronizer=harmonize")):
        done = run_downbeat(*words, where=tmp_path)
        assert done.returncode == 0
        assert "op(title=\\x1b]0;x)" in done.stdout.replace("\n", "")
        assert "\x1b" not in done.stdout + done.stderr
    done = run_downbeat("show", "none\x1b[2J.nc", where=tmp_path)
    assert (done.returncode, done.stderr) == (2, "downbeat: there is no experiment 'none\\x1b[2J.nc'\n")


def test_a_report_takes_any_name(tmp_path: Path) -> None:
    figure = new_figure()
    axes = figure.subplots()
    axes.plot([1, 2], [1, 2], label=HOSTILE)
    axes.set_xticks([1, 2], [HOSTILE, "$x^2$"])
    axes.set_title(HOSTILE)
    figure.legend()
    frame = pd.DataFrame({"name": [HOSTILE]})
    picture = Picture("p", HOSTILE, HOSTILE, figure, frame)
    write_page(tmp_path / "a.html", Page(HOSTILE, sections=(Section("s", tables=(Table("t", frame),)),)))
    for text in (str(picture_svg(picture)), (tmp_path / "a.html").read_text(encoding="utf-8")):
        assert "a$b^c$ \\x1b]0;gone\\x07 \\ufffe\\u202e &lt;b&gt;" in text
        assert not any(one in text for one in "\x1b\x07\ufffe\u202e")
    assert ">$x^2$<" in str(picture_svg(picture))


def test_a_report_does_not_depend_on_jupyter(tmp_path: Path) -> None:
    path = two_cells(tmp_path / "a.nc")
    words = [sys.executable, "-m", "downbeat", "report", str(path), "--pictures", str(tmp_path / "p")]
    env = environment() | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert list((tmp_path / "p").glob("*.png"))


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = two_cells(tmp_path / "a.nc")
    page = tmp_path / "report.html"
    page.write_text("old", encoding="utf-8")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DownbeatError, match=r"cannot write '.*report\.html': No space left on device"):
        report([path])
    assert page.read_text(encoding="utf-8") == "old"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.nc", "report.html"]


@pytest.mark.parametrize("text", ["'", "", '"a'])
def test_a_launcher_that_is_no_command_is_named(text: str) -> None:
    start = [sys.executable, "-m", "downbeat.launchers.launch", "--launcher", text, "-n", "1", "true"]
    done = subprocess.run(start, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"launch: --launcher: {text!r} is not a command")
