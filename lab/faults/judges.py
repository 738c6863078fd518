"""Judges promises: how a run ended, what it printed, what it left in its files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from downbeat.data.launch_file import open_launch
from downbeat.errors import UsageError

from lab.faults.engine import Judge, Outcomes
from lab.faults.site import BrokenError, Ended, NotPossibleError

DURATION = 100e-6  # s, of the operation whose time is known
STAMP = 1e-6  # s, what two stamps and rounding may add or take
NOT_HERE = 77  # status: the MPI library has no such thing


def figures_of(ended: Ended) -> dict[str, Any]:
    """Returns what fault-starts printed."""
    ended.must(0)
    found: dict[str, Any] = json.loads(next(line for line in ended.stdout.splitlines() if line.startswith("{")))
    return found


def common_start(ended: Ended) -> Outcomes:
    """Compares flags of 1 with the true exit skew."""
    figures = figures_of(ended)
    if figures["unexplained"]:
        raise BrokenError(f"{figures['unexplained']} starts with flags of 1 and first stamps in time were apart")
    if figures["false_stamps"]:
        raise BrokenError(f"{figures['false_stamps']} first stamps were apart by up to {figures['worst_stamp_us']} us")
    outcomes = {
        "flags of 1, and the start was common": figures["valid"] - figures["false_flags"],
        "starts with a flag of 0": figures["calls"] - figures["valid"],
        # between the last reading of the clock and the user's first stamp
        "flags of 1, interrupted after the flag, as the first stamp shows": figures["false_flags"],
        "communicators on another clock": figures["others"],
        "communicators on the TSC": figures["on_tsc"],
    }
    return {what: count for what, count in outcomes.items() if count}


def each_start(ended: Ended) -> Outcomes:
    """The same, where each start is a try."""
    outcomes = common_start(ended)
    ended.site.made = figures_of(ended)["calls"]
    return outcomes


def no_false_verdict(ended: Ended) -> Outcomes:
    """The same, where each launch is a try."""
    common_start(ended)
    return {"went on; no false verdict": 1}


def within_bound(ended: Ended) -> Outcomes:
    """Compares the clock's error bound with its true error, which the validation clock knows."""
    figures = figures_of(ended)
    if figures["outside"]:
        raise BrokenError(f"{figures['outside']} true errors were beyond their bound")
    return {"synchronizations, the true error within the bound": figures["calls"]}


def samples_hold(ended: Ended) -> Outcomes:
    """Checks the file of an operation whose time is known: no valid sample started late or was shorter."""
    ended.must(0)
    with open_launch(ended.site.where / "out.nc") as data:
        valid = data["valid"] == 1
        late = float(data["lateness"].where(valid).max())
        shortest = float((data["exit"] - data["entry"]).where(valid).min())
        count, counted = int(valid.sum()), int(data["valid_count"].sum())
    if late > 0.5e-6 + 1e-12:
        raise BrokenError(f"a valid sample's latest rank started {late * 1e6:.2f} us late")
    if shortest < DURATION - STAMP:
        raise BrokenError(f"an operation of {DURATION * 1e6:g} us took {shortest * 1e6:.2f} us")
    if not count or count != counted:
        raise BrokenError(f"{count} valid samples are in the file, which says {counted}")
    return {"all samples there; no valid one started late": ended.site.made}


def launch_ends(ended: Ended) -> Outcomes:
    """Expects an end in time, with a non-zero status."""
    if ended.hung or ended.status == 0:
        raise BrokenError("the launch went on" if ended.hung else "the launch ended with status 0")
    return {f"launch ended, status {ended.status}": 1}


def nothing_lost(named: str = "", may_succeed: bool = False) -> Judge:
    """Expects the same, complete cells in out.nc as out.json has them, and one line with a name (or without)."""

    def judge(ended: Ended) -> Outcomes:
        if may_succeed and ended.status == 0:
            return {"it was faster than its death": 1}
        outcomes = launch_ends(ended)
        if named and sum(named in line for line in ended.stderr.splitlines()) != 1:
            raise BrokenError(f"no single line names {named}: {ended.last_line}")
        report = ended.site.where / "out.json"
        lines = report.read_text(encoding="utf-8").splitlines() if report.exists() else []
        complete = sum('"record":"cell"' in line for line in lines)
        try:
            with open_launch(ended.site.where / "out.nc") as data:
                there = int((np.bincount(data["cell_index"].values[data["valid"].values == 1]) >= 200).sum())
        except UsageError as error:
            if complete:
                raise BrokenError(str(error)) from error
        else:
            if there < complete - 1:  # it may have died between the two files
                raise BrokenError(f"{complete} cells were reported, {there} are in the file")
        return outcomes

    return judge


def as_promised(ended: Ended) -> Outcomes:
    """Expects status 0."""
    if ended.status == NOT_HERE:
        raise NotPossibleError(f"{ended.site.mpi} does not offer it")
    ended.must(0)
    return {"as promised": 1}


def noticed(prefix: str, may_succeed: bool = False) -> Judge:
    """Expects a line with this prefix once a call has failed; freeing a communicator may fail without one."""

    def judge(ended: Ended) -> Outcomes:
        log = ended.site.where / "log"
        call = log.read_text(encoding="ascii").split("\n")[0] if log.exists() else ""
        if ended.hung or ended.traceback:
            raise BrokenError(f"{call}: {'hung' if ended.hung else ended.last_line}, status {ended.status}")
        if ended.status == 0:
            if call and not may_succeed and call not in ("Comm_free", "Group_free"):
                raise BrokenError(f"{call} failed, and nobody noticed")
            return {"went on" if call else "there were not so many calls": 1}
        if prefix and not any(prefix in line for line in ended.stderr.splitlines()):
            raise BrokenError(f"{call}: status {ended.status} without a line: {ended.last_line}")
        return {"one line, non-zero status" if prefix else "ended by the error handler": 1}

    return judge
