"""A recorded program ends as it does without us, whatever it closes, limits or locks."""

from __future__ import annotations

import errno
import os
import random
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import downbeat
import pytest
from programs import launcher_words, program, run_traced

DEBIAN = pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
CALLS = 50_000
MEGABYTES = 1 << 20


def lines_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Returns what the ranks printed, in an order of its own."""
    return sorted(done.stdout.splitlines())


def bare(mpi: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs a program without us."""
    launcher, env = launcher_words(mpi, 2)
    return subprocess.run([*launcher, *words], capture_output=True, text=True, check=False, env=env, timeout=100)


def shell(words: list[str], *limits: str) -> list[str]:
    """Returns a command under limits of `ulimit`."""
    return ["bash", "-c", "; ".join([*(f"ulimit {limit}" for limit in limits), 'exec "$@"']), "limited", *words]


@contextmanager
def disk_of(size: str | None) -> Iterator[Path]:
    """Gives a directory on a disk of a size; None: on any."""
    with tempfile.TemporaryDirectory() as name:
        if size is None:
            yield Path(name)
            return
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", name]
        if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode != 0:
            pytest.skip("nothing can be mounted here")
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "--lazy", name], check=True)


def check_as_without(
    mpi: str, words: list[str], *options: str, disk: str | None = None, calls: int = CALLS
) -> tuple[downbeat.Trace | None, str]:
    """Runs a program with and without us: it prints the same, and all of its calls are counted.

    Returns:
        The recording, None if a line says that there is none; and what was said.
    """
    untraced = bare(mpi, words)
    with disk_of(disk) as directory:
        traced = run_traced(directory / "trace", mpi, words, *options)
        assert lines_of(traced) == lines_of(untraced), traced.stderr
        if "nothing is recorded" in traced.stderr:
            return None, traced.stderr
        assert traced.returncode == untraced.returncode, traced.stderr
        trace = downbeat.open_trace(directory / "trace")
        assert trace.profile["calls"].sum() == 2 * calls, traced.stderr
        assert len(trace.records) == 2 * calls or trace.sampled or trace.processes["records_dropped"].sum(), words
        assert "nan" not in traced.stderr
    return trace, traced.stderr


def limited(mpi: str, *acts: str, calls: int = CALLS) -> list[str]:
    """Returns the command of limited.c."""
    return [program(mpi, "limited"), str(calls), *acts]


@DEBIAN
@pytest.mark.parametrize("act", ["0:close", "0:over", "20000:close", "20000:over"])
def test_a_program_that_closes_what_it_did_not_open_keeps_its_files(mpi: str, act: str) -> None:
    trace, _ = check_as_without(mpi, limited(mpi, act))
    assert trace is not None
    assert len(trace.records) == 2 * CALLS  # the file is opened again by its name


@DEBIAN
def test_a_file_that_cannot_be_opened_again_ends_with_a_sample(mpi: str) -> None:
    words = limited(mpi, "20000:close", "20000:root")
    if os.geteuid() != 0:
        pytest.skip("only root can change the root")
    trace, said = check_as_without(mpi, words)
    assert trace is not None
    assert 0 < len(trace.records) < 2 * CALLS
    assert "not grow" in said and "was lost" in said


@DEBIAN
@pytest.mark.parametrize("records", [1000, 1_000_000])
def test_a_limit_of_file_sizes_below_what_a_program_needs_leaves_a_sample(mpi: str, records: int) -> None:
    words = limited(mpi, f"0:limit-file:{MEGABYTES}")
    trace, said = check_as_without(mpi, words, "--records", str(records))
    assert trace is not None
    assert trace.sampled
    assert min(len(section.tables.records) for section in trace.sections) >= min(records, 4000)
    assert ("ulimit -f" in said) == (records > 1000)


@DEBIAN
def test_signals_of_file_sizes_are_the_programs(mpi: str) -> None:
    limit = f"1000:limit-file:{MEGABYTES}"
    for acts in (("0:handle", limit, "40000:exceed"), ("0:pend", limit), ("0:pend", "0:handle", limit, "3000:exceed")):
        check_as_without(mpi, limited(mpi, *acts))


@DEBIAN
def test_without_room_for_a_file_the_program_runs_without_a_recording(mpi: str) -> None:
    words = [program(mpi, "limited"), "1000"]
    with disk_of("16k") as directory:
        done = run_traced(directory / "trace", mpi, words)
    assert lines_of(done) == lines_of(bare(mpi, words))
    (line,) = [line for line in done.stderr.splitlines() if "nothing is recorded" in line]
    assert os.strerror(errno.ENOSPC) in line


@pytest.mark.thorough
@DEBIAN
@pytest.mark.parametrize("limit", ["-f 200000", "-v 400000", "-v 600000", "-f 20000"])
def test_limits_of_the_shell(mpi: str, limit: str) -> None:
    words = shell(limited(mpi, calls=1000), limit)
    if bare(mpi, words).returncode != 0:
        pytest.skip("the program alone has too little")
    trace, _ = check_as_without(mpi, words, calls=1000)
    assert trace is not None
    assert len(trace.records) == 2000


@pytest.mark.thorough
@DEBIAN
@pytest.mark.parametrize("act", ["lock", "lock-now", "lock-later"])
def test_locked_memory_is_about_what_is_recorded(mpi: str, act: str) -> None:
    words = limited(mpi, f"0:{act}")

    def largest(said: str) -> int:
        return max(int(found) for found in re.findall(r"rss (\d+) KB", said))

    _, said = check_as_without(mpi, words)
    before = largest(bare(mpi, words).stderr)
    assert largest(said) - before < 24 * 1024  # what MPI needs for another communicator is in it, too


@DEBIAN
def test_on_a_small_disk_a_sample_is_kept(mpi: str) -> None:
    trace, said = check_as_without(mpi, limited(mpi), disk="900k")
    assert trace is not None
    assert 0 < len(trace.records) < 2 * CALLS
    assert trace.processes["records_dropped"].sum() == 0
    assert "free space" in said


@pytest.mark.parametrize(
    ("size", "words", "options", "share"),
    [
        (16 << 10, [], [], "verified"),
        (20 << 10, ["barriers"], ["--harmonize"], "verified"),
        (24 << 10, ["barriers"], ["--harmonize"], "never"),
    ],
    ids=["recorded", "one-clock", "two-clocks"],
)
def test_the_stack_of_a_thread_may_be_small(size: int, words: list[str], options: list[str], share: str) -> None:
    smallest = os.sysconf("SC_THREAD_STACK_MIN") if "SC_THREAD_STACK_MIN" in os.sysconf_names else 16384
    words = [program("openmpi", "small_stack"), str(max(size, smallest)), *words]
    untraced = bare("openmpi", words)
    assert untraced.returncode == 0
    with tempfile.TemporaryDirectory() as name:
        done = run_traced(Path(name) / "trace", "openmpi", words, *options, DOWNBEAT_SHARE=share)
    assert (done.returncode, lines_of(done)) == (0, lines_of(untraced)), done.stderr


def draw(seed: int) -> tuple[list[str], list[str], list[str], str | None, int]:
    """Draws what a program does, limits of its shell, options of trace, the disk, and the number of calls."""
    chance = random.Random(seed)
    calls = chance.choice([1000, 20_000, 60_000])

    def when() -> str:
        return str(chance.choice([0, 1000 * chance.randrange(calls // 1000)]))

    acts = []
    for _ in range(chance.randint(1, 3)):
        what = chance.choice(
            ["close", "over", "limit-file", "limit-memory", "limit-open", "lock", "lock-later", "away"]
        )
        number = {
            "limit-file": chance.choice([0, 5000, 100_000, 450_000, 10**6, 10**7]),
            "limit-memory": chance.choice([1, 2, 8]) * 10**9,
            "limit-open": chance.choice([24, 64, 4096]),
        }.get(what)
        acts.append(f"{when()}:{what}" + (f":{number}" if number is not None else ""))
    limits = chance.choice([[], [], ["-f 20000"], ["-v 900000"], ["-n 128"], ["-l 64"]])
    options = chance.choice([[], ["--records", "100"], ["--records", "20000"], ["--harmonize"]])
    return acts, limits, options, chance.choice([None, None, "300k", "900k", "3m"]), calls


@pytest.mark.thorough
@DEBIAN
@pytest.mark.parametrize("seed", range(6))
def test_whatever_a_program_does_it_ends_as_without_us(mpi: str, seed: int) -> None:
    acts, limits, options, disk, calls = draw(seed)
    words = limited(mpi, *acts, calls=calls)
    words = shell(words, *limits) if limits else words
    if bare(mpi, words).returncode != 0:
        pytest.skip("the program alone fails")
    check_as_without(mpi, words, *options, disk=disk, calls=calls)
