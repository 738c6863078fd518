"""Every benchmark that the Makefile runs is a program; what benchmarks make of their runs."""

from __future__ import annotations

import json
import math
import random
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from benchmarks import scale
from benchmarks.sync import spread_apart

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted(set(re.findall(r"-m ((?:benchmarks|tests)\.\w+)", (ROOT / "Makefile").read_text())))


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_explains_itself(program: str) -> None:
    """A module without its last line does nothing, and says so with status 0."""
    done = subprocess.run(
        [sys.executable, "-m", program, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")


def swept(monkeypatch: pytest.MonkeyPatch, output: Path, *words: str) -> int:
    """Runs the command with these words; returns its status."""
    monkeypatch.setattr(sys, "argv", ["bench-scale", *words, "--output", str(output)])
    return scale.main()


def test_every_combination_is_a_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    words = ["--processes", "2,3", "--skew", "1e-6,300e-6", "--seconds", "3", "--interval", "0.01"]
    assert swept(monkeypatch, output, *words) == 0
    rows = json.loads(output.read_text(encoding="utf-8"))["rows"]
    assert [(row["processes"], row["skew"]) for row in rows] == [(2, 1e-6), (2, 3e-4), (3, 1e-6), (3, 3e-4)]
    for row in rows:
        assert (row["calls"], row["all_calls"], row["calls_after_2s"]) == (200, 300, 100)
        assert row["condition"] == "plain"
        assert 90 <= row["valid_after_2s"] <= 100
        assert row["broken_promises"] == row["beyond_bound"] == 0
        assert 0 < row["skew_median_ns"] < 100


def test_a_condition_drawn_at_random_is_drawn_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    assert swept(monkeypatch, output, "--random", "4", "--seed", "5") == 0
    rows = json.loads(output.read_text(encoding="utf-8"))["rows"]
    assert len(rows) == 4
    assert swept(monkeypatch, output, "--random", "4", "--seed", "5", "--only", "2") == 0
    assert json.loads(output.read_text(encoding="utf-8"))["rows"] == rows[2:3]


def test_a_broken_promise_is_a_status(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where clocks differ by more than the setting says. A sweep is a measurement, and no test."""
    monkeypatch.setattr(scale, "unset_settings", lambda: None)
    monkeypatch.setenv("DOWNBEAT_SYNC", "hca3_offset")
    monkeypatch.setenv("DOWNBEAT_MAX_SKEW", "1e-9")
    output = tmp_path / "rows.json"
    words = ["--processes", "2", "--skew", "100e-6", "--seconds", "2", "--interval", "0.01", "--network", "1e-6"]
    words += ["--per-node", "1"]  # of one node, they would share a clock
    assert swept(monkeypatch, output, *words) == 0
    assert json.loads(output.read_text(encoding="utf-8"))["rows"][0]["broken_promises"] > 0
    assert swept(monkeypatch, output, *words, "--random", "1") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--skew"], "--NAME VALUE"),
        (["16"], "--NAME VALUE"),
        (["--skw", "1e-6"], "unknown option '--skw'"),
        (["--skew", "much,1e-6"], "--skew much: must be a number from 0 to 0.005"),
        (["--processes", "2.5"], "must be a whole number from 2 to 65536"),
        (["--condition", "calm"], "no condition 'calm'; choose one of plain upward"),
        (["--random", "some"], "--random some: must be a whole number"),
    ],
)
def test_what_is_wrong_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as end:
        swept(monkeypatch, tmp_path / "rows.json", *words)
    assert end.value.code == 2
    assert said in capfd.readouterr().err


def made_up(times: list[float], seed: int) -> pd.DataFrame:
    """Returns seven launches of barriers with these true times and a noise of 4 %."""
    draw = random.Random(seed)
    return pd.DataFrame([[time * math.exp(draw.gauss(0, 0.04)) for time in times] for _ in range(7)])


def test_equal_barriers_have_no_spread_between_what_other_launches_pick() -> None:
    """Largest over smallest in the same launch is 1.12, by noise alone."""
    experiments = [made_up([1.0] * 8, seed) for seed in range(100)]
    same = [(launches.max(axis=1) / launches.min(axis=1)).median() for launches in experiments]
    apart = [found for launches in experiments if (found := spread_apart(launches)) is not None]
    assert len(apart) == len(experiments)
    assert statistics.mean(same) > 1.1
    assert statistics.mean(apart) == pytest.approx(1, abs=0.02)


def test_a_barrier_that_makes_a_difference_is_seen() -> None:
    apart = spread_apart(made_up([1.0] * 7 + [1.5], 1))
    assert apart == pytest.approx(1.5, rel=0.1)
    assert spread_apart(pd.DataFrame([[1.0, 2.0]])) is None  # one launch has no others
