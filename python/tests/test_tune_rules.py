"""Rules: what they say for which sizes, in each library's own form, held against hand-written files and read back."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from downbeat.run.bench import built
from downbeat.run.libraries import LIBRARIES, linked_mpi
from downbeat.tune.intel import IntelRules
from downbeat.tune.mpich import ALGORITHMS_FILE, COMPOSITIONS_FILE, MpichRules
from downbeat.tune.open_mpi import COLLECTIVE_NUMBERS, RULES_FILE, OpenMpiRules
from downbeat.tune.rules_format import DEFAULT, Cell, Rule, algorithm_for, rules_of, sizeless_rules
from hypothesis import given
from hypothesis import strategies as st

BCAST = ["basic_linear", "chain", "pipeline", "split_binary_tree", "binary_tree", "binomial"]
ALGORITHMS = {"bcast": BCAST, "allgather": ["linear", "bruck"], "barrier": ["linear", "double_ring"]}


def choices(collective: str, ranks: int, **by_size: str) -> dict[Cell, str]:
    return {Cell(collective, ranks, int(size[1:])): algorithm for size, algorithm in by_size.items()}


def test_neighboring_sizes_with_one_choice_share_a_rule_that_ends_at_the_last_of_them() -> None:
    chosen = choices("bcast", 4, _8="chain", _16="chain", _32=DEFAULT, _64="binomial", _128="chain")
    assert rules_of(chosen) == [
        Rule("bcast", 4, 8, 16, "chain"),
        Rule("bcast", 4, 64, 64, "binomial"),
        Rule("bcast", 4, 128, 128, "chain"),
    ]


def test_what_stays_with_the_default_has_no_rule() -> None:
    assert rules_of(choices("bcast", 4, _8=DEFAULT, _16=DEFAULT)) == []


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["bcast", "reduce"]), st.sampled_from([2, 4]), st.integers(1, 40)),
        st.sampled_from([DEFAULT, "a", "b"]),
        min_size=1,
    )
)
def test_rules_say_what_was_chosen_at_the_measured_sizes_on_both_sides_and_else_the_default(
    drawn: dict[tuple[str, int, int], str],
) -> None:
    chosen = {Cell(*key): algorithm for key, algorithm in drawn.items()}
    rules = rules_of(chosen)
    for collective in ("bcast", "reduce"):
        for ranks in (2, 3, 4, 5):
            measured = {
                cell.size: one for cell, one in chosen.items() if (cell.collective, cell.ranks) == (collective, ranks)
            }
            for size in range(45):
                below = measured.get(max((one for one in measured if one <= size), default=-1), DEFAULT)
                above = measured.get(min((one for one in measured if one >= size), default=-1), DEFAULT)
                expected = below if below == above else DEFAULT
                assert algorithm_for(rules, Cell(collective, ranks, size)) == expected


def test_without_sizes_only_what_was_chosen_at_all_of_them_becomes_a_rule() -> None:
    agreed, none = sizeless_rules(choices("gather", 4, _8="binomial", _16="binomial"))
    assert (agreed, none) == ([Rule("gather", 4, 0, None, "binomial")], [])
    nothing, losses = sizeless_rules(choices("gather", 4, _8="binomial", _16=DEFAULT))
    assert nothing == []
    assert len(losses) == 1 and "gather" in losses[0] and "4 ranks" in losses[0]
    assert sizeless_rules(choices("gather", 4, _8=DEFAULT, _16=DEFAULT)) == ([], [])


# --- Open MPI


EXPECTED_OPEN_MPI = """\
2 # collectives; rules for Open MPI's coll_tuned, written by downbeat tune

0 3 # allgather: communicator sizes
0 1 # ranks: message sizes
  0 0 0 0 # default
4 3 # ranks: message sizes
  0 0 0 0 # default
  256 2 4 0 # bruck
  512 0 0 0 # default
5 1 # ranks: message sizes
  0 0 0 0 # default

7 4 # bcast: communicator sizes
0 1 # ranks: message sizes
  0 0 0 0 # default
2 4 # ranks: message sizes
  0 0 0 0 # default
  8 2 4 0 # chain
  64 6 4 0 # binomial
  65 0 0 0 # default
3 2 # ranks: message sizes
  0 1 4 0 # basic_linear
  17 0 0 0 # default
4 1 # ranks: message sizes
  0 0 0 0 # default
"""


def open_mpi(version: int = 4, **environment: str) -> OpenMpiRules:
    return OpenMpiRules(version, ALGORITHMS, environment)


def test_open_mpi_file_as_written_by_hand() -> None:
    rules = [
        Rule("bcast", 3, 0, 16, "basic_linear"),
        Rule("bcast", 2, 64, 64, "binomial"),
        Rule("bcast", 2, 8, 63, "chain"),
        Rule("allgather", 4, 64, 127, "bruck"),  # looked up by the bytes of all ranks together
    ]
    written = open_mpi().write(rules)
    assert dict(written.files) == {RULES_FILE: EXPECTED_OPEN_MPI}
    assert written.variables == {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": "{directory}/rules.conf",
    }


def test_open_mpi_5_lets_coll_tuned_serve_and_says_what_that_changes() -> None:
    written = open_mpi(5).write([Rule("bcast", 2, 8, 63, "chain")])
    assert written.variables["OMPI_MCA_coll_tuned_priority"] == "100"
    assert "han" in written.notes[0]


@pytest.mark.parametrize("mpi", [name for name, library in LIBRARIES.items() if "openmpi" in library.abis])
def test_open_mpi_numbers_collectives_as_we_do(mpi: str) -> None:
    bench = built(mpi)
    if bench is None:
        pytest.skip(f"downbeat-bench is not built for {mpi}")
    library = linked_mpi(bench)
    ask = f"""
import ctypes
number_of = ctypes.CDLL({str(library)!r}).mca_coll_base_name_to_colltype
print([number_of(name.encode()) for name in {list(COLLECTIVE_NUMBERS)}])
"""
    asked = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert json.loads(asked.stdout) == list(COLLECTIVE_NUMBERS.values())


def test_open_mpi_rules_have_the_fan_out_and_segments_that_were_measured() -> None:
    form = open_mpi(
        OMPI_MCA_coll_tuned_bcast_algorithm_chain_fanout="7", OMPI_MCA_coll_tuned_bcast_algorithm_segmentsize="1024"
    )
    assert "  8 2 7 1024 # chain\n" in form.text([Rule("bcast", 2, 8, 63, "chain")])


def read_open_mpi(text: str, collective: str, ranks: int, size: int) -> int:
    """Looks a rule up as coll_tuned does: of what is not larger, the last; the first, if all numbers of ranks are."""
    numbers = iter([int(word) for line in text.splitlines() for word in line.partition("#")[0].split()])
    found = 0
    for _ in range(next(numbers)):
        here = next(numbers) == COLLECTIVE_NUMBERS[collective]
        best: list[tuple[int, int]] = []
        for _ in range(next(numbers)):
            least = next(numbers)
            entries = [(next(numbers), next(numbers), next(numbers), next(numbers)) for _ in range(next(numbers))]
            assert entries[0][0] == 0, "the first message size must be 0"
            assert [entry[0] for entry in entries] == sorted({entry[0] for entry in entries})
            if least <= ranks or not best:
                best = [(entry[0], entry[1]) for entry in entries]
        if here:
            found = [algorithm for least, algorithm in best if least <= size][-1]
    return found


RULES = st.lists(
    st.tuples(st.sampled_from(["bcast", "allgather"]), st.integers(2, 5), st.integers(0, 30), st.integers(0, 1)),
    min_size=1,
    max_size=20,
    unique_by=lambda one: one[:3],
).map(lambda drawn: rules_of({Cell(c, ranks, size): ALGORITHMS[c][which] for c, ranks, size, which in drawn}))


@given(RULES)
def test_open_mpi_file_read_back_says_what_the_rules_say(rules: list[Rule]) -> None:
    text = open_mpi().text(rules)
    for collective in ("bcast", "allgather"):
        for ranks in range(1, 7):
            for size in range(33):
                chosen = algorithm_for(rules, Cell(collective, ranks, size))
                number = 0 if chosen == DEFAULT else ALGORITHMS[collective].index(chosen) + 1
                bytes_of_all = size * ranks if collective == "allgather" else size
                assert read_open_mpi(text, collective, ranks, bytes_of_all) == number


SITE_RULES = st.dictionaries(
    st.sampled_from(
        [
            COLLECTIVE_NUMBERS["bcast"],
            COLLECTIVE_NUMBERS["allgather"],
            COLLECTIVE_NUMBERS["reduce"],
            COLLECTIVE_NUMBERS["barrier"],
        ]
    ),
    st.dictionaries(st.integers(0, 6), st.integers(0, 3), min_size=1, max_size=4),
    min_size=1,
)


@given(RULES, SITE_RULES)
def test_open_mpi_file_keeps_the_rules_of_the_site_for_what_was_not_tuned(
    rules: list[Rule], drawn: dict[int, dict[int, int]]
) -> None:
    lines = [f"{len(drawn)} # of the site"]
    for number, by_ranks in drawn.items():
        lines.append(f"{number} {len(by_ranks)}")
        lines += [f"{ranks} 2 0 {algorithm} 0 0 16 {algorithm} 4 1024" for ranks, algorithm in sorted(by_ranks.items())]
    of_site = "\n".join(lines)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "site.conf"
        file.write_text(of_site, encoding="ascii")
        form = OpenMpiRules(4, ALGORITHMS, {}, site=str(file))
    text = form.text(rules)
    assert form.set_aside() == {"OMPI_MCA_coll_tuned_dynamic_rules_filename": ""}
    tuned = {(rule.collective, rule.ranks) for rule in rules}
    for collective in ("bcast", "allgather", "reduce", "barrier", "scan"):
        for ranks in range(8):
            for size in (0, 15, 16, 40):
                expected = read_open_mpi(text if (collective, ranks) in tuned else of_site, collective, ranks, size)
                assert read_open_mpi(text, collective, ranks, size) == expected


def test_open_mpi_says_what_it_replaces(tmp_path: Path) -> None:
    (tmp_path / "other.conf").write_text("rule-file-version-2\n", encoding="ascii")
    rules = [Rule("bcast", 2, 8, 63, "chain")]
    notes = {
        version: OpenMpiRules(version, ALGORITHMS, {}, site=str(tmp_path / "other.conf")).write(rules).notes
        for version in (4, 5)
    }
    assert all("other.conf" in some[0] and "lost" in some[0] for some in notes.values())
    assert OpenMpiRules(5, ALGORITHMS, {}, site="other.conf").set_aside() == {}
    assert open_mpi().write(rules).notes == []


def test_open_mpi_barrier_has_a_rule_for_no_size() -> None:
    text = open_mpi().text([Rule("barrier", 4, 0, None, "double_ring")])
    assert [read_open_mpi(text, "barrier", ranks, 0) for ranks in (3, 4, 5)] == [0, 2, 0]


# --- MPICH

OWN: dict[str, Any] = {"algorithm=OWN": {}}
OWN_COMPOSITION: dict[str, Any] = {"composition=OWN": {}}
ALGORITHM_TREE: dict[str, Any] = {
    "collective=bcast": {
        "comm_type=intra": {"comm_size<8": OWN, "comm_size=any": OWN},
        "comm_type=inter": {"algorithm=INTER": {}},
    },
    "collective=allgather": {"comm_type=intra": OWN, "comm_type=inter": {"algorithm=INTER": {}}},
    "collective=reduce": {"comm_type=intra": OWN, "comm_type=inter": {"algorithm=INTER": {}}},
    "collective=alltoall": {"comm_type=intra": OWN, "comm_type=inter": {"algorithm=INTER": {}}},
    "collective=gatherv": OWN,
    "collective=scan": {"comm_type=intra": OWN, "comm_type=inter": {"algorithm=INTER": {}}},
}
COMPOSITION_TREE: dict[str, Any] = {
    "collective=bcast": {"comm_type=intra": OWN_COMPOSITION},
    "collective=reduce": {"comm_type=intra": OWN_COMPOSITION},
    "collective=allgather": {"comm_type=intra": OWN_COMPOSITION},
    # As in MPICH 4.0.2 and 5.0.2: by nodes where their ranks are in a row, else as a whole.
    "collective=scan": {
        "is_node_consecutive=yes": {"composition=MPIDI_Scan_intra_composition_alpha": {}},
        "is_node_consecutive=no": {"composition=MPIDI_Scan_intra_composition_beta": {}},
    },
}


def search(tree: dict[str, Any], facts: dict[str, Any]) -> str:
    """Selects as MPICH does: in each object the first key that holds; ends at an algorithm or a composition."""
    for key, below in tree.items():
        if key.startswith(("algorithm=", "composition=")):
            return key
        if key.endswith("=any") or holds(key, facts):
            return search(below, facts)
    raise AssertionError(f"no branch of {list(tree)} holds for {facts}: MPICH would abort")


def holds(key: str, facts: dict[str, Any]) -> bool:
    for sign, compare in (("<=", int.__le__), ("<", int.__lt__)):
        name, found, value = key.partition(sign)
        if found:
            return facts["small"] if value == "pow2" else compare(facts[name], int(value))
    name, _, value = key.partition("=")
    return bool(facts[name] == value)


def facts(collective: str, ranks: int, size: int, **more: object) -> dict[str, Any]:
    return {
        "collective": collective,
        "comm_type": "intra",
        "comm_size": ranks,
        "avg_msg_size": size,
        "total_msg_size": size * ranks,
        "small": False,
        "is_op_built_in": "yes",
        "is_commutative": "yes",
        "is_sendbuf_inplace": "no",
        **more,
    }


def mpich() -> MpichRules:
    return MpichRules(COMPOSITION_TREE, ALGORITHM_TREE)


def trees(rules: list[Rule]) -> tuple[dict[str, Any], dict[str, Any]]:
    files = mpich().write(rules).files
    return json.loads(files[ALGORITHMS_FILE]), json.loads(files[COMPOSITIONS_FILE])


def test_mpich_tree_as_written_by_hand() -> None:
    algorithms, compositions = trees([Rule("bcast", 4, 64, 127, "binomial")])
    own = ALGORITHM_TREE["collective=bcast"]["comm_type=intra"]
    assert algorithms == {
        **ALGORITHM_TREE,
        "collective=bcast": {
            "comm_type=intra": {
                "comm_size<4": own,
                "comm_size<=4": {
                    "avg_msg_size<64": own,
                    "avg_msg_size<128": {"algorithm=MPIR_Bcast_intra_binomial": {}},
                    "avg_msg_size=any": own,
                },
                "comm_size=any": own,
            },
            "comm_type=inter": {"algorithm=INTER": {}},
        },
    }
    assert compositions["collective=bcast"]["comm_type=intra"]["comm_size<=4"]["avg_msg_size<128"] == {
        "composition=MPIDI_Bcast_intra_composition_gamma": {}
    }
    assert compositions["collective=reduce"] == COMPOSITION_TREE["collective=reduce"]
    # No size is below 0, and a rule without a last size needs no other branch.
    algorithms, _ = trees([Rule("bcast", 4, 0, None, "binomial")])
    assert algorithms["collective=bcast"]["comm_type=intra"]["comm_size<=4"] == {
        "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_binomial": {}}
    }


@given(RULES)
def test_mpich_tree_read_back_says_what_the_rules_say(rules: list[Rule]) -> None:
    algorithms, compositions = trees(rules)
    for collective in ("bcast", "allgather"):
        for ranks in range(1, 7):
            for size in range(33):
                chosen = algorithm_for(rules, Cell(collective, ranks, size))
                selected = search(algorithms, facts(collective, ranks, size))
                own = chosen == DEFAULT
                assert selected == (
                    "algorithm=OWN" if own else f"algorithm=MPIR_{collective.capitalize()}_intra_{chosen}"
                )
                # Where the device keeps its own composition, it may split the communicator by nodes.
                split = own or collective == "allgather"
                composition = search(compositions, facts(collective, ranks, size))
                assert composition == (
                    "composition=OWN" if split else "composition=MPIDI_Bcast_intra_composition_gamma"
                )
        assert search(algorithms, facts(collective, 4, 8, comm_type="inter")) == "algorithm=INTER"


@pytest.mark.parametrize(
    ("more", "selected"),
    [
        ({}, "algorithm=MPIR_Reduce_intra_reduce_scatter_gather"),
        ({"is_op_built_in": "no"}, "algorithm=OWN"),
        ({"is_commutative": "no"}, "algorithm=OWN"),
        ({"small": True}, "algorithm=OWN"),
    ],
)
def test_mpich_rule_spares_operators_and_counts_that_an_algorithm_cannot_do(
    more: dict[str, Any], selected: str
) -> None:
    algorithms, _ = trees([Rule("reduce", 4, 64, 127, "reduce_scatter_gather")])
    assert search(algorithms, facts("reduce", 4, 64, **more)) == selected


def test_mpich_rule_for_scan_keeps_the_device_from_splitting_it_by_nodes() -> None:
    algorithms, compositions = trees([Rule("scan", 4, 0, None, "recursive_doubling")])
    consecutive = {"is_node_consecutive": "yes"}
    assert search(algorithms, facts("scan", 4, 64)) == "algorithm=MPIR_Scan_intra_recursive_doubling"
    whole, split = (f"composition=MPIDI_Scan_intra_composition_{name}" for name in ("beta", "alpha"))
    assert search(compositions, facts("scan", 4, 64, **consecutive)) == whole
    assert search(compositions, facts("scan", 8, 64, **consecutive)) == split


def test_mpich_rule_spares_mpi_in_place_and_other_groups() -> None:
    algorithms, _ = trees([Rule("alltoall", 4, 64, 127, "brucks"), Rule("gatherv", 4, 0, None, "linear")])
    assert search(algorithms, facts("alltoall", 4, 64)) == "algorithm=MPIR_Alltoall_intra_brucks"
    assert search(algorithms, facts("alltoall", 4, 64, is_sendbuf_inplace="yes")) == "algorithm=OWN"
    assert search(algorithms, facts("gatherv", 4, 0)) == "algorithm=MPIR_Gatherv_intra_linear"
    assert search(algorithms, facts("gatherv", 4, 0, comm_type="inter")) == "algorithm=OWN"


def test_mpich_names_an_algorithm_as_the_library_knows_it() -> None:
    known = b"\0algorithm=MPIR_Gatherv_allcomm_linear\0algorithm=MPIR_Bcast_intra_binomial\0"
    form = MpichRules(COMPOSITION_TREE, ALGORITHM_TREE, known)
    written = json.loads(form.write([Rule("gatherv", 4, 0, None, "linear")]).files[ALGORITHMS_FILE])
    assert search(written, facts("gatherv", 4, 0)) == "algorithm=MPIR_Gatherv_allcomm_linear"
    assert form.unwritable("bcast", "binomial") == ""
    assert "not among" in form.unwritable("bcast", "binom")
    assert "parameters" in form.unwritable("bcast", "pipelined_tree")


# --- Intel MPI


def test_intel_variables_as_written_by_hand() -> None:
    form = IntelRules({"bcast": ["1"], "reduce": ["1"], "ibcast": ["1"]})
    rules = [Rule("reduce", 2, 0, None, "7"), Rule("bcast", 4, 0, None, "3"), Rule("bcast", 2, 0, None, "11")]
    assert form.expressible(rules, [2])[0] == [rules[2], rules[1], rules[0]]
    assert form.write(rules).variables == {
        "I_MPI_ADJUST_BCAST": "11:0-2147483647@2-2;3:0-2147483647@4-4",
        "I_MPI_ADJUST_REDUCE": "7:0-2147483647@2-2",
    }
    assert form.collectives() == ("bcast", "reduce")


def test_intel_drops_rules_that_would_take_the_default_away() -> None:
    form = IntelRules({"bcast": ["1"], "reduce": ["1"]})
    kept, losses = form.expressible(
        [Rule("bcast", 2, 0, None, "1"), Rule("bcast", 4, 0, None, "2"), Rule("reduce", 2, 0, None, "1")], [2, 4]
    )
    assert [rule.collective for rule in kept] == ["bcast", "bcast"]
    assert len(losses) == 1 and "reduce" in losses[0] and "4 ranks" in losses[0]
