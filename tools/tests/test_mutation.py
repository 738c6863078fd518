"""tools/mutate: which mutants it makes, what it passes over, what it counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutation.equivalents import identity, read_equivalents
from mutation.operators import mutants_of
from mutation.programs import run
from mutation.results import Result, append_result, read_results, summary, wilson_interval
from mutation.rooms import ROOMS, ROOT, files_of
from mutation.suite import EQUIVALENT, INVALID, KILLED, SURVIVED


def results_of(file: str, source: str) -> set[str]:
    """Returns what mutants make of a source, in one line each."""
    text = source.encode()
    return {" ".join(mutant.apply(text).decode().split()) for mutant in mutants_of(file, text)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("int f(int a) { return a; }", {"int f(int a) { return 0; }"}),
        (
            "void f(void) { g(x < y); }",
            {"void f(void) { ; }", "void f(void) { g(x <= y); }", "void f(void) { g(x >= y); }"},
        ),
        (
            "#define FACTOR 2.0 /* of it */\n",
            {"#define FACTOR (2.0 * 2) /* of it */", "#define FACTOR (2.0 / 2) /* of it */"},
        ),
        ("int i = 0;", {"int i = 1;"}),
        ("char text[256];", set()),
        ("int f(void) { return 1; }", {"int f(void) { return 0; }"}),
        ("int i = 7;", {"int i = 8;", "int i = 6;"}),
        ("int i = !j;", {"int i = j;"}),
        ("int i = f(a, b);", {"int i = f(b, a);"}),
        ("int i = fmin(a, b);", set()),
        ("int i = a ? b : c;", {"int i = !(a) ? b : c;"}),
        ('#include "a.h"\n#if A > 1\n#endif\nconst char *text = "1 < 2";', set()),
        (
            "void f(void) { if (a) ++b; }",
            {"void f(void) { if (!(a)) ++b; }", "void f(void) { if (a) --b; }", "void f(void) { if (a) ; }"},
        ),
    ],
)
def test_mutants_of_c(source: str, expected: set[str]) -> None:
    assert results_of("a.c", source) == expected


def test_a_bracket_of_a_template_is_no_relation() -> None:
    assert results_of("a.cc", "std::vector<int> f();") == set()
    assert results_of("a.cc", "bool b = x < y;") == {"bool b = x <= y;", "bool b = x >= y;"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = b is not None", {"a = b is None"}),
        ("a = b not in c", {"a = b in c"}),
        (
            "a = 1 < b <= c",
            {
                "a = 2 < b <= c",
                "a = 0 < b <= c",
                "a = 1 <= b <= c",
                "a = 1 >= b <= c",
                "a = 1 < b < c",
                "a = 1 < b > c",
            },
        ),
        ("a = b if c else d", {"a = b if (not (c)) else d"}),
        ("a = not b", {"a = b"}),
        ("a: int | None = b", set()),
        ("import a\n'text 1 + 1'", set()),
        ("a.b = c", {"pass"}),
        ("f(a, b)", {"pass", "f(b, a)"}),
        ("f(a, b=c)", {"pass"}),
        ("a = True", {"a = False"}),
        ("raise A", {"pass"}),
    ],
)
def test_mutants_of_python(source: str, expected: set[str]) -> None:
    assert results_of("a.py", source) == expected


def test_a_mutant_keeps_its_name_when_lines_move() -> None:
    before = mutants_of("a.c", b"int i = 0;\nint j = 0;\nint i = 0;\n")
    after = mutants_of("a.c", b"/* more */\n\nint i = 0;\nint j = 0;\n  int i = 0;\n")
    assert [one.key for one in before] == [one.key for one in after]
    assert len({one.key for one in before}) == 3
    assert [one.line for one in after] == [3, 4, 5]


def test_each_listed_equivalent_still_is_a_mutant() -> None:
    listed = read_equivalents()
    assert all(why.strip() for why in listed.values())
    files = {file for file, _, _ in listed}
    known = {identity(one) for file in files for one in mutants_of(file, (ROOT / file).read_bytes())}
    assert set(listed) - known == set()


def test_each_room_has_files() -> None:
    for room in ROOMS.values():
        assert len(files_of(room)) > 5, room.name


@pytest.mark.parametrize(
    ("hits", "tries", "expected"),
    [(0, 0, (0.0, 1.0)), (0, 10, (0.0, 0.2775)), (10, 10, (0.7225, 1.0)), (81, 263, (0.2553, 0.3662))],
)
def test_interval_of_a_proportion(hits: int, tries: int, expected: tuple[float, float]) -> None:
    # The last: Newcombe 1998, table I, Wilson's score method.
    assert wilson_interval(hits, tries) == pytest.approx(expected, abs=5e-5)


def test_the_last_result_of_a_mutant_counts(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    for key, outcome in (("a", SURVIVED), ("b", KILLED), ("c", EQUIVALENT), ("d", INVALID), ("a", KILLED)):
        append_result(path, Result(key, "f.c", 1, "relation", "x", "y", outcome, "", 0.5))
    results = read_results(path)
    assert {key: one.outcome for key, one in results.items()} == {
        "a": KILLED,
        "b": KILLED,
        "c": EQUIVALENT,
        "d": INVALID,
    }
    assert summary("room", list(results.values())).split()[1:6] == ["3", "2", "1", "0", "100%"]


def test_a_program_that_does_not_end_is_ended(tmp_path: Path) -> None:
    assert run(["sh", "-c", "exit 3"], tmp_path / "log", 30.0, tmp_path, {}).status == 3
    assert run(["sleep", "60"], tmp_path / "log", 0.2, tmp_path, {"PATH": "/usr/bin:/bin"}).status is None
