"""The slow node or link: `downbeat locate`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.locate.findings import Findings, failed_pairs
from downbeat.output.blocks import Block, Command, Depth, Heading, Line, Role, Table, View
from downbeat.output.facts import Fact
from downbeat.output.facts.locate import FailedPairs, NothingSlow, NotSteady, SlowLinks, TooFewNodes
from downbeat.output.fields import Field
from downbeat.output.records import table_rows
from downbeat.statistics.faults import FACTOR
from downbeat.text import PERCENT

MAX_SLOW = 40  # rows of the slowest pairs on a page
SCHEMA_VERSION = 1
FIELDS = {
    "setting": Field("setting"),
    "pairs": Field("pairs", "number"),
    "failed": Field("failed", "number"),
    "slow_nodes": Field("nodes", "number", meaning="slow nodes"),
    "slow_links": Field("links", "number", meaning="slow links that no node explains"),
    "steady": Field("steady"),
    "power": Field("power [%]", "text", meaning="nodes, and links, at which 1.5 times would have been found"),
}


def locate_view(findings: Sequence[Findings], depth: Depth = Depth.TEXT) -> View:
    """What is slow, first; then what cannot be named and what failed; then the settings and heat maps.

    Args:
        findings: of each setting.
        depth: up to which the view is shown; pictures are drawn for pages alone.
    """
    accused = [fact for each in findings for fact in each.accused]
    accused.sort(key=lambda fact: isinstance(fact, SlowLinks))
    remarks = [*(fact for each in findings for fact in each.remarks), *failed_pairs(each.times for each in findings)]
    frame = summary(findings)
    blocks: list[Block] = [Line(fact, "answer") for fact in accused]
    blocks += [Line(fact, role_of(fact, bool(accused))) for fact in remarks]
    if len(findings) > 1:
        blocks.append(Table("Settings", frame, FIELDS, depth=Depth.TEXT))
    blocks.append(Heading("Pairs", depth=Depth.PAGE))
    if depth >= Depth.PAGE:
        from downbeat.locate.pictures import heat_map

        blocks += [heat_map(each) for each in findings]
    slow = slowest(findings)
    if len(slow):
        blocks.append(Table("The slowest pairs", slow, depth=Depth.PAGE))
    record: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "settings": table_rows(frame.drop(columns="power")),
        "slowest_pairs": table_rows(slow),
    }
    return View("Slow nodes and links", tuple(blocks), record=record)


def role_of(fact: Fact, accused: bool) -> Role:
    """The role of a fact that accuses nobody; `accused`: whether there are accusations."""
    if isinstance(fact, FailedPairs):
        return "warning"
    if accused or not isinstance(fact, NothingSlow | NotSteady | TooFewNodes):
        return "warning" if isinstance(fact, NotSteady) else "text"
    return "answer"


def summary(findings: Sequence[Findings]) -> pd.DataFrame:
    """A row for each setting."""
    return pd.DataFrame(
        [
            {
                "setting": each.times.setting,
                "nodes": len(each.times.names),
                "pairs": int(np.count_nonzero(np.triu(~np.isnan(np.fmax(each.deviations, each.deviations.T)), 1))),
                "failed": len(each.times.failed),
                "slow_nodes": sum(fact.name() == "slow_node" for fact in each.accused),
                "slow_links": sum(len(getattr(fact, "links", ())) for fact in each.accused),
                "steady": "no" if each.unsteady else "yes",
                "node_power": each.located.node_power,
                "link_power": each.located.link_power,
                "power": f"{PERCENT * each.located.node_power:.0f}, {PERCENT * each.located.link_power:.0f}",
            }
            for each in findings
        ]
    )


def slowest(findings: Sequence[Findings]) -> pd.DataFrame:
    """The pairs that are slower than their peers by FACTOR, the slowest first."""
    rows = []
    for each in findings:
        ratios = np.exp(each.deviations)
        ratios = ratios if each.times.directed else np.triu(np.fmax(ratios, ratios.T), 1)
        for a, b in np.argwhere(ratios > FACTOR):
            rows.append((each.times.setting, each.times.names[a], each.times.names[b], float(ratios[a, b])))
    rows.sort(key=lambda row: -row[3])
    return pd.DataFrame(rows[:MAX_SLOW], columns=["setting", "node", "with", "times its peers"])


def following(paths: Sequence[Path], page: Path | None) -> tuple[Command, ...]:
    """What to do after `downbeat locate`."""
    if page or len(paths) > 1:
        return ()
    return (Command((shlex.join(["downbeat", "locate", str(paths[0]), "-o", "pairs.html"]),), "next"),)
