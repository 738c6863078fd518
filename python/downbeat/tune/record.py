"""rules.json: all that was chosen, from which numbers, what was rejected and why, and how it was proven."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
from pathlib import Path

from downbeat.durable import write_text
from downbeat.statistics.location import Interval
from downbeat.statistics.verdicts import Comparison
from downbeat.tune.choosing import Candidate, Decision
from downbeat.tune.outcome import Tuning
from downbeat.tune.writing import RECORD_FILE

SCHEMA_VERSION = 3


def write_record(tuning: Tuning, directory: Path, warnings: list[str]) -> None:
    """Writes `rules.json` into a directory."""
    text = json.dumps(record(tuning, warnings), indent=2, allow_nan=False)
    write_text(directory / RECORD_FILE, text + "\n")


def record(tuning: Tuning, warnings: list[str]) -> dict[str, object]:
    """Returns what is known of a tuning. Ratios are times over those of the default: below 1 is faster."""
    question = tuning.question
    return {
        "schema_version": SCHEMA_VERSION,
        "written": datetime.datetime.now(datetime.UTC).isoformat(),
        "library": {**dataclasses.asdict(question.library), "version": tuning.target.version},
        "form": tuning.target.form.name,
        "collectives": list(question.collectives),
        "sizes": question.sizes,
        "ranks": list(question.ranks),
        **dataclasses.asdict(question.effort),
        "margin": question.margin,
        "confidence": question.confidence,
        "rules": [
            {**dataclasses.asdict(rule), "gain": comparison_of(tuning.rule_gains.get(rule))} for rule in tuning.rules
        ],
        "removed": [dataclasses.asdict(one) for one in tuning.removed],
        "wrong_defaults": [dataclasses.asdict(cell) for cell in tuning.wrong_defaults],
        "files": sorted(tuning.written.files),
        "notes": list(tuning.written.notes),
        "not_expressible": tuning.losses,
        "excluded": [
            {"collective": usable.collective, "ranks": usable.ranks, "algorithm": algorithm, "reason": reason}
            for usable in tuning.usable
            for algorithm, reason in usable.excluded.items()
        ],
        "cells": [cell_of(tuning, decision) for decision in tuning.decisions],
        "other_measurement": question.otherwise,
        "other_choices": [
            {
                **dataclasses.asdict(other.cell),
                "chosen": other.chosen,
                "other": other.other,
                "price": comparison_of(tuning.prices.by_cell.get(other.cell)),
            }
            for other in tuning.others
        ],
        "mean_price": interval_of(tuning.prices.mean),
        "left_out": [dataclasses.asdict(one) for one in tuning.left_out],
        "warnings": warnings,
    }


def cell_of(tuning: Tuning, decision: Decision) -> dict[str, object]:
    """Returns what is known of a cell."""
    proof = tuning.proofs.get(decision.cell)
    return {
        **dataclasses.asdict(decision.cell),
        "chosen": decision.algorithm,
        "in_rules": tuning.in_rules(decision.cell),
        "candidates": [candidate_of(one) for one in decision.candidates],
        "proof": dataclasses.asdict(proof) if proof else None,
        "gain": comparison_of(tuning.gains.get(decision.cell)),
    }


def candidate_of(candidate: Candidate) -> dict[str, object]:
    """Returns what is known of an algorithm in a cell."""
    comparison = comparison_of(candidate.comparison)
    return {"algorithm": candidate.algorithm, "rejected": candidate.rejected, "against_default": comparison}


def comparison_of(comparison: Comparison | None) -> dict[str, object] | None:
    """Returns a comparison, with the default unless said otherwise."""
    if comparison is None:
        return None
    names = ("p_value", "adjusted_p_value", "rank_p_value", "verdict", "reason")
    return {"ratio": interval_of(comparison.ratio), **{name: known(getattr(comparison, name)) for name in names}}


def interval_of(interval: Interval | None) -> dict[str, object] | None:
    """Returns an interval, with the number of its launches."""
    if interval is None:
        return None
    ends = {name: known(getattr(interval, name)) for name in ("estimate", "low", "high")}
    return {**ends, "launches": interval.count}


def known(value: object) -> object:
    """Returns a value; None in place of a number that JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
