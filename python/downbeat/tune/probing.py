"""Which algorithms run at all: what crashes, hangs, refuses or computes nonsense is left out, with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from downbeat.data.launch_file import open_samples, read_cells
from downbeat.errors import DownbeatError, UsageError
from downbeat.experiment.plan import Measurement
from downbeat.tune.bench import run_bench
from downbeat.tune.rules import DEFAULT
from downbeat.tune.target import Target

EXIT_REFUSED = 2  # of downbeat-bench: bad arguments
EXIT_WRONG = 4
PROBE_TIMEOUT = 60.0  # s; a few calls at each size


@dataclass
class Usable:
    """What of a collective's algorithms can be measured on a number of ranks."""

    collective: str
    ranks: int
    algorithms: list[str] = field(default_factory=list)
    excluded: dict[str, str] = field(default_factory=dict)  # algorithm -> why


def probe(target: Target, collective: str, ranks: int, options: Mapping[str, str], directory: Path) -> Usable:
    """Tries each algorithm of a collective once at each size, results looked at.

    All together first; only if that fails, each in a launch of its own.

    Args:
        target: the library.
        collective: whose algorithms are tried.
        ranks: number of ranks.
        options: of downbeat-bench, as in the sweep.
        directory: for what the launches write.

    Raises:
        UsageError: downbeat-bench refuses the options.
        DownbeatError: not even the default runs.
    """
    usable = Usable(collective, ranks)
    candidates = []
    for algorithm in target.algorithms[collective]:
        reason = target.form.unwritable(collective, algorithm)
        if reason:
            usable.excluded[algorithm] = reason
        else:
            candidates.append(algorithm)
    apart = bool(candidates) and bool(target.form.forcing_variables(collective, candidates[0]))
    if candidates and not apart and not failure_of(target, collective, candidates, ranks, options, directory):
        usable.algorithms = candidates
        return usable
    reason = failure_of(target, collective, [DEFAULT], ranks, options, directory)
    if reason:
        raise DownbeatError(f"{collective} on {ranks} ranks cannot be measured under {target.library.name}: {reason}")
    for algorithm in candidates:
        reason = failure_of(target, collective, [algorithm], ranks, options, directory)
        if reason:
            usable.excluded[algorithm] = reason
        else:
            usable.algorithms.append(algorithm)
    return usable


def failure_of(
    target: Target, collective: str, algorithms: Sequence[str], ranks: int, options: Mapping[str, str], directory: Path
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
    run = run_bench(target.library, ranks, [*arguments, "-q", "-o", file.name], forced or {}, PROBE_TIMEOUT, directory)
    if run.status == EXIT_WRONG:
        with open_samples(file) as samples:
            cells = read_cells(samples)
        wrong = cells[cells["status"] == "wrong"]["size"]
        return f"wrong results at {', '.join(f'{size:g}' for size in sorted(set(wrong)))} bytes"
    if run.status == EXIT_REFUSED and list(algorithms) == [DEFAULT]:
        raise UsageError(run.reason)
    # Without a common start no sample lacks one.
    return "" if run.status == 0 else run.reason
