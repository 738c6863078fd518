"""`downbeat --version`: of the command, and of the programs that it would start."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess


def print_versions() -> None:
    """Prints the versions of the command and of Python, and what each downbeat-bench says of itself."""
    from downbeat.run.bench import built, find_any_bench, installed
    from downbeat.run.libraries import LIBRARIES, packaged_bench

    print(f"downbeat {importlib.metadata.version('downbeat')}, Python {platform.python_version()}")
    benches = [found for name in LIBRARIES if (found := built(name))]
    benches = benches or list(dict.fromkeys(found for name in LIBRARIES if (found := installed(name))))
    if not benches and (wheel := packaged_bench()):
        benches = [wheel]
    if not benches:
        from downbeat.errors import UsageError

        try:
            benches = [find_any_bench()[1]]
        except UsageError as error:
            print(error)
    for bench in benches:
        print(f"\n{bench}")
        try:
            done = subprocess.run(
                [bench, "--version"], capture_output=True, text=True, errors="replace", check=False, timeout=60
            )
            said = done.stdout.strip() if done.returncode == 0 else ""
        except (OSError, subprocess.TimeoutExpired):
            said = ""
        print(said or "does not start without its launcher here")
