"""The page of a tuning: algorithms against the library's own choice, what was chosen, and how to switch it on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from downbeat.errors import UsageError
from downbeat.files import read_json
from downbeat.report.drawing import make_picture
from downbeat.report.page import Fact, Number, PageSection, Table, span
from downbeat.report.panel import Heat, Panel
from downbeat.report.style import Picture
from downbeat.sentences import listed
from downbeat.text import bytes_text
from downbeat.tune.rules_format import DEFAULT, Rule
from downbeat.tune.table import SCHEMA_VERSION
from downbeat.tune.tuning import RECORD_FILE

MAP_CAPTION = (
    "How many times as fast as the library's own choice each algorithm was in the sweep, from a common start, or under "
    "the arrival pattern: the typical ratio. Framed: what the rules choose. The gain of the rules is "
    "measured in launches that had no part in the choice."
)
MOST_NUMBERS = 3


@dataclass(frozen=True)
class Tuned:
    """A tuning: the content of its `rules.json`."""

    path: Path
    record: Mapping[str, Any]


def open_tuned(directory: Path) -> Tuned:
    """Opens the directory of a tuning.

    Raises:
        UsageError: the tuning did not end, or its record is damaged or of another version.
    """
    file = directory / RECORD_FILE
    if not file.is_file():
        raise UsageError(f"'{directory}' is of a tuning that did not end, for it has no {RECORD_FILE}; run it again")
    record = read_json(file)
    if record.get("schema_version") != SCHEMA_VERSION:
        found = record.get("schema_version")
        raise UsageError(f"'{file}' has schema_version {found}, this program reads {SCHEMA_VERSION}; tune again")
    return Tuned(directory, record)


def candidates_of(record: Mapping[str, Any]) -> pd.DataFrame:
    """Returns a row per cell and algorithm that was measured, the default among them, how fast it was and its fate."""
    rows = []
    for cell in record["cells"]:
        where = {name: cell[name] for name in ("collective", "ranks")} | {"size_bytes": cell["size"]}
        rows.append(where | {"algorithm": DEFAULT, "times_as_fast": 1.0, "in_rules": cell["in_rules"] == DEFAULT})
        for one in cell["candidates"]:
            against = one["against_default"]
            if against:
                ratio = against["ratio"]
                rows.append(
                    where
                    | {"algorithm": one["algorithm"], "times_as_fast": 1 / ratio["estimate"]}
                    | {"low": inverse(ratio["high"]), "high": inverse(ratio["low"])}
                    | {"in_rules": cell["in_rules"] == one["algorithm"], "verdict": against["verdict"]}
                    | {"not_chosen_because": one["rejected"]}
                )
    columns = ["collective", "ranks", "size_bytes", "algorithm", "times_as_fast", "low", "high"]
    return pd.DataFrame(rows, columns=[*columns, "verdict", "in_rules", "not_chosen_because"])


def inverse(value: float | None) -> float:
    """Returns 1 / value; NaN where there is none."""
    return np.nan if value is None else 1 / value


def rules_table(record: Mapping[str, Any]) -> pd.DataFrame:
    """Returns a row per rule: its gain, measured anew, the runner-up of the sweep and the proof."""
    rows = []
    for one in record["rules"]:
        gain = one["gain"]
        rule = Rule(*(one[name] for name in ("collective", "ranks", "first", "last", "algorithm")))
        last = np.inf if rule.last is None else rule.last
        proofs = [
            cell["proof"]["verdict"]
            for cell in record["cells"]
            if cell["proof"] and (cell["collective"], cell["ranks"]) == (rule.collective, rule.ranks)
            if rule.first <= cell["size"] <= last
        ]
        ratio = gain["ratio"] if gain else {"estimate": None, "low": None, "high": None}
        rows.append(
            {"collective": rule.collective, "ranks": rule.ranks, "bytes": rule.sizes, "algorithm": rule.algorithm}
            | {
                "times_as_fast": inverse(ratio["estimate"]),
                "low": inverse(ratio["high"]),
                "high": inverse(ratio["low"]),
            }
            | {"verdict": gain["verdict"] if gain else "not measured"}
            | {"runner-up": f"{one['runner_up']['algorithm']} {1 / one['runner_up']['ratio']:.2f}"}
            | {"proof": listed(f"{proofs.count(name)} {name}" for name in dict.fromkeys(proofs))}
        )
    return pd.DataFrame(rows)


def draw_choices(record: Mapping[str, Any]) -> list[Picture]:
    """Draws a map per collective and number of ranks: algorithms by size against the default, those of rules framed."""
    numbers = candidates_of(record)
    panels = []
    for (collective, ranks), group in numbers.groupby(["collective", "ranks"], sort=False):
        named = group.assign(column=group["size_bytes"].map(bytes_text))
        table = named.pivot(index="algorithm", columns="column", values="times_as_fast")
        table = table.reindex(index=named["algorithm"].unique(), columns=named["column"].unique())
        chosen = named[named["in_rules"]]
        framed = list(zip(chosen["algorithm"], chosen["column"], strict=True))
        panels.append(
            Panel([Heat(table, form=".2f", framed=framed, ratios=True)], title=f"{collective}, {ranks} ranks")
        )
    title = "Algorithms by size: times as fast as the default"
    return [make_picture("tuned", title, MAP_CAPTION, panels, numbers, columns=1)] if panels else []


def tuned_numbers(rules: pd.DataFrame) -> tuple[Number, ...]:
    """Returns the gains of the first rules."""
    return tuple(
        Number(
            f"{row['times_as_fast']:.2f}",
            "",
            span(row["low"], row["high"]),
            f"{row['collective']}, {row['bytes']} bytes, {row['algorithm']} / default, times as fast",
        )
        for row in rules.head(MOST_NUMBERS).to_dict("records")
        if np.isfinite(row["times_as_fast"])
    )


def tuned_page(
    tuned: Tuned, prefix: str
) -> tuple[str, str, tuple[Number, ...], tuple[Fact, ...], tuple[PageSection, ...]]:
    """Returns title, line below it, numbers, findings and sections."""
    record, rules = tuned.record, rules_table(tuned.record)
    ranks = listed(record["ranks"])
    title = f"{listed(record['collectives'])}: algorithms of {record['library']['version']}"
    byline = f"{ranks} ranks; sizes {record['sizes']}; {record['launches']} launches; rules: {record['form']}"
    tables = (Table(f"{prefix}Rules, their gain measured anew", rules),) if len(rules) else ()
    commands: tuple[str, ...] = ()
    if record["switch_on"]:
        shell, arguments = record["switch_on"]
        commands = (shell, "# or as arguments of mpirun:", arguments)
    excluded = tuple(
        (f"{one['collective']} on {one['ranks']} ranks by {one['algorithm']}", one["reason"])
        for one in record["excluded"]
    )
    conditions = (
        ("MPI", str(record["library"]["version"])),
        ("metric", str(record["metric"])),
        ("arrival pattern", f"{record['pattern']} {record['delay']}".strip() or "none: ranks arrive together"),
        ("launches", f"{record['launches']}, of {record['repetitions']} samples of a cell"),
        ("smallest gain of a rule", f"{record['margin']:.0%}"),
        ("written", f"{record['written'][:16]}: {listed(record['files'])}"),
    )
    sections = (
        PageSection(prefix and f"{prefix}Algorithms", tables=tables, pictures=tuple(draw_choices(record))),
        PageSection(f"{prefix}Switch the rules on", commands=commands),
        PageSection(f"{prefix}Warnings", warnings=tuple(f"{one}." for one in record["warnings"])),
        PageSection(f"{prefix}Not measured", definitions=excluded),
        PageSection(f"{prefix}How", definitions=conditions),
    )
    kept = tuple(one for one in sections if one != PageSection(one.title))
    number = f"{len(record['warnings'])} warnings, below the pictures." if record["warnings"] else ""
    found = (Fact("", f"{record['outcome'][0].upper()}{record['outcome'][1:]}."),)
    return (
        title,
        byline,
        tuned_numbers(rules),
        (*found, *([Fact("before you rely on it", number)] if number else [])),
        kept,
    )
