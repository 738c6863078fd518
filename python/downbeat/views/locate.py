"""The view of `downbeat locate`: slow nodes and links, then remarks, a table of settings, and heat maps on pages.

A setting is one kind of measurement of all pairs of nodes, e.g. sendrecv with 4 GPUs a node. Facts that name slow nodes
and links are accusations; all other facts are remarks.
"""

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
from downbeat.output.words.locate import found_of_100
from downbeat.statistics.faults import FACTOR

MAX_SLOW = 40  # rows of the table of the slowest pairs
SCHEMA_VERSION = 1  # of the JSON record
# Columns of the table of settings.
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
    """Makes the view: slow nodes and links, remarks, failed pairs, settings, heat maps, the slowest pairs.

    Args:
        findings: findings of each setting.
        depth: depth of the output; heat maps are drawn for pages only.
    """
    accused = [fact for setting in findings for fact in setting.accused]
    accused.sort(key=lambda fact: isinstance(fact, SlowLinks))  # nodes of all settings first
    remarks = [fact for setting in findings for fact in setting.remarks]
    remarks += failed_pairs(setting.times for setting in findings)
    frame = settings_table(findings)
    blocks: list[Block] = [Line(fact, "answer") for fact in accused]
    blocks += [Line(fact, role_of(fact, bool(accused))) for fact in remarks]
    if len(findings) > 1:
        blocks.append(Table("Settings", frame, FIELDS, depth=Depth.TEXT))
    blocks.append(Heading("Pairs", depth=Depth.PAGE))
    if depth >= Depth.PAGE:
        from downbeat.locate.pictures import heat_map

        blocks += [heat_map(setting) for setting in findings]
    slow = slowest_pairs(findings)
    if len(slow):
        blocks.append(Table("The slowest pairs", slow, depth=Depth.PAGE))
    record: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "settings": table_rows(frame.drop(columns="power")),
        "slowest_pairs": table_rows(slow),
    }
    return View("Slow nodes and links", tuple(blocks), record=record)


def role_of(fact: Fact, accused: bool) -> Role:
    """Chooses the role of a remark; `accused`: other facts name slow nodes or links, so a remark is no answer."""
    if isinstance(fact, FailedPairs):
        return "warning"
    if accused or not isinstance(fact, NothingSlow | NotSteady | TooFewNodes):
        return "warning" if isinstance(fact, NotSteady) else "text"
    return "answer"


def settings_table(findings: Sequence[Findings]) -> pd.DataFrame:
    """Makes the table of settings, a row for each."""
    return pd.DataFrame(
        [
            {
                "setting": setting.times.setting,
                "nodes": len(setting.times.names),
                "pairs": int(
                    np.count_nonzero(np.triu(~np.isnan(np.fmax(setting.deviations, setting.deviations.T)), 1))
                ),
                "failed": len(setting.times.failed),
                "slow_nodes": sum(fact.name() == "slow_node" for fact in setting.accused),
                "slow_links": sum(len(getattr(fact, "links", ())) for fact in setting.accused),
                "steady": "no" if setting.unsteady else "yes",
                "node_power": setting.located.node_power,
                "link_power": setting.located.link_power,
                "power": f"{found_of_100(setting.located.node_power)}, {found_of_100(setting.located.link_power)}",
            }
            for setting in findings
        ]
    )


def slowest_pairs(findings: Sequence[Findings]) -> pd.DataFrame:
    """Makes the table of pairs that take at least FACTOR times as long as their peers, the slowest first."""
    rows = []
    for setting in findings:
        ratios = np.exp(setting.deviations)
        ratios = ratios if setting.times.directed else np.triu(np.fmax(ratios, ratios.T), 1)
        for a, b in np.argwhere(ratios > FACTOR):
            rows.append((setting.times.setting, setting.times.names[a], setting.times.names[b], float(ratios[a, b])))
    rows.sort(key=lambda row: -row[3])
    return pd.DataFrame(rows[:MAX_SLOW], columns=["setting", "node", "with", "times its peers"])


def following(paths: Sequence[Path], page: Path | None) -> tuple[Command, ...]:
    """Suggests the next command after `downbeat locate`; none after a page, or with several files."""
    if page or len(paths) > 1:
        return ()
    return (Command((shlex.join(["downbeat", "locate", str(paths[0]), "-o", "pairs.html"]),), "next"),)
