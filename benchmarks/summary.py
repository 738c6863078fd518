"""Measures how long `downbeat` takes to summarize a large launch, and what memory that needs.

python -m benchmarks.summary [--ranks 1000] [--samples 1000] [--cells 50] [--directory DIR]

Writes a file as downbeat-bench would (10^8 entries and exits by default, 1.7 GB), summarizes all metrics of all cells
in a process of its own, and removes it. To be met on 2 cores: 60 s, 4 GiB.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "python/tests"))  # writes files of made-up samples

from launch_files import Cell, write_launch

SUMMARISE = "import sys, downbeat; print(len(downbeat.summarize_cells(sys.argv[1])))"


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench-summary", allow_abbrev=False)
    for name, default in {"ranks": 1000, "samples": 1000, "cells": 50}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--directory", type=Path, help="where the file is written; default: the system's for such")
    options = parser.parse_args()

    random = np.random.default_rng(1)
    shape = (options.samples, options.ranks)
    deadline = np.arange(options.samples) * 1e-3
    entry = deadline[:, None] + 1e-7 * random.random(shape)
    leave = entry + 1e-5 * (1 + random.random(shape))
    cells = [Cell(entry, leave, size=8 * (i + 1), deadline=deadline) for i in range(options.cells)]
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        path = write_launch(Path(directory) / "large.nc", cells)
        gigabytes = path.stat().st_size / 1e9
        start = time.monotonic()
        subprocess.run([sys.executable, "-c", SUMMARISE, str(path)], check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - start
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20  # GiB, from KiB
    stamps = 2 * options.ranks * options.samples * options.cells
    print(f"{stamps:.3g} entries and exits ({gigabytes:.2f} GB): {seconds:.1f} s of 60, {memory:.2f} GiB of 4")
    return 0 if seconds < 60 and memory < 4 else 1


if __name__ == "__main__":
    sys.exit(main())
