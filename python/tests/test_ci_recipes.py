"""The scripts of docs/ci.md, unchanged: how they end if something is slower, and if nothing is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from downbeat.files import locked
from downbeat.run import directory as places
from fake_programs import FakeBench, environment, script
from report_data import DEVIATIONS, LAUNCHES, put, write_night

from tests.statistics.simulated import simulate_interleaved, simulate_sessions

SCRIPTS = re.findall(
    r"```sh\n(#!/bin/sh\n# (\w+) .*?)```",
    (Path(__file__).resolve().parents[2] / "docs/ci.md").read_text(encoding="utf-8"),
    re.DOTALL,
)


def prepare(directory: Path, name: str, *options: object) -> Path:
    """Writes a script of the docs, and a `downbeat` that starts stand-ins for programs and the date."""
    more = " ".join(map(str, options))
    path = directory / "path"
    path.mkdir()
    command = f'[ "$1" = run ] && set -- "$@" -n 2 --launches {LAUNCHES} {more}\nexec {sys.executable} -m downbeat "$@"'
    script(path / "downbeat", f"#!/bin/sh\n{command}\n")
    script(path / "date", '#!/bin/sh\necho "$NIGHT"\n')
    return script(directory / name, next(text for text, title in SCRIPTS if title == name))


def run(program: Path, *arguments: object, night: str = "") -> int:
    """Returns how a script ends."""
    variables = environment()
    variables |= {"PATH": f"{program.parent / 'path'}:{variables['PATH']}", "NIGHT": night}
    command = [str(program), *map(str, arguments)]
    return subprocess.run(command, cwd=program.parent, env=variables, timeout=600, check=False).returncode


def test_there_are_two_scripts() -> None:
    assert [name for _, name in SCRIPTS] == ["gate", "nightly"]


@pytest.mark.thorough
@pytest.mark.parametrize(("ratio", "status"), [(1.0, 0), (1.2, 3)], ids=["alike", "slower"])
def test_the_gate_of_two_builds(tmp_path: Path, ratio: float, status: int) -> None:
    old, new = FakeBench(tmp_path / "old"), FakeBench(tmp_path / "new")
    a, b = simulate_interleaved(np.random.default_rng(1), LAUNCHES, ratio, DEVIATIONS)
    put(old, a[0])
    put(new, b[0])
    gate = prepare(tmp_path, "gate", f"--launcher '{old.launcher} -n {{ranks}}'")
    assert run(gate, old.bench, new.bench) == status
    assert len(old.starts()) == len(new.starts()) == LAUNCHES
    if ratio == 1:  # a build that does not run is neither a regression nor a success
        assert run(gate, old.bench, script(tmp_path / "broken", "#!/bin/sh\nexit 7\n")) == 1


ACCEPTED = re.findall(
    r"```sh\n(rm nights/.*?|mkdir nights-2 .*?)```",
    (Path(__file__).resolve().parents[2] / "docs/ci.md").read_text(encoding="utf-8"),
    re.DOTALL,
)


def contents(night: Path) -> dict[Path, bytes]:
    """Returns what was measured in a night, by file."""
    return {path: path.read_bytes() for path in (night / places.LAUNCHES).rglob("*") if path.is_file()}


def compared_with(directory: Path) -> tuple[list[str], str]:
    """Returns the history of the last comparison, and its notes."""
    written = json.loads((directory / "nightly.json").read_text(encoding="utf-8"))
    return written["history"], "\n".join(written["notes"])


def left_out(notes: str) -> list[tuple[str, str, list[str]]]:
    """Returns how many experiments a history leaves out for a reason, by its last word, and their names."""
    pattern = r"\b(\d+) (?:being|without a complete|marked) (\w+)[^:\d]*: ([-\d, ]+\d)"
    return [(count, why, names.split(", ")) for count, why, names in re.findall(pattern, notes)]


@pytest.mark.thorough
def test_the_nightly_gate(tmp_path: Path) -> None:
    fake = FakeBench(tmp_path / "fake")
    nightly = prepare(tmp_path, "nightly", f"--mpi fake --bench {fake.bench} --launcher '{fake.launcher} -n {{ranks}}'")
    history = tmp_path / "nights"
    nights = simulate_sessions(np.random.default_rng(2), 13, LAUNCHES, DEVIATIONS)[0]
    for number, medians in enumerate(nights[:10], 2):
        write_night(history / f"2026-01-{number:02}", medians)
    good = [f"2026-01-{number:02}" for number in range(2, 12)]
    put(fake, nights[10])
    assert run(nightly, "nights", night="2026-01-12") == 0
    assert compared_with(tmp_path) == (good, "")

    # What is no night, the same night by another name, a night that is being measured.
    (history / "README").write_text("nights of this machine", encoding="utf-8")
    (history / "pictures").mkdir()
    (history / "latest").symlink_to("2026-01-12")
    (history / "gone").symlink_to("nowhere")
    write_night(history / "2026-01-01", 3 * nights[0])
    # A night on which the network is down: it could not be measured, and does not stop the gate.
    broken = script(tmp_path / "broken", "#!/bin/sh\nexit 7\n")
    working = fake.bench.read_bytes()
    fake.bench.write_bytes(broken.read_bytes())
    assert run(nightly, "nights", night="2026-01-13") == 1
    fake.bench.write_bytes(working)
    with locked(history / "2026-01-01"):
        put(fake, nights[11] * 1.3)
        assert run(nightly, "nights", night="2026-01-14") == 3
    names, notes = compared_with(tmp_path)
    assert names == [*good, "2026-01-12"]
    assert notes.count("left out") == 1
    assert left_out(notes) == [("1", "measured", ["2026-01-01"]), ("1", "launch", ["2026-01-13"])]
    shutil.rmtree(history / "2026-01-01")

    # The slower night stays, as it was measured, with a mark; compared again it is the same.
    slow = history / "2026-01-14"
    measured, mark = contents(slow), (slow / places.SLOWER).read_bytes()
    assert run(nightly, "nights", night="2026-01-14") == 3
    assert (contents(slow), (slow / places.SLOWER).read_bytes()) == (measured, mark)

    # Later nights are compared with the others; that holds for a copy of the history, too.
    put(fake, nights[12] * 1.3)
    assert run(nightly, "nights", night="2026-01-15") == 3
    names, notes = compared_with(tmp_path)
    assert names == [*good, "2026-01-12"]
    assert ("1", "slower", ["2026-01-14"]) in left_out(notes)
    shutil.copytree(history, tmp_path / "copied", symlinks=True)
    put(fake, nights[10])
    assert run(nightly, "copied", night="2026-01-16") == 0
    names, notes = compared_with(tmp_path)
    assert names == [*good, "2026-01-12"]
    assert ("2", "slower", ["2026-01-14", "2026-01-15"]) in left_out(notes)
    damaged = tmp_path / "copied/2026-01-15" / places.SLOWER
    damaged.write_bytes(b"")  # a mark that is cut off is one, too
    assert run(nightly, "copied", night="2026-01-16") == 0
    assert compared_with(tmp_path) == (names, notes)

    # What the docs say to accept a night, and to make the new speed the normal one.
    remove, begin_anew = (command.replace("2026-01-13", "2026-01-14") for command in ACCEPTED)
    subprocess.run(["sh", "-c", remove], cwd=tmp_path, check=True)
    assert run(nightly, "nights", night="2026-01-12") == 0
    names, notes = compared_with(tmp_path)
    assert names == [*good, "2026-01-14"]
    subprocess.run(["sh", "-c", begin_anew], cwd=tmp_path, check=False)  # of the first the mark has gone
    assert run(nightly, "nights-2", night="2026-01-17") == 0
    assert compared_with(tmp_path)[0] == ["2026-01-14", "2026-01-15"]


def test_what_cannot_be_marked_is_refused_before_the_comparison(tmp_path: Path) -> None:
    for night in ("a", "b"):
        write_night(tmp_path / night, np.ones(LAUNCHES))
    file = next((tmp_path / "b").rglob("*.nc"))
    for words, why in {
        (tmp_path / "a", tmp_path / "b"): "add --history DIR",
        (file, "--history", tmp_path / "a"): "is one file",
    }.items():
        done = subprocess.run(
            [sys.executable, "-m", "downbeat", "compare", *map(str, words), "--mark"],
            capture_output=True,
            text=True,
            check=False,
            env=environment(),
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert why in done.stderr
        assert done.stderr.count("\n") == 1
    assert not list(tmp_path.rglob(places.SLOWER))
