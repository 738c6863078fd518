"""A request becomes a plan, or one line that names what is wrong; lists of components."""

from __future__ import annotations

import dataclasses
import os
import shlex
from pathlib import Path

import downbeat
import numpy as np
import pytest
from downbeat.comparison.conditions import parse_conditions
from downbeat.errors import UsageError
from downbeat.run import planning
from downbeat.run.bench import srun_launcher
from downbeat.run.bench_options import operations_of, passed_options
from downbeat.run.job import given_hosts
from downbeat.run.libraries import LIBRARIES, Placement
from downbeat.run.plan import Environment, Measurement, Plan, portions_of
from downbeat.run.planning import libraries_of, planned
from downbeat.run.request import KEYS, Request, overridden, read_environments, read_ranks, read_request, request_of
from downbeat.text import duration_word, seconds_of, split_list
from downbeat.tune.target import parse_ranks
from fake_programs import script
from launch_files import Cell, write_launch


def none(name: str) -> Plan | None:
    return None


def parse(text: str, directory: Path) -> Plan:
    """Returns the plan of a file with this text, for a downbeat-bench that is there."""
    script(directory / "bench", "#!/bin/sh\n")
    (directory / "test.toml").write_text(text, encoding="utf-8")
    return planned(read_request(directory / "test.toml"), none)


LIBRARY = 'libraries = [{name = "here", bench = "./bench"}]\n'
BASIC = f'operations = ["bcast"]\n{LIBRARY}'
LAUNCHER = "operations = 'bcast'\nlibraries = [{{name = 'a', bench = './bench', launcher = '{}'}}]"


def test_everything_that_a_file_can_say(tmp_path: Path) -> None:
    plan = parse(
        """
        name = "all"
        operations = ["bcast", "./my_op.so(n=2)", "synthetic(duration=20us,step=5us)"]
        sizes = [8, "1K:4K"]
        sync = ["mpi_barrier", "window(size=100us,growth=1)"]
        repetitions = 100
        ranks = [2, 4]
        libraries = [
            {name = "here", bench = "./bench"},
            {name = "site", bench = "./bench", launcher = "./bench --mpi=pmix '--comment=a b' -n {ranks}"},
        ]
        launches = 12
        width = 0.02
        max-launches = 30
        timeout = 60
        seed = 5
        [options]
        with = "root=1"
        validate = true
        permute = false
        algorithm = "reduce=linear,binary,bcast=chain"
        pattern = ["one_late(rank=1)", "trace(file=late.txt)"]
        warmup = 5
        late = 5e-6
        late-ranks = 0.01
        [environments.default]
        [environments.tcp]
        OMPI_MCA_btl = "tcp,self"
        LEVEL = 3
        """,
        tmp_path,
    )
    assert plan.measurement.operations == ("bcast", f"{tmp_path}/my_op.so(n=2)", "synthetic(duration=20us,step=5us)")
    assert plan.measurement.options == {
        "sizes": "8,1K:4K",
        "sync": "mpi_barrier,window(size=100us,growth=1)",
        "with": "root=1",
        "validate": "",
        "algorithm": "reduce=linear,binary,bcast=chain",
        "pattern": f"one_late(rank=1),trace(file={tmp_path}/late.txt)",
        "warmup": "5",
        "late": "5e-06",
        "late-ranks": "0.01",
        "repetitions": "100",
    }
    assert plan.environments == (
        Environment("default", {}),
        Environment("tcp", {"OMPI_MCA_btl": "tcp,self", "LEVEL": "3"}),
    )
    here, site = plan.libraries
    assert (here.name, here.bench, here.launcher) == ("here", f"{tmp_path}/bench", "")
    assert (site.name, site.bench) == ("site", f"{tmp_path}/bench")
    assert shlex.split(site.launcher) == [f"{tmp_path}/bench", "--mpi=pmix", "--comment=a b", "-n", "{ranks}"]
    assert (plan.name, plan.ranks, plan.launches, plan.max_launches) == ("all", (2, 4), 12, 30)
    assert (plan.width, plan.timeout, plan.seed) == (0.02, 60.0, 5)


def test_a_newcomer_gets_the_right_procedure(tmp_path: Path) -> None:
    plan = parse(BASIC, tmp_path)
    cores = {Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in os.sched_getaffinity(0)}
    # Where the system does not say, each processor is a core.
    expected = max(2, len({path.read_text(encoding="ascii") if path.exists() else str(path) for path in cores}))
    assert (plan.launches, plan.ranks, plan.name) == (10, (expected,), "test")
    assert (plan.most_rounds, plan.interval) == (20, 0.0)
    assert parse(BASIC + "launches = 1", tmp_path).most_rounds == 1
    assert plan.measurement.options == {}  # mpi_barrier and harmonize, in random order, are downbeat-bench's defaults
    seeds = {parse(BASIC, tmp_path).seed for _ in range(5)}
    assert len(seeds) > 1


@pytest.mark.parametrize(
    ("text", "named", "valid"),
    [
        ("operation = ['bcast']", "'operation'", ", ".join(KEYS)),
        (f"{LIBRARY}", "no operations", "EXPERIMENT.toml"),
        (f"{LIBRARY}operations = []", "operations: []", '["bcast", "allreduce"]'),
        (f"{LIBRARY}operations = 3", "operations: 3", "list of operations"),
        (f"{LIBRARY}operations = ['clock']", "'clock'", "tools/launch"),
        (f"{LIBRARY}operations = ['--sizes']", "'--sizes'", "list operation"),
        (f"{BASIC}ranks = 0", "ranks: 0", "at least 1"),
        (f"{BASIC}ranks = []", "ranks: []", "not empty"),
        (f"{BASIC}ranks = 'two'", "ranks: 'two'", "whole number"),
        (f"{BASIC}ranks = [2, 2]", "ranks: 2", "twice"),
        (f"{BASIC}ranks = [true]", "ranks: true", "whole number"),
        (f"{BASIC}sizes = []", "sizes: []", "not empty"),
        (f"{BASIC}sizes = ['']", "sizes: ['']", "not empty"),
        (f"{BASIC}sync = {{}}", "sync: {}", "a list of them"),
        (f"{BASIC}options = 3", "options: 3", "late-ranks = 0.01"),
        (f"{BASIC}options = {{stop = []}}", "options.stop: []", "not empty"),
        (f"{BASIC}options = {{sizes = 8}}", "--sizes", "--help"),
        (f"{BASIC}repetitions = 0", "repetitions: 0", "at least 1"),
        (f"{BASIC}launches = 0", "launches: 0", "from 1 to 100000"),
        (f"{BASIC}launches = 99999999999", "launches: 99999999999", "from 1 to 100000"),
        (f"{BASIC}launches = 10.5", "launches: 10.5", "whole number"),
        (f"{BASIC}width = -0.1", "width: -0.1", "above 0"),
        (f"{BASIC}interval = -1", "interval: -1", "above 0, or 0"),
        (f"{BASIC}width = nan", "width: nan", "above 0"),
        (f"{BASIC}max-launches = 9", "max-launches: 9", "from 10 to 100000"),
        (f"{BASIC}max-launches = 0", "max-launches: 0", "from 1 to 100000"),
        (f"{BASIC}timeout = inf", "timeout: inf", "above 0"),
        (f"{BASIC}seed = -1", "seed: -1", "at least 0"),
        (f"{BASIC}name = 'a/b'", "name: 'a/b'", "letters"),
        (f"{BASIC}environments = {{}}", "environments: {}", "not empty"),
        (f"{BASIC}[environments]\ntcp = 3", "environments.tcp: 3", "table of variables"),
        (f"{BASIC}[environments.'a b']", "environments: 'a b'", "letters"),
        (f"{BASIC}[environments.a]\n'B-C' = 1", "environments.a: 'B-C'", "variable"),
        (f"{BASIC}[environments.a]\nB = [1]", "environments.a.B: [1]", "text or a number"),
        ("operations = 'bcast'\nlibraries = []", "libraries: []", "not empty"),
        ("operations = 'bcast'\nlibraries = [{bench = './bench'}]", "libraries", "no name"),
        ("operations = 'bcast'\nlibraries = [{name = 'a', path = 'b'}]", "'path'", "name, bench, launcher"),
        ("operations = 'bcast'\nlibraries = [{name = 'a', bench = './none'}]", "'./none'", "path of a downbeat-bench"),
        ("operations = 'bcast'\nlibraries = ['lam']", "'lam'", "openmpi, mpich"),
        (LAUNCHER.format("srun -n 2"), "'srun -n 2'", "{ranks}"),
        (LAUNCHER.format("./srun -n {ranks}"), "launcher: './srun'", "not an executable program"),
        (LAUNCHER.format('"{ranks}'), "launcher", "No closing quotation"),
        ("operations = [", "not valid TOML", "at end of document"),
    ],
)
def test_what_is_not_valid_is_one_line(text: str, named: str, valid: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        parse(text, tmp_path)
    assert named in str(error.value)
    assert valid in str(error.value)
    assert "\n" not in str(error.value)


def test_the_seed_of_an_experiment_that_is_there_is_kept(tmp_path: Path) -> None:
    first = parse(BASIC, tmp_path)
    request = read_request(tmp_path / "test.toml")
    assert planned(request, lambda name: first if name == "test" else None) == first
    other = dataclasses.replace(request, seed=first.seed + 1)
    assert planned(other, lambda _: first).seed == first.seed + 1


def test_lists_of_options() -> None:
    assert read_ranks("--ranks", "2, 4", Path()) == (2, 4)
    for text in ("", "2,", "two", "2;4", "-1"):
        with pytest.raises(UsageError, match="--ranks: "):
            read_ranks("--ranks", text, Path())
    assert read_environments("--env", ["A=1", "tcp:B=x,y=z", "tcp:C=", "none:"], Path()) == (
        Environment("default", {"A": "1"}),
        Environment("tcp", {"B": "x,y=z", "C": ""}),
        Environment("none", {}),
    )
    assert read_environments("--env", ["URI=tcp://a:1"], Path())[0].variables == {"URI": "tcp://a:1"}
    for text in ("A", "tcp:A", "=1", "tcp:=1"):
        with pytest.raises(UsageError, match="--env: "):
            read_environments("--env", [text], Path())


@pytest.mark.parametrize(
    ("key", "of_file", "of_option"),
    [
        ("ranks", [2, 4], "2,4"),
        ("launches", 12, "12"),
        ("interval", 2.5, "2.5"),
        ("interval", 0, "0"),
        ("width", 0.02, "0.02"),
        ("sizes", [8, "1K:4K"], "8,1K:4K"),
        ("libraries", ["a", "b"], "a,b"),
        ("environments", {"tcp": {"A": 1}}, ["tcp:A=1"]),
        ("variants", {"old": {}, "new": {"A": 1}}, ["old:", "new:A=1"]),
        ("options", {"late": 1e-6, "validate": True}, ["--late", "1e-06", "--validate"]),
    ],
)
def test_a_file_and_options_say_the_same(key: str, of_file: object, of_option: object) -> None:
    assert request_of({key: of_file}, Path(), "e.toml") == request_of({key: of_option}, Path())


def test_options_behind_the_dashes() -> None:
    words = ["--late", "-1", "--validate", "--delay=1us,2us", "--pattern", "trace(file=late.txt)"]
    assert passed_options(words) == {
        "late": "-1",
        "validate": "",
        "delay": "1us,2us",
        "pattern": f"trace(file={Path('late.txt').absolute()})",
    }
    for given, named in (("bcast", "'bcast'"), ("-r 20", "'-r'"), ("--late -r", "'-r'"), ("--late 1 2", "'2'"),
                         ("--late 1 --late 2", "twice"), ("--sync none", "--sync"), ("-- --late", "'--'")):  # fmt: skip
        with pytest.raises(UsageError, match=named):
            passed_options(given.split())


def test_libraries_of_options(tmp_path: Path) -> None:
    for name in ("x", "y"):
        script(tmp_path / name, "#!/bin/sh\n")
    x, y = (f"{tmp_path}/{name}" for name in ("x", "y"))
    of_file = request_of({"libraries": ["openmpi", {"name": "site", "bench": y}]}, tmp_path, "e.toml")

    def found(file: Request, **options: object) -> list[tuple[str, str, str]]:
        request = overridden(file, request_of(options, tmp_path))
        return [(one.name, one.bench, one.launcher) for one in libraries_of(request)]

    command = "env {ranks}"
    assert found(Request(), libraries="a,b", bench=[f"a={x}", f"b={y}"], launcher=command) == [
        ("a", x, command),
        ("b", y, command),
    ]
    assert found(of_file, bench=[f"site={x}", f"openmpi={y}"], launcher=command) == [
        ("openmpi", y, command),
        ("site", x, command),
    ]
    assert found(of_file, libraries="site", bench=[x]) == [("site", x, "")]
    assert found(Request(), bench=["a=./x"]) == [("a", x, "")]
    for names, benches in (("a,b", [x]), ("a", [f"b={x}"]), ("a", [x, y])):
        with pytest.raises(UsageError, match="--bench"):
            found(Request(), libraries=names, bench=benches)


PMIX, OF_NODES = ["srun", "--mpi=pmix"], ["-N", "{nodes}", "--ntasks-per-node={ranks_per_node}"]
CORES, RANKS = "--cpu-bind=cores", ["-n", "{ranks}"]


def test_srun_is_taken_in_a_slurm_job_where_the_library_can(tmp_path: Path) -> None:
    job = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_JOB_ID": "7"}

    def start(name: str, plugin: str, placed: bool = False, **variables: str) -> list[str]:
        script(tmp_path / "srun", f"#!/bin/sh\nprintf 'MPI plugin types are...\\n\\tnone\\n\\t{plugin}\\n'\n")
        return srun_launcher(LIBRARIES[name], placed, job | variables).split()

    assert start("openmpi", "pmix") == [*PMIX, CORES, *RANKS]
    assert start("openmpi", "pmix", SLURM_STEP_ID="0") == [*PMIX, "--overlap", CORES, *RANKS]
    assert start("openmpi", "pmix", placed=True) == [*PMIX, CORES, *OF_NODES, *RANKS]
    assert start("mpich", "pmi2") == ["srun", "--mpi=pmi2", CORES, *RANKS]
    assert start("mpich", "pmix") == []  # needs pmi2, which this Slurm has not
    assert start("intelmpi", "pmix") == []  # its own launcher uses Slurm
    assert start("mpich5", "pmi2") == []  # its addresses are too long for pmi2
    assert start("openmpi", "pmix", PATH="/nowhere") == []
    assert srun_launcher(LIBRARIES["openmpi"], environment={"PATH": job["PATH"]}) == ""


def test_on_several_nodes_ranks_beyond_those_of_this_one_are_no_crowd() -> None:
    cores = [[cpu] for cpu in range(os.cpu_count() or 1)]
    pinned = {"I_MPI_PIN_PROCESSOR_LIST": ",".join(str(cpu) for (cpu,) in cores)}
    intel, openmpi = LIBRARIES["intelmpi"], LIBRARIES["openmpi"]
    full = Placement(2 * len(cores), cores, nodes=2)
    assert intel.environment(full) == pinned
    assert openmpi.arguments(full) == ["--bind-to", "core"]
    # Whether both of two ranks come to one node is the launcher's choice.
    assert intel.environment(Placement(2, cores, nodes=2)) == pinned
    crowded = Placement(2 * len(cores) + 1, cores, nodes=2)
    assert intel.environment(crowded) == {"I_MPI_PIN": "0", "I_MPI_WAIT_MODE": "1"}
    assert intel.environment(Placement(1, [[0], [1]])) == {"I_MPI_PIN_PROCESSOR_LIST": "0"}


def portions(operations: tuple[str, ...], fixed: tuple[str, ...], **options: str) -> list[str]:
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return [" ".join(one.arguments()) for one in portions_of(Measurement(operations, named), fixed)]


THREE, CHOICES = ("reduce(root=1)", "bcast", "scan"), "reduce=1,2,3,bcast=4,5"
CALLER = "roundtime(factor=2,budget=1s),harmonize(after=double_mpi_barrier)"
CALLERS = f"harmonize,{CALLER},tree"
PORTIONS = [
    # operations, collectives in which the library is fixed, options, portions
    (THREE, (), {"algorithm": CHOICES}, [f"reduce(root=1) bcast scan --algorithm {CHOICES}"]),
    (
        THREE,
        ("*",),
        {"algorithm": CHOICES},
        [
            "reduce(root=1) bcast scan --algorithm reduce=1,bcast=4",
            "reduce(root=1) bcast --algorithm reduce=2,bcast=5",
            "reduce(root=1) --algorithm reduce=3",
        ],
    ),
    (  # the others keep all their choices in one launch
        ("reduce", "allgatherv"),
        ("allgatherv",),
        {"algorithm": "reduce=a,b,allgatherv=c,d"},
        ["reduce allgatherv --algorithm reduce=a,b,allgatherv=c", "allgatherv --algorithm allgatherv=d"],
    ),
    (("reduce",), ("*",), {"algorithm": "reduce=1"}, ["reduce --algorithm reduce=1"]),
    # What calls a barrier alone is measured with the second one.
    (
        ("bcast",),
        ("*",),
        {"barrier_algorithm": "1,2"},
        ["bcast --barrier-algorithm 1", "bcast --barrier-algorithm 2 --sync mpi_barrier"],
    ),
    (
        ("bcast",),
        ("*",),
        {"sync": CALLERS, "algorithm": "bcast=3,4", "barrier_algorithm": "1,2"},
        [
            f"bcast --sync {CALLERS} --algorithm bcast=3 --barrier-algorithm 1",
            f"bcast --sync {CALLERS} --algorithm bcast=4 --barrier-algorithm 1",
            f"bcast --sync {CALLER} --algorithm bcast=3 --barrier-algorithm 2",
            f"bcast --sync {CALLER} --algorithm bcast=4 --barrier-algorithm 2",
        ],
    ),
    (("bcast",), ("*",), {"sync": "tree", "barrier_algorithm": "1,2"}, ["bcast --sync tree --barrier-algorithm 1,2"]),
]


@pytest.mark.parametrize(("operations", "fixed", "options", "expected"), PORTIONS)
def test_portions_have_no_cell_in_common(
    operations: tuple[str, ...], fixed: tuple[str, ...], options: dict[str, str], expected: list[str]
) -> None:
    assert portions(operations, fixed, **options) == expected


def test_a_program_of_another_abi_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "library_of", lambda _: ("mpich", LIBRARIES["mpich"]))
    others = [name for name, library in LIBRARIES.items() if "mpich" not in library.abis]
    assert others
    for name in others:
        with pytest.raises(
            UsageError, match=f"'/a/bench' is built for mpich, not for {name}; give it as mpich=/a/bench"
        ):
            planning.planned_library(name, "/a/bench", "")
    for name in ({*LIBRARIES} - {*others}) | {"a name"}:
        assert planning.planned_library(name, "/a/bench", "").name == name


NESTED = "my_op(a,f(x),g(h(1,2),3))"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b", ["a", "b"]),
        ("a(x=1,o=b(y=2,z=3)),c", ["a(x=1,o=b(y=2,z=3))", "c"]),
        (f"{NESTED}, bcast", [NESTED, "bcast"]),
        ("a,", ["a", ""]),
        ("", [""]),
        ("a(x,b", ["a(x,b"]),
        ("a),b", ["a)", "b"]),
    ],
)
def test_commas_in_parentheses_part_nothing(text: str, words: list[str]) -> None:
    assert split_list(text) == words


def test_compare_selects_operations_with_nested_parentheses(tmp_path: Path) -> None:
    assert parse_conditions(f"operation={NESTED},size=8") == {"operation": NESTED, "size": "8"}
    for number in range(3):
        cells = [
            Cell([[0.0, 0.0]] * 3, [[took + number, took + number]] * 3, operation=name)
            for name, took in ((NESTED, 10.0), ("bcast", 20.0))
        ]
        write_launch(tmp_path / f"{number}.nc", cells)
    found = downbeat.compare(
        downbeat.open_experiment(tmp_path),
        where_a=parse_conditions(f"operation={NESTED}"),
        where_b=parse_conditions("operation=bcast"),
    )
    assert found.attrs["where_a"] == {"operation": NESTED}
    logs = np.log([20 / 10, 21 / 11, 22 / 12])
    pairs_of_ratios = [(logs[i] + logs[j]) / 2 for i in range(3) for j in range(i, 3)]
    assert found["ratio"].item() == pytest.approx(np.exp(np.median(pairs_of_ratios)))


def test_a_request_splits_operations_as_downbeat_bench_does() -> None:
    assert operations_of("operations", [f"{NESTED},bcast", "./my_op.so(a,f(x))"], Path("/base")) == (
        NESTED,
        "bcast",
        "/base/my_op.so(a,f(x))",
    )
    assert operations_of("operations", "./a.so,./b.so", Path("/base")) == ("/base/a.so", "/base/b.so")
    for text in ("bcast,", ",", " "):
        with pytest.raises(UsageError, match="not empty"):
            operations_of("operations", text, Path("/base"))


def test_portions_keep_nested_parentheses_whole() -> None:
    # The synchronizer whose own comma stands two parentheses deep calls no MPI_Barrier, as a whole or in pieces.
    sync = "own(f(x),g(h(1,mpi_barrier),2)),harmonize(after=mpi_barrier)"
    portions = portions_of(Measurement((NESTED,), {"sync": sync, "barrier-algorithm": "1,2"}), ("*",))
    assert [(one.operations, one.options["sync"]) for one in portions] == [
        ((NESTED,), sync),
        ((NESTED,), "harmonize(after=mpi_barrier)"),
    ]


def test_ranks_are_a_list() -> None:
    assert parse_ranks("2, 4") == (2, 4)


def test_a_file_of_another_editor(tmp_path: Path) -> None:
    script(tmp_path / "bench", "#!/bin/sh\n")
    file = tmp_path / "test.toml"
    file.write_bytes(BASIC.encode())
    plain = read_request(file)
    file.write_bytes(b"\xef\xbb\xbf" + BASIC.replace("\n", "\r\n").encode())
    assert read_request(file) == plain
    for encoding in ("utf-16", "utf-32"):
        file.write_bytes(BASIC.encode(encoding))
        with pytest.raises(UsageError, match="save it as UTF-8"):
            read_request(file)


def test_a_hostfile_of_another_editor(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    words = ["mpirun", "--hostfile", str(file)]
    file.write_text("a slots=2\n", encoding="utf-8")
    hosts = given_hosts(words)
    assert hosts is not None and hosts[1] == {"a": 2}
    for content, why in {
        b"\xef\xbb\xbfa slots=2\n": "begins with a byte order mark",
        "a slots=2\n".encode("utf-16"): "save it as UTF-8",
    }.items():
        file.write_bytes(content)
        with pytest.raises(UsageError, match=why):
            given_hosts(words)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("'30m'", 1800.0), ("'1.5h'", 5400.0), ("90", 90.0), ("'90'", 90.0), ("'90s'", 90.0), ("0.5", 0.5)],
)
def test_launches_are_spread_over_a_duration(text: str, seconds: float, tmp_path: Path) -> None:
    plan = parse(f"{BASIC}launches = 4\nover = {text}", tmp_path)
    assert (plan.over, plan.interval, plan.launches) == (seconds, 0.0, 4)
    assert plan.spacing == pytest.approx(seconds / 3)
    assert seconds_of(duration_word(seconds)) == seconds
    # Where nobody says how many: 10 to 20, and no closer than 30 s where there are more than 10.
    plan = parse(f"{BASIC}over = {text}", tmp_path)
    assert 10 <= plan.launches <= 20
    assert plan.launches == 10 or seconds / plan.launches >= 30


@pytest.mark.parametrize("value", ["'30 min'", "'m'", "''", "0", "-1", "'1e999s'", "'nan'", "true", "[1]", "'31h30m'"])
def test_what_is_no_duration_is_refused(value: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"over.*30m") as caught:
        parse(f"{BASIC}over = {value}", tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("other", ["interval = 5", "launches = 1"])
def test_over_and_what_it_contradicts_are_refused(other: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"over.*give"):
        parse(f"{BASIC}over = '30m'\n{other}", tmp_path)
    with pytest.raises(UsageError, match=r"over.*leave it out"):
        planned(Request(operations=("bcast",), over=60.0, simulate="fat-tree(nodes=4)"), none)


def test_of_over_and_interval_the_option_replaces_that_of_the_file() -> None:
    assert overridden(Request(interval=60.0), Request(over=1800.0)) == Request(over=1800.0, options={})
    assert overridden(Request(over=1800.0), Request(interval=60.0)) == Request(interval=60.0, options={})
