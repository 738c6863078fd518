"""The fault table: what was counted, printed and written."""

from __future__ import annotations

import dataclasses
import datetime
import textwrap
from pathlib import Path

from benchmarks.faults.row import Outcome
from benchmarks.running import write_json

BEGIN, END = "<!-- table -->", "<!-- end of table -->"  # in a page
MOST_SHOWN = 5  # broken promises of a row that are printed; the file has all


@dataclasses.dataclass
class Tally:
    """What happened in the tries of a row.

    Attributes:
        name: of the row.
        fault: in words.
        promise: in words.
        tries: how many there were.
        outcomes: how many tries ended so.
        broken: promises that were, each with figures.
        not_possible: why this machine cannot make the fault; empty: it can.
        seconds: that it took.
    """

    name: str
    fault: str
    promise: str
    tries: int = 0
    outcomes: dict[str, int] = dataclasses.field(default_factory=dict)
    broken: list[str] = dataclasses.field(default_factory=list)
    not_possible: str = ""
    seconds: float = 0.0

    def count(self, outcome: Outcome) -> None:
        """Adds an outcome."""
        self.tries += outcome.count if outcome.tries is None else outcome.tries
        self.outcomes[outcome.what] = self.outcomes.get(outcome.what, 0) + outcome.count
        if outcome.broken:
            self.broken.append(f"try {self.tries}: {outcome.broken}")

    @property
    def happened(self) -> str:
        """What happened, in words."""
        if self.not_possible:
            return f"not tried: {self.not_possible}"
        words = ", ".join(f"{what}: {count}" for what, count in sorted(self.outcomes.items(), key=lambda one: -one[1]))
        return f"{words}; broken promises: {len(self.broken)}" if self.broken else words


def print_tally(tally: Tally) -> None:
    """Prints a row of the table."""
    verdict = "NOT TRIED" if tally.not_possible else "BROKEN" if tally.broken else "kept"
    print(f"{tally.name:20} {tally.tries:5} tries {tally.seconds:6.0f} s  {verdict}", flush=True)
    print(textwrap.indent(textwrap.fill(tally.happened, 100), " " * 4), flush=True)
    for broken in tally.broken[:MOST_SHOWN]:
        print(f"    ! {broken}", flush=True)


def markdown(tallies: list[Tally], command: str, mpi: str, date: str) -> str:
    """Returns the table as docs/reliability.md has it."""
    minutes = sum(tally.seconds for tally in tallies) / 60
    tries = sum(tally.tries for tally in tallies)
    broken = sum(len(tally.broken) for tally in tallies)
    lines = [
        f"{date}, `{command}`, {mpi}: {tries} tries in {minutes:.0f} minutes, {broken} broken promises.",
        "",
        "| row | fault | promised | tries | what happened |",
        "|---|---|---|---:|---|",
    ]
    for tally in tallies:
        lines.append(f"| `{tally.name}` | {tally.fault} | {tally.promise} | {tally.tries} | {tally.happened} |")
    return "\n".join(lines) + "\n"


def write_table(path: Path, tallies: list[Tally], command: str, mpi: str, page: Path | None = None) -> None:
    """Writes the table as JSON, as Markdown beside it, and between two comments of a page."""
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    table = markdown(tallies, command, mpi, date)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".md").write_text(table, encoding="utf-8")
    if page:
        before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
        page.write_text(f"{before}{BEGIN}\n\n{table}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    write_json(path, {"schema_version": 1, "mpi": mpi, "date": date, "command": command, "rows": tallies})
