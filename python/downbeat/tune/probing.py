"""Finds the algorithms that run at all; leaves out those that crash, hang, refuse or compute wrong results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from downbeat.data.launch_file import open_samples, read_cells
from downbeat.durable import read_json, write_checked_json
from downbeat.errors import DownbeatError, UsageError
from downbeat.experiment.plan import Measurement
from downbeat.tune.bench import run_bench
from downbeat.tune.rules import DEFAULT
from downbeat.tune.target import Target

EXIT_REFUSED = 2  # of downbeat-bench: bad arguments
EXIT_WRONG = 4
SCHEMA_VERSION = 1
LEAST_LIMIT = 60.0  # s; after this an algorithm that does not end counts as hanging,
ATTEMPTS = 2  # at an algorithm
PATIENCE = 20  # times what the default took, if longer


@dataclass
class Usable:
    """The algorithms of a collective that can be measured on a number of ranks."""

    collective: str
    ranks: int
    algorithms: list[str] = field(default_factory=list)
    excluded: dict[str, str] = field(default_factory=dict)  # algorithm -> why


def probe(
    target: Target, collective: str, ranks: int, options: Mapping[str, str], directory: Path, timeout: float
) -> Usable:
    """Tries each algorithm of a collective once at each size, results looked at.

    The outcome is kept: a tuning that is continued has the same algorithms, though a busy machine may
    since have made one of them look as if it hung.

    Args:
        target: the library.
        collective: whose algorithms are tried.
        ranks: number of ranks.
        options: of downbeat-bench, as in the sweep.
        directory: for what the launches write, and the result.
        timeout: s, that a launch may take at most.

    Raises:
        UsageError: downbeat-bench refuses the options, or the directory is of another version of the library.
        DownbeatError: not even the default runs.
    """
    file = directory / f"{collective}-n{ranks}.json"
    about = {"options": dict(options), "algorithms": list(target.algorithms[collective])}
    kept = read_kept(file)
    if kept and kept["version"] != target.version:
        raise UsageError(
            f"'{directory.parent}' is of {kept['version']}, not {target.version}; give another directory (-o)"
        )
    if kept and kept["of"] == about:
        return Usable(collective, ranks, kept["usable"], kept["excluded"])
    usable = try_all(target, collective, ranks, options, directory, timeout)
    content = {"version": target.version, "of": about, "usable": usable.algorithms, "excluded": usable.excluded}
    write_checked_json(file, {"schema_version": SCHEMA_VERSION, **content})
    return usable


def read_kept(file: Path) -> dict[str, Any] | None:
    """Returns what an earlier probe left; None if there is none."""
    if not file.is_file():
        return None
    try:
        kept = read_json(file)
        if kept["schema_version"] == SCHEMA_VERSION:
            return kept
    except (UsageError, KeyError):
        pass
    raise UsageError(f"'{file}' was not written by this version of downbeat tune; give another directory (-o)")


def try_all(
    target: Target, collective: str, ranks: int, options: Mapping[str, str], directory: Path, timeout: float
) -> Usable:
    """Tries the default, then all together, and only if that fails each in a launch of its own; see `probe`.

    Algorithms that fail are tried again after the others, and the default once more: a disturbed machine
    must not exclude an algorithm.
    """
    usable = Usable(collective, ranks)
    candidates = []
    for algorithm in target.algorithms[collective]:
        reason = target.form.unwritable(collective, algorithm)
        if reason:
            usable.excluded[algorithm] = reason
        else:
            candidates.append(algorithm)
    began = time.monotonic()
    reason = failure_of(target, collective, [DEFAULT], ranks, options, directory, timeout)
    if reason:
        raise DownbeatError(f"{collective} on {ranks} ranks cannot be measured under {target.library.name}: {reason}")
    limit = min(timeout, max(LEAST_LIMIT, PATIENCE * (time.monotonic() - began)))
    apart = bool(candidates) and bool(target.form.forcing_variables(collective, candidates[0]))
    if candidates and not apart and not failure_of(target, collective, candidates, ranks, options, directory, limit):
        usable.algorithms = candidates
        return usable
    failed = candidates
    for _ in range(ATTEMPTS):
        reasons = {name: failure_of(target, collective, [name], ranks, options, directory, limit) for name in failed}
        failed = [name for name in failed if reasons[name]]
    usable.algorithms = [name for name in candidates if name not in failed]
    usable.excluded |= {name: reasons[name] for name in failed}
    if failed:
        reason = failure_of(target, collective, [DEFAULT], ranks, options, directory, timeout)
        if reason:
            raise DownbeatError(f"{collective} on {ranks} ranks could be measured at first, but no longer: {reason}")
    return usable


def failure_of(
    target: Target,
    collective: str,
    algorithms: Sequence[str],
    ranks: int,
    options: Mapping[str, str],
    directory: Path,
    timeout: float,
) -> str:
    """Returns why a launch by these algorithms is of no use; empty if it is.

    Raises:
        UsageError: the library's own choice is refused, so the options are.
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "probe.nc"
    file.unlink(missing_ok=True)
    forced = algorithms[0] != DEFAULT and target.form.forcing_variables(collective, algorithms[0])
    wanted = {**options, "sync": "none", "repetitions": "1", "warmup": "1"}
    if not forced:
        wanted["algorithm"] = f"{collective}={','.join(algorithms)}"
    arguments = Measurement((collective,), wanted).arguments()
    run = run_bench(target.library, ranks, [*arguments, "-q", "-o", file.name], forced or {}, timeout, directory)
    if run.status == EXIT_WRONG:
        with open_samples(file) as samples:
            cells = read_cells(samples)
        wrong = cells[cells["status"] == "wrong"]["size"]
        return f"wrong results at {', '.join(f'{size:g}' for size in sorted(set(wrong)))} bytes"
    if run.status == EXIT_REFUSED and list(algorithms) == [DEFAULT]:
        raise UsageError(run.reason)
    # Without a common start no sample lacks one.
    return "" if run.status == 0 else run.reason
