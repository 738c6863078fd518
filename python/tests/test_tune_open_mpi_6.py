"""Rules for Open MPI 6, read as its reader reads them: JSON, and classic files by communicator sizes that are shifted.

`chosen` follows ompi/mca/coll/tuned/coll_tuned_dynamic_file.c and coll_tuned_dynamic_rules.c of the branch v6.0.x.
"""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import count
from math import inf
from pathlib import Path
from typing import Any

import pytest
from downbeat.errors import UsageError
from downbeat.run.machine import Setting
from downbeat.run.open_mpi_settings import FILENAME, USE_RULES, check_rules
from downbeat.run.plan import Library
from downbeat.tune.open_mpi import (
    COLLECTIVE_NUMBERS,
    JSON_FILE,
    TIMES_RANKS,
    OpenMpiJsonRules,
    OpenMpiRules,
)
from downbeat.tune.rules_format import DEFAULT, Cell, Rule, algorithm_for, rules_of
from downbeat.tune.target import rules_form
from hypothesis import given
from hypothesis import strategies as st

ALGORITHMS = {name: ["linear", "binomial", "ring"] for name in COLLECTIVE_NUMBERS}
SIZED = [name for name in COLLECTIVE_NUMBERS if OpenMpiRules(5, ALGORITHMS, {}).has_sizes(name)]
Entry = dict[str, Any]


@lru_cache
def entries_of(text: str) -> dict[str, list[Entry]]:
    """Entries for communicators by collective, of either form."""
    if text.startswith("{"):
        content: dict[str, list[Entry]] = json.loads(text)["collectives"]
        assert set(content) <= set(COLLECTIVE_NUMBERS), "the reader refuses the whole file"
        return content
    names = {number: name for name, number in COLLECTIVE_NUMBERS.items()}
    numbers = (int(word) for line in text.splitlines() for word in line.partition("#")[0].split())
    collectives: dict[str, list[Entry]] = {}
    for _ in range(next(numbers)):
        entries: list[Entry] = collectives.setdefault(names[next(numbers)], [])
        sizes = next(numbers)
        for index in range(sizes):
            size = next(numbers)
            lines = [(next(numbers), next(numbers), next(numbers), next(numbers)) for _ in range(next(numbers))]
            limits = [line[0] for line in lines[1:]]
            entries.append(
                {
                    "comm_size_min": entries[-1]["comm_size_max"] + 1 if index else 0,
                    "comm_size_max": inf if index == sizes - 1 else size - 1,
                    "rules": [
                        {"msg_size_min": line[0], "msg_size_max": limit - 1, "alg": line[1]}
                        for line, limit in zip(lines, [*limits, inf], strict=True)
                    ],
                }
            )
    return collectives


def chosen(text: str, collective: str, ranks: int, size: int) -> str:
    """Algorithm that the reader takes for a message size, bytes as the library counts them; "default": none."""
    for entry in entries_of(text).get(collective, []):
        if entry.get("comm_size_min", 0) <= ranks <= entry.get("comm_size_max", inf):
            for rule in entry["rules"]:
                if rule.get("msg_size_min", 0) <= size <= float(rule.get("msg_size_max", "inf")):
                    algorithm = rule["alg"]
                    number = algorithm if isinstance(algorithm, int) else ALGORITHMS[collective].index(algorithm) + 1
                    return ALGORITHMS[collective][number - 1] if number else DEFAULT
            return DEFAULT  # no later entry is looked at
    return DEFAULT


def looked_up(collective: str, ranks: int, size: int) -> int:
    return size * ranks if collective in TIMES_RANKS else size


RULES = st.lists(
    st.tuples(st.sampled_from(SIZED), st.integers(2, 6), st.integers(0, 30), st.integers(0, 2)),
    min_size=1,
    max_size=20,
    unique_by=lambda drawn: drawn[:3],
).map(lambda drawn: rules_of({Cell(c, ranks, size): ALGORITHMS[c][which] for c, ranks, size, which in drawn}))


@given(RULES)
def test_the_json_file_read_back_says_what_the_rules_say(rules: list[Rule]) -> None:
    text = OpenMpiJsonRules(6, ALGORITHMS, {}).text(rules)
    for collective in SIZED:
        for ranks in range(1, 9):
            for size in range(33):
                expected = algorithm_for(rules, Cell(collective, ranks, size))
                assert chosen(text, collective, ranks, looked_up(collective, ranks, size)) == expected


def test_a_rule_without_sizes_holds_for_all() -> None:
    text = OpenMpiJsonRules(6, ALGORITHMS, {}).text([Rule("barrier", 3, 0, None, "ring")])
    assert [chosen(text, "barrier", ranks, 0) for ranks in (2, 3, 4)] == [DEFAULT, "ring", DEFAULT]
    assert chosen(text, "barrier", 3, 1 << 40) == "ring"


def test_the_classic_file_would_hold_for_other_numbers_of_ranks() -> None:
    text = OpenMpiRules(5, ALGORITHMS, {}).text([Rule("bcast", 2, 0, None, "ring")])
    assert chosen(text, "bcast", 2, 8) == DEFAULT
    assert chosen(text, "bcast", 1, 8) == "ring"


def test_parameters_are_those_that_were_measured() -> None:
    environment = {
        "OMPI_MCA_coll_tuned_alltoall_algorithm_max_requests": "8",
        "OMPI_MCA_coll_tuned_alltoall_algorithm_segmentsize": "1024",
    }
    text = OpenMpiJsonRules(6, ALGORITHMS, environment).text([Rule("alltoall", 2, 8, 8, "ring")])
    [rule] = entries_of(text)["alltoall"][0]["rules"]
    assert (rule["reqs"], rule["seg_size"], rule["faninout"]) == (8, 1024, 4)


SITE = st.dictionaries(
    st.sampled_from(["bcast", "reduce", "barrier"]),
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 20), st.integers(0, 3)), min_size=1, max_size=3
    ),
    min_size=1,
)
NUMBER = count()


@given(rules=RULES, drawn=SITE)
def test_the_site_keeps_its_rules_for_what_was_not_tuned(
    tmp_path_factory: pytest.TempPathFactory, rules: list[Rule], drawn: dict[str, list[tuple[int, int, int, int]]]
) -> None:
    entries = {
        name: [
            {"comm_size_min": low, "comm_size_max": low + more, "rules": [{"msg_size_min": size, "alg": number}]}
            for low, more, size, number in each
        ]
        for name, each in drawn.items()
    }
    of_site = json.dumps({"collectives": entries})
    file = tmp_path_factory.getbasetemp() / f"site-{next(NUMBER)}.json"
    file.write_text(of_site, encoding="ascii")
    form = OpenMpiJsonRules(6, ALGORITHMS, {}, site=str(file))
    text = form.text(rules)
    assert form.set_aside() == {}  # a forced algorithm comes before the file
    tuned = {(rule.collective, rule.ranks) for rule in rules}
    for collective in ("bcast", "reduce", "barrier", "scan"):
        for ranks in range(12):
            for size in (0, 19, 21):
                cell = Cell(collective, ranks, size)
                kept = chosen(of_site, collective, ranks, size)
                expected = algorithm_for(rules, cell) if (collective, ranks) in tuned else kept
                assert chosen(text, collective, ranks, size) == expected


def in_force(path: Path) -> dict[str, Setting]:
    return {USE_RULES: Setting("1", ""), FILENAME: Setting(str(path), "")}


CLASSIC = "1 # collectives\n7\n2\n0 1 0 0 0 0\n2 1 0 6 0 0\n"
BENCH = Library("openmpi", "none")


@pytest.mark.parametrize("text", [CLASSIC, "# a comment\n" + CLASSIC, "rule-file-version-2\n" + CLASSIC])
def test_a_classic_file_in_force_is_refused_and_warned_of_from_6_on(tmp_path: Path, text: str) -> None:
    site = tmp_path / "site.conf"
    site.write_text(text, encoding="ascii")
    for version in ("Open MPI v6.0.0", "Open MPI v6.1.0a1", "Open MPI v10.0.2"):
        with pytest.raises(UsageError, match=r"site\.conf"):
            rules_form(BENCH, "coll_tuned", version, ALGORITHMS, in_force(site))
        assert [finding.verdict for finding in check_rules("openmpi", version, in_force(site))] == ["problem"]
    form = rules_form(BENCH, "coll_tuned", "Open MPI v5.0.11", ALGORITHMS, in_force(site))
    assert type(form) is OpenMpiRules
    assert check_rules("openmpi", "Open MPI v5.0.11", in_force(site)) == []


@pytest.mark.parametrize("text", ["", "not of any form", '{"collectives": {}}', '{"collectives": [', "[1, 2]"])
def test_other_files_are_not_called_classic(tmp_path: Path, text: str) -> None:
    site = tmp_path / "site.json"
    site.write_text(text, encoding="ascii")
    form = rules_form(BENCH, "coll_tuned", "Open MPI v6.0.0", ALGORITHMS, in_force(site))
    assert type(form) is OpenMpiJsonRules
    written = form.write([Rule("bcast", 2, 0, 8, "ring")])
    assert list(written.files) == [JSON_FILE]
    assert written.variables[FILENAME] == "{directory}/" + JSON_FILE
    assert any(str(site) in note for note in written.notes)
    assert check_rules("openmpi", "Open MPI v6.0.0", in_force(site)) == []


def test_a_file_that_is_not_in_force_or_not_there_is_no_finding(tmp_path: Path) -> None:
    site = tmp_path / "site.conf"
    settings = in_force(site)
    assert check_rules("openmpi", "Open MPI v6.0.0", settings) == []  # no such file
    site.write_text(CLASSIC, encoding="ascii")
    assert OpenMpiRules(5, ALGORITHMS, {}).read_rules(site)
    assert check_rules("openmpi", "Open MPI v6.0.0", {FILENAME: settings[FILENAME]}) == []
    assert check_rules("mpich", "MPICH 6.0.0", settings) == []
