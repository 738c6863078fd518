"""Readers of nccl-tests, PICO, ReproMPI, mpiBench and SKaMPI: drawn outputs with known numbers, real files, damage."""

from __future__ import annotations

import json
import random
import re
import shutil
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import drawn_tool_output as drawing
import numpy as np
import pytest
from downbeat.data.readers import (
    READERS,
    Reader,
    imb,
    mpibench,
    nccl,
    osu,
    pico,
    read_results,
    recognizes,
    reprompi,
    skampi,
)
from downbeat.data.readers.results import CUT, UNKNOWN_COLUMNS
from downbeat.data.readers.sources import Source
from downbeat.errors import UsageError
from drawn_tool_output import Drawn, damage_of, rows_of

Draw = Callable[[random.Random], Drawn]
FORMATS: tuple[tuple[Reader, Draw], ...] = (
    (nccl, drawing.nccl_text),
    (nccl, drawing.nccl_json),
    (nccl, drawing.rccl_records),
    (mpibench, drawing.mpibench),
    (skampi, drawing.skampi),
    (reprompi, drawing.reprompi),
)
COUNTS = [30, pytest.param(200, marks=pytest.mark.nightly)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("reader", "draw"), FORMATS, ids=[draw.__name__ for _, draw in FORMATS])
def test_drawn_texts(reader: Reader, draw: Draw, count: int) -> None:
    for seed in range(count):
        drawn = draw(random.Random(seed))
        text = drawn.text()
        assert [each.NAME for each in READERS if each.recognizes(text)] == [reader.NAME], seed
        results = reader.read(text, "some.log")
        assert Counter(rows_of(results)) == Counter(drawn.rows), seed
        assert damage_of(results) == drawn.damage, seed


@pytest.mark.parametrize(("reader", "draw"), FORMATS, ids=[draw.__name__ for _, draw in FORMATS])
def test_texts_that_end_anywhere(reader: Reader, draw: Draw) -> None:
    for seed in range(30):
        source = random.Random(seed)
        drawn = draw(source)
        text = drawn.text()[: source.randint(1, len(drawn.text()))]
        if any(each.recognizes(text) for each in READERS):
            results = reader.read(text, "some.log")
            values = {row[:-2] for row in drawn.rows}
            if draw is not drawing.reprompi:  # whose summaries change with the calls
                assert {row[:-2] for row in rows_of(results)} <= values, seed


@pytest.mark.parametrize(("reader", "draw"), FORMATS, ids=[draw.__name__ for _, draw in FORMATS])
def test_texts_with_other_characters_in_them(reader: Reader, draw: Draw) -> None:
    for seed in range(60):
        source = random.Random(seed)
        characters = list(draw(source).text())
        for _ in range(source.randint(1, 30)):
            characters[source.randrange(len(characters))] = source.choice('0-9.#: \n,xe"{}[]\u00e4')
        if reader.recognizes(text := "".join(characters)):
            reader.read(text, "some.log")


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("packed", [False, True])
def test_drawn_directories_of_pico(tmp_path: Path, count: int, packed: bool) -> None:
    for seed in range(count):
        root = tmp_path / str(seed)
        drawn = drawing.pico(random.Random(seed), root)
        if packed:
            for directory in sorted((root / "fjord").iterdir()):
                with tarfile.open(f"{directory}.tar.gz", "w:gz") as archive:
                    archive.add(directory, directory.name)
                shutil.rmtree(directory)
        results = read_results([root])
        assert Counter(rows_of(results)) == Counter(drawn.rows), seed
        assert damage_of(results) == drawn.damage, seed
        for row, read in results.calls.items():
            values = read()
            assert values.size == results.numbers.calls[row]
            assert values.mean() == pytest.approx(results.numbers.value[row])


def test_single_files_and_tests_of_pico(tmp_path: Path) -> None:
    drawing.pico(random.Random(5), tmp_path)
    file = next(
        path
        for path in sorted(tmp_path.rglob("*_*.csv"))
        if path.parent != tmp_path and not path.with_suffix(".err").exists()
    )
    alone = read_results([file])
    assert len(alone.runs) == 1
    among = read_results([file.parents[1]])
    assert set(rows_of(alone)) <= {(0, *row[1:]) for row in rows_of(among)}
    assert recognizes(file.parents[2])


def test_the_context_of_a_run_has_its_hosts() -> None:
    drawn = drawing.nccl_text(random.Random(3))
    for run in nccl.read(drawn.text(), "logs/pair.log").runs:
        hosts = run.context["hosts"].split(",")
        assert all(f" {host} " in drawn.text() for host in hosts)
        assert run.context["file"] == "pair.log"
        assert run.context["gpus_per_node"] in ("1", "4", "8")


def test_calls_of_json() -> None:
    for seed in range(30):
        drawn = drawing.nccl_json(random.Random(seed))
        results = nccl.read(drawn.text(), "x.json")
        times = [] if CUT in drawn.damage else [
            each for result in json.loads(drawn.lines[0])["results"] for name in ("out_of_place", "in_place")
            if (each := result.get(f"{name}_per_iter", {}).get("times_us"))
        ]  # fmt: skip
        assert [pytest.approx(np.array(each) * 1e-6) for each in times] == [read() for read in results.calls.values()]


def test_foreign_and_damaged_archives(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("size count\n8 9\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"notes\.txt"):
        read_results([tmp_path / "notes.txt"])
    drawing.pico(random.Random(1), tmp_path / "p")
    directory = next((tmp_path / "p" / "fjord").iterdir())
    with tarfile.open(f"{directory}.tar.gz", "w:gz") as archive:
        archive.add(directory, directory.name)
    archive_path = Path(f"{directory}.tar.gz")
    archive_path.write_bytes(archive_path.read_bytes()[: archive_path.stat().st_size // 2])
    assert damage_of(read_results([tmp_path / "p"]))["archives that are cut or damaged"] == 1
    other = tmp_path / "logs.tar.gz"
    other.write_bytes(archive_path.read_bytes())
    with pytest.raises(UsageError, match=r"logs\.tar\.gz"):
        read_results([other])


ROOT = Path(__file__).resolve().parents[2]
DATA = next((each for each in (ROOT / "shared" / "data", ROOT.parent / "shared" / "data") if each.is_dir()), None)
with_data = pytest.mark.skipif(DATA is None, reason="needs shared/data")


@with_data
@pytest.mark.thorough
def test_all_numbers_of_real_archives_of_pico() -> None:
    assert DATA
    results = read_results([DATA / "pico"])
    numbers, damage = results.numbers, damage_of(results)
    calls = int(numbers.calls[np.asarray(numbers.statistic == "median")].sum())
    texts = {}
    for path in sorted((DATA / "pico").glob("*/*.tar.gz")):
        with tarfile.open(path) as archive:
            for entry in archive:
                if re.search(r"/\d+/\d+_.*\.(csv|err)$", entry.name):
                    file = archive.extractfile(entry)
                    assert file
                    texts[f"{path.parent.name}/{entry.name}"] = file.read().decode()
    refused = {name[:-3] + "csv" for name, text in texts.items() if name.endswith("err") and "invalid-value" in text}
    counted = sum(
        len(re.findall(r"^[0-9]+$", text, re.MULTILINE))
        for name, text in texts.items()
        if name.endswith("csv") and name not in refused
    )
    assert calls + damage["calls of 0 ns, left out"] == counted
    assert damage["cases whose algorithm the library refused, left out"] == len(refused)
    rows = random.Random(7).sample(sorted(results.calls), 30)
    for row in rows:
        number = numbers[np.array([row])]
        run = results.runs[int(number.run[0])]
        time = run.date.replace("T", "___").replace("-", "_").replace(":", "_")
        count = int(number.size[0]) // (4 if number.datatype[0] else 1)
        name = f"{count}_{number.algorithm[0]}{'_' * bool(number.datatype[0])}{number.datatype[0]}.csv"
        words = texts[f"{run.context['system']}/{time}/{run.context['test']}/{name}"].split("\n")
        values = [int(word) for word in words if word.isdigit() and word != "0"]
        assert number.value[0] == pytest.approx(sum(values) / len(values) * 1e-9)


@with_data
def test_all_numbers_of_real_logs_of_nccl_tests() -> None:
    assert DATA
    texts = {each.path: each.text for each in Source(DATA / "nccl-pairs" / "cluster00.tar.gz").members()}
    results = [nccl.read(text, path) for path, text in texts.items() if nccl.recognizes(text)]
    lines = [
        line.split() for text in texts.values() for line in text.splitlines() if re.match(r" +\d+ +\d+ +double", line)
    ]
    rows = [words for words in lines if len(words) == 13]
    assert sum(len(each.numbers) for each in results) == 6 * len(rows)
    ended = sum(text.count("# Out of bounds values") for text in texts.values())
    started = sum(text.count("# Collective test starting") for text in texts.values())
    damage = sum((damage_of(each) for each in results), Counter())
    assert damage["runs that failed"] + damage["runs that did not end"] == started - ended
    draw = random.Random(3)
    for _ in range(30):
        each = draw.choice([result for result in results if len(result.numbers)])
        row = draw.randrange(len(each.numbers))
        number = each.numbers[np.array([row])]
        run = each.runs[int(number.run[0])]
        after = texts[run.path].splitlines()[run.line :]
        words = next(line.split() for line in after if line.split()[:1] == [str(number.size[0])])
        column = 5 + 4 * ("place=in" in str(number.setting[0]))
        column += ["latency_avg", "algorithm_bandwidth", "bus_bandwidth"].index(str(number.kind[0]))
        factor = 1e-6 if number.kind[0] == "latency_avg" else 1e9
        assert number.value[0] == pytest.approx(float(words[column]) * factor)
    assert {run.context["gpus_per_node"] for each in results for run in each.runs} == {"1", "4", "8"}
    pico.cases_in.cache_clear()


@pytest.mark.parametrize(
    "before",
    ["    ", "> ", "node17: ", "[prterun-node-1@1,0]<stdout>: ", "2024-05-05T12:00:10.12Z ", "(head, rank=0) [1,0]: "],
)
def test_what_launchers_and_pages_write_before_each_line(before: str) -> None:
    for reader, draw in FORMATS:
        for seed in range(4):
            drawn = draw(random.Random(seed))
            if drawn.text().startswith(("{", "[", "numCycle")):
                continue
            text = "".join(f"{before}{line}" for line in drawn.text().splitlines(keepends=True))
            assert reader.recognizes(text), (draw.__name__, seed)
            results = reader.read(text, "some.log")
            assert Counter(rows_of(results)) == Counter(drawn.rows), (draw.__name__, seed)
            assert damage_of(results) == drawn.damage, (draw.__name__, seed)


def test_colors_tabs_and_messages_before_the_first_line(tmp_path: Path) -> None:
    drawn = drawing.nccl_text(random.Random(1))
    text = "[node:12] a message\n" + drawn.text()
    (tmp_path / "plain.log").write_text(text)
    (tmp_path / "other.log").write_text("".join(f"\x1b[1;32m{line}\x1b[0m\n" for line in text.splitlines()))
    (tmp_path / "tabs.log").write_text(re.sub(" {3,}", "\t", text))
    for file in sorted(tmp_path.iterdir()):
        assert Counter(rows_of(read_results([file]))) == Counter(drawn.rows), file.name


def test_runs_of_each_library_of_osu_are_apart() -> None:
    titles = {
        "MPI Latency": ("ping_pong", "one_way", ""),
        "MPI_Put latency": ("put", "call_time", ""),
        "MPI_Get-CUDA Bandwidth": ("get_bandwidth", "bandwidth", "device=cuda"),
        "MPI_Fetch_and_op latency": ("fetch_and_op", "call_time", ""),
        "OpenSHMEM Put": ("put", "call_time", "library=openshmem"),
        "MPI Multi-threaded Latency": ("multi_threaded_ping_pong", "one_way", "senders=2,receivers=3"),
    }
    lines = []
    for value, title in enumerate(titles, 1):
        if "threaded" in title:
            lines += ["# Number of Sender threads: 2 ", "# Number of Receiver threads: 3"]
        unit = "Bandwidth (MB/s)" if "Bandwidth" in title else "Latency (us)"
        lines += [f"# OSU {title} Test v5.8", f"# Size   {unit}", f"8      {value}.25"]
    lines += ["# OSU MPI Multiple Bandwidth / Message Rate Test v5.8", "# [ pairs: 1 ] [ window size: varied ]"]
    lines += ["#       8      16", "1    2.33    3.33"]
    results = osu.read("\n".join([*lines, ""]), "some.log")
    numbers = results.numbers
    assert list(zip(numbers.operation, numbers.kind, numbers.setting, strict=True)) == list(titles.values())
    assert numbers.run.tolist() == list(range(len(titles)))
    scales = [1e6 if kind == "bandwidth" else 1e-6 for kind in numbers.kind]
    assert numbers.value == pytest.approx([(i + 1.25) * scale for i, scale in enumerate(scales)])
    assert damage_of(results) == {UNKNOWN_COLUMNS: 1}


def test_numbers_of_ranks_and_sizes_of_old_releases() -> None:
    table = "# Benchmarking Alltoall\n# ( #processes = 6 )\n #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n"
    numbers = imb.read(table + " 8 1000 1.50 3.50 2.50\n# All processes entering MPI_Finalize\n", "a.log").numbers
    assert set(numbers.ranks) == {6}
    assert numbers.value == pytest.approx([1.5e-6, 3.5e-6, 2.5e-6])
    barrier = '# SKaMPI Version 5.0\nbegin result "MPI_Barrier-nodes"\nnodes= 2  3.5  0.1  54  3.1 3.5\nend result\n'
    numbers = skampi.read(barrier, "a.log").numbers
    assert (numbers.size[0], numbers.ranks[0], numbers.calls[0]) == (0, 2, 54)
    assert numbers.value[0] == pytest.approx(3.5e-6)
