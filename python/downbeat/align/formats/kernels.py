"""Names of kernels of collectives: one table, by what they do, which `--kernel` extends."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from downbeat.align.calls import normalize
from downbeat.align.matching import ORDERING
from downbeat.errors import UsageError

NONE = "none"  # kernels that are left out
OPERATIONS = (*ORDERING, "allgatherv", "alltoallv", NONE)
POINT_TO_POINT = re.compile(
    r"(^|[:_])(_?i?send|_?i?recv|_?receive|_?batch_?send|recv_?any_?source|permute)", re.IGNORECASE
)
LOOKS_LIKE_ONE = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|cross_device_reduce|(nccl|rccl|msccl|hccl|xccl|hcom_|nvshmem)",
    re.IGNORECASE,
)
OF_POINTS = "point-to-point calls"
UNKNOWN_CALLS = "calls of the library whose operation neither their name nor their arguments say"
LEFT_OUT = "kernels that --kernel leaves out"


class KernelRow(NamedTuple):
    """Kernels of a family.

    Attributes:
        pattern: anywhere in their names without parameters; a group `group` in it is the process group.
        operation: of all of them; empty: their arguments say it, else it follows the pattern in the name.
        option: as it was given with `--kernel`; empty: known here.
    """

    pattern: re.Pattern[str]
    operation: str
    option: str = ""


FAMILIES = tuple(
    KernelRow(re.compile(pattern), operation)
    for pattern, operation in (
        # NCCL, RCCL: ncclKernel_AllReduce_..., ncclDevKernel_..., ncclSymkDevKernel_..., ncclDevKernel_Generic_1;
        # MSCCL: mscclKernel_Sum_half_Simple, whose arguments say the operation.
        (r"\b(?:nccl|rccl|msccl(?:pp)?)[A-Za-z]*Kernel_?", ""),
        # Ascend: hcom_allReduce__606_0_1 (digits of the group's hash, number of the call); MTIA: hccl::AllReduce.
        (r"\bhcom_(?=[A-Za-z]+__(?P<group>\d+)_)|\bhccl:+", ""),
        (r"\boneccl_", ""),
        # NVSHMEM: barrier_on_stream_kernel_threadgroup.
        (r"\b(?=(?:barrier|alltoall|broadcast)(?:_all)?_on_stream_kernel)", ""),
    )
)


class Kernel(NamedTuple):
    """A kernel, as far as its name says.

    Attributes:
        operation: MPI's name; empty: the name does not say it.
        from_option: `--kernel` gives the operation, which overrides the arguments.
        group: process group that the name says; empty: none.
    """

    operation: str
    from_option: bool
    group: str


@dataclass
class Kernels:
    """The table, and how often each row of the user was used.

    Attributes:
        rows: in the order in which they are asked.
        used: rows of `--kernel` that a kernel had.
    """

    rows: tuple[KernelRow, ...] = FAMILIES
    used: set[str] = field(default_factory=set)

    def find(self, name: str) -> Kernel | None:
        """Returns the meaning of a kernel's name; None: it is of no known family."""
        bare = re.split(r"[<(]", name, maxsplit=1)[0]
        for row in self.rows:
            match = row.pattern.search(bare)
            if match is not None:
                if row.option:
                    self.used.add(row.option)
                operation = row.operation or normalize(bare[match.end() :]) or ""
                return Kernel(operation, bool(row.option), match.groupdict().get("group") or "")
        return None


def looks_like_one(name: str) -> bool:
    """Whether a kernel of no known family looks like one of a collective."""
    return LOOKS_LIKE_ONE.search(re.split(r"[<(]", name, maxsplit=1)[0]) is not None


def stranger(name: str) -> str:
    """Returns the note on kernels that look like a collective's, with the name of one."""
    bare = re.split(r"[<(]", name, maxsplit=1)[0].removeprefix("void ")
    return (
        "kernels look like collectives, but are of no known family: if each rank waits in them for all, "
        f"add --kernel '{re.escape(bare)}=allreduce' or similar"
    )


def kernels_of(options: Iterable[str]) -> Kernels:
    """Returns the table with rows of the user before it.

    Args:
        options: each PATTERN=OPERATION; the pattern is a regular expression, the operation one of `OPERATIONS`.

    Raises:
        UsageError: one is not so.
    """
    rows = []
    for option in options:
        pattern, _, operation = option.rpartition("=")
        if not pattern or operation not in OPERATIONS:
            raise UsageError(
                f"--kernel '{option}' is not PATTERN=OPERATION, with an operation of {', '.join(OPERATIONS)}"
            )
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise UsageError(f"--kernel '{option}': '{pattern}' is not a regular expression: {error}") from error
        if compiled.search(""):
            raise UsageError(f"--kernel '{option}': '{pattern}' matches every name; name a part of the kernel's")
        rows.append(KernelRow(compiled, operation, option))
    return Kernels((*rows, *FAMILIES))
