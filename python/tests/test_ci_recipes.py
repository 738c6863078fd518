"""The scripts of docs/ci.md, unchanged: how they end if something is slower, and if nothing is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
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


@pytest.mark.thorough
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
