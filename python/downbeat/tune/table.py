"""The output of `downbeat tune`, 80 columns wide."""

from __future__ import annotations

import textwrap
from collections import Counter

from downbeat.statistics.location import Interval
from downbeat.text import counted
from downbeat.tune.outcome import Tuning
from downbeat.tune.rules import DEFAULT, Rule

WIDTH = 80
LONGEST_REASON = 150


def render(tuning: Tuning, warnings: list[str]) -> str:
    """Returns the tables, the summary and the warnings."""
    lines = [tuning.target.version, f"rules: {tuning.target.form.name}"]
    if tuning.question.arrivals:
        lines += wrap(f"arrival pattern: {tuning.question.arrivals}; compared: {tuning.question.effort.metric}")
    lines.append("")
    if tuning.rules:
        lines += [*rules_table(tuning), ""]
    lines += wrap(summary(tuning))
    if tuning.others:
        lines += ["", *others_table(tuning)]
    excluded = [
        line for usable in tuning.usable for line in excluded_lines(usable.collective, usable.ranks, usable.excluded)
    ]
    if excluded:
        lines += ["", "not measured:", *excluded]
    lines += ["", *(line for warning in warnings for line in wrap(f"warning: {warning}"))]
    return "\n".join(lines).rstrip()


def rules_table(tuning: Tuning) -> list[str]:
    """Returns three lines per rule: what it says, what it gains, how it is known to be obeyed."""
    lines = [f"{'collective':<20} {'ranks':>5} {'bytes':>17}  in place of the default"]
    for rule in tuning.rules:
        lines.append(f"{rule.collective:<20} {rule.ranks:>5} {rule.sizes:>17}  {rule.algorithm}")
        comparison = tuning.rule_gains.get(rule)
        gain = "not measured" if comparison is None else f"{gained(comparison.ratio)}, {comparison.verdict}"
        lines += wrap(f"gain: {gain}", "    ", " " * 10)
        lines += wrap(f"proof: {proven(tuning, rule)}", "    ", " " * 11)
    return lines


def gained(ratio: Interval) -> str:
    """Returns by what a time was divided, with its interval, out of the ratio of times."""
    return f"{1 / ratio.estimate:.3f} times as fast ({1 / ratio.high:.3f} to {1 / ratio.low:.3f})"


def proven(tuning: Tuning, rule: Rule) -> str:
    """Returns how the cells of a rule were proven."""
    proofs = [proof for cell, proof in tuning.proofs.items() if rule.holds(cell)]
    counts = Counter((proof.verdict, proof.by) for proof in proofs)
    return "; ".join(
        f"{verdict}: {shortened(by)} ({count} of {len(proofs)})" for (verdict, by), count in counts.items()
    )


def summary(tuning: Tuning) -> str:
    """Returns the line that says how it went."""
    cells = len(tuning.decisions)
    changed = sum(tuning.in_rules(decision.cell) != DEFAULT for decision in tuning.decisions)
    if not tuning.rules:
        return f"no rules: the library's own choice stays in all {cells} cells"
    verdicts = Counter(proof.verdict for cell, proof in tuning.proofs.items() if tuning.in_rules(cell) != DEFAULT)
    proofs = ", ".join(f"{verdicts[name]} {name}" for name in ("proven", "cannot tell", "failed") if verdicts[name])
    rules = counted(len(tuning.rules), "rule")
    return f"{rules} for {changed} of {cells} cells ({proofs}); the library's own choice stays in the others"


def others_table(tuning: Tuning) -> list[str]:
    """Returns where the other measurement would have chosen otherwise, and where that has a price."""
    others, prices = tuning.others, tuning.prices
    anew = "under the pattern" if tuning.question.arrivals else "from a common start"
    lines = wrap(
        f"{tuning.question.otherwise} another algorithm would have been chosen in {len(others)} cells. Measured anew, "
        f"{anew}, its time over that of the choice made is {price_text(prices.mean)} on average; in "
        f"{len(prices.higher())} cells it is longer beyond doubt{':' if prices.higher() else ''}"
    )
    for other in others:
        if other.cell in prices.higher():
            cell = other.cell
            lines.append(
                f"  {cell.collective:<18} {cell.ranks:>5} ranks {cell.size:>9} bytes  "
                f"{price_text(prices.by_cell[cell].ratio)}"
            )
            lines.append(f"      {other.other} in place of {other.chosen}")
    return lines


def price_text(price: Interval | None) -> str:
    """Returns a ratio of times with its interval."""
    return "unknown" if price is None else f"{price.estimate:.3f} ({price.low:.3f} to {price.high:.3f})"


def excluded_lines(collective: str, ranks: int, excluded: dict[str, str]) -> list[str]:
    """Returns a paragraph for each algorithm that was left out."""
    return [
        line
        for algorithm, reason in excluded.items()
        for line in wrap(f"{collective} on {ranks} ranks by {algorithm}: {shortened(reason)}", "  ", "      ")
    ]


def shortened(reason: str) -> str:
    """Returns as much of a reason as a table can hold; rules.json has all of it."""
    return textwrap.shorten(reason, LONGEST_REASON, placeholder=" ...")


def wrap(text: str, first: str = "", rest: str = "  ") -> list[str]:
    """Returns a paragraph in lines."""
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False)
