"""The files of a tuning: what a shell makes of rules.env, and what becomes of an earlier tuning's files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from downbeat.errors import UsageError
from downbeat.experiment.plan import Library
from downbeat.tune.formats.open_mpi import OpenMpiRules
from downbeat.tune.formats.rules_format import Rule, Written
from downbeat.tune.target import Target
from downbeat.tune.tuning import check_directory, write_files

ALGORITHMS = {"bcast": ["basic_linear", "chain"]}
FORM = OpenMpiRules(4, ALGORITHMS, {})
TARGET = Target(Library("openmpi", "bench"), "Open MPI v4.1.4", ALGORITHMS, FORM)
RULES = FORM.write([Rule("bcast", 2, 8, 63, "chain")])
NOTHING = Written({}, {}, ())


def test_the_command_in_rules_env_switches_the_rules_on_in_any_shell_from_anywhere(tmp_path: Path) -> None:
    """A POSIX shell looks a file without a slash up on the path, not in the directory that it is in."""
    directory = tmp_path / "tüned, it's here"
    variables = write_files(TARGET, RULES, directory, ["Chosen on node 1."])
    lines = (directory / "rules.env").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "# Chosen on node 1."
    (command,) = [line.partition(": ")[2] for line in lines if line.startswith("# To switch them on: ")]
    for place in (directory, tmp_path):
        said = subprocess.run(["sh", "-c", f"{command}; env"], cwd=place, capture_output=True, text=True, check=True)
        assert {f"{name}={value}" for name, value in variables.items()} <= set(said.stdout.splitlines())
    file = Path(variables["OMPI_MCA_coll_tuned_dynamic_rules_filename"])
    assert file == directory / "rules.conf" and file.is_file()


def test_files_of_earlier_rules_and_their_proof_do_not_outlive_them(tmp_path: Path) -> None:
    write_files(TARGET, RULES, tmp_path)
    (tmp_path / "rules.json").write_text("{}")
    write_files(TARGET, NOTHING, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["rules.env"]
    assert "nothing to set" in (tmp_path / "rules.env").read_text()


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    check_directory(tmp_path / "new")
    check_directory(tmp_path)
    (tmp_path / "rules.conf").write_text("written by hand")
    with pytest.raises(UsageError, match="is not the directory of a tuning; give another one"):
        check_directory(tmp_path)
    (tmp_path / "probe").mkdir()
    check_directory(tmp_path)
