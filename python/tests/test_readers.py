"""Readers of other tools' results: every number of files drawn at random is right, and every damage is named."""

from __future__ import annotations

import random
import re
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from damage import flipped
from downbeat.data.readers import READERS, imb, osu, read_results
from downbeat.data.readers.results import CUT, NO_NUMBERS, NOT_ENDED, UNREADABLE, WRONG_RESULTS, Results
from downbeat.errors import UsageError
from downbeat.output.words import long
from tool_files import IMB_FAILURES, Number, Written, imb_file, osu_file

ROOT = Path(__file__).resolve().parents[2]
ARCHER2 = ROOT / "shared/data/imb/archer2.tar.xz"
TOOLS = {"OSU": (osu, osu_file), "IMB": (imb, imb_file)}
SEEDS = [
    pytest.param(range(30), id="some"),
    pytest.param(range(30, 230), id="many", marks=pytest.mark.nightly),
]


def numbers_of(results: Results) -> list[Number]:
    """The numbers that were read, as the generators have them."""
    frame = results.numbers.frame().astype({"operation": str, "setting": str, "kind": str, "statistic": str})
    return [
        (f"{operation}({setting})" if setting else operation, size, ranks, kind, statistic, value)
        for operation, setting, size, ranks, kind, statistic, value in frame[
            ["operation", "setting", "size", "ranks", "kind", "statistic", "value"]
        ].itertuples(index=False)
    ]


def same(read: list[Number], expected: list[Number]) -> None:
    """Asserts that these are the numbers, in any order of the columns of a line."""
    assert Counter(each[:5] for each in read) == Counter(each[:5] for each in expected)
    by_key = {each[:5]: each[5] for each in expected}
    if len(by_key) == len(expected):
        for each in read:
            assert each[5] == pytest.approx(by_key[each[:5]], rel=1e-12), each
    assert sorted(each[5] for each in read) == pytest.approx(sorted(each[5] for each in expected), rel=1e-12)


def found(results: Results) -> dict[str, int]:
    """The damage, with counts."""
    return {damage.what: damage.count for damage in results.damages}


def expected_of(written: Written, lines: int | None = None, without: int = 0) -> list[Number]:
    """The numbers of the first lines of a file, but for those of one line."""
    return [
        each
        for line, numbers in written.numbers.items()
        if (lines is None or line <= lines) and line != without
        for each in numbers
    ]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("seeds", SEEDS)
def test_every_number(tool: str, seeds: range) -> None:
    reader, draw = TOOLS[tool]
    for seed in seeds:
        written = draw(seed)
        assert [each.NAME for each in READERS if each.recognizes(written.text)] == [tool]
        results = reader.read(written.text, "file.log")
        same(numbers_of(results), expected_of(written))
        assert len(results.runs) == written.runs
        reported = Counter(written.reported)
        damages = {what: count for what, count in found(results).items() if what != NO_NUMBERS}
        assert sum(damages.values()) == sum(reported.values()), seed
        for word in set(IMB_FAILURES.values()) & set(reported):
            assert [count for what, count in damages.items() if word in what] == [reported[word]]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("seeds", SEEDS)
def test_a_file_that_is_cut(tool: str, seeds: range) -> None:
    """The numbers of whole lines are right, and a cut that is not between two lines of a table is named."""
    reader, draw = TOOLS[tool]
    for seed in seeds:
        written, chance = draw(seed), random.Random(seed)
        text = written.text
        part = text[: chance.randrange(1, len(text))]
        if not reader.recognizes(part):
            continue
        results, whole = reader.read(part, "file.log"), part.count("\n")
        same(numbers_of(results), expected_of(written, whole))
        if whole + 1 in written.numbers and re.search(r"\d", part.rpartition("\n")[2]):
            assert found(results)[CUT] == 1
        if tool == "IMB":
            begun = len(re.findall(r"MPI Benchmarks .* part", part))
            assert found(results).get(NOT_ENDED, 0) == begun - part.count("# All processes entering MPI_Finalize")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("seeds", SEEDS)
def test_a_number_that_is_garbled(tool: str, seeds: range) -> None:
    reader, draw = TOOLS[tool]
    for seed in seeds:
        written, chance = draw(seed), random.Random(seed)
        line = chance.choice(list(written.numbers))
        text = written.lines[line - 1]
        start = re.match(r"(?:\[1,0\]<stdout>:|0: )?\s*", text)
        assert start
        place = chance.choice([i for i in range(start.end(), len(text)) if text[i].isdigit()])
        written.lines[line - 1] = f"{text[:place]}{chance.choice('x#-?')}{text[place + 1 :]}"
        results = reader.read(written.text, "file.log")
        if written.lines[line - 1][start.end()] == "#":
            continue  # a comment, which may end a table
        same(numbers_of(results), expected_of(written, without=line))
        assert found(results).get(UNREADABLE) == 1 or NO_NUMBERS in found(results), (seed, written.lines[line - 1])


def test_wrong_results_are_counted_and_do_not_count() -> None:
    text = (
        "# OSU MPI-CUDA Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)        Validation\n"
        "1   0.90   Pass\n2   1.82   Fail\n4   3.65   Fail\n"
    )
    results = osu.read(text, "file.log")
    assert found(results) == {WRONG_RESULTS: 2}
    assert results.numbers.status.tolist() == ["ok", "wrong", "wrong"]
    checked = (
        "# Benchmarking Bcast\n# #processes = 2\n#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] defects\n"
        " 8 10 1.00 2.00 1.50 0.00\n 16 10 1 2 1.5 3.1\n# All processes entering MPI_Finalize\n"
    )
    results = imb.read(checked, "file.log")
    assert found(results) == {WRONG_RESULTS: 1}
    assert results.numbers.status.tolist() == ["ok"] * 3 + ["wrong"] * 3
    assert results.numbers.ranks.tolist() == [2] * 6


def test_a_run_without_numbers() -> None:
    text = "# OSU MPI Allreduce Latency Test v5.6\n# Size  Avg Latency(us)\nosu_allreduce: error: 12\nSignal 11\n"
    assert found(osu.read(text, "a")) == {NO_NUMBERS: 1}


def test_tools_in_one_file() -> None:
    """The output of a job with both tools: none reads the numbers of the other."""
    for seed in range(10):
        first, second = osu_file(seed), imb_file(seed)
        text = first.text + second.text
        same(numbers_of(osu.read(text, "a")), expected_of(first))
        same(numbers_of(imb.read(text, "a")), expected_of(second))


def test_old_megabytes() -> None:
    """IMB up to 4.1 counts 2^20 bytes as a megabyte."""
    head = "# Benchmarking PingPong\n# #processes = 2\n#bytes #repetitions t[usec] Mbytes/sec\n"
    for megabyte in (1e6, 2.0**20):
        row = f"1048576 40 200.00 {1048576 / 200e-6 / megabyte:.2f}\n"
        results = imb.read(f"{head}{row}# All processes entering MPI_Finalize\n", "a")
        rate = results.numbers.value[results.numbers.kind == "bandwidth"]
        assert rate == pytest.approx([1048576 / 200e-6], rel=1e-4)


def test_archives_directories_and_files(tmp_path: Path) -> None:
    written = [osu_file(1), imb_file(1)]
    directory = tmp_path / "logs" / "deep"
    directory.mkdir(parents=True)
    for number, each in enumerate(written):
        (directory / f"{number}.log").write_text(each.text, encoding="utf-8")
    (directory / "notes.txt").write_text("no results\n", encoding="utf-8")
    (directory / "picture.png").write_bytes(b"\x89PNG\0\0")
    archive = tmp_path / "logs.tar.gz"
    with tarfile.open(archive, "w:gz") as target:
        target.add(directory, "deep")
    expected = expected_of(written[0]) + expected_of(written[1])
    for paths in ([tmp_path / "logs"], [archive], [directory / "0.log", directory / "1.log"]):
        results = read_results(paths)
        same(numbers_of(results), expected)
        assert sum("without results" in damage.what for damage in results.damages) == (len(paths) == 1)
    with pytest.raises(UsageError, match="OSU, IMB"):
        read_results([directory / "notes.txt"])
    with pytest.raises(UsageError, match="does not exist"):
        read_results([directory / "nothing.log"])
    archive.write_bytes(archive.read_bytes()[:200])
    with pytest.raises(UsageError, match="is damaged"):
        read_results([archive])


@pytest.mark.parametrize("seeds", [range(200), pytest.param(range(200, 5000), marks=pytest.mark.nightly)])
def test_any_damage_is_read_or_refused(seeds: range, tmp_path: Path) -> None:
    """Flipped bits, cleared bytes, a cut: never an exception of Python."""
    for seed in seeds:
        chance = random.Random(seed)
        draw: Callable[[int], Written] = chance.choice((osu_file, imb_file))
        file = tmp_path / "damaged.log"
        file.write_bytes(flipped(draw(seed).text.encode(), chance))
        try:
            for damage in read_results([file]).damages:
                assert long(damage)
        except UsageError as error:
            assert "\n" not in str(error)


NUMBER_LINE = re.compile(rb"^ +\d+ +\d+( +\d+\.\d\d){2,4} *$", re.MULTILINE)


@pytest.mark.skipif(not ARCHER2.exists(), reason="the real files are not part of the project")
def test_real_files() -> None:
    """IMB on ARCHER2: as many numbers as lines that look like results have, and drawn values as in the text."""
    results = read_results([ARCHER2])
    frame = results.numbers.frame()
    with tarfile.open(ARCHER2) as archive:
        files = {entry.name: archive.extractfile(entry) for entry in archive if entry.isfile()}
        texts = {name: file.read() for name, file in files.items() if file}
    matches = [match for text in texts.values() for match in NUMBER_LINE.finditer(text)]
    assert len(frame) == sum(len(match[0].split()) - 2 for match in matches) == 4179
    failures = sum(len(re.findall(rb" out-of-mem\.", text)) for text in texts.values())
    assert found_over_files(results)["sizes that did not fit into memory"] == failures
    for row in random.Random(54).sample(range(len(frame)), 20):
        number, run = frame.iloc[row], results.runs[frame["run"].iloc[row]]
        text = texts[run.path.rpartition("archer2.tar.xz:")[2]].decode()
        line = re.search(rf"^ +{number['size']} +{number['calls']} .*$", text, re.MULTILINE)
        assert line
        scale = 1e-6 if number["kind"] == "bandwidth" else 1e6
        assert f"{number['value'] * scale:.2f}" in line[0].split(), (run.path, line[0])
        assert f"# #processes = {number['ranks']} " in text


def found_over_files(results: Results) -> Counter[str]:
    """The damage of all files, with counts."""
    counts: Counter[str] = Counter()
    for damage in results.damages:
        counts[damage.what] += damage.count
    return counts
