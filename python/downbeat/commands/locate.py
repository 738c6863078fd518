"""The command `downbeat locate`, which names a slow node or link.

It reads logs of pairs of nodes, or measures all pairs with `downbeat-bench pairs` under a launcher.
"""

from __future__ import annotations

import os
import shutil
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from downbeat.commands.options import LIBRARY_NAMES, PASSED
from downbeat.errors import DownbeatError, UsageError

if TYPE_CHECKING:
    from downbeat.locate.findings import Findings

# Exit statuses with --fail-on.
EXIT_SLOW = 3
EXIT_UNSTEADY = 4
DEFAULT_FILE = Path("pairs.nc")  # of measured pairs


class FailOn(StrEnum):
    """Findings that make the exit status differ from 0."""

    NOTHING = "nothing"
    SLOW = "slow"
    UNSTEADY = "unsteady"


def locate(
    context: typer.Context,
    logs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Logs of pairs of nodes: of nccl-tests, rccl-tests, OSU or PICO, a log or run for each pair, files, "
            "directories or archives; or a file of downbeat-bench pairs.",
            metavar="LOG",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Page to write, HTML; - for standard output.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write JSON; - for standard output.")
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Earlier logs, or an earlier file, of the same nodes: report what changed."),
    ] = None,
    fail_on: Annotated[
        FailOn, typer.Option(metavar="WHEN", help="Fail if the machine is: slow, unsteady (see above).")
    ] = FailOn.NOTHING,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="With a launcher: end before this time is over, e.g. 60s.", show_default=False
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With a launcher: file to write.  [default: pairs.nc]", show_default=False),
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With a launcher: MPI library.  [default: the launcher's]",
            show_default=False,
            autocompletion=LIBRARY_NAMES,
        ),
    ] = None,
) -> None:
    """Name the slow node or link, with the probability of a false alarm.

    downbeat locate LOG ...: from logs of other tools, or from a file of downbeat-bench pairs.

    downbeat locate -- srun -N 64: measures all pairs of the nodes first.

    Exit status: 0. With --fail-on slow: 3 if a node or link is slow. With
    --fail-on unsteady: 3 if one is slow, else 4 if the machine is not steady,
    pairs failed, or a slow node cannot be told from a slow link.
    """
    from downbeat.files import is_standard_output
    from downbeat.output.blocks import Depth, Line
    from downbeat.output.page import write_page
    from downbeat.output.records import view_record, write_record
    from downbeat.output.terminal import block_lines, view_lines
    from downbeat.views.locate import following, locate_view

    launcher: list[str] = context.meta[PASSED]
    if bool(logs) == bool(launcher):
        raise UsageError("give logs of pairs, or a launcher that starts a process on each node: -- srun -N 64")
    if not launcher and (save or within or mpi):
        raise UsageError("--save, --within and --mpi are for a launcher: downbeat locate -- srun -N 64")
    paths = [measure(launcher, save or DEFAULT_FILE, within, mpi)] if launcher else logs or []
    findings = find_all(paths, baseline)
    view = locate_view(findings, Depth.PAGE if output else Depth.TEXT)
    if output:
        write_page(output, view)
    if json:
        write_record(view_record(view), json)
    if not (is_standard_output(output) or is_standard_output(json)):
        written = [Line(str(file), label="written") for file in (output, json, paths[0] if launcher else None) if file]
        print("\n".join([*view_lines(view), "", *block_lines([*written, *following(paths, output)])]).rstrip())
    if fail_on is not FailOn.NOTHING and any(each.accused for each in findings):
        raise typer.Exit(EXIT_SLOW)
    failed = any(each.times.failed for each in findings)
    if fail_on is FailOn.UNSTEADY and (failed or any(each.unsteady or each.undecided for each in findings)):
        raise typer.Exit(EXIT_UNSTEADY)


def find_all(paths: list[Path], baseline: Path | None) -> list[Findings]:
    """The findings in logs, or in a file of pairs.

    Args:
        paths: logs and directories of other tools, or one file of downbeat-bench pairs.
        baseline: earlier logs or an earlier file; None: no comparison.

    Raises:
        UsageError: there are no pairs, or they cannot be read.
    """
    from downbeat.data.pair_file import is_pair_file, read_pair_file
    from downbeat.data.pair_results import pairs_in
    from downbeat.data.readers import read_results
    from downbeat.locate.findings import find
    from downbeat.locate.live import find_live

    if baseline and not baseline.exists():
        raise UsageError(f"'{baseline}' does not exist; give earlier logs or an earlier file as --baseline")
    live = [path for path in paths if is_pair_file(path)]
    if live and (len(paths) > 1 or (baseline and not is_pair_file(baseline))):
        raise UsageError(f"'{live[0]}' is of downbeat-bench pairs, which is compared with another such file alone")
    if live and not baseline:
        return find_live(read_pair_file(live[0]))
    if live and baseline:
        current, accepted = ([group.tournament() for group in read_pair_file(path)] for path in (live[0], baseline))
        return find(current, accepted, str(baseline))
    earlier = pairs_in(read_results([baseline])) if baseline else []
    return find(pairs_in(read_results(paths)), earlier, str(baseline or ""))


def measure(launcher: list[str], output: Path, within: str | None, mpi: str | None) -> Path:
    """Runs `downbeat-bench pairs` under a launcher; returns `output`, the file that it wrote.

    Args:
        launcher: words of the launcher's command.
        output: file to write.
        within: maximum duration, e.g. "60s"; None: no limit.
        mpi: name of the MPI library; None: that of the launcher, else the first with a downbeat-bench.

    Raises:
        UsageError: there is no downbeat-bench for the library or no such launcher, or the file exists.
        DownbeatError: the measurement failed.
    """
    from downbeat.commands.trace import run_traced
    from downbeat.run.bench import find_any_bench, find_bench
    from downbeat.run.libraries import LIBRARIES

    if output.exists():
        raise UsageError(f"'{output}' is there already; choose another file with --save")
    program = shutil.which(launcher[0])
    if not program:
        raise UsageError(f"there is no program '{launcher[0]}'; give a launcher: -- srun -N 64")
    name = mpi or next((name for name, library in LIBRARIES.items() if library.owns(program)), None)
    bench = find_bench(name) if name else find_any_bench()[1]
    options = ["--within", within] if within else []
    status = run_traced([*launcher, bench, "pairs", "-o", str(output), *options], os.environ, str(output.resolve()))
    if status or not output.exists():
        raise DownbeatError(f"'{' '.join(launcher)} {bench} pairs' ended with status {status}")
    return output
