"""Settings of an MPI library are stored with each launch, wherever they were made; and nothing else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from conftest import Bench, read_dataset, run_bench
from downbeat.comparison.settings import LIBRARY_SETTING, context_differences
from downbeat.data.attributes import ATTRIBUTES, Origin
from downbeat.run.machine import Setting, settings_of

NOTHING = ["nothing", "-r", "1", "--sync", "none", "-q", "-o", "out.nc"]
# Variables with values that are not their defaults.
VARIABLES = {
    "openmpi": {
        "OMPI_MCA_coll_tuned_bcast_algorithm_segmentsize": "4096",
        "OMPI_MCA_coll_tuned_allreduce_algorithm": "ring",
        "OMPI_MCA_coll_sync_priority": "7",
        "OMPI_MCA_coll": "^sm",
    },
    "mpich": {
        "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "binomial",
        "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
        "MPICH_COLL_SYNC": "1",
        "UCX_TLS": "tcp,self",
        "FI_PROVIDER": "tcp",
    },
    "intelmpi": {"I_MPI_ADJUST_BCAST": "3", "I_MPI_EAGER_THRESHOLD": "1024", "FI_PROVIDER": "tcp"},
}


def settings(library: str, directory: Path, variables: dict[str, str]) -> dict[str, Setting]:
    """Returns what a launch has stored."""
    outcome = run_bench(library, directory, *NOTHING, env=variables, ranks=2)
    assert outcome.status == 0, outcome.stderr
    return settings_of(read_dataset(directory / "out.nc").attrs)


@pytest.mark.parametrize("place", ["environment", "file"])
def test_what_is_set_is_stored_and_nothing_else(each_library: str, place: str, tmp_path: Path) -> None:
    """Open MPI 5 hands on in the environment what it reads in a user's file."""
    known = VARIABLES[each_library.rstrip("5")]
    if place == "file" and not each_library.startswith("openmpi"):
        pytest.skip("it reads no file of settings")
    drawn = dict(random.Random().sample(sorted(known.items()), 2))
    for name in ("before", "after"):
        (tmp_path / name / ".openmpi").mkdir(parents=True)
    file = tmp_path / "after/.openmpi/mca-params.conf"
    lines = [f"{name.removeprefix('OMPI_MCA_')} = {value}\n" for name, value in drawn.items()]
    file.write_text("".join(lines) if place == "file" else "", encoding="ascii")
    before = settings(each_library, tmp_path, {"HOME": str(tmp_path / "before")})
    variables = drawn if place == "environment" else {}
    after = settings(each_library, tmp_path, {"HOME": str(tmp_path / "after"), **variables})
    places = [f"{file}:{number}" if (place, each_library) == ("file", "openmpi") else "" for number in (1, 2)]
    added = {name: Setting(value, where) for (name, value), where in zip(drawn.items(), places, strict=True)}
    assert after == {**before, **added}
    again = settings(each_library, tmp_path, {"HOME": str(tmp_path / "before")})
    assert again == before


# Collective 7 is bcast, 2 allreduce; then communicator sizes, each with message sizes, algorithm, fan and segment.
RULES = [
    ("1\n7\n1\n2\n2\n0 1 0 0\n4096 6 4 1024\n", True),
    ("1 7 1 0 1 0 6 0 0 # in a line\n", True),
    ("1 # one\n7 1\n8 1\n0 6 0 0\n", True),  # the first is for fewer ranks as well
    ("1\n7 2\n0 1\n0 0 0 0\n8 1\n0 6 0 0\n", False),  # from 8 ranks on
    ("1\n7 2\n0 1\n0 6 0 0\n2 1\n0 0 0 0\n", False),  # on 2 ranks none
    ("1\n2 1\n0 1\n0 3 0 0\n", False),  # another collective
    ("2\n2 1\n0 1\n0 3 0 0\n7 1\n2 1\n0 6 0 0\n", True),
    (None, False),  # no such file
]


@pytest.mark.parametrize(("rules", "refused"), RULES)
@pytest.mark.parametrize("place", ["environment", "file"])
def test_open_mpi_4_refuses_a_choice_that_rules_override(
    rules: str | None, refused: bool, place: str, tmp_path: Path
) -> None:
    """Its messages would be those of the rules: on two ranks scatter_allgather sends two, all that rules name one."""
    file = tmp_path / "site.conf"
    if rules is not None:
        file.write_text(rules, encoding="ascii")
    (tmp_path / ".openmpi").mkdir()
    name = "coll_tuned_dynamic_rules_filename"
    text = f"{name} = {file}\n" if place == "file" else ""
    (tmp_path / ".openmpi/mca-params.conf").write_text(text, encoding="ascii")
    variables = {"HOME": str(tmp_path)} | ({f"OMPI_MCA_{name}": str(file)} if place == "environment" else {})
    choice = ["bcast", "-m", "8K", "-r", "1", "--sync", "none", "--algorithm", "bcast=scatter_allgather"]
    outcome = run_bench("openmpi", tmp_path, *choice, "-q", env=variables, ranks=2)
    assert (outcome.status == 2) == refused, outcome.stderr
    assert (str(file) in outcome.stderr) == refused
    run_bench("openmpi", tmp_path, "algorithms", "bcast", "-m", "8K", "-o", "a.nc", env=variables, ranks=2)
    data = read_dataset(tmp_path / "a.nc")
    trial = [str(one) for one in data["algorithm"].values].index("scatter_allgather")
    assert str(data["verdict"].values[trial]) == ("refused" if refused else "in force")


# Options that change how samples are taken, with a value that is not the default.
OPTIONS = {
    "stopping_rule": ["-r", "7"],
    "warmup_rule": ["--warmup", "3"],
    "max_attempts": ["--max-attempts", "9"],
    "tolerance_s": ["--tolerance", "0.005"],
    "late_s": ["--late", "0.005"],
    "late_by": ["--late", "flags"],
    "late_ranks": ["--late-ranks", "0.5"],
    "observed_rank": ["--observe", "1"],
    "patterns_permuted": ["--permute", "--pattern", "one_late", "--delay", "1us"],
}


# A run of each subcommand that writes a file.
SUBCOMMANDS = {
    "clock": ["--waits", "0", "-r", "1", "--schemes", "skampi"],
    "rtt": ["--count", "100", "--interval", "0", "--resamples", "2"],
    "drift": ["--duration", "0.05", "--interval", "0.01"],
    "skew": ["-r", "2"],
    "pairs": ["--within", "30s"],
    "algorithms": ["barrier"],
}


def test_each_attribute_has_words_and_each_setting_is_named_when_it_differs(bench: Bench, tmp_path: Path) -> None:
    """An attribute is declared where it is written (`Attribute`); a new option needs an example in `OPTIONS`."""

    def attributes_with(*words: str) -> dict[str, object]:
        outcome = bench(*words, "-q", "-o", "out.nc")
        assert outcome.status == 0, outcome.stderr
        return dict(read_dataset(tmp_path / "out.nc").attrs)

    launch = ["barrier", "--sync", "harmonize"]
    usual = attributes_with(*launch, "-r", "5")
    written = set(usual)
    for name, options in OPTIONS.items():
        changed = attributes_with(*launch, *options, *([] if "-r" in options else ["-r", "5"]))
        written |= set(changed)
        lines = context_differences([usual], [changed])
        assert any(line.startswith(f"{ATTRIBUTES[name].label}: ") for line in lines), (name, lines)
    for subcommand, options in SUBCOMMANDS.items():
        attributes = attributes_with(subcommand, *options)
        assert attributes["experiment"] == subcommand
        written |= set(attributes)
    assert {name for name in written - set(ATTRIBUTES) if not name.startswith(LIBRARY_SETTING)} == set()
    assert set(ATTRIBUTES) - written == {"simulated", "user_operations"}  # no shared object, no SimGrid here
    shared = {name for name, one in ATTRIBUTES.items() if one.origin is Origin.SETTING and one.plural}
    assert {name for name in shared if not name.startswith(LIBRARY_SETTING)} == set(OPTIONS)
