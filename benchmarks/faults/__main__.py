"""Makes faults, again and again, and says whether Downbeat keeps its promises (docs/reliability.md).

python -m benchmarks.faults [--rows NAME,NAME..] [--tries N] [--quick] [--mpi NAME] [--seed N] [--list]
    [--output FILE] [--page FILE]

Each row of the table is one fault: what is promised, how often it was tried, what happened. After every try nothing may
be left: no process, no shared memory, no temporary file, no network device. Prints the table, and writes it as JSON to
FILE and as Markdown beside it (default build/bench-faults.json, .md). Status: 0 all promises were kept, 1 one was
broken, 2 bad arguments.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from downbeat.launchers.libraries import LIBRARIES, ROOT

from benchmarks.faults.registry import ROWS
from benchmarks.faults.row import Row
from benchmarks.faults.table import BEGIN, Tally, print_tally, write_table
from benchmarks.faults.trying import try_row
from benchmarks.running import fail, unset_settings

NAME = "bench-faults"


class Parser(argparse.ArgumentParser):
    """An argument parser that complains in one line."""

    def error(self, message: str) -> NoReturn:
        fail(NAME, message)


def chosen_rows(names: str | None, quick: bool) -> list[Row]:
    """Returns the rows to try, in the order of the table."""
    if names is None:
        return [row for row in ROWS if row.quick or not quick]
    wanted = names.split(",")
    for name in wanted:
        if name not in {row.name for row in ROWS}:
            fail(NAME, f"--rows: there is no row '{name}'; valid are: {', '.join(row.name for row in ROWS)}")
    return [row for row in ROWS if row.name in wanted]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Returns the options."""
    parser = Parser(prog=NAME, description="Makes faults and reports what happens.", allow_abbrev=False)
    parser.add_argument("--rows", metavar="NAMES", help="only these, separated by commas")
    parser.add_argument("--tries", type=int, metavar="N", help="of each row [its own number]")
    parser.add_argument("--quick", action="store_true", help="few tries of each row, a minute in all")
    parser.add_argument("--mpi", choices=LIBRARIES, default="openmpi", help="default openmpi")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments [1]")
    parser.add_argument("--list", action="store_true", help="print the rows; try nothing")
    parser.add_argument("--output", type=Path, default=ROOT / "build/bench-faults.json", metavar="FILE")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="also put the table into this page, where its comments say"
    )
    options = parser.parse_args(arguments)
    if options.page and not (options.page.is_file() and BEGIN in options.page.read_text(encoding="utf-8")):
        fail(NAME, f"--page {options.page}: give a page that has '{BEGIN}', such as docs/reliability.md")
    if options.tries is not None and options.tries < 1:
        fail(NAME, f"--tries {options.tries}: valid are integers from 1")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Tries the rows; returns the exit status."""
    options = parse(arguments)
    rows = chosen_rows(options.rows, options.quick)
    if options.list:
        for row in rows:
            print(f"{row.name:20} {row.tries:5}  {row.fault}")
        return 0
    if not (ROOT / "build" / options.mpi / "bin/fault-starts").exists():
        fail(NAME, f"nothing is built for {options.mpi}; run: make build MPI={options.mpi}")
    unset_settings()
    # What nohup and a shell's & ignore would be ignored by all that is started here, and signals are faults, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    words = sys.argv[1:] if arguments is None else list(arguments)
    command = shlex.join(["python", "-m", "benchmarks.faults", *words])
    tallies: list[Tally] = []
    for row in rows:
        tries = options.tries or (row.quick or 1 if options.quick else row.tries)
        tallies.append(try_row(row, tries, options.mpi, options.seed))
        print_tally(tallies[-1])
        write_table(options.output, tallies, command, options.mpi)  # what an hour has shown outlives an interruption
    write_table(options.output, tallies, command, options.mpi, options.page)
    return 1 if any(tally.broken for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
