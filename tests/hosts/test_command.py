"""The command hosts: complaints in one line, statuses, and nothing left behind, however it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from on_hosts import Outcome, need_hosts, run_hosts
from plan import HERE

pytestmark = pytest.mark.alone

WAIT_SECONDS = 60.0  # at most; far more than anything here takes
SLEEP = str(Path("/bin/sleep").resolve())
ENOUGH = ("--hosts", "2", "--mpi", "openmpi")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--mpi", "openmpi", "--", "true"), "--hosts"),
        (("--hosts", "0", "--mpi", "openmpi", "--", "true"), "'0' is not a whole number from 1 to 16"),
        (("--hosts", "2", "--mpi", "lam", "--", "true"), "'lam'"),
        ((*ENOUGH,), "program"),
        ((*ENOUGH, "--", "no-such-program"), "'no-such-program' is not a program that can be run"),
        ((*ENOUGH, "--ranks", "2", "--", "true"), "--ranks"),
        ((*ENOUGH, "--delay", "1:2:3", "--", "true"), "'1:2:3' is not of the form A or A:B"),
        ((*ENOUGH, "--delay", "11", "--", "true"), "'11' is not a number from 0 to 10"),
        ((*ENOUGH, "--jitter", "nan", "--", "true"), "'nan' is not a number"),
        ((*ENOUGH, "--loss", "1.1", "--", "true"), "'1.1' is not a number from 0 to 1"),
        ((*ENOUGH, "--pair", "0:1:1", "--", "true"), "'0:1:1' is not of the form"),
        ((*ENOUGH, "--pair", "0:2:0:0:0", "--", "true"), "two of the hosts 0 to 1"),
        ((*ENOUGH, "--timeout", "0", "--", "true"), "0 seconds"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(arguments: tuple[str, ...], complaint: str) -> None:
    outcome = run_hosts(*arguments)
    assert outcome.status == 2
    assert len(outcome.stderr.splitlines()) == 1
    assert outcome.stderr.startswith("hosts: ")
    assert complaint in outcome.stderr


def test_the_status_is_the_programs() -> None:
    need_hosts()
    assert run_hosts("--hosts", "2", "--mpi", "mpich", "--", "sh", "-c", "exit 3").status == 3
    assert run_hosts(*ENOUGH, "--", "true").status == 0


def test_every_host_has_its_own_name_memory_and_boot(tmp_path: Path) -> None:
    need_hosts()
    script = "(cat $name; touch /dev/shm/$(cat $name); ls /dev/shm; cat /proc/sys/kernel/random/boot_id; pwd)"
    script = f"name=/proc/sys/kernel/hostname; {script} >'{tmp_path}'/$(cat $name)"
    outcome = run_hosts(*ENOUGH, "--", "sh", "-c", script)
    assert outcome.status == 0, outcome.stderr
    first, second = ((tmp_path / name).read_text(encoding="ascii").splitlines() for name in ("host0", "host1"))
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    for lines, name, other in ((first, "host0", "host1"), (second, "host1", "host0")):
        assert lines[0] == name
        assert name in lines[1:-2]
        assert other not in lines
    assert len({boot, first[-2], second[-2]}) == 3
    assert first[-1] == second[-1] == str(Path.cwd())


def arguments_of_all() -> dict[int, list[str]]:
    """Returns what every process was started with."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # ended meanwhile
                found[int(entry.name)] = (entry / "cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    return found


def members(space: str) -> list[int]:
    """Returns the processes in a PID namespace."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # ended meanwhile
                if (entry / "ns" / "pid").readlink().name == space:
                    found.append(int(entry.name))
    return found


def mounts_and_devices() -> tuple[str, list[str]]:
    devices = sorted(path.name for path in Path("/sys/class/net").iterdir())
    return Path("/proc/self/mounts").read_text(encoding="utf-8"), devices


def space_of(hosts: subprocess.Popen[bytes], duration: str) -> str | None:
    """Returns the PID namespace of the ranks when all are there; None if they do not come before the hosts end."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline and hosts.poll() is None:
        ranks = [pid for pid, words in arguments_of_all().items() if words == [SLEEP, duration, ""]]
        if len(ranks) == 2:
            with contextlib.suppress(OSError):  # ended meanwhile
                space = Path(f"/proc/{ranks[0]}/ns/pid").readlink().name
                if len(members(space)) > 4:  # the hosts' keepers, the launcher and its helpers are there, too
                    return space
        time.sleep(0.01)
    return None


def end_hosts(end: str, wire: bool, timeout: int) -> bool:
    """Ends hosts that way, which must leave no process behind; whether both ranks had been there."""
    # A unique duration identifies our ranks.
    duration = f"1000.{os.getpid()}{time.monotonic_ns() % 1000000:06d}"
    command = [str(HERE / "hosts"), *ENOUGH, "--timeout", str(timeout), *(["--delay", "1e-3"] if wire else [])]
    hosts = subprocess.Popen([*command, "--", SLEEP, duration], stderr=subprocess.DEVNULL)
    try:
        space = space_of(hosts, duration)
        if end != "timeout":
            assert space
            hosts.send_signal(signal.Signals[end])
        status = hosts.wait(WAIT_SECONDS)
    finally:
        hosts.kill()
        hosts.wait()
    assert status == {"SIGINT": 130, "SIGTERM": 143, "SIGKILL": -9, "timeout": 124}[end]
    # A killed process cannot wait until all are gone.
    deadline = time.monotonic() + WAIT_SECONDS
    while end == "SIGKILL" and space and members(space) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not space or members(space) == []
    assert all(duration not in words for words in arguments_of_all().values())
    return space is not None


@pytest.mark.parametrize("wire", [False, True])
@pytest.mark.parametrize("end", ["SIGINT", "SIGTERM", "SIGKILL", "timeout"])
def test_nothing_is_left_behind(end: str, wire: bool) -> None:
    need_hosts(wire)
    before = mounts_and_devices()
    # The ranks of a busy machine may not be there yet when the time is over.
    timeouts = (3, 9, 27) if end == "timeout" else (60,)
    assert any(end_hosts(end, wire, timeout) for timeout in timeouts)
    assert mounts_and_devices() == before


def test_other_users_are_told_that_hosts_need_root() -> None:
    if os.geteuid() != 0:
        outcome = run_hosts(*ENOUGH, "--", "true")
    else:
        done = subprocess.run(
            ["setpriv", "--reuid", "65534", "--clear-groups", str(HERE / "hosts"), *ENOUGH, "--", "true"],
            capture_output=True,
            text=True,
            check=False,
        )
        if "setpriv" in done.stderr or "Permission denied" in done.stderr:
            pytest.skip("other users cannot read this directory")
        outcome = Outcome(done.returncode, done.stdout, done.stderr)
    assert outcome.status == 2
    assert outcome.stderr == "hosts: hosts need root, to make namespaces\n"
