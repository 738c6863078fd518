"""Messages of launchers: which are passed on, and which line says why a launch failed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO

from downbeat.text import one_line

# Open MPI's mpirun frames each of its messages with such lines.
FRAME = b"-" * 74
# What it says when a rank ends with a non-zero status. The program has said why; the status says the rest.
NEEDLESS = (b"exited with non-zero status", b"a non-zero exit code", b"MPI_ABORT was invoked")
# What it says, in 27 lines, of more ranks than slots.
TOO_FEW_SLOTS = b"not enough slots available"
MORE_SLOTS = (
    b"launch: Open MPI's launcher has fewer slots than ranks, by default one per core; start fewer ranks, or add "
    b"--oversubscribe --bind-to none to the launcher's command\n"
)
LONGEST_MESSAGE = 40  # lines
# What SimGrid says of a rank that fails, in a dozen lines. After a deadlock its exit status is 0.
DEADLOCK = b"Deadlock detected"
SIMULATORS = re.compile(
    rb"\[[^]]*\] .*(/CRITICAL\]|is gone\?\?)|Backtrace \(displayed in|  -> +\d|.* --cfg=smpi/|"
    rb"Execution failed with code (\d+)|(?:Floating point exception|Segmentation fault|Aborted)"
)
# Progress of downbeat-bench on standard error.
PROGRESS = r"downbeat-bench: (?P<progress>(?:about|at least) .* left, \d+ % of .* measured), "
# srun's last lines after a failed step. The program or Slurm has already printed the reason.
NO_REASON = re.compile(
    rf"{PROGRESS}|downbeat-bench: \d+ of \d+ cells complete, |"
    r"(srun|slurmstepd\S*): .*"
    r"(: tasks? [\d,-]+: (Exited with exit code \d+|Killed|Terminated)$|\*\*\* STEP |Job step aborted|Terminating )|"
    r"\[\S+\] (\d+ more process|Set MCA parameter )"  # what Open MPI says after its reason
)


def forward_messages(source: IO[bytes], target: IO[bytes]) -> None:
    """Copies the launcher's standard error, line by line, without its needless messages; long ones are one line."""

    def write(lines: list[bytes]) -> None:
        target.write(b"".join(lines))
        target.flush()

    message: list[bytes] = []
    for line in source:
        if not message and not line.startswith(FRAME):
            write([line])
            continue
        message.append(line)
        closed = len(message) > 1 and line.startswith(FRAME)
        if closed or len(message) == LONGEST_MESSAGE:
            if closed and any(TOO_FEW_SLOTS in each for each in message):
                write([MORE_SLOTS])
            elif not (closed and any(text in each for each in message for text in NEEDLESS)):
                write(message)
            message = []
    write(message)


class SimulatorsMessages:
    """The simulator's standard error; `failed` holds in a line why the ranks did, if they did."""

    def __init__(self) -> None:
        self.failed = ""

    def forward(self, source: IO[bytes], target: IO[bytes]) -> None:
        """Copies what programs say, and keeps what the simulator says of their failure."""
        for line in source:
            if DEADLOCK in line:
                self.failed = "the ranks wait for each other: each for a message that none of them sends"
            elif not (found := SIMULATORS.match(line)):
                target.write(line)
                target.flush()
            elif found[2] and not self.failed:
                self.failed = f"a rank failed, with exit status {int(found[2])}"


def last_line(path: Path) -> str:
    """Returns the last line of a file that says something; programs say last why they end."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    said = [line.strip() for line in lines if line.strip(" -=*")]
    said = [line for line in said if not NO_REASON.match(line)] or said
    return one_line(said[-1]) if said else ""
