"""Logs and files of pairs of simulated machines, as nccl-tests, OSU and downbeat-bench pairs write them."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np
from downbeat.data.pair_file import Looks, PairGroup, RankStates
from downbeat.tables import Floats
from launch_files import ATTRIBUTES, seal

from tests.statistics.benched import names_of

NAMES = 16  # characters


def nccl_log(a: str, b: str, gbps: Floats, failed: bool = False) -> str:
    """A log of sendrecv_perf, a line for each bandwidth, from 32 MiB on."""
    ranks = "".join(
        f"#  Rank {rank:2} Group  0 Pid {100 + rank} on {host} device  0 [0000:1b:00] NVIDIA H100\n"
        for rank, host in enumerate((a, b))
    )
    rows = [
        f"{2 ** (25 + row):12} {2 ** (22 + row):12}    double     sum      -1"
        + "".join(f" {2 ** (25 + row) / rate / 1e3:9.2f} {rate:7.4f} {rate:7.4f} {wrong}" for wrong in ("0", "N/A"))
        for row, rate in enumerate(gbps)
    ]
    lines = [
        "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807",
        "# Collective test starting: sendrecv_perf",
        "# nThread 1 nGpus 1 minBytes 33554432 maxBytes 268435456 step: 2(factor) iters: 20 agg iters: 1",
        "#",
        f"# Using devices\n{ranks}#",
        "#   size     count    type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong",
        "#    (B)  (elements)                           (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)",
        *([f"{a}: Test NCCL failure common.cu:401 'remote process exited'"] if failed else rows),
        *([] if failed else ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 1", "#"]),
    ]
    return "\n".join(lines) + "\n"


def osu_log(seconds: Floats) -> str:
    """A log of osu_latency, a line for each time, from 64 KiB on."""
    rows = [f"{2 ** (16 + row):<10}{1e6 * value:20.2f}" for row, value in enumerate(seconds)]
    return "\n".join(["# OSU MPI Latency Test v7.4", "# Size          Latency (us)", *rows]) + "\n"


def osu_bandwidth_log(rates: Floats) -> str:
    """A log of osu_bw, a line for each bandwidth in B/s, from 64 KiB on."""
    rows = [f"{2 ** (16 + row):<10}{1e-6 * value:20.2f}" for row, value in enumerate(rates)]
    return "\n".join(["# OSU MPI Bandwidth Test v7.4", "# Size      Bandwidth (MB/s)", *rows]) + "\n"


def write_nccl_logs(directory: Path, times: Floats, failed: tuple[tuple[int, int], ...] = ()) -> Path:
    """Writes a log for each pair; `times`: log times, shape (values, nodes, nodes), 0 is 10 GB/s."""
    directory.mkdir()
    names = names_of(times.shape[1])
    for a in range(len(names)):
        for b in range(a + 1, len(names)):
            text = nccl_log(names[a], names[b], 10 * np.exp(-times[:, a, b]), (a, b) in failed)
            (directory / f"N2_{names[a]}_{names[b]}.log").write_text(text, encoding="utf-8")
    return directory


def write_pairs(path: Path, *groups: PairGroup) -> Path:
    """Writes a file of downbeat-bench pairs; the ranks of each group follow those of the preceding groups."""
    sizes = [len(group.ranks) for group in groups]
    first_ranks, first_suspects = (
        np.cumsum([0, *lengths]) for lengths in (sizes, [len(group.suspects) for group in groups])
    )
    looks = Looks.joined(
        group.looks.replaced(
            a=group.looks.a + first_rank,
            b=group.looks.b + first_rank,
            suspect=np.where(group.looks.suspect < 0, -1, group.looks.suspect + first_suspect),
        )
        for group, first_rank, first_suspect in zip(groups, first_ranks, first_suspects, strict=False)
    )
    suspects = [
        [suspect[0] + first, suspect[1] + first if len(suspect) > 1 else -1]
        for group, first in zip(groups, first_ranks, strict=False)
        for suspect in group.suspects
    ]
    names = [name for group in groups for name in group.ranks]
    dimensions = {"pair": len(looks), "rank": len(names), "name_len": NAMES, "in_group": len(groups)}
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as file:
        file.setncatts({**ATTRIBUTES, "title": "Pairs", "experiment": "pairs"})
        for name, size in dimensions.items():
            file.createDimension(name, size)
        columns = {"round": "round", "rank_a": "a", "rank_b": "b", "pass": "passed"}
        columns |= {name: name for name in ("role", "suspect", "alone", "size", "seconds_ab", "seconds_ba")}
        for name, column in columns.items():
            kind = "f8" if name.startswith("seconds") else "i1" if name in ("pass", "role", "alone") else "i8"
            file.createVariable(name, kind, ("pair",))[:] = getattr(looks, column)
        if suspects:
            file.createDimension("suspected", len(suspects))
            for name, ends in zip(("suspected_a", "suspected_b"), zip(*suspects, strict=True), strict=True):
                file.createVariable(name, "i4", ("suspected",))[:] = np.array(ends)
        host = file.createVariable("host", "S1", ("rank", "name_len"))
        texts = np.array([name.ljust(NAMES, "\0") for name in names], dtype=f"S{NAMES}")
        host[:] = texts[:, np.newaxis].view("S1")
        file.createVariable("group", "i8", ("rank",))[:] = np.repeat(np.arange(len(groups)) + 1, sizes)
        file.createVariable("suspects_in_group", "i8", ("in_group",))[:] = [group.suspects_found for group in groups]
        for each in RankStates.columns():
            values = np.concatenate([getattr(group.states, each.name) for group in groups])
            file.createVariable(each.name, "f8", ("rank",))[:] = values
    return seal(path)


def write_pico_pairs(root: Path, times: Floats, algorithms: tuple[str, ...] = ("ring_ompi",), ranks: int = 4) -> Path:
    """Writes results of PICO, a directory of a time with the hosts of its ranks for each pair.

    Args:
        root: directory for the directory of the system and its metadata.
        times: log times, shape (values, nodes, nodes), 0 is 1 ms; a value is a size from 64 KiB on.
        algorithms: names; each is twice as slow as the algorithm before it.
        ranks: ranks on each node.
    """
    heads = "timestamp,test_id,nnodes,tasks_per_node,collective_type,mpi_lib,mpi_lib_version,gpu_awareness,MPI_Op,notes"
    table, names = [heads], names_of(times.shape[1])
    for number, (a, b) in enumerate(np.argwhere(np.triu(np.ones(times.shape[1:]), 1))):
        time = f"2025_03_14___{10 + number // 3600:02}_{number // 60 % 60:02}_{number % 60:02}"
        table.append(f"{time},0,2,{ranks},ALLREDUCE,OMPI,4.1.6,no,MPI_SUM,null")
        test = root / "fjord" / time / "0"
        test.mkdir(parents=True)
        hosts = [f"{rank},{names[(a, b)[rank // ranks]]}.local\n" for rank in range(2 * ranks)]
        (test.parent / f"alloc_{2 * ranks}.csv").write_text(f"MPI_Rank,allocation\n{''.join(hosts)}", encoding="utf-8")
        for slowdown, algorithm in enumerate(algorithms):
            for size, value in enumerate(times[:, a, b]):
                calls = 1e6 * 2**slowdown * np.exp(value) * np.array([1.0, 0.98, 1.02])
                rows = "".join(f"{call:.0f}\n" for call in calls)
                (test / f"{2 ** (14 + size)}_{algorithm}_int32.csv").write_text(f"highest\n{rows}", encoding="utf-8")
    (root / "fjord_metadata.csv").write_text("\n".join(table) + "\n", encoding="utf-8")
    return root
