"""The scripts of docs/ci.md, as they stand there: how they end where something is slower, and where nothing is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import netCDF4
import numpy as np
import pytest
from downbeat.experiment import directory as places
from downbeat.experiment.measurement import Measurement
from downbeat.experiment.plan import Library, Plan
from downbeat.statistics.simulated import Deviations, simulate_interleaved, simulate_sessions
from fake_programs import FakeBench, environment, script, write_template
from report_data import CONTEXT

SCRIPTS = re.findall(
    r"```sh\n(#!/bin/sh\n# (\w+) .*?)```",
    (Path(__file__).resolve().parents[2] / "docs/ci.md").read_text(encoding="utf-8"),
    re.DOTALL,
)
LAUNCHES = 5  # fewer than the scripts say, to be quick
# As tables in docs/ci.md have it: sessions deviate by 2 %, and drift by as much.
DEVIATIONS = Deviations(launch=0.02, session=0.02, drift=0.02)


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


def put(fake: FakeBench, medians: np.ndarray) -> None:
    """Lets the launches of a stand-in have these medians, in us."""
    for number, median in enumerate(medians, 1):
        path = write_template(fake.directory / f"{number}.nc", [float(median) * 1e-6])
        with netCDF4.Dataset(path, "a") as file:
            file.setncatts(CONTEXT)


def test_there_are_two_scripts() -> None:
    assert [name for _, name in SCRIPTS] == ["gate", "nightly"]


@pytest.mark.parametrize(("ratio", "status"), [(1.0, 0), (1.2, 3)], ids=["alike", "slower"])
def test_the_gate_of_two_builds(tmp_path: Path, ratio: float, status: int) -> None:
    old, new = FakeBench(tmp_path / "old"), FakeBench(tmp_path / "new")
    a, b = simulate_interleaved(np.random.default_rng(1), LAUNCHES, ratio, DEVIATIONS)
    put(old, a[0])
    put(new, b[0])
    gate = prepare(tmp_path, "gate", f"--launcher '{old.launcher} -n {{ranks}}'")
    assert run(gate, old.bench, new.bench) == status
    assert len(old.starts()) == len(new.starts()) == LAUNCHES
    if ratio == 1:  # a build that does not run is no regression, and no success
        assert run(gate, old.bench, script(tmp_path / "broken", "#!/bin/sh\nexit 7\n")) == 1


def test_the_nightly_gate(tmp_path: Path) -> None:
    fake = FakeBench(tmp_path / "fake")
    nightly = prepare(tmp_path, "nightly", f"--mpi fake --bench {fake.bench} --launcher '{fake.launcher} -n {{ranks}}'")
    nights = simulate_sessions(np.random.default_rng(2), 12, LAUNCHES, DEVIATIONS)[0]
    for number, medians in enumerate(nights[:10], 2):
        write_night(tmp_path / "nights" / f"2026-01-{number:02}", medians)
    put(fake, nights[10])
    assert run(nightly, "nights", night="2026-01-12") == 0
    put(fake, nights[11] * 1.3)
    assert run(nightly, "nights", night="2026-01-13") == 3
    assert [path.name for path in (tmp_path / "nights.slower").iterdir()] == ["2026-01-13"]
    assert len(list((tmp_path / "nights").iterdir())) == 11


def write_night(directory: Path, medians: np.ndarray) -> None:
    """Writes what `downbeat run` leaves."""
    places.write_plan(directory, Plan("night", Measurement(("bcast",)), (Library("fake", "bench"),), launches=LAUNCHES))
    for number, median in enumerate(medians, 1):
        place = directory / places.LAUNCHES / f"fake-n2-default-{number:03}"
        place.mkdir(parents=True)
        with netCDF4.Dataset(write_template(place / places.SAMPLES, [float(median) * 1e-6]), "a") as file:
            file.setncatts(CONTEXT)
        record = {"library": "fake", "ranks": 2, "environment": "default", "variant": "default", "number": number}
        places.write_record(place, record)
