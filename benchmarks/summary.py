"""Measures how long `downbeat` takes to summarize a large launch, and what memory that needs.

python -m benchmarks.summary [--ranks 1000] [--samples 1000] [--cells 50] [--directory DIR]

Writes a file as downbeat-bench would (10^8 entries and exits by default, 1.7 GB), with its checksum, summarizes all
metrics of all cells in a process of its own, and removes it. To be met on 2 cores: 60 s per 10^8 entries and exits; 4
GiB, however many there are. The process gets no more than that: memory is resident, and address space is limited.
--cells 500 makes 10^9, in a file of 17 GB.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "python/tests"))  # writes files of made-up samples

from launch_files import Cell, seal, write_launch

from benchmarks.running import Parser, fail

NAME = "bench-summary"
SUMMARISE = "import sys, downbeat; print(len(downbeat.summarize_cells(sys.argv[1])))"
SECONDS = 60.0  # per 10^8 stamps
GIB = 4.0
STAMP_BYTES = 17  # in the file, per entry or exit: its stamp, and half of a rank's other data


def limit_memory() -> None:
    """Limits the address space, so that too large a process fails and not the machine."""
    limit = int(GIB * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> int:
    parser = Parser(NAME, "Measures how long `downbeat` takes to summarize a large launch.")
    for name, default in {"ranks": 1000, "samples": 1000, "cells": 50}.items():
        parser.add_number(f"--{name}", default, "of the file")
    parser.add_argument("--directory", type=Path, help="where the file is written; default: the system's for such")
    options = parser.parse_args()

    stamps = 2 * options.ranks * options.samples * options.cells
    where = options.directory or Path(tempfile.gettempdir())
    if shutil.disk_usage(where).free < 1.1 * STAMP_BYTES * stamps:
        fail(NAME, f"'{where}' has no room for {STAMP_BYTES * stamps / 1e9:.1f} GB; name another --directory")
    random = np.random.default_rng(1)
    shape = (options.samples, options.ranks)
    deadline = np.arange(options.samples) * 1e-3
    entry = deadline[:, None] + 1e-7 * random.random(shape)
    leave = entry + 1e-5 * (1 + random.random(shape))
    cells = [Cell(entry, leave, size=8 * (i + 1), deadline=deadline) for i in range(options.cells)]
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        path = seal(write_launch(Path(directory) / "large.nc", cells))
        gigabytes = path.stat().st_size / 1e9
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", SUMMARISE, str(path)], check=False, stdout=subprocess.PIPE, preexec_fn=limit_memory
        )
        seconds = time.monotonic() - start
    if done.returncode != 0:
        fail(NAME, f"{stamps:.3g} entries and exits cannot be summarized within {GIB:g} GiB")
    if int(done.stdout) != options.cells:
        fail(NAME, f"{int(done.stdout)} cells were summarized, not {options.cells}")
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20  # GiB, from KiB
    needed = SECONDS * max(1.0, stamps / 1e8)
    print(
        f"{stamps:.3g} entries and exits ({gigabytes:.2f} GB): {seconds:.1f} s of {needed:.0f}, "
        f"{memory:.2f} GiB of {GIB:g}"
    )
    return 0 if seconds < needed and memory < GIB else 1


if __name__ == "__main__":
    sys.exit(main())
