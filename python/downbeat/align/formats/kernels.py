"""Recognizes kernels of collectives by their names, with a table that option --kernel extends."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from downbeat.align.calls import normalize
from downbeat.align.matching import ORDERING
from downbeat.errors import UsageError

NONE = "none"  # operation of kernels that are left out
OPERATIONS = (*ORDERING, "allgatherv", "alltoallv", NONE)
POINT_TO_POINT = re.compile(
    r"(^|[:_])(_?i?send|_?i?recv|_?receive|_?batch_?send|recv_?any_?source|permute)", re.IGNORECASE
)
LOOKS_LIKE_COLLECTIVE = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|cross_device_reduce|(nccl|rccl|msccl|hccl|xccl|hcom_|nvshmem)",
    re.IGNORECASE,
)
# Reasons why events are left out, as they are printed.
OF_POINTS = "point-to-point calls"
UNKNOWN_CALLS = "calls of the library whose operation neither their name nor their arguments say"
LEFT_OUT = "kernels that --kernel leaves out"


class KernelRow(NamedTuple):
    """A row of the table: a family of kernels.

    Attributes:
        pattern: matches anywhere in a kernel's name without parameters; its group `group` is the process group.
        operation: of all kernels of the family; empty: the arguments of a kernel have it, or the name after the match.
        option: text of the option --kernel; empty: a row of `FAMILIES`.
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
    """The meaning of a kernel's name.

    Attributes:
        operation: MPI's name; empty: not in the name.
        from_option: True: the operation is from option --kernel, and overrides the arguments of the kernel.
        group: process group; empty: not in the name.
    """

    operation: str
    from_option: bool
    group: str


@dataclass
class Kernels:
    """The table of kernels, and the options that matched a kernel.

    Attributes:
        rows: the first row that matches counts.
        used: texts of options --kernel that matched a kernel.
    """

    rows: tuple[KernelRow, ...] = FAMILIES
    used: set[str] = field(default_factory=set)

    def find(self, name: str) -> Kernel | None:
        """Returns the meaning of a kernel's name; None: no row matches."""
        bare = re.split(r"[<(]", name, maxsplit=1)[0]
        for row in self.rows:
            match = row.pattern.search(bare)
            if match is not None:
                if row.option:
                    self.used.add(row.option)
                operation = row.operation or normalize(bare[match.end() :]) or ""
                return Kernel(operation, bool(row.option), match.groupdict().get("group") or "")
        return None


def looks_like_collective(name: str) -> bool:
    """Returns true if the name of a kernel looks like a collective's, for kernels of no known family."""
    return LOOKS_LIKE_COLLECTIVE.search(re.split(r"[<(]", name, maxsplit=1)[0]) is not None


def stranger(name: str) -> str:
    """Returns the reason why kernels that look like a collective's are left out, given the name of one of them."""
    bare = re.split(r"[<(]", name, maxsplit=1)[0].removeprefix("void ")
    return (
        "kernels look like collectives, but are of no known family: if each rank waits in them for all, "
        f"add --kernel '{re.escape(bare)}=allreduce' or similar"
    )


def kernels_of(options: Iterable[str]) -> Kernels:
    """Returns the table, with the rows of the user before `FAMILIES`.

    Args:
        options: values of --kernel, PATTERN=OPERATION: a regular expression, and one of `OPERATIONS`.

    Raises:
        UsageError: an option does not have this form, or its pattern matches every name.
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
