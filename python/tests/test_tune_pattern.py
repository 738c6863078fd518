"""Rules for ranks that arrive late: a broadcast with an algorithm planted to be better then."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from downbeat.errors import UsageError
from downbeat.run.bench import built
from downbeat.run.plan import Library
from downbeat.run.progress import Plain
from downbeat.tune.choosing import choose
from downbeat.tune.sweep import Effort, Usable, alternative, decisive, sweep, sweep_plan
from downbeat.tune.target import find_target, one_pattern, passed_by_user, valid_metric
from downbeat_command import downbeat

SOURCE = Path(__file__).with_name("planted_bcast.c")
PATTERN = "one_late(rank=0)"
EFFORT = Effort(12, 20, 120, 1, "after_last_entry", PATTERN, "300us", {"tolerance": "20e-6"})
MARGIN, CONFIDENCE = 0.05, 0.95


@pytest.fixture
def planted(tmp_path: Path) -> Library:
    """Open MPI with the planted broadcast."""
    library = tmp_path / "planted_bcast.so"
    flags = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["mpicc.openmpi", *flags, "-o", str(library), str(SOURCE)], check=True)
    bench = tmp_path / "downbeat-bench"
    bench.write_text(f'#!/bin/sh\nLD_PRELOAD={library} exec {built("openmpi")} "$@"\n', encoding="utf-8")
    bench.chmod(0o755)
    return Library("openmpi", str(bench))


@pytest.mark.thorough
def test_the_planted_winner_is_chosen_under_the_pattern_and_the_other_one_without(
    planted: Library, tmp_path: Path
) -> None:
    target = find_target(planted, tmp_path / "probe")
    usable = Usable("bcast", 2, ["basic_linear", "chain"])
    plan = sweep_plan(target, usable, "8", EFFORT, EFFORT.synchronizers("bcast"))
    frame = sweep(plan, tmp_path / "sweep", EFFORT.metric, Plain(lambda _: None))
    (late,) = choose(decisive(frame), {}, MARGIN, CONFIDENCE)
    (together,) = choose(alternative(frame), {}, MARGIN, CONFIDENCE)
    assert (late.algorithm, together.algorithm) == ("basic_linear", "chain")


@pytest.mark.parametrize(
    ("pattern", "delay", "said"),
    [
        ("one_late,bell", "1us", "rules are for one arrival pattern with one delay"),
        ("one_late", "1us,2us", "rules are for one arrival pattern with one delay"),
        ("", "1us", "--delay needs an arrival pattern"),
        ("none", "", "rules need late ranks"),
    ],
)
def test_what_rules_cannot_be_for_is_refused(pattern: str, delay: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        one_pattern(pattern, delay)


def test_a_recorded_pattern_is_found_from_anywhere() -> None:
    assert one_pattern("trace(file=late.txt)", "") == (f"trace(file={Path('late.txt').absolute()})", "")
    assert one_pattern("trace(file=/late.txt)", "") == ("trace(file=/late.txt)", "")


def test_the_metric_follows_the_pattern() -> None:
    assert [valid_metric("", text) for text in ("", "one_late")] == ["latency_avg", "after_last_entry"]
    assert valid_metric("global_time", "one_late") == "global_time"


def test_options_behind_the_dashes_reach_every_measurement() -> None:
    effort = Effort(6, 20, 120, 1, "latency_avg", passed=passed_by_user(["--late", "2e-6", "--late-ranks=0.01"]))
    options = effort.options(("bcast",), "8")
    assert (options["late"], options["late-ranks"]) == ("2e-6", "0.01")
    with pytest.raises(UsageError, match="--pattern cannot be after --"):
        passed_by_user(["--pattern", "one_late"])


def test_options_behind_the_dashes_are_checked_before_the_first_launch(tmp_path: Path) -> None:
    for words in (("--nonsense", "3"), ("--late-ranks", "7")):
        done = downbeat("tune", "bcast", "-o", "rules", "--", *words, where=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert words[0] in done.stderr
        assert list(tmp_path.iterdir()) == []
