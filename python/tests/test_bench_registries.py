"""Names and texts of downbeat-bench that Python repeats, because they are needed where no bench runs, agree with it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from downbeat.data.launch_file import CELL_FACTORS
from downbeat.errors import UsageError
from downbeat.report.pictures import OF_FILES
from downbeat.run.bench import check_arguments
from downbeat.run.bench_options import SET_BY_RUN, SUBCOMMANDS, passed_options
from downbeat.run.plan import CALLS_BARRIER, DEFAULT_SYNC

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "build/openmpi/bin/downbeat-bench"
BARRIERS = "linear,double_ring"  # of Open MPI


def run(*command: str | Path) -> str:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, timeout=300).stdout


def components(*kinds: str) -> dict[str, dict[str, object]]:
    """Returns what the bench lists of some kinds, by name."""
    lines = run(BENCH, "list", *kinds, "--format", "json").splitlines()
    return {str(one["name"]): one for one in map(json.loads, lines)}


@pytest.fixture(scope="module")
def help_text() -> str:
    return run(BENCH, "--help")


def test_what_is_written_from_lists_is_up_to_date() -> None:
    run(ROOT / "tools/bench-lists", "--check")


def test_each_attribute_has_a_meaning_and_a_label() -> None:
    for name, attribute in components("attribute").items():
        assert attribute["summary"], name
        assert attribute["label"], name


def test_libdownbeat_preload_records_the_collectives_of_the_bench_with_the_same_roots() -> None:
    """The rows of preload/src/collectives.h: X(Name, name, ..., root) or NO_ROOT."""
    header = (ROOT / "preload/src/collectives.h").read_text(encoding="utf-8").partition("#define BARRIER(X)")[2]
    rows = re.findall(r"\bX\([A-Z][a-z_]+, (\w+),.*?\b(NO_ROOT|root)\)\s*(?:\\\n|\n)", header, re.DOTALL)
    recorded = {name: root == "root" for name, root in rows}
    listed = {name: one for name, one in components("operation").items() if one["collective"] == name}
    assert recorded == {
        name: str(one["flow"]).endswith("_root") for name, one in listed.items() if one["flow"] != "none"
    }


def test_cells_are_told_apart_by_fields_of_the_file() -> None:
    assert set(CELL_FACTORS) < set(components("field"))


def test_the_subcommands_are_those_that_help_shows(help_text: str) -> None:
    section = help_text.partition("\nSubcommands, ")[2].partition("\n\n")[0]
    assert re.findall(r"^  (\w+) ", section, re.MULTILINE) == list(SUBCOMMANDS)
    assert set(OF_FILES) < set(SUBCOMMANDS)


def test_what_downbeat_run_sets_itself_are_options_of_the_bench(help_text: str) -> None:
    assert {f"--{name}" for name in SET_BY_RUN} <= set(re.findall(r"--[a-z-]+", help_text))
    (default,) = re.findall(r"--sync NAMES[^\[]*\[default ([^\]]*)\]", help_text)
    assert default == DEFAULT_SYNC


@pytest.mark.parametrize("words", [("--nonsense", "3"), ("--late-ranks", "7")])
def test_what_the_bench_refuses_is_refused_before_a_launch(words: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match=words[0]):
        check_arguments(str(BENCH), ["bcast", *words])
    check_arguments(str(BENCH), ["bcast", "--late-ranks", "0.5"])


@pytest.mark.parametrize("name", ["check", "help", "version", "format", "sizes"])
def test_what_measures_nothing_or_has_no_effect_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"--{name} cannot be after --"):
        passed_options([f"--{name}", "x"])


def test_the_synchronizers_that_call_mpi_barrier_are_measured_with_each_of_its_algorithms() -> None:
    listed = components("synchronizer")
    (after,) = (one for one in listed["harmonize"]["parameters"] if one["name"] == "after")  # type: ignore[attr-defined]
    with_parameters = [f"harmonize(after={name})" for name in after["choices"] if name != "none"]
    with_parameters.append("roundtime(lead=1ms)")  # does without the barrier
    every = [*listed, *with_parameters]
    command = [ROOT / "tools/launch", "--mpi", "openmpi", "-n", "2", "--timeout", "120", BENCH, "nothing"]
    options = ["--sync", ",".join(every), "--barrier-algorithm", BARRIERS, "-r", "1", "--warmup", "0", "-q"]
    asked = [*map(str, command), *options, "--format", "json"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr  # 3: a start failed
    cells = [one for one in map(json.loads, done.stdout.splitlines()) if one["record"] == "cell"]
    called: dict[str, set[str]] = {}
    for one in cells:
        called.setdefault(one["synchronizer"], set()).add(one["barrier_algorithm"])
    assert {name for name, algorithms in called.items() if algorithms == set(BARRIERS.split(","))} == {
        name for name in called if CALLS_BARRIER.match(name)
    }
    assert len(called) == len(every)
