"""`downbeat doctor`: made-up machines, good and bad, and what is said of them; noise whose figures are known."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import netCDF4
import numpy as np
import pytest
from downbeat.errors import DownbeatError
from downbeat.run import machine, noise
from downbeat.run.doctor import (
    CHECKS,
    Check,
    check_clock,
    check_cores,
    check_frequency,
    check_limits,
    check_load,
    check_memory,
    check_virtualization,
    examine,
    fitness,
)
from downbeat.run.libraries import short_version
from downbeat.run.machine import Finding, Machine, parse_cpus
from downbeat.run.trial import binding, try_start, watch
from downbeat_command import downbeat
from fake_programs import FakeBench
from launch_files import Cell, write_launch

CPU = "sys/devices/system/cpu"
SOURCE = "sys/devices/system/clocksource/clocksource0"
FLAGS = "flags\t\t: fpu tsc constant_tsc rdtscp nonstop_tsc"
# Four cores of two threads, as a careful experimenter wants them.
GOOD = {
    f"{CPU}/online": "0-7",
    **{f"{CPU}/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 4},{cpu % 4 + 4}" for cpu in range(8)},
    **{f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": "performance" for cpu in range(8)},
    f"{CPU}/intel_pstate/no_turbo": "1",
    f"{SOURCE}/current_clocksource": "tsc",
    f"{SOURCE}/available_clocksource": "tsc hpet acpi_pm",
    "sys/devices/system/node/online": "0-1",
    "proc/cpuinfo": f"processor\t: 0\n{FLAGS}\n\nprocessor\t: 1\n{FLAGS}\n",
    "proc/loadavg": "0.05 0.50 3.00 1/200 4000",
    "proc/stat": "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n",
    "proc/meminfo": "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\nSwapTotal: 0 kB\n",
    "proc/self/cgroup": "0::/system.slice/job\n",
    "sys/fs/cgroup/system.slice/job/cpu.max": "max 100000",
    "proc/sys/kernel/numa_balancing": "0",
}


def machine_of(
    directory: Path,
    change: Mapping[str, str | None] = MappingProxyType({}),
    allowed: str = "0-7",
    environment: dict[str, str] | None = None,
) -> Machine:
    """Makes up a machine: the good one, with some files that are other, or absent."""
    for name, text in {**GOOD, **change}.items():
        if text is not None:
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n", encoding="utf-8")
    return Machine(directory / "sys", directory / "proc", environment or {}, parse_cpus(allowed))


def test_a_good_machine_is_good(tmp_path: Path) -> None:
    findings = examine(4, machine_of(tmp_path))
    assert [finding for finding in findings if finding.verdict != "good" or finding.advice] == []
    assert {finding.check for finding in findings} == {check.__name__.removeprefix("check_") for check in CHECKS}


CGROUP = "sys/fs/cgroup"
MAX, NO_MAX = {f"{CGROUP}/system.slice/job/cpu.max": "250000 100000"}, {f"{CGROUP}/system.slice/job/cpu.max": None}
V1 = {"proc/self/cgroup": "5:memory:/box\n4:cpu,cpuacct:/box", f"{CGROUP}/cpu/box/cpu.cfs_period_us": "100000"}
V1_QUOTA = f"{CGROUP}/cpu/box/cpu.cfs_quota_us"
HPET = {f"{SOURCE}/current_clocksource": "hpet", f"{SOURCE}/available_clocksource": "hpet acpi_pm"}
ARM = {"proc/cpuinfo": "Features : fp", f"{SOURCE}/current_clocksource": "arch_sys_counter"}
SLEEP = f"{CPU}/cpu2/cpuidle"
STATES = {
    f"{SLEEP}/state0/latency": "0",
    f"{SLEEP}/state1/latency": "133",
    f"{SLEEP}/state1/name": "C6",
    f"{SLEEP}/state2/latency": "500",
    f"{SLEEP}/state2/disable": "1",
}
GUEST = {"proc/cpuinfo": f"{FLAGS} hypervisor", "sys/class/dmi/id/sys_vendor": "QEMU"}
FULL = "MemTotal: 16777216 kB\nMemAvailable: 1048576 kB\nSwapTotal: 4194304 kB\nSwapFree: 2097152 kB"
NOT_SET = {f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": None for cpu in range(8)}
BOOST = {f"{CPU}/intel_pstate/no_turbo": None, f"{CPU}/cpufreq/boost": "1"}
LOAD = "proc/loadavg"
CASES: dict[str, tuple[Check, Mapping[str, str | None], int, str, str, str]] = {
    # name: check, what is other than on the good machine, ranks, verdict, seen, advice
    "threads": (
        check_cores,
        {},
        5,
        "problem",
        "4 cores with 8 hardware threads for 5 ranks",
        "use at most 4 ranks",
    ),
    "crowded": (check_cores, {}, 9, "problem", "for 9 ranks", "use at most 4 ranks"),
    "quota": (check_limits, MAX, 3, "problem", "to the time of 2.5 processors", "3 ranks will be stopped"),
    "quota above": (
        *(check_limits, {f"{CGROUP}/system.slice/cpu.max": "400000 100000"}, 4),
        *("notice", "to the time of 4 processors", "cpu.max"),
    ),
    "quota of a container": (
        *(check_limits, NO_MAX | {f"{CGROUP}/cpu.max": "50000 100000"}, 1),
        *("problem", "to the time of 0.5 processors", "1 rank will be stopped"),
    ),
    "quota of version 1": (
        *(check_limits, V1 | {V1_QUOTA: "150000"}, 2),
        *("problem", "to the time of 1.5 processors", "2 ranks will be stopped"),
    ),
    "no quota of version 1": (check_limits, V1 | {V1_QUOTA: "-1"}, 2, "good", "without a quota", ""),
    "busy": (check_load, {LOAD: "5.00 0 0 1/1 1"}, 4, "problem", "load 5.00 on 8", "wait until they are done"),
    "half busy": (check_load, {LOAD: "2.00 0 0 1/1 1"}, 4, "notice", "load 2.00 on 8", "idle"),
    "quiet": (check_load, {LOAD: "0.80 0 0 1/1 1"}, 8, "good", "load 0.80 on 8 processors", ""),
    "no load": (check_load, {LOAD: None}, 4, "notice", "the load of the system is unknown", "top"),
    "variant tsc": (
        *(check_clock, {"proc/cpuinfo": "flags : fpu tsc constant_tsc"}, 4),
        *("problem", "not invariant (no nonstop_tsc)", "DOWNBEAT_CLOCK=monotonic_raw"),
    ),
    "distrusted tsc": (
        check_clock,
        HPET,
        4,
        "problem",
        "does not trust the time stamp counter",
        "DOWNBEAT_CLOCK=",
    ),
    "slow clock": (
        *(check_clock, {f"{SOURCE}/current_clocksource": "acpi_pm"}, 4),
        *("problem", "clock source is acpi_pm", "clocksource=tsc"),
    ),
    "no clock source": (
        check_clock,
        {f"{SOURCE}/current_clocksource": None},
        4,
        "notice",
        "is unknown",
        "dmesg",
    ),
    "arm": (check_clock, ARM, 4, "good", "arch_sys_counter", ""),
    "powersave": (
        *(check_frequency, {f"{CPU}/cpu3/cpufreq/scaling_governor": "powersave"}, 4),
        *("problem", "governor performance, powersave", "cpupower frequency-set -g performance"),
    ),
    "no governor": (check_frequency, NOT_SET, 4, "notice", "the frequency governor is unknown", "on the host"),
    "turbo": (check_frequency, {f"{CPU}/intel_pstate/no_turbo": "0"}, 4, "notice", "boost is on", "no_turbo"),
    "boost": (check_frequency, BOOST, 4, "notice", "boost is on", "cpufreq/boost"),
    "deep sleep": (check_frequency, STATES, 4, "notice", "idle state C6 takes 133 us", "idle-set"),
    "guest": (check_virtualization, GUEST, 4, "notice", "virtual machine (QEMU)", "trust medians"),
    "steal": (
        *(check_virtualization, GUEST | {"proc/stat": "cpu  100 0 100 780 0 0 0 20 90 0"}, 4),
        *("problem", "2.00% of the processors' time", "not shared"),
    ),
    "full": (
        *(check_memory, {"proc/meminfo": FULL}, 4),
        *("problem", "1.0 of 16.0 GiB of memory are available, 2.0 GiB are swapped out", "free some"),
    ),
    "moving pages": (
        *(check_memory, {"proc/sys/kernel/numa_balancing": "1"}, 4),
        *("notice", "NUMA balancing is on, over 2 nodes", "kernel.numa_balancing=0"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_other_than_good_is_found(name: str, tmp_path: Path) -> None:
    check, change, ranks, verdict, seen, advice = CASES[name]
    findings = check(machine_of(tmp_path, change), ranks)
    found = [one for one in findings if seen in one.seen]
    assert [one.verdict for one in found] == [verdict], findings
    assert advice in found[0].advice
    assert bool(found[0].advice) == (verdict != "good")
    others = [one.verdict for one in findings if one is not found[0]]
    assert name == "distrusted tsc" or set(others) <= {"good"}


def test_numa_balancing_matters_with_several_nodes_alone(tmp_path: Path) -> None:
    change: dict[str, str | None] = {"proc/sys/kernel/numa_balancing": "1", "sys/devices/system/node/online": "0"}
    assert [one.verdict for one in check_memory(machine_of(tmp_path, change), 4)] == ["good"]


def test_a_narrowed_affinity_is_noticed(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, allowed="0,1,4")
    (finding,) = check_limits(machine, 2)
    assert (finding.verdict, re.findall(r"\d+", finding.seen)) == ("notice", ["3", "8"])
    assert re.findall(r"\d+", check_cores(machine, 2)[0].seen) == ["2", "3", "2"]
    assert check_cores(machine, 2)[0].verdict == "good"


def test_variables_that_change_results_are_named(tmp_path: Path) -> None:
    harmless = {"I_MPI_ROOT": "/opt", "PATH": "/bin", "OMPI_ALLOW_RUN_AS_ROOT": "1"}
    (good,) = machine.check_variables(machine_of(tmp_path, environment=harmless), 4)
    assert good.verdict == "good"
    settings = {f"OMPI_MCA_x{number}": str(number) for number in range(6)} | {"LD_PRELOAD": "/lib/tool.so"}
    first, second = machine.check_variables(machine_of(tmp_path, environment=harmless | settings), 4)
    assert (first.verdict, second.verdict) == ("notice", "notice")
    assert first.seen.endswith(", ".join(f"OMPI_MCA_x{number}={number}" for number in range(5)) + " and 1 more")
    assert second.seen == "LD_PRELOAD=/lib/tool.so"


def test_a_machine_that_tells_nothing_is_no_error(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "sys", tmp_path / "proc", {}, frozenset({0, 1}))
    assert {finding.check for finding in examine(2, machine)} >= {"cores", "load", "clock", "frequency"}


@pytest.mark.parametrize(
    ("cpusets", "verdict", "seen"),
    [
        (["0,4", "1,5"], "good", "x binds each rank to a core: processors 0,4, 1,5"),
        (["0", "1"], "good", "processors 0, 1"),
        (["0-7", "0-7"], "problem", "x does not bind: a rank may run on 8 processors"),
        (["0,4", "0,4"], "problem", "x binds 2 ranks to 1 core"),
        (["0", "4"], "problem", "x binds 2 ranks to 1 core"),
    ],
)
def test_binding_is_judged_by_cores(cpusets: list[str], verdict: str, seen: str, tmp_path: Path) -> None:
    here = [socket.gethostname()] * len(cpusets)
    finding = binding("x", [parse_cpus(text) for text in cpusets], here, machine_of(tmp_path))
    assert finding.verdict == verdict
    assert seen in finding.seen


def test_binding_on_other_machines_is_not_judged_by_the_cores_of_this_one(tmp_path: Path) -> None:
    cpusets = [frozenset({0}), frozenset({0})]
    finding = binding("x", cpusets, ["node1.cluster", "node2.cluster"], machine_of(tmp_path))
    assert finding.verdict == "notice"
    assert "node1.cluster 0" in finding.seen and "node2.cluster 0" in finding.seen
    full_name = f"{socket.gethostname()}.cluster"
    assert binding("x", cpusets, [full_name] * 2, machine_of(tmp_path)).verdict == "problem"


def test_versions_are_short() -> None:
    mpich = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n"
    assert short_version(mpich) == "MPICH 4.0.2"
    assert short_version(f"MPICH Version:      5.0.2 {mpich[21:]}") == "MPICH 5.0.2"
    assert short_version("Open MPI v4.1.4" + ", package: Debian OpenMPI").split() == ["Open", "MPI", "v4.1.4"]


def test_noise_is_summarised() -> None:
    found = noise.noise_of(cpu=3, gaps_ns=[1500, 4000, 6000, 60_000, 1_000_000], elapsed_ns=2_000_000_000, step_ns=70)
    assert (found.cpu, found.longest, found.resolution) == (3, 1e-3, 70e-9)
    assert found.per_second == {1: 2.5, 5: 1.5, 50: 1.0}
    assert found.lost == pytest.approx(1_071_500 / 2e9)


@pytest.mark.parametrize(("lost", "verdict"), [(0.0005, "good"), (0.01, "notice"), (0.1, "problem")])
def test_the_worst_core_decides(lost: float, verdict: str) -> None:
    quiet = noise.noise_of(0, [], 10**9, 70)
    worst = noise.noise_of(5, [int(lost * 1e9)], 10**9, 70)
    finding = noise.judge_noise([quiet, worst])
    assert finding.verdict == verdict
    assert f"{lost:.2%}" in finding.seen and re.search(r"\b5\b", finding.seen)
    assert bool(finding.advice) == (verdict != "good")


@pytest.mark.parametrize("usual", [100, 1500])
def test_interruptions_of_a_loop_are_seen(usual: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock of even steps, but for one of 5000 ns more, and one of 800 ns more, too short to count."""
    steps = {noise.CALIBRATION_STEPS + 20: 5000, noise.CALIBRATION_STEPS + 50: 800}
    now = calls = 0

    def read() -> int:
        nonlocal now, calls
        calls += 1
        now += usual + steps.get(calls, 0)
        return now

    monkeypatch.setattr(time, "perf_counter_ns", read)
    gaps, elapsed, step = noise.interruptions(start_ns=0, seconds=500 * usual * 1e-9)
    assert (gaps, step) == ([5000], usual)
    assert 500 * usual <= elapsed < 501 * usual


def test_all_cores_are_measured_at_once() -> None:
    cpus = sorted(Machine().allowed)
    before = time.perf_counter()
    found = noise.measure(cpus, 0.2)
    elapsed = time.perf_counter() - before
    assert [one.cpu for one in found] == cpus
    assert elapsed >= 0.2
    assert all(0 <= one.lost < 1 and 0 < one.resolution < 1e-5 for one in found)
    assert all(one.per_second[1] >= one.per_second[5] >= one.per_second[50] for one in found)
    with pytest.raises(DownbeatError, match="busy loop"):
        noise.measure([10**6], 0.01)


def test_a_library_that_does_not_start_says_why(tmp_path: Path) -> None:
    fake = FakeBench(tmp_path / "fake", "echo 'no slots' >&2; exit 1")
    found = try_start(fake.library("x"), Machine())
    assert not found.started
    (finding,) = found.findings
    assert (finding.check, finding.verdict) == ("libraries", "problem")
    assert finding.seen.endswith("no slots") and "status 1" in finding.seen and "downbeat-bench" in finding.advice


FAST, SLOW = 77e-9, 355e-9
NONE = float("nan")
WITH_READINGS = {
    # name: round trip before each block, verdict, seen
    "one state": ([FAST, 1.4 * FAST] * 20, "good", "one state: cache line 92 ns in 40 blocks"),
    "two states": (
        [FAST] * 17 + [NONE] * 2 + [SLOW] * 23,
        "problem",
        "the machine changes its state: cache line 77 ns in 17 and 355 ns in 23 of 40 blocks",
    ),
    "there and back": (
        [SLOW] * 3 + [FAST] * 20 + [SLOW] * 3,
        "problem",
        "the machine changes its state: cache line 77 ns in 20 and 355 ns in 6 of 26 blocks",
    ),
    "interruptions": (
        [SLOW, *[FAST] * 9, SLOW, SLOW, *[FAST] * 9, SLOW],
        "good",
        "one state: cache line 77 ns in 22 blocks",
    ),
    "one block": ([FAST], "good", "one state: cache line 77 ns in 1 block"),
    "no reading": ([NONE] * 4, "notice", "not watched: no round trip could be read; ranks share a processor"),
}
TWO_PROCESSORS = Machine(allowed=frozenset({0, 1}))


def watched(directory: Path, trips: list[float], **attributes: str) -> Finding:
    """Watches a machine with these round trips before blocks of three samples."""
    fake = FakeBench(directory)
    samples = 3
    cell = Cell(np.zeros((samples * len(trips), 2)), np.full((samples * len(trips), 2), 1e-6))
    with netCDF4.Dataset(write_launch(fake.directory / "any-2.nc", [cell], **attributes), "a") as file:
        file["block"][:] = np.repeat(np.arange(len(trips)), samples)
        file.createVariable("canary", "f8", ("sample",))[:] = np.repeat(trips, samples)
    return watch(fake.library("x"), TWO_PROCESSORS, 2.0)


@pytest.mark.parametrize("name", WITH_READINGS)
def test_states_are_those_of_the_blocks_of_a_launch(name: str, tmp_path: Path) -> None:
    trips, verdict, seen = WITH_READINGS[name]
    finding = watched(tmp_path, trips)
    assert (finding.check, finding.verdict, finding.seen) == ("states", verdict, seen)
    assert bool(finding.advice) == (verdict != "good")


def test_ranks_on_nodes_of_their_own_send_messages(tmp_path: Path) -> None:
    of_messages = watched(tmp_path, [FAST] * 9, hosts="a: 1 ranks\nb: 1 ranks")
    assert "message" in of_messages.seen and re.findall(r"\d+", of_messages.seen) == ["77", "9"]


def test_a_machine_that_is_not_watched_says_why(tmp_path: Path) -> None:
    old, broken = FakeBench(tmp_path / "old"), FakeBench(tmp_path / "broken", "echo 'no slots' >&2; exit 1")
    one_processor = Machine(allowed=frozenset({0}))
    findings = [
        watch(broken.library("x"), TWO_PROCESSORS, 0.0),
        watch(None, TWO_PROCESSORS, 2.0),
        watch(old.library("x"), one_processor, 2.0),
        watch(old.library("x"), TWO_PROCESSORS, 2.0),
        watch(broken.library("x"), TWO_PROCESSORS, 2.0),
    ]
    reasons = ["--seconds", "downbeat-bench", "two processors", str(old.bench), "no slots"]
    assert [finding.verdict for finding in findings] == ["notice"] * 5
    assert [reason in finding.seen for finding, reason in zip(findings, reasons, strict=True)] == [True] * 5
    assert all(finding.advice for finding in findings)
    assert len(old.starts()) == 1


def doctor(*arguments: str) -> subprocess.CompletedProcess[str]:
    return downbeat("doctor", *arguments, where=Path())


@pytest.mark.thorough
def test_the_command_tells_and_writes_what_it_found(tmp_path: Path) -> None:
    done = doctor("--mpi", "openmpi,mpich", "--ranks", "2", "--seconds", "0.1", "--json", str(tmp_path / "doctor.json"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    content = json.loads((tmp_path / "doctor.json").read_text(encoding="utf-8"))
    assert content["ranks"] == 2
    seen = [finding["seen"] for finding in content["findings"]]
    for library in ("openmpi starts: Open MPI v", "mpich starts: MPICH "):
        assert any(text.startswith(library) for text in seen)
    (states,) = (finding["seen"] for finding in content["findings"] if finding["check"] == "states")
    assert re.search(r"\d+ ns in \d+.* blocks$", states)
    assert len(content["noise"]) == len(Machine().cores)
    verdicts = [finding["verdict"] for finding in content["findings"]]
    problems, notices, good = (verdicts.count(name) for name in ("problem", "notice", "good"))
    assert f"{problems} problem{'' if problems == 1 else 's'}, {notices} notice" in done.stdout
    assert f", {good} good" in done.stdout
    letters = "".join(done.stdout.split())  # wherever lines, and words that are too long for one, were broken
    for finding in content["findings"]:
        assert "".join(finding["seen"].split()) in letters


def test_a_library_that_must_start_decides_on_the_exit_status(tmp_path: Path) -> None:
    fake = FakeBench(tmp_path / "fake", "exit 1")
    arguments = ["--bench", f"broken={fake.bench}", "--launcher", f"{fake.launcher} -n {{ranks}}", "--seconds", "0"]
    assert doctor(*arguments, "--mpi", "broken").returncode == 3
    assert doctor("--ranks", "0").returncode == 2
    assert doctor("--seconds", "-1").returncode == 2
    assert doctor("--json", str(tmp_path / "no/such/file"), *arguments, "--mpi", "broken").returncode == 1


@pytest.mark.parametrize(
    ("seen", "fit"),
    [
        ({"noise": "good", "states": "good"}, "fit for medians and tails"),
        ({"noise": "problem", "states": "good", "load": "problem"}, "fit for medians; not for tails: noise and load"),
        ({"noise": "notice", "states": "good"}, "fit for medians; not for tails: noise"),
        (
            {"noise": "good", "states": "problem"},
            "fit for medians and tails within a state; not for comparisons across states: states",
        ),
        ({"noise": "good", "states": "good", "cores": "problem"}, "not fit: cores"),
        ({"cores": "good"}, "fit for medians; not known: noise and states"),
        ({"noise": "good", "states": "notice"}, "fit for medians and tails; not known: states"),
    ],
)
def test_what_a_machine_is_fit_for(seen: dict[str, machine.Severity], fit: str) -> None:
    assert fitness([Finding(check, "seen", verdict, "advice") for check, verdict in seen.items()]) == fit
