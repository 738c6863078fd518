"""Judges promises: how a run ended, what it printed, what it left in its files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from downbeat.data.launch_file import open_launch
from downbeat.errors import UsageError

from tests.faults.trial import BrokenError, Judge, Outcomes, Run

DURATION = 100e-6  # s, of the operation whose time is known
STAMP = 1e-6  # s, what two stamps and rounding may add or take


def figures_of(run: Run) -> dict[str, Any]:
    """Returns what fault-starts printed."""
    run.must_succeed()
    found: dict[str, Any] = json.loads(next(line for line in run.stdout.splitlines() if line.startswith("{")))
    return found


def common_start(run: Run) -> Outcomes:
    """Compares flags of 1 with the true exit skew."""
    figures = figures_of(run)
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


def each_start(run: Run) -> Outcomes:
    """The same, where each start is a try."""
    run.site.made = figures_of(run)["calls"]
    return common_start(run)


def no_false_verdict(run: Run) -> Outcomes:
    """The same, where each launch is a try."""
    common_start(run)
    return "went on; no false verdict"


def within_bound(run: Run) -> Outcomes:
    """Compares the clock's error bound with its true error, which the validation clock knows."""
    figures = figures_of(run)
    if figures["outside"]:
        raise BrokenError(f"{figures['outside']} true errors were beyond their bound")
    return {"synchronizations, the true error within the bound": figures["calls"]}


def samples_hold(run: Run) -> Outcomes:
    """Checks the file of an operation whose time is known: no valid sample started late or was shorter."""
    run.must_succeed()
    with open_launch(run.site.where / "out.nc") as data:
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
    return {"all samples there; no valid one started late": run.site.made}


def launch_ends(run: Run) -> Outcomes:
    """Expects an end in time, with a non-zero status."""
    run.must_be_refused()
    return f"launch ended, status {run.status}"


def nothing_lost(named: str = "", may_succeed: bool = False) -> Judge:
    """Expects the same, complete cells in out.nc as out.json has them, and one line with a name (or without)."""

    def judge(run: Run) -> Outcomes:
        if may_succeed and run.status == 0:
            return "it was faster than its death"
        if run.hung or run.status == 0:
            raise BrokenError("the launch went on" if run.hung else "the launch ended with status 0")
        if named and sum(named in line for line in run.stderr.splitlines()) != 1:
            raise BrokenError(f"no single line names {named}: {run.last_line}")
        report = run.site.where / "out.json"
        complete = report.read_text(encoding="utf-8").count('"record":"cell"') if report.exists() else 0
        try:
            with open_launch(run.site.where / "out.nc") as data:
                there = int((np.bincount(data["cell_index"].values[data["valid"].values == 1]) >= 200).sum())
        except UsageError as error:
            if complete:
                raise BrokenError(str(error)) from error
        else:
            if there < complete - 1:  # it may have died between the two files
                raise BrokenError(f"{complete} cells were reported, {there} are in the file")
        return f"launch ended, status {run.status}"

    return judge


def as_promised(run: Run) -> Outcomes:
    """Expects status 0."""
    run.must_succeed()
    return "as promised"


def noticed(prefix: str, may_succeed: bool = False) -> Judge:
    """Expects a line with this prefix once a call has failed; freeing a communicator may fail without one."""

    def judge(run: Run) -> Outcomes:
        log = run.site.where / "log"
        call = log.read_text(encoding="ascii").split("\n")[0] if log.exists() else ""
        if run.hung or run.crashed:
            raise BrokenError(f"{call}: {'hung' if run.hung else run.last_line}, status {run.status}")
        if run.status == 0:
            if call and not may_succeed and call not in ("Comm_free", "Group_free"):
                raise BrokenError(f"{call} failed, and nobody noticed")
            return "went on" if call else "there were not so many calls"
        if prefix and not any(prefix in line for line in run.stderr.splitlines()):
            raise BrokenError(f"{call}: status {run.status} without a line: {run.last_line}")
        return "one line, non-zero status" if prefix else "ended by the error handler"

    return judge
