"""Hosts that go, and networks that are cut: hosts are namespaces of this machine (tools/hosts)."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from downbeat.launchers.leftovers import processes
from downbeat.launchers.libraries import ROOT

from benchmarks.faults.leftovers import name
from benchmarks.faults.row import NotPossibleError, Outcome, Row
from benchmarks.faults.site import Running, Site
from benchmarks.faults.stops import failure_of, figures_of, judge_starts

CUT_SECONDS = 5.0
END_SECONDS = 20.0  # from the end of a host to the end of the launch
TIMEOUT_SECONDS = 15.0  # of a launch whose network is gone for good: TCP itself gives up after a quarter of an hour


def start(site: Site, seconds: float, timeout: float) -> Running:
    """Starts harmonized starts on two hosts."""
    sys.path.insert(0, str(ROOT / "tools/hosts"))
    from plan import hindrance

    reason = hindrance(False)
    if reason:
        raise NotPossibleError(reason)
    hosts = [ROOT / "tools/hosts/hosts", "--hosts", 2, "--mpi", site.mpi, "--timeout", timeout, "--"]
    return site.start([*hosts, site.program("fault-starts"), "starts", 1 << 40, seconds])


def of_network(pid: int) -> str:
    """Returns the network namespace of a process; empty: it has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


def words_of(pid: int) -> str:
    """Returns the command of a process."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def lab_and_last_host(site: Site) -> tuple[int, list[int]]:
    """Returns the process that has the network of all hosts, and the processes on the last host."""
    everybody = processes("environ", site.mark)
    lab = next(pid for pid in everybody if "/lab.py " in words_of(pid) and "python" in name(pid))
    keepers = [pid for pid in everybody if words_of(pid) == "sleep infinity"]
    last = of_network(max(keepers))
    return lab, [pid for pid in everybody if of_network(pid) == last]


def wait_for_starts(site: Site) -> None:
    """Waits until the processes on the hosts are at work."""
    if len(site.wait_for_ranks("fault-starts", 2)) < 2:
        raise NotPossibleError("no launch on hosts made of namespaces begins here within 20 s")
    time.sleep(1.0 + site.chance.uniform(0, 1.0))


def set_link(lab: int, state: str) -> None:
    """Connects the last host, or disconnects it."""
    command = ["nsenter", "--target", str(lab), "--net", "ip", "link", "set", "host1", state]
    subprocess.run(command, check=True, capture_output=True)


def host_gone(site: Site, tries: int) -> Iterator[Outcome]:
    """Kills all that runs on one of two hosts."""
    for _ in range(tries):
        running = start(site, 600, 60)
        wait_for_starts(site)
        for pid in lab_and_last_host(site)[1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ended = running.end(END_SECONDS)
        broken = f"the launch went on for {END_SECONDS:g} s" if ended.hung else ""
        if ended.status == 0:
            broken = "the launch ended with status 0"
        yield Outcome(f"launch ended, status {ended.status}", 1, broken)


def network_cut(for_good: bool, site: Site, tries: int) -> Iterator[Outcome]:
    """Cuts the network between two hosts, for some seconds or for good."""
    for _ in range(tries):
        seconds = 600.0 if for_good else 2 * CUT_SECONDS
        timeout = TIMEOUT_SECONDS if for_good else 12 * CUT_SECONDS
        running = start(site, seconds, timeout)
        wait_for_starts(site)
        lab, _ = lab_and_last_host(site)
        set_link(lab, "down")
        if not for_good:
            time.sleep(CUT_SECONDS)
            set_link(lab, "up")
        ended = running.end(timeout + END_SECONDS)
        figures = figures_of(ended)
        if for_good:
            broken = f"the launch went on for {timeout + END_SECONDS:g} s" if ended.hung else ""
            yield Outcome(f"launch ended, status {ended.status}", 1, broken or ("" if ended.status else "status 0"))
        elif figures:
            broken = next((one.broken for one in judge_starts(figures, 1) if one.broken), "")
            yield Outcome("went on when the network was back; no false verdict", 1, broken)
        else:
            yield Outcome("failed", 1, failure_of(ended))


ROWS = (
    Row(
        "host-gone",
        "all processes on one of two hosts killed",
        f"the launch ends within {END_SECONDS:g} s, with a non-zero status",
        host_gone,
        100,
        0,
    ),
    Row(
        "network-cut",
        f"the network between two hosts cut for {CUT_SECONDS:g} s",
        "starts go on when it is back; no false verdict",
        functools.partial(network_cut, False),
        100,
        0,
    ),
    Row(
        "network-gone",
        "the network between two hosts cut for good",
        "the launch ends after its `--timeout`, with a non-zero status",
        functools.partial(network_cut, True),
        100,
        0,
    ),
)
