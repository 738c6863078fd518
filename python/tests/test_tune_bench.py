"""Single runs of downbeat-bench by tune: what they say, and how they end when tune is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from downbeat.experiment.plan import Library
from downbeat.tune.target import run_bench
from fake_programs import alive, read_lines, script, wait_for
from terminal_signals import heed_signals

PATIENT = """#!/bin/sh
trap 'echo asked >>{log}; kill $!; exit 1' TERM
sleep 1000 &
echo $! >>{log}
wait
"""
RUN = """
from downbeat.experiment.plan import Library
from downbeat.tune.target import run_bench
run_bench(Library("fake", "/bin/true", "{launcher} {{ranks}}"), 2, [], {{}}, 100.0)
"""


def test_a_run_says_what_it_printed_and_where_it_ran(tmp_path: Path) -> None:
    launcher = script(tmp_path / "launcher", '#!/bin/sh\npwd\necho "$A of $*" >&2\nexit 7\n')
    done = run_bench(Library("fake", "/bin/true", f"{launcher} {{ranks}}"), 2, ["list"], {"A": "b"}, 100.0, tmp_path)
    assert (done.status, done.output, done.errors) == (7, f"{tmp_path}\n", "b of 2 /bin/true list\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_ends_its_launcher_in_order_and_leaves_no_file(number: int, tmp_path: Path) -> None:
    """A launcher that is killed leaves its directory and its shared memory."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    log = tmp_path / "log"
    launcher = script(tmp_path / "launcher", PATIENT.format(log=log))
    code = "from downbeat.commands.interruption import resumable\nwith resumable():"
    code += RUN.format(launcher=launcher).replace("\n", "\n    ")
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "TMPDIR": str(temporary)},
        preexec_fn=heed_signals,  # noqa: PLW1509 (there are no threads)
        stderr=subprocess.DEVNULL,
    )
    assert wait_for(lambda: len(read_lines(log)) == 1)
    process.send_signal(number)
    process.wait(60)
    if number == signal.SIGKILL:  # who is killed cannot wait for what it has started
        assert wait_for(lambda: len(read_lines(log)) == 2 and not alive(int(read_lines(log)[0])))
    pid, asked = read_lines(log)
    assert asked == "asked"
    assert not alive(int(pid))
    assert list(temporary.iterdir()) == []
