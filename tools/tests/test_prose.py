"""The linter of words: its findings, their places, and what it skips."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROSE = Path(__file__).resolve().parents[1] / "prose"


def findings(path: Path, text: str) -> list[str]:
    """Returns the names of the rules that a text breaks."""
    path.write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, PROSE, path], capture_output=True, text=True, check=False)
    assert done.returncode == bool(done.stdout), done.stderr
    return [line.rpartition("[")[2].rstrip("]") for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Measured behind a barrier.", "behind"),
        ("Measured behind\n`MPI_Barrier`.", "behind"),
        ("A list, as `8,100`.", "as"),
        ("The file stands in a directory.", "lies"),
        ("The flag tells it.", "tells"),
        ("It is slow. Who has read none of the papers gets it.", "clause as subject"),
        ("Which of that is significant says `downbeat compare`.", "German order"),
        ("The sample is to be repeated.", "is to be"),
        ("It runs without further ado.", "filler"),
        ("Its behaviour changes.", "spelling"),
        ("It is teh result.", "spelling"),
    ],
)
def test_a_rule_is_broken(tmp_path: Path, text: str, rule: str) -> None:
    assert rule in findings(tmp_path / "page.md", f"# Title\n\n{text}\n")


@pytest.mark.parametrize(
    "text",
    [
        "What does it cost? It is quick.",
        "Compare with the deadline, as `downbeat-bench` does.",
        "It prints `behind a barrier`.",
        "```\nbehind a barrier\n```",
        "Text.\n\n    behind a barrier\n",
        'Do not write "behind a barrier".',
        "It hides one delay behind the other.",
        "[a page](tells.md)",
    ],
)
def test_good_text_and_code_pass(tmp_path: Path, text: str) -> None:
    assert findings(tmp_path / "page.md", f"# Title\n\n{text}\n") == []


@pytest.mark.parametrize(
    ("name", "text", "rules"),
    [
        ("a.py", 'x = "measured behind a barrier"\n', ["behind"]),
        ("a.py", '"""The file stands in a directory."""\ntells = barrier = 1\n', ["lies"]),
        ("a.py", "x = 1  # of each peer\ny = 2  # Of all peers.\n", ["fragment"]),
        ("a.c", '/* Whether it is no\n * error. */\nint tell = f("stands in a file");\n', ["is no", "lies"]),
        ("a.cc", "// Learns from its\n// mates.\n#define TELLS mate\n", ["mates"]),
        ("a.toml", 'tells = "x" # Two, the last of\n# which is late.\n', ["of which"]),
        ("CMakeLists.txt", "# What ways take longer.\ntells()\n", ["clause as subject", "ways"]),
        ("script", "#!/bin/sh\n# The last look at it.\ntells\n", ["look"]),
        ("unknown.bin", "mates\n", []),
    ],
)
def test_comments_docstrings_and_strings(tmp_path: Path, name: str, text: str, rules: list[str]) -> None:
    assert sorted(findings(tmp_path / name, text)) == rules


def test_the_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# Title\n\nGood.\n\nMeasured behind\na barrier.\n", encoding="utf-8")
    done = subprocess.run([sys.executable, PROSE, tmp_path / "page.md"], capture_output=True, text=True, check=False)
    assert done.stdout.startswith(f"{tmp_path}/page.md:5: 'behind a barrier': write")


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, PROSE, tmp_path / "x"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"prose: {tmp_path}/x does not exist; name files and directories\n")
