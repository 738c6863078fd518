"""What a try has left behind: processes, shared memory, sockets and other temporary files, network devices."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path

from downbeat.launchers.leftovers import SHARED_MEMORY, processes

from benchmarks.faults.site import Site

PATIENCE_SECONDS = 3.0  # a process that was told to end does so, and the kernel takes its time with namespaces
SYSTEM_V = ("shm", "sem", "msg")
DEVICES = Path("/sys/class/net")


@dataclasses.dataclass(frozen=True)
class Belongings:
    """What there was at some moment that programs could leave behind; of this user, and named for people."""

    things: frozenset[str]


def shared_memory() -> set[str]:
    """Returns shared memory of this user that has a name."""
    found = set()
    for path in SHARED_MEMORY.iterdir() if SHARED_MEMORY.is_dir() else ():
        try:
            if path.lstat().st_uid == os.getuid():
                found.add(f"shared memory {path}")
        except OSError:
            continue
    return found


def system_v() -> set[str]:
    """Returns memory, semaphores and queues of System V."""
    found = set()
    for kind in SYSTEM_V:
        table = Path("/proc/sysvipc") / kind
        lines = table.read_text(encoding="ascii").splitlines()[1:] if table.exists() else []
        found |= {f"{kind} {line.split()[1]} of System V" for line in lines}
    return found


def temporary_files(site: Site) -> set[str]:
    """Returns temporary files and directories; some vanish while this looks, removed by who made them."""
    found = set()
    for where, directories, files in os.walk(site.temporary):  # unlike Path.rglob, it heeds no error
        found |= {f"temporary file {Path(where) / name}" for name in (*directories, *files)}
    return found


def take_stock(site: Site) -> Belongings:
    """Returns what there is now. Sockets with a path are temporary files; others go with their processes."""
    things = shared_memory() | system_v() | temporary_files(site)
    things |= {f"network device {path.name}" for path in DEVICES.iterdir()} if DEVICES.is_dir() else set()
    return Belongings(frozenset(things))


def in_use(thing: str) -> bool:
    """Whether shared memory is that of a program that runs, such as another user's of the same machine."""
    kind, _, path = thing.rpartition(" ")
    return kind == "shared memory" and bool(processes("maps", os.fsencode(path)))


def left_behind(site: Site, before: Belongings, seconds: float = PATIENCE_SECONDS) -> list[str]:
    """Returns what is there that was not, after a moment for what is about to go, which may take so long."""
    end = time.monotonic() + seconds
    while True:
        found = sorted(f"process {pid} ({name(pid)})" for pid in processes("environ", site.mark))
        found += sorted(one for one in take_stock(site).things - before.things if not in_use(one))
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.02)


def name(pid: int) -> str:
    """Returns the name of a process."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "gone"
