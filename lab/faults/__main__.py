"""Makes faults, again and again, and says whether Downbeat keeps its promises (docs/reliability.md).

python -m lab.faults [--rows NAME,NAME..] [--tries N] [--quick] [--mpi NAME] [--list] ... (--help)

Each row of the table is one fault: what is promised, how often it was tried, what happened. After every try nothing may
be left: no process, no shared memory, no temporary file, no network device. Prints the table, and writes it as JSON to
FILE and as Markdown beside it (default build/bench-faults.json, .md). Status: 0 all promises were kept, 1 one was
broken, 2 bad arguments.
"""

from __future__ import annotations

import datetime
import shlex
import signal
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from downbeat.launchers.libraries import ROOT

from benchmarks.running import Parser, unset_settings, whole_from, write_json
from lab.faults.rows import ROWS
from lab.faults.trial import Row, Tally, try_row

MOST_SHOWN = 5  # broken promises of a row that are printed; the file has all


def make_parser() -> Parser:
    parser = Parser("bench-faults", "Makes faults and reports what happens.")
    parser.add_argument("--rows", metavar="NAMES", help="only these, separated by commas")
    parser.add_argument("--tries", type=whole_from(1), metavar="N", help="of each row [its own number]")
    parser.add_argument("--quick", action="store_true", help="few tries of each row, a minute in all")
    parser.add_mpi()
    parser.add_argument("--seed", type=int, default=1, help="of the random moments [1]")
    parser.add_argument("--list", action="store_true", help="print the rows; try nothing")
    parser.add_output()
    return parser


def chosen_rows(parser: Parser, names: str | None, quick: bool) -> list[Row]:
    """Returns the rows to try, in the order of the table."""
    if names is None:
        return [row for row in ROWS if row.quick or not quick]
    wanted = names.split(",")
    for name in wanted:
        if name not in {row.name for row in ROWS}:
            parser.error(f"--rows: there is no row '{name}'; valid are: {', '.join(row.name for row in ROWS)}")
    return [row for row in ROWS if row.name in wanted]


def print_tally(tally: Tally) -> None:
    verdict = "NOT TRIED" if tally.not_possible else "BROKEN" if tally.broken else "kept"
    print(f"{tally.name:20} {tally.tries:5} tries {tally.seconds:6.0f} s  {verdict}", flush=True)
    print(textwrap.indent(textwrap.fill(tally.happened, 100), " " * 4), flush=True)
    for broken in tally.broken[:MOST_SHOWN]:
        print(f"    ! {broken}", flush=True)


def write_table(path: Path, tallies: list[Tally], command: str, mpi: str) -> None:
    """Writes the table as JSON, and as Markdown beside it."""
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    minutes = sum(tally.seconds for tally in tallies) / 60
    tries, broken = sum(tally.tries for tally in tallies), sum(len(tally.broken) for tally in tallies)
    lines = [
        f"{date}, `{command}`, {mpi}: {tries} tries in {minutes:.0f} minutes, {broken} broken promises.\n",
        "| row | fault | promised | tries | what happened |",
        "|---|---|---|---:|---|",
        *(f"| `{one.name}` | {one.fault} | {one.promise} | {one.tries} | {one.happened} |" for one in tallies),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    write_json(path, {"schema_version": 1, "mpi": mpi, "date": date, "command": command, "rows": tallies})


def main(arguments: Sequence[str] | None = None) -> int:
    """Tries the rows; returns the exit status."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    rows = chosen_rows(parser, options.rows, options.quick)
    if options.list:
        for row in rows:
            print(f"{row.name:18} {row.tries:7}  {row.fault}\n{'':27} {row.promise}")
        return 0
    if not (ROOT / "build" / options.mpi / "bin/fault-starts").exists():
        parser.error(f"nothing is built for {options.mpi}; run: make build MPI={options.mpi}")
    unset_settings()
    # Everything that is started here would inherit what nohup and a shell's & ignore.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    command = shlex.join(["python", "-m", "lab.faults", *(sys.argv[1:] if arguments is None else arguments)])
    tallies: list[Tally] = []
    for row in rows:
        tries = options.tries or (row.quick or 1 if options.quick else row.tries)
        tallies.append(try_row(row, tries, options.mpi, options.seed))
        print_tally(tallies[-1])
        write_table(options.output, tallies, command, options.mpi)  # an interruption loses one row
    return 1 if any(tally.broken for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
