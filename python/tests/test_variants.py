"""Variants of an experiment: two of something in turn, from what is asked for to the verdict; whether choices count."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import netCDF4
import numpy as np
import pytest
from downbeat.errors import UsageError
from downbeat.run import directory as places
from downbeat.run.bench import library_of
from downbeat.run.execute import execute
from downbeat.run.experiment import open_experiment
from downbeat.run.plan import Environment, LaunchKey, Library, Measurement, Plan, Variant
from downbeat.run.planning import check_variants, planned
from downbeat.run.request import read_request, read_variants
from downbeat.run.trial import check_choices, choices_of, largest_size
from downbeat.statistics.location import typical_interval
from downbeat_command import downbeat
from fake_programs import FakeBench, script, write_template
from report_data import CONTEXT
from test_run import run

OLD, NEW = Variant("old"), Variant("new", bench="/new")


def plan(**other: object) -> Plan:
    values = {"libraries": (Library("mpi", "/bench"),), "variants": (OLD, NEW), "launches": 10, "seed": 3} | other
    return Plan("p", Measurement(("bcast",)), **values)  # type: ignore[arg-type]


def test_variants_take_turns() -> None:
    """Next to each other, each first in every other round, and which begins is drawn."""
    several = plan(ranks=(2, 4), environments=(Environment(), Environment("tcp")))
    firsts: Counter[tuple[int, str, str]] = Counter()
    begins = []
    for number in range(1, 11):
        order = several.round_order(number)
        for one, other in zip(order[::2], order[1::2], strict=True):
            assert dataclasses.replace(one, variant="") == dataclasses.replace(other, variant="")
            assert {one.variant, other.variant} == {"old", "new"}
            firsts[one.ranks, one.environment, one.variant] += 1
            begins += [one.variant] if number % 2 else []
    assert set(firsts.values()) == {5}
    assert len(firsts) == 8
    assert 4 <= begins.count("old") <= 16
    assert several.round_order(1) == several.round_order(1)
    assert {tuple(plan(seed=seed).variant_order(LaunchKey("mpi", 2, "default", 1))) for seed in range(20)} == {
        ("old", "new"),
        ("new", "old"),
    }


def test_without_variants_nothing_has_changed() -> None:
    """Experiments that were begun by an earlier downbeat go on: order, directories, plan."""
    one = plan(variants=(Variant(),), seed=4, ranks=(2, 4), environments=(Environment(), Environment("tcp")))
    assert [str(key) for key in one.round_order(1)] == [
        "mpi-n2-default-001",
        "mpi-n4-tcp-001",
        "mpi-n2-tcp-001",
        "mpi-n4-default-001",
    ]
    assert one.round_order(1)[0].configuration.split(", ") == ["mpi", "2 ranks"]


def test_a_plan_comes_back_from_its_file(tmp_path: Path) -> None:
    variants = (OLD, Variant("new", "/b", "mpirun -n {ranks}", ("/a/op.so",), {"X": "1"}))
    places.write_plan(tmp_path, plan(variants=variants))
    assert places.read_plan(tmp_path) == plan(variants=variants)
    content = json.loads((tmp_path / places.PLAN).read_text())
    del content["variants"], content["crc32"]  # as an older version wrote it
    (tmp_path / places.PLAN).write_text(json.dumps(content))
    assert places.read_plan(tmp_path).variants == (Variant(),)


def test_names_of_launches_are_unambiguous() -> None:
    environments = (Environment("a"), Environment("a-b"))
    two = plan(variants=(Variant("b-c"), Variant("c")), environments=environments)
    assert len({str(key) for key in two.round_order(1)}) == 4
    assert str(LaunchKey("mpi", 2, "default", 1, variant="new")) == "mpi-n2-default@new-001"
    assert LaunchKey("mpi", 2, "default", 1, variant="new").configuration.split(", ") == ["mpi", "2 ranks", "new"]


def test_an_operation_is_replaced_with_its_parameters(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ring.so").touch()
    operations = ("bcast", f"{tmp_path}/new/ring.so", f"{tmp_path}/new/ring.so(max,f(x))", "./other.so")
    old, new = read_variants("variants", {"old": {"operation": "old/ring.so"}, "new": {}}, tmp_path)
    replaced = [f"{tmp_path}/old/ring.so", f"{tmp_path}/old/ring.so(max,f(x))"]
    assert [old.operation(one) for one in operations] == ["bcast", *replaced, "./other.so"]
    assert [new.operation(one) for one in operations] == list(operations)
    measured = dataclasses.replace(plan(variants=(old, new)), measurement=Measurement(operations))
    assert measured.measurement_of(LaunchKey("mpi", 2, "default", 1, variant="old")).operations[1:3] == tuple(replaced)


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ({"old": {}}, "give two tables or more"),
        ([], "give two tables or more"),
        ({"old": {}, "ne w": {}}, "'ne w' is not valid; give a name of letters"),
        (
            {"old": {}, "new": {"bnch": "x"}},
            "variants.new: unknown key 'bnch' of a variant; choose one of bench, launcher",
        ),
        ({"old": {}, "new": {"bench": "./none"}}, "'./none' is not an executable program"),
        ({"old": {}, "new": {"launcher": "sh"}}, "has no {ranks} in place of the number of ranks"),
        ({"old": {}, "new": {"operation": "none.so"}}, "variants.new.operation: there is no file 'none.so'"),
        ({"old": {}, "new": {"operation": "ring.so"}}, "ring.so' replaces no operation; no operation is a file"),
        ({"old": {}, "new": {"X": True}}, "variants.new.X: true is not valid"),
        ({"old": {}, "new": "x"}, "variants.new: 'x' is not valid; give a table"),
    ],
)
def test_bad_variants_are_named(tmp_path: Path, variants: object, message: str) -> None:
    (tmp_path / "ring.so").touch()
    with pytest.raises(UsageError, match=re.escape(message)) as error:
        check_variants(read_variants("variants", variants, tmp_path), ("bcast",), (Library("mpi", "/bench"),))
    assert "\n" not in str(error.value)


def test_variants_by_options(tmp_path: Path) -> None:
    script(tmp_path / "bench", "#!/bin/sh\n")
    for name in ("o.so", "p.so"):
        (tmp_path / name).touch()
    texts = ["old:", "new:bench=./bench", "new:A=x=y", "new:operation=o.so", f"new:operation={tmp_path}/p.so"]
    files = (f"{tmp_path}/o.so", f"{tmp_path}/p.so")
    assert read_variants("--variant", texts, tmp_path) == (
        OLD,
        Variant("new", f"{tmp_path}/bench", "", files, {"A": "x=y"}),
    )
    for bad, message in (("new", "NAME:KEY=VALUE"), ("new:bench", "NAME:KEY=VALUE"), ("a=b:c", "NAME:KEY=VALUE")):
        with pytest.raises(UsageError, match=message):
            read_variants("--variant", [bad], tmp_path)
    with pytest.raises(UsageError, match="new sets A twice"):
        read_variants("--variant", ["new:A=1", "new:A=2"], tmp_path)


def test_programs_of_variants_are_of_one_library() -> None:
    two = (Library("one", "/1"), Library("two", "/2"))
    with pytest.raises(UsageError, match=r"variants\.new: a bench belongs to one MPI library, not to one, two"):
        check_variants((OLD, NEW), (), two)
    check_variants((OLD, Variant("new", variables={"A": "1"})), (), two)


def test_a_file_has_variants(tmp_path: Path) -> None:
    script(tmp_path / "bench", "#!/bin/sh\n")
    (tmp_path / "e.toml").write_text(
        'operations = ["bcast"]\nlibraries = [{name = "here", bench = "./bench"}]\n'
        '[variants.old]\n[variants.new]\nbench = "./bench"\nOMPI_MCA_btl = "tcp,self"\nLEVEL = 3\n'
    )
    made = planned(read_request(tmp_path / "e.toml"), lambda _: None)
    variables = {"OMPI_MCA_btl": "tcp,self", "LEVEL": "3"}
    assert made.variants == (OLD, Variant("new", f"{tmp_path}/bench", variables=variables))


def fakes(directory: Path, ratio: float, launches: int = 6) -> tuple[FakeBench, FakeBench]:
    """Returns an old and a new downbeat-bench; launches of one number share a deviation, which pairs cancel."""
    random = np.random.default_rng(5)
    found = []
    for name, factor in (("old", 1.0), ("new", ratio)):
        found.append(FakeBench(directory / name))
        for number in range(1, launches + 1):
            level = float(np.exp(np.random.default_rng(number).normal(0, 0.2)))
            path = directory / name / f"{number}.nc"
            with netCDF4.Dataset(write_template(path, [2e-6 * factor * level * random.normal(1, 1e-3)]), "a") as file:
                file.setncatts(CONTEXT)
    return found[0], found[1]


def arguments(old: FakeBench, new: FakeBench, *more: object, launches: int = 6) -> list[object]:
    return [
        *("bcast", "-m", "8", "-n", "2", "--launches", launches, "--launcher", f"{old.launcher} -n {{ranks}}"),
        *("--variant", f"old:bench={old.bench}", "--variant", f"new:bench={new.bench}", "-o", "e", *more),
    ]


def test_from_the_command_to_the_verdict(tmp_path: Path) -> None:
    old, new = fakes(tmp_path, 1.1)
    dry = run(*arguments(old, new, "--seed", "1", "--dry-run"), where=tmp_path)
    commands = dict(line.split(" ", 1)[1].split(": ", 1) for line in dry.stdout.splitlines()[:-1])
    assert len(commands) == 12
    for key, command in commands.items():
        assert f" {new.bench if '@new' in key else old.bench} bcast " in command
    first = run(*arguments(old, new, "--seed", "1", launches=3), where=tmp_path)
    assert first.returncode == 0, first.stderr
    done = run(*arguments(old, new), where=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"\d+", done.stdout.splitlines()[0]) == ["12", "6"]
    assert "1.10" in done.stdout and "10 %" in done.stdout
    assert len(old.starts()) == len(new.starts()) == 6
    cells = open_experiment(tmp_path / "e").cells
    assert Counter(cells["variant"]) == {"old": 6, "new": 6}
    record = json.loads((tmp_path / "e/launches/mpi-n2-default@new-001/launch.json").read_text())
    assert (record["variant"], record["number"]) == ("new", 1)

    compared = downbeat("compare", "e", "--json", "c.json", "--fail-on", "slower", where=tmp_path)
    assert compared.returncode == 3, compared.stderr
    written = json.loads((tmp_path / "c.json").read_text())
    assert (written["paired"], written["assumes"]) == (True, "")
    assert (written["where_a"], written["where_b"]) == ({"variant": "old"}, {"variant": "new"})
    (cell,) = written["cells"]
    assert (cell["verdict"], cell["launches_b"]) == ("slower", 6)
    assert cell["ratio"] == pytest.approx(1.1, rel=3e-3)
    assert downbeat("compare", "e", "variant=new", "variant=old", "--fail-on", "slower", where=tmp_path).returncode == 0
    # Other programs are what is compared, and no news.
    assert "differ in" not in compared.stdout

    shown = downbeat("show", "e", where=tmp_path).stdout
    latencies = {name: float(us) for name, us in re.findall(r"^(old|new) +bcast +8 +([\d.]+) ", shown, re.MULTILINE)}
    launches = cells.groupby("variant")["latency_avg_median"]
    typical = {name: typical_interval(medians).estimate * 1e6 for name, medians in launches}
    assert latencies == pytest.approx(typical, rel=1e-3)
    exported = downbeat("export", "e", "--to", "csv", where=tmp_path)
    assert "variant" in exported.stdout.splitlines()[0].split(",")
    report = downbeat("report", "e", where=tmp_path)
    assert report.returncode == 0, report.stderr
    page = next((tmp_path / "e").glob("*.html")).read_text(encoding="utf-8")
    assert re.search(r"new\s+against\s+old", page)
    changed = run(*arguments(old, new, "--variant", "new:A=1"), where=tmp_path)
    assert changed.returncode == 2
    assert "'e'" in changed.stderr and "variants" in changed.stderr
    assert changed.stderr.count("\n") == 1


def test_an_experiment_alone_needs_two_variants(tmp_path: Path) -> None:
    old, new = fakes(tmp_path, 1.0, 1)
    three = arguments(old, new, "--variant", "third:", launches=1)
    assert run(*three, where=tmp_path).returncode == 0
    found = downbeat("compare", "e", where=tmp_path)
    assert found.returncode == 2
    assert "'e'" in found.stderr and all(name in found.stderr for name in ("old", "new", "third"))
    assert found.stderr.count("\n") == 1


@pytest.mark.thorough
def test_real_variants_of_an_operation_and_a_variable(tmp_path: Path) -> None:
    """Two shared objects of one name, under a real MPI; one of them takes longer."""
    include = Path(__file__).resolve().parents[2] / "lib/include"
    for name, microseconds in (("old", 0), ("new", 30)):
        source = tmp_path / name / "wait.c"
        source.parent.mkdir()
        source.write_text(
            "#include <downbeat/operation.h>\n"
            "int downbeat_operation_setup(MPI_Comm c, size_t b, const char *p, void **s)"
            " { (void)c; (void)b; (void)p; (void)s; return MPI_SUCCESS; }\n"
            f"int downbeat_operation_run(void *s) {{ (void)s; double end = MPI_Wtime() + {microseconds}e-6;"
            " while (MPI_Wtime() < end) continue; return MPI_SUCCESS; }\n"
            "int downbeat_operation_teardown(void *s) { (void)s; return MPI_SUCCESS; }\n"
        )
        built = ["mpicc.openmpi", "-shared", "-fPIC", f"-I{include}", "-o", str(source.parent / "wait.so"), str(source)]
        subprocess.run(built, check=True, timeout=120)
    words = ["./new/wait.so", "-m", "8", "-n", "2", "-r", "20", "--sync", "mpi_barrier", "--mpi", "openmpi", "-o", "e"]
    # Where the machine's state changes, some launches do not count.
    words += ["--variant", "old:operation=old/wait.so", "--variant", "new:", "--launches", "10"]
    done = run(*words, where=tmp_path)
    assert done.returncode == 0, done.stderr
    compared = downbeat("compare", "e", "--fail-on", "slower", where=tmp_path)
    assert compared.returncode == 3, compared.stdout + compared.stderr
    assert library_of(open_experiment(tmp_path / "e").plan.libraries[0].bench) is not None  # type: ignore[union-attr]


ROW = """printf '{"record":"row","operation":"%s","algorithm":"%s","verdict":"%s"}\\n'"""


def bench_that_counts(directory: Path, verdicts: dict[tuple[str, str], str], status: int = 0) -> FakeBench:
    """Returns a downbeat-bench whose `algorithms` has these verdicts."""
    rows = "; ".join(f"{ROW} {operation} {name} '{verdict}'" for (operation, name), verdict in verdicts.items())
    return FakeBench(directory, f'if [ "$1" = algorithms ]; then {rows or ":"}; exit {status}; fi')


def plan_of(library: Library, algorithm: str) -> Plan:
    return Plan("test", Measurement(("bcast",), {"sizes": "8", "algorithm": algorithm}), (library,), launches=1)


BCAST = "bcast=default,chain,tree"
RUNS = [
    # option, verdicts, status of counting: refused; the algorithms that are doubtful
    (BCAST, ("in force", "in force"), 0, False, ""),
    (BCAST, ("in force", "cannot tell"), 0, False, "bcast tree"),
    (BCAST, ("cannot tell", "cannot tell"), 0, False, "bcast chain, tree"),
    (BCAST, ("ignored", "ignored"), 0, True, ""),
    ("bcast=2", ("ignored", "ignored"), 0, True, ""),
    (BCAST, ("refused", "in force"), 0, False, ""),  # the launch says why
    (BCAST, ("in force", "in force"), 1, False, "not be counted"),
]


@pytest.mark.parametrize(("option", "verdicts", "status", "refused", "doubtful"), RUNS)
def test_what_counting_shows(
    tmp_path: Path, option: str, verdicts: tuple[str, str], status: int, refused: bool, doubtful: str
) -> None:
    counted = dict(zip((("bcast", "chain"), ("bcast", "tree")), verdicts, strict=True))
    fake = bench_that_counts(tmp_path / "fake", {("bcast", "default"): "in force", **counted}, status)
    plan = plan_of(fake.library(), option)
    where = tmp_path / "experiment"
    if refused:
        with pytest.raises(UsageError):
            execute(plan, where)
        assert not where.exists()
        assert [arguments.split()[0] for _, _, arguments in fake.starts()] == ["algorithms"]
        return
    assert not execute(plan, where).lacking
    found = [one.seen for one in open_experiment(where).machine if one.check == "algorithms"]
    assert len(found) == (1 if doubtful else 0)
    assert all(doubtful in seen for seen in found)


def test_what_cannot_be_counted_in_one_launch_is_said(tmp_path: Path) -> None:
    fake = bench_that_counts(tmp_path / "fake", {("bcast", "chain"): "ignored"})
    for fixed in ("*", "bcast"):
        (finding,) = check_choices(plan_of(fake.library(fixed_at_start=(fixed,)), BCAST))
        assert finding.seen.endswith("chain, tree")
    assert fake.starts() == []
    with pytest.raises(UsageError):
        check_choices(plan_of(fake.library(fixed_at_start=("allgatherv",)), BCAST))


def test_options_in_words() -> None:
    assert choices_of({}) == {}
    assert choices_of({"algorithm": "reduce=linear,default,in-order,bcast=chain", "barrier-algorithm": "tree"}) == {
        "reduce": ["linear", "in_order"],
        "bcast": ["chain"],
        "barrier": ["tree"],
    }
    sizes = {"": 65536, "8": 8, "4": 8, "512,8K": 8192, "8:1M": 65536, "1000:2001": 2000}
    assert {text: largest_size(text) for text in sizes} == sizes
