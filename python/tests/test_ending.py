"""The last screen of a run: what it says of data whose verdicts are known, and that it fits."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from downbeat.cli import app
from downbeat.commands.options import PASSED
from downbeat.comparison.compared import Compared
from downbeat.comparison.facts import conclusion, operation_verdicts, step_of
from downbeat.data.cells import Cells, Factors
from downbeat.output.blocks import Block, Command, Depth, Line, View
from downbeat.output.facts.comparison import Conclusion, OperationVerdicts, TooFewLaunches
from downbeat.output.facts.experiment import MachineStates
from downbeat.output.terminal import WIDTH, block_lines, view_lines
from downbeat.output.words import long
from downbeat.output.words.comparison import sizes_text
from downbeat.run.directory import write_plan, write_record
from downbeat.run.estimates import Estimates
from downbeat.run.experiment import Experiment, Launch
from downbeat.run.plan import LAUNCH_FACTORS, LaunchKey, Library, Measurement, Plan, Variant
from downbeat.statistics.power import AFFORDABLE
from downbeat.statistics.verdicts import MIN_LAUNCHES, NOT_AMONG_MANY, NOT_SIGNIFICANT
from downbeat.text import seconds_of
from downbeat.views.comparison import comparison_view
from downbeat.views.experiment import closing, contrast, next_steps, spread_lines
from downbeat_command import COMMAND, downbeat
from launch_files import Cell, write_launch
from snapshots import check_snapshot
from test_comparison_sheet import BARRIER, COMMON_START, cell, compared_of, open_cell

PLAN = Plan("e", Measurement(("bcast",)), (Library("some", "bench"),), launches=MIN_LAUNCHES)
SYNCHRONIZERS = ("synchronizer", "harmonize", "mpi_barrier")
COMMANDS = [
    "downbeat compare where synchronizer=harmonize synchronizer=mpi_barrier",
    "downbeat show where",
    "downbeat report where",
]
FAST, SLOW = 50e-9, 300e-9  # round trips of two states, s


def synchronized(*names: str) -> Cells:
    """Returns cells with these synchronizers."""
    factors = Factors.of_rows([{"operation": "bcast", "synchronizer": name, "pattern": "none"} for name in names])
    return Cells.of(factors.frame().assign(status="ok"))


def test_a_run_compares_what_launches_differ_in_else_two_synchronizers() -> None:
    variants = replace(PLAN, variants=(Variant("before"), Variant("after")))
    libraries = replace(PLAN, libraries=(Library("a", "bench"), Library("b", "bench")))
    both = synchronized("harmonize", "mpi_barrier")
    assert contrast(variants, both) == ("variant", "before", "after")
    assert contrast(libraries, both) == ("library", "a", "b")
    for names in (("mpi_barrier", "harmonize"), ("harmonize", "mpi_barrier", "linear")):
        assert contrast(PLAN, synchronized(*names)) == SYNCHRONIZERS
    assert contrast(PLAN, synchronized("linear", "harmonize")) == ("synchronizer", "linear", "harmonize")
    assert contrast(PLAN, synchronized("harmonize")) is None
    assert contrast(PLAN, synchronized("harmonize", "double_mpi_barrier", "linear")) is None


def needing(*needed: float, reason: str = NOT_SIGNIFICANT) -> Compared:
    """Returns a comparison of open cells that need so many launches."""
    return compared_of(*(open_cell(reason, 0.9, 1.1, launches_needed=one) for one in needed))


@pytest.mark.parametrize(
    ("frame", "launches", "decided"),
    [
        (needing(11, 14, 20), 14, 2),  # the median, not the largest
        (needing(11, 14, 20, AFFORDABLE + 1), 14, 2),
        (needing(12, 13, 14, 15, reason=NOT_AMONG_MANY), 14, 3),
        (needing(8, 30), 30, 2),  # what has its launches shows it with more, too
    ],
)
def test_the_next_step_is_what_decides_half_of_those_that_launches_decide(
    frame: Compared, launches: int, decided: int
) -> None:
    (step,) = step_of(frame)
    assert (step.cells, step.needed, step.shown, step.equal) == (len(frame), launches, decided, 30)
    assert str(launches) in long(step)


def test_a_quieter_machine_only_where_most_need_it() -> None:
    assert "quieter" in long(step_of(needing(AFFORDABLE + 1, AFFORDABLE + 1, 12))[0])
    assert "quieter" not in long(step_of(needing(AFFORDABLE + 1, 12))[0])
    assert step_of(compared_of(cell(), cell(verdict="equivalent"))) == []
    (step,) = step_of(needing(8))
    assert (step.launches, step.needed, step.shown) == (10, 10, 1)


def commands_of(blocks: list[Block]) -> list[str]:
    return [line for block in blocks if isinstance(block, Command) for line in block.lines]


def test_commands_can_be_typed() -> None:
    assert commands_of(next_steps(PLAN, Path("where"), SYNCHRONIZERS, None)) == COMMANDS
    assert shlex.split(commands_of(next_steps(PLAN, Path("a b"), ("variant", "x", "y"), None))[0])[2:] == ["a b"]
    sides = ("synchronizer", "window(size=1ms)", "harmonize")
    command = shlex.split(commands_of(next_steps(PLAN, Path("a b"), sides, None))[0])
    assert command[2:] == ["a b", "synchronizer=window(size=1ms)", "synchronizer=harmonize"]
    few = next_steps(replace(PLAN, launches=MIN_LAUNCHES - 1), Path("where"), SYNCHRONIZERS, needing(50.0))
    assert isinstance(few[0], Line) and few[0].content == TooFewLaunches(MIN_LAUNCHES)
    more = next_steps(
        PLAN, Path("where"), SYNCHRONIZERS, needing(50.0), (["bcast", "--launches", "7"], ["--late", "1"])
    )
    assert shlex.split(commands_of(more)[0])[2:] == ["bcast", "--launches", "50", "--", "--late", "1"]


def judged_sizes(*verdicts: tuple[str, float], **about: object) -> Compared:
    """Returns a comparison with these verdicts and ratios, at 8 bytes, 16 and so on."""
    cells = [
        open_cell(NOT_SIGNIFICANT, 0.9, 1.1, size=8 << i, launches_needed=14.0)
        if verdict == "undecided"
        else cell(verdict=verdict, ratio=ratio, size=8 << i)
        for i, (verdict, ratio) in enumerate(verdicts)
    ]
    return compared_of(*cells, **about)


def test_neighbors_with_one_verdict_are_a_range_that_an_open_size_ends() -> None:
    readings = {"where_a": COMMON_START, "where_b": BARRIER}
    frame = judged_sizes(
        ("slower", 1.14), ("slower", 1.19), ("undecided", 0), ("slower", 1.3), ("equivalent", 1), **readings
    )
    frames = [
        frame,
        judged_sizes(("slower", 17.2), ("slower", 20.4)),
        judged_sizes(("faster", 0.96), ("faster", 0.89)),
        judged_sizes(("faster", 0.25)),
    ]
    check_snapshot("ranges", [long(operation_verdicts(each)) for each in frames])
    assert sizes_text([0, 1, 4], [1, 2, 4, 8, 1024]).split() == ["1", "to", "2,", "1K"]
    assert sizes_text([0], [0]) == ""


@pytest.mark.parametrize("seed", range(30))
def test_every_size_is_said_once_with_its_verdict(seed: int) -> None:
    random = np.random.default_rng(seed)
    ratios = {"slower": 1.5, "faster": 0.5, "equivalent": 1.0, "undecided": 1.0}
    drawn = [str(one) for one in random.choice(list(ratios), 4)]
    fact = operation_verdicts(judged_sizes(*((one, ratios[one]) for one in drawn)))
    assert [[each.verdict for each in fact.ranges if i in each.indices] for i in range(4)] == [[one] for one in drawn]
    words = {"slower": "longer", "faster": "times as fast", "equivalent": "within", "undecided": "undecided"}
    found = {}
    for part in long(fact).split("; "):
        sizes, _, effect = part.partition(": ")
        verdict = next(one for one, text in words.items() if text in effect)
        for run in sizes.split(", "):
            first, _, last = run.partition(" to ")
            for place in range(int(math.log2(int(first) // 8)), int(math.log2(int(last or first) // 8)) + 1):
                assert place not in found
                found[place] = verdict
    assert [found[place] for place in range(4)] == drawn


def in_two_states(few: int) -> Compared:
    """Returns a comparison in two states: ten launches in one, few in the other."""
    other = {"launches_a": few, "launches_b": few}
    return compared_of(
        *(cell(state="50ns", size=size) for size in (8, 16)),
        *(open_cell("few", 0.5, 2.0, state="300ns", size=size, **other) for size in (8, 16)),
    )


def test_rows_of_a_state_with_few_launches_are_shown_and_do_not_count() -> None:
    frame = in_two_states(MIN_LAUNCHES - 1)
    assert set(frame.answer.verdicts.state) == set(frame.question.verdicts.state) == {"50ns"}
    assert not math.isnan(conclusion(frame)[0].ratio)  # type: ignore[union-attr]
    assert "300ns" in "\n".join(view_lines(comparison_view(frame)))
    enough = in_two_states(MIN_LAUNCHES)
    assert (set(enough.answer.verdicts.state), len(enough.question)) == ({"50ns"}, 4)
    # Where no state has enough, the most frequent one counts.
    launches = np.array([3.0, 3.0, 1.0, 1.0])
    fewer = replace(frame, verdicts=frame.verdicts.replaced(launches_a=launches, launches_b=launches))
    assert set(fewer.question.verdicts.state) == {"50ns"}


class Written(Estimates):
    """The medians of launches that have just been written."""

    def write(self, directory: Path, plan: Plan, cells: Mapping[str, list[Cell]], number: int) -> None:
        """Writes the launches of a number, one of each variant, with these cells."""
        for variant in plan.variants:
            key = LaunchKey("some", 2, "default", number, variant=variant.name)
            place = directory / "launches" / str(key)
            place.mkdir(parents=True)
            write_record(place, {name: getattr(key, name) for name in (*LAUNCH_FACTORS, "number")})
            path = write_launch(place / "samples.nc", cells[variant.name], mpi_library="Some 1, configured with much")
            self.add(key, path)


def taking(latency: float, trip: float = FAST, **values: object) -> Cell:
    """Returns a cell that takes so many us, in the state of a round trip."""
    time = np.full((1, 2), latency * 1e-6)
    return Cell(np.zeros((1, 2)), time, other={"canary_low": trip, "canary_high": trip}, **values)  # type: ignore[arg-type]


def ended(
    directory: Path, launches: int, cells: Callable[[int, str], list[Cell]], variants: tuple[str, ...] = ("default",)
) -> View:
    """Returns the last screen of a run whose launches, by number and variant, have these cells."""
    plan = replace(PLAN, launches=launches, variants=tuple(map(Variant, variants)))
    write_plan(directory, plan)
    estimates = Written()
    for number in range(1, launches + 1):
        estimates.write(directory, plan, {name: cells(number, name) for name in variants}, number)
    view = closing(plan, directory, estimates)
    lines = screen(view)
    assert max(map(len, lines)) <= max(WIDTH, len(str(directory)) + 70)
    return view


def screen(view: View) -> list[str]:
    return view_lines(view, Depth.SUMMARY)


def test_a_run_without_cells_ends_without_a_screen() -> None:
    assert closing(PLAN, Path("none"), Estimates()).blocks == ()


def test_one_launch_without_a_barrier_is_latencies_alone(tmp_path: Path) -> None:
    lines = screen(ended(tmp_path / "e", 1, lambda _number, _name: [taking(1.0), taking(12.0, size=1024)]))
    assert [line.split() for line in lines[3:5]] == [["bytes", "8", "1K"], ["bcast", "1.00", "12.0"]]
    assert not any("decided" in line for line in lines)


def test_a_barrier_is_said_by_ranges_of_sizes(tmp_path: Path) -> None:
    def cells(number: int, _name: str) -> list[Cell]:
        noise = 1 + 0.001 * number
        return [
            taking(noise * (ratio if name == "mpi_barrier" else 1.0), size=8 << i, synchronizer=name)
            for i, ratio in enumerate((1.2, 1.25, 1.0, 0.9))
            for name in ("harmonize", "mpi_barrier")
        ]

    view = ended(tmp_path / "e", 10, cells)
    check_snapshot("run", [line.replace(str(tmp_path), "") for line in screen(view)])


def test_both_states_are_shown_and_the_most_frequent_one_answers(tmp_path: Path) -> None:
    def cells(number: int, _name: str) -> list[Cell]:
        slow = number in (2, 5)
        noise = (5.0 if slow else 1.0) * (1 + 0.001 * number)
        ratios = {"harmonize": 1.0, "mpi_barrier": 0.5}
        return [taking(noise * ratio, SLOW if slow else FAST, synchronizer=name) for name, ratio in ratios.items()]

    view = ended(tmp_path / "e", 12, cells)
    (states,) = (fact for fact in view.facts if isinstance(fact, MachineStates))
    assert states.launches == (("50ns", 10), ("300ns", 2))
    text = "\n".join(screen(view))
    assert re.search(r"^bcast, state 50ns +1\.01 ", text, flags=re.MULTILINE)
    assert re.search(r"300ns +5\.02$", text, flags=re.MULTILINE)
    assert [fact.cells for fact in view.facts if isinstance(fact, Conclusion)] == [1]
    # The command shows the same rows; those of the rare state do not count for its exit status.
    words = ("compare", "e", "synchronizer=harmonize", "synchronizer=mpi_barrier", "--fail-on", "undecided")
    shown = downbeat(*words, "--json", "c.json", where=tmp_path)
    assert (shown.returncode, "300ns" in shown.stdout) == (0, True)
    assert {one["state"] for one in json.loads((tmp_path / "c.json").read_text())["cells"]} == {"50ns", "300ns"}


def test_two_settings_far_apart_are_decided_though_their_states_differ(tmp_path: Path) -> None:
    """Within a state there are pairs enough; what the other holds is not part of the sentence."""

    def cells(number: int, name: str) -> list[Cell]:
        slow = number == 1 or (name == "tcp" and number == 4)
        latency = (18.0 if name == "tcp" else 1.0) * (1 + 0.002 * number)
        return [taking(latency, SLOW if slow else FAST, size=8 << i) for i in range(3)]

    view = ended(tmp_path / "e", 7, cells, ("shm", "tcp"))
    (fact,) = (fact for fact in view.facts if isinstance(fact, Conclusion))
    assert (fact.cells, fact.count("slower"), round(fact.ratio, 2)) == (3, 3, 18.0)
    (ranges,) = (fact.ranges for fact in view.facts if isinstance(fact, OperationVerdicts))
    assert [(each.verdict, each.indices) for each in ranges] == [("slower", (0, 1, 2))]


def test_settings_that_are_never_in_one_state_are_compared_over_all_launches(tmp_path: Path) -> None:
    def cells(number: int, name: str) -> list[Cell]:
        slow = name == "tcp"
        return [taking((180.0 if slow else 1.0) * (1 + 0.002 * number), SLOW if slow else FAST)]

    text = " ".join(" ".join(screen(ended(tmp_path / "e", 6, cells, ("shm", "tcp")))).split())
    assert re.search(r"\b0 of 6\b.* shm\b.*\b6 of 6\b.* tcp\b", text)
    assert re.search(r"\btcp\b.*\b180\.00\b.*\bslower\b", text)
    assert re.search(r"bcast, shm, state 50ns +1\.01 ", text) and re.search(r"bcast, tcp, state 300ns +181 ", text)


def test_a_sentence_needs_verdicts(tmp_path: Path) -> None:
    view = ended(
        tmp_path / "e", 4, lambda number, name: [taking((18.0 if name == "tcp" else 1.0) + number)], ("shm", "tcp")
    )
    assert not any("times" in line for line in screen(view))


def test_variants_with_nothing_in_common_end_in_latencies(tmp_path: Path) -> None:
    names = {"old": "harmonize", "new": "linear"}
    view = ended(
        tmp_path / "e",
        MIN_LAUNCHES,
        lambda _number, name: [taking(1.0, synchronizer=names[name])],
        ("old", "new"),
    )
    assert not any(line.startswith("downbeat compare") for line in commands_of(list(view.blocks)))


def test_no_operation_is_hidden(tmp_path: Path) -> None:
    random = np.random.default_rng(1)

    def cells(_number: int, _name: str) -> list[Cell]:
        return [
            taking(1 + random.uniform(), size=size, operation=f"operation{i}", synchronizer=name)
            for i in range(7)
            for size in (8, 64)
            for name in ("harmonize", "mpi_barrier")
        ]

    lines = screen(ended(tmp_path / "e", MIN_LAUNCHES, cells))
    assert all(sum(f"operation{i}" in line for line in lines) == 2 for i in range(7))


def launched(gap: float, took: float, launches: int = 10) -> Experiment:
    """Returns an experiment whose launches took so many seconds, with so many between them."""
    record = [
        {"started": stamp(number * (gap + took)), "ended": stamp(number * (gap + took) + took)}
        for number in range(launches)
    ]
    found = [Launch("some", 2, "default", i + 1, Path("x.nc"), one) for i, one in enumerate(record)]
    for one in found:
        one.__dict__["context"] = {"date": one.record["started"]}  # is read from the file when it is first asked for
    return Experiment(Path("where"), "e", tuple(found), PLAN, ())


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(1e9 + seconds, UTC).isoformat()


@pytest.mark.parametrize("seed", range(20))
def test_the_command_that_spreads_a_run_is_the_same_run(seed: int, tmp_path: Path) -> None:
    """Whatever its options were, and however they were written."""
    random = np.random.default_rng(seed)
    options = [
        ["-o", "a b"], ["-oplace"], ["--output=x$y"], ["--output", "z"], ["--interval", "0"], ["--launches", "7"],
        ["--variant", "old:"], ["-n", "2"], ["--sync=harmonize"], ["-m", "8:64K"], ["--seed", "3"],
    ]  # fmt: skip
    parts = [["bcast"], ["./my op.so(n=2)"], *(options[i] for i in random.permutation(len(options))[:5])]
    words = [word for i in random.permutation(len(parts)) for word in parts[i]]
    passed = ["--late-ranks", "0.1"] if seed % 2 else []
    lines = spread_lines(launched(0.3, 4.0), ["some"], tmp_path / "it's here", (words, passed))
    again = shlex.split(block_lines(lines)[-1])
    assert again[:2] == ["downbeat", "run"]
    run = COMMAND(app).commands["run"]  # type: ignore[attr-defined]
    before, after = (run.make_context("run", list(one)) for one in ([*words, "--", *passed], again[2:]))
    assert before.meta[PASSED] == after.meta[PASSED]
    changed = {"output", "over", "interval"}
    assert {k: v for k, v in before.params.items() if k not in changed} == {
        k: v for k, v in after.params.items() if k not in changed
    }
    assert not Path(after.params["output"]).exists()
    assert seconds_of(after.params["over"]) >= 5 * 43
    assert after.params["interval"] is None


def test_spread_launches_are_not_told_to_spread() -> None:
    words: tuple[list[str], list[str]] = (["bcast"], [])
    for gap, took, said in ((0.5, 4.0, True), (90.0, 4.0, False), (1.0, 600.0, True)):
        assert bool(spread_lines(launched(gap, took), ["some"], Path("where"), words)) == said
    assert spread_lines(launched(0.5, 4.0, 1), ["some"], Path("where"), words) == []
    assert spread_lines(launched(0.5, 4.0), [], Path("where"), words) == []  # simulated
    assert (
        spread_lines(launched(0.5, 4.0), ["some"], Path("where"), ([], [])) == []
    )  # a run without a command of its own
