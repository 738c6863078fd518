"""Command lines as people write them: every rank is recorded, or one line says why before anything starts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import downbeat
import pytest
from downbeat.trace.file import jobs_in
from fake_programs import script
from programs import launcher_words, program

pytestmark = pytest.mark.thorough
CALLS = 10  # of each rank
OPEN_MPI = ("openmpi", "openmpi5")
HYDRA = ("mpich", "mpich5", "intelmpi")
ANY = (*OPEN_MPI, *HYDRA)
# Starts programs as srun does, by the launcher RUN.
SRUN = """#!/bin/sh
conf=
while [ "${1#-}" != "$1" ]; do
    case $1 in -n) ranks=$2; shift 2;; --multi-prog) conf=$2; shift 2; break;; *) shift;; esac
done
[ -n "$conf" ] || exec $RUN -n $ranks "$@"
exec $RUN $(sed 's/^[0-9-]* /-n 1 /; 2s/^/: /' $conf)
"""

# Which libraries, the command ({run}: launcher and options; {a}, {b}: programs; the others: files below), ranks of each
# job, or what the refusal names.
CASES: list[tuple[tuple[str, ...], str, list[int] | str]] = [
    (ANY, "{run} -n 1 {a} : -n 1 {b}", [2]),
    (ANY, "{run} -n 2 {a}", [2]),
    (ANY, "{run} -n 1 {a} : -n 1 {b} : -n 1 {a} x y", [3]),
    (ANY, "{run} -n 1 env X=1 {a} : -n 1 {show} {b}", [2]),
    (ANY, "{run} -n 1 sh -c {a} : -n 1 {script}", [2]),
    (ANY, "time -p {run} -n 2 {a}", [2]),
    (ANY, "env A=b {run} -n 2 {a}", [2]),
    (ANY, "env A=b nice -n 1 timeout 60 {run} -n 1 {a} : -n 1 {b}", [2]),
    (ANY, "taskset -c 0 {run} -n 2 taskset -c 0 {a}", [2]),
    (ANY, "env LD_PRELOAD={other} {run} -n 2 {show} {a}", [2]),
    (ANY, "{run} -n 1 env LD_PRELOAD={other} {show} {a} : -n 1 env LD_PRELOAD={other} {show} {b}", [2]),
    (ANY, "{run} -n 2 env -u LD_PRELOAD {a}", "removes"),
    (ANY, "{run} -n 2 env -i {a}", "removes"),
    (ANY, "{run} -n 1 {a} : -n 1 env --unset=LD_PRELOAD {a}", "removes"),
    (ANY, "{run} -n 2 sh -c 'LD_PRELOAD={other} {a}'", "where downbeat trace cannot add to it"),
    (ANY, "{run} -n 1 {a} : -n 1 {foreign}", "a launch has one MPI library"),
    (ANY, "{run} -n 2 {foreign}", "jobs of one rank each"),
    (ANY, "{twice}", [1, 2]),
    (ANY, "{a}", [1]),
    (ANY, "sh {twice}", [1, 2]),
    (ANY, "env A=b {a}", [1]),
    (ANY, "sh -c '{run} -n 2 {a}'", [2]),
    (OPEN_MPI, "{run} --app {app}", [3]),
    (OPEN_MPI, "{run} -n 2 {a} --app {app}", [2]),
    (OPEN_MPI, "{run} --app {nothing}", "names no file with programs"),
    (OPEN_MPI, "{run} -x A=b -n 1 {a} : -x C=d -n 1 {b}", [2]),
    (OPEN_MPI, "{run} -x LD_PRELOAD={other} -n 2 {show} {a}", [2]),
    (OPEN_MPI, "{run} -x LD_PRELOAD={other} -n 1 {show} {a} : -x LD_PRELOAD={other} -n 1 {show} {b}", [2]),
    (OPEN_MPI, "{run} -n 1 {a} : -n 1 -x LD_PRELOAD= {b}", [2]),
    (OPEN_MPI, "env LD_PRELOAD={other} {run} -x LD_PRELOAD -n 2 {show} {a}", [2]),
    (OPEN_MPI, "{run} --mca mca_base_env_list 'A=b;LD_PRELOAD={other}' -n 1 {show} {a} : -n 1 {show} {b}", [2]),
    (OPEN_MPI, "{run} --mca mca_base_env_list A=b -n 1 {a} : -n 1 {b}", [2]),
    (OPEN_MPI, "env OMPI_MCA_mca_base_env_list=A=b {run} -n 1 {a} : -n 1 {b}", [2]),
    (OPEN_MPI, "{run} -x DOWNBEAT_PRELOAD_DIR=elsewhere -n 2 {a}", "is an option of downbeat trace"),
    (OPEN_MPI, "{run} --tune {params} -n 2 {a}", "where downbeat trace cannot add to it"),
    (HYDRA, "{run} -configfile {app}", [3]),
    (HYDRA, "{run} -genv LD_PRELOAD {other} -n 2 {show} {a}", [2]),
    (HYDRA, "{run} -n 1 -env LD_PRELOAD {other} {show} {a} : -env LD_PRELOAD {other} -n 1 {show} {b}", [2]),
    (HYDRA, "{run} -n 1 {a} : -n 1 -env LD_PRELOAD {other} {b}", [2]),
    # With these, Intel's launcher does not hand on the variables that differ between launches.
    (HYDRA, "{run} -genvlist PATH,LD_PRELOAD -n 2 {a}", [2]),
    (HYDRA, "{run} -genvnone -n 2 {a}", [2]),
    (HYDRA, "{run} -envnone -n 2 {a}", [2]),
    (HYDRA, "{run} -n 1 -envlist PATH {a} : -n 1 {b}", [2]),
    (HYDRA, "{run} -n 1 {a} : -n 1 -envnone {b}", [2]),
    (HYDRA, "{run} -genvlist PATH -n 1 -envnone {a} : -n 1 -env X 1 {b}", [2]),
    (HYDRA, "{run} -genvnone -genv X 1 -n 1 {a} : -n 1 -envlist PATH,HOME {b}", [2]),
    (HYDRA, "{run} -genv DOWNBEAT_PRELOAD_DIR elsewhere -n 2 {a}", "is an option of downbeat trace"),
    (HYDRA, "{run} -configfile {tuned}", [2]),
    (HYDRA, "{run} -configfile {nothing}", "names no file with programs"),
    (ANY, "{run} -n 2 {a} env -i LD_PRELOAD=x -env LD_PRELOAD x --app x -x LD_PRELOAD", [2]),  # the program's own
    (ANY, "{srun} -n 2 {a}", [2]),
    (ANY, "{srun} --multi-prog {conf}", [2]),
    (ANY, "{srun} -n 1 {a} : -n 1 {b}", [2]),
    (ANY, "{srun} --export=ALL,LD_PRELOAD={other} -n 2 {a}", [2]),
    (ANY, "{srun} --export=NONE -n 2 {a}", "let it export ALL"),
    (ANY, "env -u LD_PRELOAD {srun} -n 2 {a}", "removes"),
]


def files(directory: Path, mpi: str) -> dict[str, str]:
    """Writes what commands name; returns the names of its places in CASES."""
    words, _ = launcher_words(mpi, 2)
    a, b = (directory / name for name in "ab")
    foreign = directory / "foreign"
    for path, library in ((a, mpi), (b, mpi), (foreign, "mpich" if mpi in OPEN_MPI else "openmpi")):
        path.symlink_to(program(library, "ends"))
    other = "/lib/x86_64-linux-gnu/libm.so.6"
    run = " ".join([words[0], *(["--oversubscribe"] if mpi in OPEN_MPI else [])])
    texts = {
        "app": f"-n 1 {a}\n-n 2 {b} x\n",
        "conf": f"0 {a}\n1 {b}\n",
        "params": "-x LD_PRELOAD=/none -n 1 ./a\n",
        "tuned": f"-n 1 -env LD_PRELOAD {other} {a}\n# then\n-n 1 -envnone {b}\n",
        "nothing": "",
    }
    for name, content in texts.items():
        (directory / name).write_text(content, encoding="utf-8")
    scripts = {
        "script": f'#!/bin/sh\nexec {a} "$@"\n',
        "twice": f"#!/bin/sh\n{run} -n 1 {a} && {run} -n 2 {b}\n",
        "show": '#!/bin/sh\necho "preloaded $LD_PRELOAD"\nexec "$@"\n',
        "srun": SRUN,
    }
    for name, content in scripts.items():
        script(directory / name, content)
    names = {name: str(directory / name) for name in (*texts, *scripts)}
    return {**names, "run": run, "a": str(a), "b": str(b), "foreign": str(foreign), "other": other}


# By day MPICH's launcher has those that all understand, and Open MPI's its own.
BY_DAY = {ANY: "mpich", HYDRA: "mpich", OPEN_MPI: "openmpi"}
EACH = [
    pytest.param(mpi, command, wanted, marks=[] if mpi == BY_DAY[libraries] else [pytest.mark.nightly])
    for libraries, command, wanted in CASES
    for mpi in libraries
]


@pytest.mark.parametrize(("mpi", "command", "wanted"), EACH, ids=[f"{one.values[1]}-{one.values[0]}" for one in EACH])
def test_a_command_is_recorded_whole_or_refused(
    mpi: str, command: str, wanted: list[int] | str, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    given = files(tmp_path, mpi)
    _, env = launcher_words(mpi, 2)
    env = {name: value for name, value in env.items() if not name.startswith("DOWNBEAT_")}
    env |= {"PYTHONPATH": os.pathsep.join(sys.path), "RUN": given["run"], "PATH": f"{env['PATH']}"}
    words = [word.format(**given) for word in re.findall(r"'[^']*'|\S+", command)]
    flat = [one for word in words for one in ([word[1:-1]] if word.startswith("'") else word.split())]
    chosen = ["--mpi", mpi] if "srun" in command else []
    done = subprocess.run(
        [sys.executable, "-m", "downbeat", "trace", "-o", str(trace), *chosen, "--", *flat],
        capture_output=True, text=True, check=False, env=env, timeout=120, cwd=tmp_path,
    )  # fmt: skip
    if isinstance(wanted, str):
        assert done.returncode == 2, done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert wanted in done.stderr
        assert not trace.exists()
        return
    assert done.returncode == 0, done.stderr
    traces = [downbeat.open_trace(trace, job) for job in jobs_in(trace)]
    assert [len(one.processes) for one in traces] == wanted, done.stderr
    assert [len(one.records) for one in traces] == [ranks * CALLS for ranks in wanted]
    shown = [line for line in done.stdout.splitlines() if line.startswith("preloaded")]
    if "{other}" in command and shown:
        assert len(shown) == command.count("{show}") * (2 if ":" not in command else 1)
        assert all("libdownbeat-preload.so:" in line and line.endswith(given["other"]) for line in shown), shown
