"""The files in which the kernel describes the machine, for all checks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

Verdict = Literal["good", "notice", "problem"]


@dataclass(frozen=True)
class Finding:
    """An observation on the machine.

    Attributes:
        check: which check saw it, as its file is called.
        seen: what, in one sentence, with numbers.
        verdict: "good"; "notice": may matter, or could not be seen; "problem": distorts measurements.
        advice: what to do; "" if there is nothing to do.
    """

    check: str
    seen: str
    verdict: Verdict
    advice: str = ""


@dataclass(frozen=True)
class Machine:
    """A machine as the kernel describes it."""

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    allowed: frozenset[int] = field(default_factory=lambda: frozenset(os.sched_getaffinity(0)))  # processors

    def system(self, path: str) -> str | None:
        """Returns the content of a file below /sys; None where there is none or it may not be read."""
        return read(self.sys / path)

    def process(self, path: str) -> str | None:
        """Returns the content of a file below /proc."""
        return read(self.proc / path)

    @cached_property
    def flags(self) -> frozenset[str]:
        """The features of the first processor, by the names that the kernel uses on x86."""
        for line in (self.process("cpuinfo") or "").splitlines():
            if line.startswith("flags"):
                return frozenset(line.partition(":")[2].split())
        return frozenset()

    @cached_property
    def online(self) -> frozenset[int]:
        """The processors that are switched on."""
        return parse_cpus(self.system("devices/system/cpu/online") or "") or self.allowed

    @cached_property
    def cores(self) -> list[frozenset[int]]:
        """The processors that this process may use, those of a core together."""
        cores: dict[str, set[int]] = {}
        for cpu in sorted(self.allowed):
            siblings = self.system(f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
            cores.setdefault(siblings or str(cpu), set()).add(cpu)
        return [frozenset(core) for core in cores.values()]

    def governors(self, cpus: Iterable[int]) -> str:
        """Returns the frequency governors of some processors; "" where none is reported."""
        names = {self.system(f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor") for cpu in cpus}
        return ", ".join(sorted(filter(None, names)))


def read(path: Path) -> str | None:
    """Returns the content of a file without blanks around it."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def parse_cpus(text: str) -> frozenset[int]:
    """Returns the processors of a list as the kernel writes it, "0-3,8"."""
    cpus: set[int] = set()
    for range_text in filter(None, text.split(",")):
        first, _, last = range_text.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return frozenset(cpus)
