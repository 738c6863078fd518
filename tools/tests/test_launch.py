"""tools/launch starts the right launcher with the right arguments, passes the status on and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from downbeat.run.libraries import LIBRARIES
from downbeat_command import heed_signals
from fake_programs import alive, wait_for

LAUNCH = Path(__file__).resolve().parents[1] / "launch"
CORES = len(os.sched_getaffinity(0))

# A program that does not end by itself, nor when it is asked to.
STUBBORN = "trap '' TERM; echo $$ >>{pids}; while :; do sleep 0.1; done"


@pytest.fixture(params=list(LIBRARIES))
def mpi(request: pytest.FixtureRequest) -> str:
    """The MPI library."""
    name: str = request.param
    return name


def launch(*arguments: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs tools/launch to its end."""
    command = [sys.executable, str(LAUNCH), *map(str, arguments)]
    return subprocess.run(
        command, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=300, check=False
    )


def read_pids(pids: Path) -> list[int]:
    """Returns the process numbers that the ranks wrote."""
    return [int(line) for line in pids.read_text(encoding="ascii").split()] if pids.exists() else []


@pytest.mark.parametrize("ranks", [1, 2, 2 * CORES + 1])
def test_every_rank_runs(mpi: str, ranks: int) -> None:
    done = launch("--mpi", mpi, "-n", str(ranks), "echo", "--mpi", "word")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["--mpi word"] * ranks
    assert done.stderr == ""


def test_ranks_are_bound_to_different_cpus(mpi: str) -> None:
    if CORES < 2:
        pytest.skip("needs 2 cores")
    done = launch("--mpi", mpi, "-n", "2", "grep", "Cpus_allowed_list", "/proc/self/status")
    assert len(set(done.stdout.splitlines())) == 2, done.stdout


def test_a_narrowed_affinity_is_kept(mpi: str) -> None:
    last = max(os.sched_getaffinity(0))
    command = [
        "taskset",
        "-c",
        str(last),
        str(LAUNCH),
        "--mpi",
        mpi,
        "-n",
        "1",
        "grep",
        "Cpus_allowed_list",
        "/proc/self/status",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["Cpus_allowed_list:", str(last)]


@pytest.mark.parametrize(
    ("crowded", "variable", "value"),
    [
        ("mpich5", "MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1"),
        ("mpich5", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT", "1"),
        ("intelmpi", "I_MPI_WAIT_MODE", "1"),
    ],
)
def test_ranks_without_a_core_of_their_own_are_told_to_yield(crowded: str, variable: str, value: str) -> None:
    def seen(ranks: int, **env: str) -> set[str]:
        done = launch("--mpi", crowded, "-n", str(ranks), "sh", "-c", f"echo ${{{variable}-unset}}", env=env)
        return set(done.stdout.split())

    assert seen(CORES) == {"unset"}
    assert seen(CORES + 1) == {value}
    assert seen(CORES + 1, **{variable: "0"}) == {"0"}  # what the user has set stays


@pytest.mark.thorough
def test_open_mpi_5_starts_without_a_home() -> None:
    command = [sys.executable, str(LAUNCH), "--mpi", "openmpi5", "-n", "1", "sh", "-c", "test -d $HOME"]
    without = {name: value for name, value in os.environ.items() if name != "HOME"}
    assert subprocess.run(command, env=without, capture_output=True, timeout=300, check=False).returncode == 0


def test_the_launcher_of_a_program_is_found(mpi: str) -> None:
    program = LAUNCH.parents[1] / "build" / mpi / "bin" / "test_clock"
    done = launch("-n", "1", program)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("status", [1, 7])
def test_the_exit_status_is_passed_on(mpi: str, status: int) -> None:
    assert launch("--mpi", mpi, "-n", "2", "sh", "-c", f"exit {status}").returncode == status


def test_a_failing_program_has_the_last_word(mpi: str) -> None:
    done = launch("--mpi", mpi, "-n", "2", "sh", "-c", "echo out of luck >&2; exit 3")
    assert done.returncode == 3
    assert set(done.stderr.splitlines()) == {"out of luck"}  # the launcher may end the other rank before it speaks


def test_other_messages_are_passed_on(mpi: str) -> None:
    message = "\n".join(["-" * 74, "something else", "-" * 74, "-" * 74, "never closed"]) + "\n"
    done = launch("--mpi", mpi, "-n", "1", "sh", "-c", 'printf %s "$0" >&2', message)
    assert done.returncode == 0
    assert done.stderr == message


def test_too_few_slots_are_one_line_with_the_remedy() -> None:
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    launcher = f"{LIBRARIES['openmpi'].find_launcher()} -n {{ranks}}"
    done = launch("--launcher", launcher, "-n", str(4 * CORES + 1), "true", env=env)
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert "fewer slots" in line
    assert "--oversubscribe" in line


def test_a_timeout_ends_every_rank(mpi: str, tmp_path: Path) -> None:
    for timeout in (2, 4, 8, 16, 32):  # until it is one within which all ranks can start
        pids = tmp_path / f"pids-{timeout}"
        done = launch("--mpi", mpi, "-n", "3", "--timeout", str(timeout), "sh", "-c", STUBBORN.format(pids=pids))
        assert done.returncode == 124
        assert f"stopped after {timeout} s" in done.stderr
        assert not any(alive(pid) for pid in read_pids(pids))
        if len(read_pids(pids)) == 3:
            return
    pytest.fail(f"within {timeout} s there were {len(read_pids(pids))} ranks of 3")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_every_rank(mpi: str, number: signal.Signals, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    command: list[str | Path] = [LAUNCH, "--mpi", mpi, "-n", "3", "sh", "-c", STUBBORN.format(pids=pids)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, preexec_fn=heed_signals) as process:  # noqa: PLW1509
        try:
            assert wait_for(lambda: len(read_pids(pids)) == 3)
            process.send_signal(number)
            status = process.wait(120)
        finally:
            process.terminate()
    assert status == 128 + number
    assert not any(alive(pid) for pid in read_pids(pids))


@pytest.mark.parametrize("mpi", ["openmpi", "openmpi5"])
def test_a_launcher_that_is_killed_leaves_no_directory(mpi: str, tmp_path: Path) -> None:
    pids, kept = tmp_path / "pids", tmp_path / "tmp"
    kept.mkdir()
    # The parent of a rank is the launcher, which cannot clean up any more.
    body = f"echo $$ >>{pids}; echo $PPID >{tmp_path}/launcher; sleep 600"
    command: list[str | Path] = [LAUNCH, "--mpi", mpi, "-n", "2", "sh", "-c", body]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(kept)}, stdout=quiet, stderr=quiet) as process:
        try:
            assert wait_for(lambda: len(read_pids(pids)) == 2)
            assert list(kept.iterdir())
            os.kill(int((tmp_path / "launcher").read_text(encoding="ascii")), signal.SIGKILL)
            status = process.wait(120)
        finally:
            process.terminate()
    assert status == 128 + signal.SIGKILL
    assert list(kept.iterdir()) == []
    assert not any(alive(pid) for pid in read_pids(pids))


def fake_launcher(directory: Path, name: str, version: str) -> None:
    """Makes a launcher that prints its version and otherwise prints its arguments."""
    script = directory / name
    script.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" || echo "$0" "$@"\n', encoding="ascii")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)


# First launchers that do as Open MPI 4's after a rank was killed in MPI_Init, then one whose ranks take their time, and
# one that takes it before it starts any.
STUCK = """
from downbeat.run import launch
from downbeat.run import launch as waiting
waiting.LOOK_SECONDS = 0.3
print(launch.run_launcher(["sh", "-c", {script!r}], {{}}, {timeout}, None, starts_ranks=True))
"""


@pytest.mark.parametrize(
    ("script", "timeout", "status", "said"),
    [
        ("sleep 0.5; exec sleep 100", None, 1, "launch: the ranks ended; the hanging launcher was killed\n"),
        ("sleep 0.5; exec sleep 100", 60, 1, "launch: the ranks ended; the hanging launcher was killed\n"),
        ("sleep 0.5; exec sleep 100", 0.6, 124, "launch: stopped after 0.6 s: sh -c sleep 0.5; exec sleep 100\n"),
        ("sleep 1.5; exit 7", None, 7, ""),
        (f"exec {sys.executable} -c 'import time; time.sleep(1.5); raise SystemExit(8)'", 60, 8, ""),
    ],
)
def test_a_launcher_that_outlives_its_ranks_is_ended(
    script: str, timeout: float | None, status: int, said: str
) -> None:
    code = STUCK.format(script=script, timeout=timeout)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=LAUNCH.parents[1] / "python",
    )
    assert (done.stdout, done.stderr) == (f"{status}\n", said)


@pytest.mark.parametrize(
    ("version", "wanted", "expected"),
    [
        ("mpirun (Open MPI) 5.0.11", "openmpi", ["--bind-to", "core"]),
        ("mpirun (PRRTE) 3.0", "openmpi", ["--bind-to", "core"]),
        ("HYDRA build details:", "mpich", ["-bind-to", "core"]),
    ],
)
def test_a_plain_mpirun_is_known_by_its_version(version: str, wanted: str, expected: list[str], tmp_path: Path) -> None:
    if (os.cpu_count() or 1) > CORES:
        pytest.skip("the affinity of this process is narrowed")
    for tool in ("sh", "true"):
        found = shutil.which(tool)
        assert found
        (tmp_path / tool).symlink_to(found)
    fake_launcher(tmp_path, "mpirun", version)
    done = launch("--mpi", wanted, "-n", "1", "true", env={"PATH": str(tmp_path)})
    assert done.stdout.split() == [str(tmp_path / "mpirun"), "-n", "1", *expected, str(tmp_path / "true")]
    other = "mpich" if wanted == "openmpi" else "openmpi"
    refused = launch("--mpi", other, "-n", "1", "true", env={"PATH": str(tmp_path)})
    assert refused.returncode != 0
    assert refused.stderr == f"launch: found no launcher for {other}; tools/setup installs {other}\n"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["-n", "0", "true"], "'0'"),
        (["-n", "two", "true"], "'two'"),
        (["-n", "2", "--timeout", "nan", "true"], "'nan'"),
        (["-n", "2", "--timeout", "-1", "true"], "'-1'"),
        (["-n", "2", "--time", "1", "true"], "--time"),
        (["--mpi", "lam", "-n", "2", "true"], "'lam'"),
        (["-n", "2"], "program"),
        (["true"], "-n"),
        (["-n", "2", "./no-such-program"], "'./no-such-program'"),
    ],
)
def test_bad_arguments_end_with_one_line(arguments: list[str], named: str) -> None:
    done = launch(*arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert named in done.stderr


def test_a_system_without_processes_is_one_line(tmp_path: Path) -> None:
    """As bash, which ldd is written in, has it after several tries: status 254, and an error of fork."""
    ldd = tmp_path / "ldd"
    ldd.write_text("#!/bin/sh\necho 'ldd: fork: Resource temporarily unavailable' >&2\nexit 254\n", encoding="ascii")
    ldd.chmod(0o755)
    done = launch("-n", "1", "/bin/true", env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    said = "launch: cannot read the libraries of '/bin/true' with ldd: ldd: fork: Resource temporarily unavailable\n"
    assert (done.returncode, done.stderr) == (1, said)
