"""Damaged, hostile or incomplete input: one line that names it, never a traceback and never a number."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import downbeat
import netCDF4
import numpy as np
import pandas as pd
import pytest
from downbeat import files
from downbeat.commands.report import report
from downbeat.data.samples import read_samples
from downbeat.errors import DownbeatError, UsageError
from downbeat.files import read_json
from downbeat.output.blocks import Heading, Picture, Table, View
from downbeat.output.page import picture_svg, write_page
from downbeat.report.style import new_figure
from downbeat.run import directory as places
from downbeat.run.execute import execute
from downbeat.run.experiment import open_experiment
from downbeat.run.plan import Measurement, Plan
from downbeat.text import escaped, one_line, printable
from downbeat_command import downbeat as run_downbeat
from fake_programs import FakeBench, environment, script
from launch_files import write_trace
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
        (places.RECORD, lambda _: 7, "launch.json' is damaged: it is not an object"),
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
    assert read_samples(path).metric("latency_avg").max() == pytest.approx(2e-6)
    done = run_downbeat("report", path, "-o", "a.html", where=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert not any(fill in page for fill in ("9.97e", "9.969e", "922337203"))


def test_printable_text_shows_what_a_terminal_would_obey() -> None:
    assert printable("a\x1b[31m\u202e\ufffe\x9b\n\tb\u00a0\u2212") == "a\\x1b[31m\\u202e\\ufffe\\x9b\n\tb\u00a0\u2212"
    assert one_line(" a \n b\x07\n") == "a b\\x07"


@pytest.mark.parametrize("control", ["\x1b", "\r", "\x7f"])
def test_names_of_others_are_shown_and_not_obeyed(tmp_path: Path, control: str) -> None:
    path = two_cells(tmp_path / "a.nc", f"op(title={control}]0;x)")
    trace = write_trace(tmp_path / "job-node-000000.trace")
    for name in (b"/nowhere/app", b"barrier"):
        hostile = (b"/" + control.encode() + b"]0;x").ljust(len(name), b"p")
        trace.write_bytes(trace.read_bytes().replace(name, hostile))
    request = tmp_path / "test.toml"
    bench = json.dumps(str(script(tmp_path / "bench", "#!/bin/sh\n")))
    request.write_text(
        f'operations = [{json.dumps(f"op(title={control}]0;x)")}]\n[[libraries]]\nname = "here"\nbench = {bench}\n'
        f'launcher = "{shutil.which("true")} -n {{ranks}}"\n',
        encoding="utf-8",
    )
    for words in (
        ("show", path),
        ("compare", path, "synchronizer=mpi_barrier", "synchronizer=harmonize"),
        ("export", path, "--to", "csv"),
        ("report", path, "-o", "-"),
        ("run", request, "-n", "2", "--dry-run"),
        ("arrivals", trace),
        ("arrivals", trace, "-o", "-"),
    ):
        done = run_downbeat(*words, where=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert escaped(control) + "]0;x" in done.stdout.replace("\n", "")
        assert control not in done.stdout
    done = run_downbeat("show", "none\x1b[2J.nc", where=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "downbeat: there is no experiment 'none\\x1b[2J.nc'; 'downbeat run' makes one\n",
    )


def test_a_report_takes_any_name(tmp_path: Path) -> None:
    figure = new_figure()
    axes = figure.subplots()
    axes.plot([1, 2], [1, 2], label=HOSTILE)
    axes.set_xticks([1, 2], [HOSTILE, "$x^2$"])
    axes.set_title(HOSTILE)
    figure.legend()
    frame = pd.DataFrame({"name": [HOSTILE]})
    picture = Picture("p", HOSTILE, HOSTILE, figure, frame)
    write_page(tmp_path / "a.html", View(HOSTILE, (Heading("s"), Table("t", frame))))
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


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_fsync_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def unknown(_descriptor: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", unknown)
    fake = FakeBench(tmp_path / "fake")
    outcome = execute(Plan("test", Measurement(("bcast",), {}), (fake.library(),), launches=1), tmp_path / "e")
    assert (outcome.failures, outcome.lacking) == ([], {})


@pytest.fixture(scope="session")
def faulty_system(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that has calls of the system fail."""
    library = tmp_path_factory.mktemp("system") / "system.so"
    source = Path(__file__).parents[2] / "tests/faults/programs/system.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def test_what_fails_only_when_a_file_is_closed_is_named(tmp_path: Path, faulty_system: Path) -> None:
    path = two_cells(tmp_path / "a.nc")
    env = environment() | {"LD_PRELOAD": str(faulty_system), "FAULT_CALL": "close", "FAULT_PATH": "out.csv.new"}
    env["FAULT_ERROR"] = str(errno.EDQUOT)
    words = [sys.executable, "-m", "downbeat", "export", str(path), "--to", "csv", "-o", "out.csv"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env, cwd=tmp_path)
    said = f"downbeat: cannot write 'out.csv': {os.strerror(errno.EDQUOT)}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
    assert [one.name for one in tmp_path.iterdir()] == ["a.nc"]


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK])
def test_without_locks_a_file_keeps_runs_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def unknown(_file: int, _operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", unknown)
    monkeypatch.setattr(files, "PATIENCE_SECONDS", 0.0)
    fake = FakeBench(tmp_path / "fake")
    plan = Plan("test", Measurement(("bcast",), {}), (fake.library(),), launches=1)
    where = tmp_path / "e"
    with files.locked(where), pytest.raises(DownbeatError) as refused:
        execute(plan, where)
    assert str(refused.value) == (
        f"another run is using '{where}': process {os.getpid()} on {socket.gethostname()}; "
        f"if it has ended, remove '{where / files.HOLDER}'"
    )
    assert execute(plan, where).lacking == {}
    assert not (where / files.HOLDER).exists()


def test_what_a_lock_leads_to_is_not_written(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("before", encoding="utf-8")
    (tmp_path / files.LOCK).symlink_to(other)
    with files.locked(tmp_path):
        pass
    assert other.read_text(encoding="utf-8") == "before"


def test_a_file_is_not_written_through_a_link_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = two_cells(tmp_path / "a.nc")
    other, page = tmp_path / "other", tmp_path / "report.html"
    other.write_text("before", encoding="utf-8")
    page.symlink_to(other)
    monkeypatch.setattr(os, "geteuid", lambda: page.lstat().st_uid + 1)
    with pytest.raises(UsageError, match=f"'{page}' is a link that another user has made"):
        report([path])
    assert other.read_text(encoding="utf-8") == "before"


def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    experiment, trace = tmp_path / "e", tmp_path / "trace"
    execute(
        Plan("test", Measurement(("bcast",), {}), (FakeBench(tmp_path / "fake").library(),), launches=1), experiment
    )
    trace.mkdir()
    write_trace(trace / "job-node-000000.trace")
    samples = experiment / "launches/fake-n2-default-001/samples.nc"
    for path, command in (
        (tmp_path / "a.toml", "run"),
        (samples, "show"),
        (trace / "job-node-000000.trace", "arrivals"),
    ):
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        done = run_downbeat(
            command, path if path.parent == tmp_path else path.relative_to(tmp_path).parts[0], where=tmp_path
        )
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"{path.name}' is not a regular file" in done.stderr
        path.unlink()


def test_an_experiment_nested_without_end_is_not_valid(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(f"operations = {'[' * 100_000}", encoding="ascii")
    done = run_downbeat("run", "a.toml", where=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("downbeat: 'a.toml' is not valid TOML: ")
