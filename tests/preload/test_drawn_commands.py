"""Command lines as people write them, drawn at random: every rank is recorded, or one line refuses before the start."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import downbeat
import pytest
from downbeat.run.libraries import LIBRARIES
from downbeat.trace.file import jobs_in
from fake_programs import script
from programs import launcher_words, program

CALLS = 10  # of each rank
OTHER = "/lib/x86_64-linux-gnu/libm.so.6"
STATUS = 3
# Before the launcher and before the program. The last kind refuses.
BEFORE = [
    ["env", "A=b c"], ["nice", "-n", "1"], ["timeout", "60"], ["env", f"LD_PRELOAD={OTHER}"], ["stdbuf", "-oL"],
    ["setsid", "-w"], ["taskset", "-c", "0"], ["sh", "-c", 'exec "$@"', "sh"], ["nohup"], ["env", "-C", ".", "Z=1"],
]  # fmt: skip
WRAPPERS = [
    ["env", "X=1 2"], ["nice"], ["sh", "-c", 'exec "$@"', "sh"], ["env", f"LD_PRELOAD={OTHER}"], ["taskset", "-c", "0"],
    ["{the wrapper}"], ["env", "-u", "OTHER"], ["stdbuf", "-oL"],
]  # fmt: skip
REMOVING = [
    ["env", "-u", "LD_PRELOAD"], ["env", "-uLD_PRELOAD"], ["env", "--unset=LD_PRELOAD"], ["env", "-i"],
    ["env", "--ignore-environment"], ["sh", "-c", 'unset LD_PRELOAD; exec "$@"', "sh"], ["env", "A=b", "-"],
    ["sh", "-c", 'LD_PRELOAD= exec "$@"', "sh"],
]  # fmt: skip
# The program's own, though they look like a launcher's.
ARGUMENTS = [
    ["x y"], ["-n", "3"], ["--app", "none"], ["-x", "LD_PRELOAD=mine"], ["-env", "LD_PRELOAD", "mine"], ["-envnone"],
    ["LD_PRELOAD=mine"], ["-genv", "DOWNBEAT_PRELOAD_DIR", "mine"], ["-configfile", "none"], ["mpirun"], ["$A", "'q'"],
    [""], ["env", "-i"],
]  # fmt: skip
# For all ranks and for one program; the last word of all gives A its value.
OPEN_MPI = {
    "all": [["--bind-to", "none"], ["--tag-output"], ["--mca", "mca_base_env_list", "A=b c"], ["-display-map"]],
    "one": [["-x", "A=b c"], ["--x", "A=b c"], ["-x", f"LD_PRELOAD={OTHER}"], ["-x", "HOME"]],
}
HYDRA = {
    "all": [
        ["-genv", "A", "b c"], ["-genv", "A=b c"], ["-genv", "LD_PRELOAD", OTHER], ["-genvall"], ["-genvnone"],
        ["-genvlist", "PATH,HOME"], ["-l"],
    ],
    "one": [
        ["-env", "A", "b c"], ["-env", "A=b c"], ["-env", "LD_PRELOAD", OTHER], ["-envall"], ["-envnone"],
        ["-envlist", "PATH"],
    ],
}  # fmt: skip


@dataclass
class Line:
    """A command line.

    Attributes:
        words: of the command.
        ranks: of all programs.
        arguments: what each rank's program gets, with the number of ranks.
        refused: whether nothing may start.
        status: of the launcher.
        environment: the user's own.
    """

    words: list[str] = field(default_factory=list)
    ranks: int = 0
    arguments: Counter[str] = field(default_factory=Counter)
    refused: bool = False
    status: int = 0
    environment: dict[str, str] = field(default_factory=dict)


def drawn(seed: int, mpi: str, directory: Path) -> Line:
    """Returns a command line, whose files are written."""
    draw = random.Random(seed)
    line = Line(status=draw.choice([0, 0, STATUS]))
    open_mpi = mpi.startswith("openmpi")
    options = OPEN_MPI if open_mpi else HYDRA

    def some(of: list[list[str]], share: float) -> list[str]:
        return list(draw.choice(of)) if draw.random() < share else []

    # Such a file is split at blanks, so it has none.
    in_file = draw.random() < 0.2
    folder = directory / ("plain" if in_file else "with blanks")
    folder.mkdir()
    show, wrapper = folder / ("show" if in_file else "the show"), folder / "wrapper"
    said = 'said="<got>"\nfor one; do said="$said<$one>"; done\necho "$said."'  # at once, so that lines stay whole
    script(show, f'#!/bin/bash\np=$1\nshift\n{said}\n"$p" "$@" || exit\nexit {line.status}\n')
    script(wrapper, '#!/bin/bash\nexec "$@"\n')
    contexts = []
    for number in range(draw.randint(1, 3)):
        path = folder / (f"program{number}" if in_file else f"program {number}")
        path.symlink_to(program(mpi, "ends"))
        ranks = draw.choice([1, 1, 2]) if line.ranks < 2 else 1
        before = [] if in_file else some(WRAPPERS, 0.4)
        if draw.random() < 0.07:
            before, line.refused = list(draw.choice(REMOVING)), True
            in_file = False
        before = [str(wrapper) if word == "{the wrapper}" else word for word in before]
        arguments = [] if in_file else some(ARGUMENTS, 0.5)
        own = (
            [one for one in some(options["one"], 0.4) if one]
            if not in_file
            else some([["-env", "A", "b"]], 0.5) * (not open_mpi)
        )
        contexts.append([*own, draw.choice(["-n", "-np"]), str(ranks), *before, str(show), str(path), *arguments])
        line.arguments["".join(f"<{one}>" for one in ("got", *arguments))] += ranks
        line.ranks += ranks
    launcher, environment = launcher_words(mpi, 2)
    everywhere = some(options["all"], 0.4)
    started = [word for context in contexts for word in (*context, ":")][:-1]
    if "mca_base_env_list" in everywhere and "-x" in "".join(started):  # Open MPI takes one of them
        everywhere = []
    if in_file:
        file = directory / "a file"
        file.write_text("\n".join(map(" ".join, contexts)) + "\n", encoding="utf-8")
        started = ["--app" if open_mpi else "-configfile", str(file)]
    spare = ["--oversubscribe"] if open_mpi else []
    line.words = [*some(BEFORE, 0.5), *some(BEFORE, 0.3), launcher[0], *spare, *everywhere, *started]
    line.environment = {name: value for name, value in environment.items() if not name.startswith("DOWNBEAT_")}
    if draw.random() < 0.2:
        line.environment["LD_PRELOAD"] = draw.choice([OTHER, f"{OTHER}:/lib/x86_64-linux-gnu/libdl.so.2"])
    return line


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=[pytest.mark.nightly if seed > 6 else pytest.mark.thorough] if seed > 2 else [])
        for seed in range(12)
    ],
)
@pytest.mark.parametrize("mpi", LIBRARIES)
def test_a_drawn_command_is_recorded_whole_or_refused(mpi: str, seed: int, tmp_path: Path) -> None:
    line = drawn(100 * seed + list(LIBRARIES).index(mpi), mpi, tmp_path)
    trace = tmp_path / "the trace"
    done = subprocess.run(
        [sys.executable, "-m", "downbeat", "trace", "-o", str(trace), "--", *line.words],
        capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path,
        env=line.environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    told = f"{line.words}\n{done.stderr}\n{done.stdout}"
    if line.refused:
        assert done.returncode == 2, told
        assert len(done.stderr.splitlines()) == 1, told
        assert not trace.exists()
        return
    assert done.returncode == line.status, told
    (job,) = jobs_in(trace)
    found = downbeat.open_trace(trace, job)
    assert len(found.processes) == line.ranks, told
    assert found.records.groupby("rank").size().tolist() == [CALLS] * line.ranks, told
    assert Counter(re.findall(r"(<got>[^.\n]*)[.]", done.stdout)) == line.arguments, told
