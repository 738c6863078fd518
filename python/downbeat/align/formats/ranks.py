"""The rank of a trace: as its file says, or as it was given, or by the file's name, or by the names of all files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from downbeat.align.calls import RankTrace
from downbeat.errors import UsageError
from downbeat.text import counted

UNKNOWN_RANK = -1
GIVE = "say it: RANK=FILE, as in 0={}"
MOST_NAMED = 4
# Ranks within a node or a group of ranks.
OF_A_PART = re.compile(r"(?:local|node|group|tp|pp|dp|ep|cp|mp|sp|fsdp)[-_.]?rank[-_.]?\d+", re.IGNORECASE)
OF_ALL = re.compile(r"(?:(?:global|world)[-_.]?rank|(?<![A-Za-z])rank)[-_.]?(\d+)", re.IGNORECASE)
PLACE = re.compile(r"(?<!\d)(\d+)[-_ ]?of[-_ ]?(\d+)(?!\d)", re.IGNORECASE)
PROCESS = re.compile(r"(?<![A-Za-z])(?:worker|process|proc|procid|task)[-_.]?(\d+)", re.IGNORECASE)
MACHINE = re.compile(r"(?<![A-Za-z])(?:host|node)[-_.]?(\d+)", re.IGNORECASE)
# PyTorch's handler: worker.time.pt.trace.json, where the worker is host_pid if nobody named it.
PYTORCH = re.compile(r"(?:\.\d+)?\.pt\.trace\.json(?:\.gz)?$")
OWN_NUMBER = re.compile(r"(?<=[-_.])\d+(?=[-_.]|$)")
# What launchers set in the environment of a process, the closest one first.
VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")


def rank_of(path: Path) -> int | None:
    """Returns the rank that the name of a file, or of its directory, says: rank-3.json, trace_3_of_8, rank3/a.json.

    None if it says none, or several: a machine's number is a rank only if nothing else is named.
    """
    for name in (path.name, path.parent.name):
        worker, times = PYTORCH.subn("", name)
        rest = OF_A_PART.sub("", worker)
        places = {int(one[1]) for one in PLACE.finditer(rest) if int(one[1]) < int(one[2])}
        kinds = [{int(one) for one in OF_ALL.findall(rest)} | places]
        # A worker of PyTorch's may be a host with a process number: worker-3_12345.
        known = [one for one in PROCESS.finditer(rest) if not times or one.end() == len(rest)]
        kinds.append({int(one[1]) for one in known})
        kinds.append(set() if times else {int(one) for one in MACHINE.findall(rest)})
        found = next(filter(None, kinds), set())
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def rank_in_environment(text: str) -> int | None:
    """Returns the rank that variables of launchers in a text say: RANK=3."""
    found = {name: int(value) for name, value in re.findall(r"\b([A-Z][A-Z_0-9]*)=(\d+)\b", text) if name in VARIABLES}
    return next((found[name] for name in VARIABLES if name in found), None)


def ranks_by_numbers(paths: Sequence[Path]) -> dict[Path, int]:
    """Returns ranks of files whose names have one number each, if these are 0, 1, 2 ...: report.%q{PMI_RANK}."""
    stems = [PYTORCH.sub("", path.name).removesuffix(".gz") for path in paths]
    numbers = [OWN_NUMBER.findall(stem.rpartition(".")[0] or stem) for stem in stems]
    if len(paths) > 1 and all(len(some) == 1 for some in numbers):
        found = {path: int(some[0]) for path, some in zip(paths, numbers, strict=True)}
        if sorted(found.values()) == list(range(len(paths))):
            return found
    return {}


def with_ranks(files: Sequence[tuple[Path, list[RankTrace]]], given: Mapping[Path, int]) -> dict[int, RankTrace]:
    """Returns the traces in files by rank, ascending.

    Args:
        files: with their traces, whose rank is `UNKNOWN_RANK` where the file does not say it.
        given: ranks of files as the user says.

    Raises:
        UsageError: a rank is not known, or is given otherwise than the file says, or two are of one rank.
    """
    unknown = [path for path, traces in files if any(one.rank == UNKNOWN_RANK for one in traces) and path not in given]
    named = {path: rank_of(path) for path in unknown}
    if not any(rank is not None for rank in named.values()):
        named |= ranks_by_numbers(unknown)
    missing = [path for path in unknown if named[path] is None]
    if missing:
        others = f" and {counted(len(missing) - 1, 'more file')}" if len(missing) > 1 else ""
        said = "do not say their ranks" if others else "does not say its rank"
        raise UsageError(f"'{missing[0]}'{others} {said}; {GIVE.format(missing[0])}")
    found: defaultdict[int, list[RankTrace]] = defaultdict(list)
    for path, traces in files:
        if path in given and len(traces) != 1:
            raise UsageError(
                f"'{path}' has {len(traces)} ranks; give it without one: '{path}', not {given[path]}={path}"
            )
        for trace in traces:
            rank = given.get(path, trace.rank)
            if trace.rank not in (rank, UNKNOWN_RANK):
                raise UsageError(f"'{path}' is of rank {trace.rank}, not {rank}, as it says itself")
            rank = rank if rank != UNKNOWN_RANK else int(named[path] or 0)
            found[rank].append(replace(trace, rank=rank))
    several = {rank: traces for rank, traces in found.items() if len(traces) > 1}
    if several:
        rank, traces = min(several.items())
        first, second = traces[0].path, traces[1].path
        more = (
            f" ({len(several)} ranks have several files, as of several cycles of a profiler)"
            if len(several) > 1
            else ""
        )
        chosen = [str(some[0].path) for _, some in sorted(found.items())]
        shown = " ".join(chosen[:MOST_NAMED]) + (" ..." if len(chosen) > MOST_NAMED else "")
        raise UsageError(
            f"'{first}' and '{second}' are both of rank {rank}{more}; give one file for each rank, as {shown}"
        )
    return {rank: found[rank][0] for rank in sorted(found)}
