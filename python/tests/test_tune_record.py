"""rules.json: what a tuning writes for programs."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
from downbeat.statistics.location import Interval
from downbeat.statistics.pairs import compare_paired
from downbeat.tune.choosing import Candidate, Decision, LeftOut, OtherChoice, Prices
from downbeat.tune.formats.rules_format import DEFAULT, Cell, Rule, Written
from downbeat.tune.proving import Proof
from downbeat.tune.sweep import Usable
from downbeat.tune.table import write_record
from downbeat.tune.tuning import Question, Removed, Tuning
from test_tune_choosing import CONFIDENCE, EFFORT, MARGIN, TARGET

QUESTION = Question(TARGET.library, ("bcast",), "8,16", (4,), EFFORT, MARGIN, CONFIDENCE)
CHOSEN, KEPT = Cell("bcast", 4, 8), Cell("bcast", 4, 16)
FASTER = compare_paired(np.full(5, 10.0), np.full(5, 5.0))
LONE = compare_paired([1.0], [2.0])  # of a single launch: no interval, no test


def written(tuning: Tuning, directory: Path) -> dict[str, object]:
    """Returns what the file says, when that was written left out."""
    write_record(tuning, directory, ["take care"])
    text = (directory / "rules.json").read_text(encoding="utf-8")
    assert text.endswith("}\n")
    found: dict[str, object] = json.loads(text)
    del found["written"]
    return found


def test_nothing_of_a_tuning_is_missing(tmp_path: Path) -> None:
    rule = Rule("bcast", 4, 8, 15, "a")
    tuning = Tuning(QUESTION, TARGET, rules=[rule], losses=["something"], wrong_defaults=[KEPT])
    tuning.decisions = [
        Decision(CHOSEN, "a", (Candidate("a", FASTER, ""), Candidate("b", None, "it was not measured"))),
        Decision(KEPT, DEFAULT, ()),
    ]
    tuning.removed = [Removed(Rule("bcast", 4, 16, 16, "b"), "wrong results")]
    tuning.rule_gains, tuning.gains = {rule: FASTER}, {CHOSEN: LONE}
    tuning.proofs = {CHOSEN: Proof("proven", "messages")}
    tuning.written = Written({"b.conf": "", "a.conf": ""}, {}, ("a note",))
    tuning.usable = [Usable("bcast", 4, ["a", "b"], {"c": "it crashed"})]
    tuning.others = [OtherChoice(CHOSEN, "a", "b"), OtherChoice(KEPT, DEFAULT, "b")]
    tuning.prices = Prices({CHOSEN: FASTER}, Interval(1.1, 1.0, math.inf, 5))
    tuning.left_out = [LeftOut("sweep", "failed", ("one",))]
    half = {
        "ratio": {"estimate": FASTER.ratio.estimate, "low": FASTER.ratio.low, "high": FASTER.ratio.high, "launches": 5},
        "p_value": 0.0,
        "adjusted_p_value": 0.0,
        "rank_p_value": 0.0625,
        "verdict": "faster",
        "reason": "a significant difference",
    }
    unknown = {
        "ratio": {"estimate": 2.0, "low": None, "high": None, "launches": 1},
        "p_value": None,
        "adjusted_p_value": None,
        "rank_p_value": 1.0,
        "verdict": "undecided",
        "reason": "pairs of launches: 1, 5 are needed",
    }
    of = {"collective": "bcast", "ranks": 4}
    assert written(tuning, tmp_path) == {
        "schema_version": 3,
        "library": {**dataclasses.asdict(TARGET.library), "fixed_at_start": [], "version": "Open MPI v4.1.4"},
        "form": "Open MPI rules file, version 1",
        "collectives": ["bcast"],
        "sizes": "8,16",
        "ranks": [4],
        **dataclasses.asdict(EFFORT),
        "margin": MARGIN,
        "confidence": CONFIDENCE,
        "rules": [{**of, "first": 8, "last": 15, "algorithm": "a", "gain": half}],
        "removed": [{"rule": {**of, "first": 16, "last": 16, "algorithm": "b"}, "reason": "wrong results"}],
        "wrong_defaults": [{**of, "size": 16}],
        "files": ["a.conf", "b.conf"],
        "notes": ["a note"],
        "not_expressible": ["something"],
        "excluded": [{**of, "algorithm": "c", "reason": "it crashed"}],
        "cells": [
            {
                **of,
                "size": 8,
                "chosen": "a",
                "in_rules": "a",
                "candidates": [
                    {"algorithm": "a", "rejected": "", "against_default": half},
                    {"algorithm": "b", "rejected": "it was not measured", "against_default": None},
                ],
                "proof": {"verdict": "proven", "by": "messages"},
                "gain": unknown,
            },
            {**of, "size": 16, "chosen": DEFAULT, "in_rules": DEFAULT, "candidates": [], "proof": None, "gain": None},
        ],
        "other_measurement": "after MPI_Barrier",
        "other_choices": [
            {**of, "size": 8, "chosen": "a", "other": "b", "price": half},
            {**of, "size": 16, "chosen": DEFAULT, "other": "b", "price": None},
        ],
        "mean_price": {"estimate": 1.1, "low": 1.0, "high": None, "launches": 5},
        "left_out": [{"where": "sweep", "status": "failed", "cells": ["one"]}],
        "warnings": ["take care"],
    }


def test_a_tuning_of_nothing_has_empty_lists(tmp_path: Path) -> None:
    found = written(Tuning(QUESTION, TARGET), tmp_path)
    lists = ("rules", "removed", "wrong_defaults", "files", "notes", "not_expressible", "excluded", "cells", "left_out")
    assert [found[name] for name in lists] == [[]] * len(lists)
    assert found["mean_price"] is None
