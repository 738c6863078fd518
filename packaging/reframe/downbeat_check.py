"""A ReFrame check of MPI collectives: slower than on the nights before, by `downbeat compare` (docs/ci.md)."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, performance_function, run_after, run_before, sanity_function, variable

NAME_OF_COMPARISON = "compare.json"


@rfm.simple_test
class DownbeatCheck(rfm.RunOnlyRegressionTest):
    """Measures an operation in several launches, and compares them with earlier experiments.

    Sanity is the exit status. The verdict on performance has no band around a number: it fails if any cell is slower,
    significantly and corrected for their number, than in the experiments of the history. With fewer than five of these
    nothing is decided, and the check passes. A night that is slower stays there, marked, and later ones are compared
    with the others.
    """

    operation = parameter(["barrier", "bcast", "reduce", "allreduce", "alltoall"])
    sizes = variable(str, value="8,4K,64K")
    mpi = variable(str, value="openmpi")
    ranks = variable(int, value=0)  # 0: all of the job, on one machine one per core
    launches = variable(int, value=10)
    options = variable(str, value="")  # more options of `downbeat run`
    history = variable(str, value="downbeat-history")  # directory; relative to where reframe was started

    descr = "Collectives from a common start"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "downbeat"
    tags = {"performance", "mpi"}

    @run_after("setup")
    def leave_launches_to_downbeat(self) -> None:
        # `downbeat run` starts mpirun or srun itself, once for each launch, within the job that ReFrame submits.
        self.job.launcher = getlauncher("local")()
        if self.ranks > 0:
            self.num_tasks = self.ranks

    @run_before("run")
    def say_what_to_run(self) -> None:
        place = f"{self.current_system.name}-{self.current_partition.name}-{self.current_environ.name}"
        nights = Path(self.history).absolute() / place / f"{self.operation}-{self.mpi}"
        night = nights / time.strftime("%Y-%m-%dT%H%M%S")
        words = ["run", self.operation, "--sync", "harmonize", "--mpi", self.mpi, "--launches", str(self.launches)]
        if self.operation != "barrier":
            words += ["--sizes", self.sizes]
        if self.ranks > 0:
            words += ["--ranks", str(self.ranks)]
        self.executable_opts = [shlex.join([*words, "-o", str(night), *shlex.split(self.options)])]
        night_, nights_ = (shlex.quote(str(path)) for path in (night, nights))
        self.postrun_cmds = [
            "status=$?",
            "[ $status -eq 0 ] || exit $status",
            # A cell that is slower is a result, and no failure to measure.
            f"downbeat compare {night_} --history {nights_} --mark --json {NAME_OF_COMPARISON}",
        ]

    @sanity_function
    def measured(self) -> Any:
        return sn.assert_eq(self.job.exitcode, 0, "downbeat ended with status {0}; see its output")

    def cells(self) -> list[dict[str, Any]]:
        text = (Path(self.stagedir) / NAME_OF_COMPARISON).read_text(encoding="utf-8")
        cells: list[dict[str, Any]] = json.loads(text)["cells"]
        return cells

    @performance_function("cells", perf_key="slower")
    def count_slower(self) -> int:
        return sum(cell["verdict"] == "slower" for cell in self.cells())

    @performance_function("cells", perf_key="undecided")
    def count_undecided(self) -> int:
        return sum(cell["verdict"] == "undecided" for cell in self.cells())

    def latency(self, cell: dict[str, Any]) -> float:
        return float(cell["b"]) * 1e6

    @run_before("performance")
    def judge(self) -> None:
        self.perf_variables = {
            "slower": self.count_slower(),
            "undecided": self.count_undecided(),
            # For the record: nothing is concluded from them.
            **{
                f"latency_{cell['size']}": sn.make_performance_function(sn.defer(self.latency(cell)), "us")
                for cell in self.cells()
                if cell["b"] is not None
            },
        }
        self.reference = {"*": {"slower": (0, None, 0, "cells")}}
