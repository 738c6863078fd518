"""Outputs of benchmarks of other tools, drawn at random: content, the numbers in it, and what is wrong with it."""

from __future__ import annotations

import json
import math
import random
import statistics
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from downbeat.data.readers.results import CUT, NO_NUMBERS, NOT_ENDED, UNREADABLE, WRONG_RESULTS, Results

Row = tuple[
    object, ...
]  # run, operation, size, ranks, nodes, datatype, algorithm, setting, kind, statistic, value, ...
NOISE = ("", "srun: job 17 has been allocated resources", "WARNING: 2 ports are down", "slurmstepd: 3 tasks", "Done.")


@dataclass
class Drawn:
    """An output: its lines, the rows of numbers, and the counts of damage."""

    lines: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    damage: Counter[str] = field(default_factory=Counter)

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def add(self, run: int, case: Row, kind: str, statistic: str, value: float, calls: int, status: str = "ok") -> None:
        """Notes a number; `case`: operation, size, ranks, nodes, datatype, algorithm, setting."""
        self.rows.append((run, *case, kind, statistic, digits(value), calls, status))


def digits(value: float) -> str:
    return f"{value:.13g}"


def rows_of(results: Results) -> list[Row]:
    """The rows of results as generators note them."""
    names = [each.name for each in results.numbers.columns()]
    columns = [list(getattr(results.numbers, name)) for name in names]
    rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    return [tuple(digits(value) if name == "value" else value for name, value in row.items()) for row in rows]


def damage_of(results: Results) -> Counter[str]:
    counts: Counter[str] = Counter()
    for each in results.damages:
        counts[each.what] += each.count
    return counts


def time_text(draw: random.Random, low: float = 1.0, high: float = 2e6) -> str:
    """A time in us, as nccl-tests prints it."""
    value = math.exp(draw.uniform(math.log(low), math.log(high)))
    return f"{value:.2f}" if value < 1e4 else f"{value:.1f}" if value < 1e5 else f"{value:.0f}"


PROGRAMS = {
    "all_reduce": "allreduce",
    "all_gather": "allgather",
    "broadcast": "bcast",
    "sendrecv": "sendrecv",
    "alltoall": "alltoall",
    "reduce_scatter": "reduce_scatter",
}


def nccl_text(draw: random.Random) -> Drawn:
    """A log of nccl-tests with one to three runs."""
    drawn, failed_before = Drawn(), None
    prefix = draw.choice(["", "", "[1,0]<stdout>:", "0: "])
    old, per_call = draw.random() < 0.2, draw.random() < 0.2
    for run in range(draw.randint(1, 3)):
        drawn.lines += draw.sample(NOISE, 2)
        program = draw.choice(list(PROGRAMS))
        hosts = [f"gpu{draw.randint(1, 99):02d}-{i}" for i in range(draw.randint(1, 3))]
        gpus, iterations, together = draw.choice([1, 4, 8]), draw.randint(1, 100), draw.choice([1, 1, 4])
        ranks = len(hosts) * gpus
        if old:
            drawn.lines.append(f"mpirun -n {ranks} ./build/{program}_perf -b 8 -e 1G -f 2")
        else:
            drawn.lines.append(f"{prefix}# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807")
            drawn.lines.append(f"{prefix}# Collective test starting: {program}_perf")
        drawn.lines.append(
            f"{prefix}# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: {iterations} "
            f"agg iters: {together} validation: 1 graph: 0"
        )
        drawn.lines += [f"{prefix}#", f"{prefix}# Using devices"]
        for rank in range(ranks):
            in_group = "" if old else "Group  0 "
            drawn.lines.append(
                f"{prefix}#  Rank {rank:2d} {in_group}Pid {4000 + rank:6d} on {hosts[rank // gpus]:>10s} "
                f"device {rank % gpus:2d} [0000:9d:00] NVIDIA H100"
            )
        extra = ["i_min", "i_max", "i_p99", "i_cv%"] if per_call else []
        group = ["time", "algbw", "busbw", "#wrong", *extra]
        keys = ["size", "count", "type", "redop", *([] if old else ["root"])]
        drawn.lines.append(f"{prefix}#         out-of-place          in-place   ")
        drawn.lines.append(f"{prefix}#   {'  '.join([*keys, *group, *group])} ")
        units = " ".join(["(us) (GB/s) (GB/s)", *(["(us) (us) (us) (%)"] if per_call else [])])
        drawn.lines.append(f"{prefix}#  (B)  (elements)   {units}   {units}")
        ending = draw.choices(["ended", "cut", "failed"], [8, 1, 1])[0]
        if failed_before == (program, hosts):
            drawn.damage["runs that were tried again after a failure"] += 1
        filled = False
        for _ in range(draw.randint(1, 6)):
            size = 4 * draw.randint(1, 1 << 30)
            redop, root = draw.choice([("none", "-1"), ("sum", "-1"), ("max", "0")])
            words = [str(size), str(size // 4), "float", redop, *([] if old else [root])]
            spoiled = draw.random() < 0.05
            made: list[tuple[Row, str, str, float, str]] = []
            wrongs = 0
            for side in ("out", "in"):
                wrong = draw.choices(["0", "N/A", str(draw.randint(1, 99))], [10, 3, 1])[0]
                values = [time_text(draw), f"{draw.uniform(0, 500):.2f}", f"{draw.uniform(0, 500):.2f}"]
                status = "wrong" if wrong not in ("0", "N/A") else "ok"
                wrongs += status == "wrong"
                settings = [f"place={side}", *([f"redop={redop}"] if redop != "none" else [])]
                settings += [f"root={root}"] if not old and root != "-1" else []
                case: Row = (PROGRAMS[program], size, ranks, len(set(hosts)), "float", "default", ",".join(settings))
                kinds = [("latency_avg", 1e-6), ("algorithm_bandwidth", 1e9), ("bus_bandwidth", 1e9)]
                for (kind, factor), word in zip(kinds, values, strict=True):
                    made.append((case, kind, "mean", float(word) * factor, status))
                words += [*values, wrong]
                if per_call:
                    times = [time_text(draw) for _ in range(3)]
                    for statistic, word in zip(("min", "max", "p99"), times, strict=True):
                        made.append((case, "latency_max", statistic, float(word) * 1e-6, status))
                    words += [*times, f"{draw.uniform(0, 90):.2f}"]
            if spoiled:
                words[draw.choice([len(keys), len(keys) + 2])] = draw.choice(["-nan", "inf", "1.2.3", "***"])
                drawn.damage[UNREADABLE] += 1
            else:
                filled = True
                drawn.damage[WRONG_RESULTS] += wrongs
                for case, kind, statistic, value, status in made:
                    drawn.add(run, case, kind, statistic, value, iterations * together, status)
            drawn.lines.append(prefix + "   ".join(words))
            if draw.random() < 0.1:
                drawn.lines.append(draw.choice(NOISE))
        failed_before = (program, hosts) if ending == "failed" else None
        if ending == "failed":
            drawn.lines += [f"{hosts[0]}: Test NCCL failure common.cu:303 'remote process exited / '"]
            drawn.lines += [f" .. {hosts[0]} pid 12: Test failure common.cu:411"]
            drawn.damage["runs that failed"] += 1
        elif ending == "cut":
            drawn.damage[NOT_ENDED] += 1
        else:
            bad = draw.random() < 0.1
            drawn.damage["runs with values out of bounds"] += bad
            drawn.damage[NO_NUMBERS] += not filled
            drawn.lines.append(f"{prefix}# Out of bounds values : {int(bad)} {'FAILED' if bad else 'OK'}")
            drawn.lines += [f"{prefix}# Avg bus bandwidth    : 22.9 ", f"{prefix}#", ""]
    drawn.damage = +drawn.damage
    return drawn


def nccl_json(draw: random.Random) -> Drawn:
    """JSON of nccl-tests' option -J, in one line of `lines`."""
    drawn = Drawn()
    program = draw.choice(list(PROGRAMS))
    hosts = [f"gpu{i}" for i in range(draw.randint(1, 3))]
    gpus, iterations = draw.choice([1, 4]), draw.randint(2, 40)
    averaged = draw.choice(["", "1", "2", "3"])
    algorithm = draw.choice(["", "ring", "tree"])
    kind = {"2": "rank_mean_min", "3": "rank_mean_max"}.get(averaged, "latency_avg")
    results = []
    for _ in range(draw.randint(1, 5)):
        size = 4 * draw.randint(1, 1 << 30)
        result: dict[str, object] = {
            "size": size,
            "count": size // 4,
            "type": "float",
            "redop": "sum",
            "root": "    -1",
        }
        for side, name in (("out", "out_of_place"), ("in", "in_place")):
            wrong = draw.choices([0.0, None, 7.0], [10, 3, 1])[0]
            time, bandwidth = draw.uniform(1, 1e6), draw.uniform(0.1, 500)
            result[name] = {"time": time, "alg_bw": bandwidth, "bus_bw": bandwidth / 2, "nwrong": wrong}
            case = (
                PROGRAMS[program],
                size,
                len(hosts) * gpus,
                len(hosts),
                "float",
                algorithm or "default",
                f"place={side},redop=sum",
            )
            status = "wrong" if wrong else "ok"
            drawn.damage[WRONG_RESULTS] += bool(wrong)
            for each, value in (
                (kind, time * 1e-6),
                ("algorithm_bandwidth", bandwidth * 1e9),
                ("bus_bandwidth", bandwidth / 2 * 1e9),
            ):
                drawn.add(0, case, each, "mean", value, iterations, status)
            if draw.random() < 0.5:
                times = [draw.uniform(1, 1e4) for _ in range(iterations)]
                stats = {"avg_us": statistics.fmean(times), "min_us": min(times), "max_us": max(times)}
                result[f"{name}_per_iter"] = {**stats, "stdev_us": 1.0, "cv_pct": 2.0, "times_us": times}
                for column, statistic in (("avg_us", "mean"), ("min_us", "min"), ("max_us", "max")):
                    drawn.add(0, case, "latency_max", statistic, stats[column] * 1e-6, iterations)
        results.append({**result, "actual_iterations": iterations, "experiment_name": "x"})
    devices = [{"rank": i, "hostname": hosts[i // gpus], "device_info": "H100"} for i in range(len(hosts) * gpus)]
    content: dict[str, object] = {
        "version": 2, "start_time": "2026-02-03 04:05:06",
        "args": [f"/opt/{program}_perf", "-b", "8", *(["-a", averaged] if averaged else [])],
        "env": ["HOME=/root", *([f"NCCL_ALGO={algorithm}"] if algorithm else [])], "nccl_version": 22807,
        "config": {"nthreads": 1, "ngpus": 1, "iterations": iterations, "devices": devices}, "results": results,
    }  # fmt: skip
    if draw.random() < 0.9:
        content["end_time"] = "2026-02-03 04:06:06"
    else:
        drawn.damage[NOT_ENDED] += 1
    text = json.dumps(content)
    if draw.random() < 0.1:
        text, drawn.rows, drawn.damage = text[: -draw.randint(1, 50)], [], Counter({CUT: 1})
    drawn.lines, drawn.damage = [text], +drawn.damage
    return drawn


def rccl_records(draw: random.Random) -> Drawn:
    """CSV or JSON of rccl-tests, with repetitions."""
    drawn, as_json = Drawn(), draw.random() < 0.5
    heads = "numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,busbw,#wrong"
    names = [
        "numCycle",
        "name",
        "ranks",
        "ranksPerNode",
        "gpusPerRank",
        "size",
        "type",
        "redop",
        "inPlace",
        "time",
        "algBw",
        "busBw",
        "wrong",
    ]
    ranks, per_node = draw.choice([(8, 8), (16, 8), (4, 2)])
    records = []
    for run in range(draw.randint(1, 3)):
        for _ in range(draw.randint(1, 4)):
            size, side = 4 * draw.randint(1, 1 << 20), draw.randint(0, 1)
            time, bandwidth, wrong = draw.uniform(1, 1e5), draw.uniform(0.1, 400), draw.choice(["0", "0", "N/A", "3"])
            records.append(
                [run, "AllReduce", ranks, per_node, 1, size, "half", "sum", side, time, bandwidth, bandwidth, wrong]
            )
            case = (
                "allreduce",
                size,
                ranks,
                ranks // per_node,
                "half",
                "default",
                f"place={('out', 'in')[side]},redop=sum",
            )
            status = "wrong" if wrong == "3" else "ok"
            drawn.damage[WRONG_RESULTS] += wrong == "3"
            for kind, value in (
                ("latency_avg", time * 1e-6),
                ("algorithm_bandwidth", bandwidth * 1e9),
                ("bus_bandwidth", bandwidth * 1e9),
            ):
                drawn.add(run, case, kind, "mean", value, 0, status)
    if as_json:
        drawn.lines = [json.dumps([dict(zip(names, record, strict=True)) for record in records])]
    else:
        drawn.lines = [heads, *(",".join(map(str, record)) for record in records)]
    drawn.damage = +drawn.damage
    return drawn


def mpibench(draw: random.Random) -> Drawn:
    """Output of mpiBench with one or two runs."""
    drawn = Drawn()
    for run in range(draw.randint(1, 2)):
        ranks = draw.randint(2, 6)
        hosts = [f"node{i // 2}" for i in range(ranks)]
        drawn.lines += [draw.choice(NOISE), "START mpiBench v1.5", *(f"{i} : {host}" for i, host in enumerate(hosts))]
        filled = False
        for _ in range(draw.randint(1, 6)):
            name = draw.choice(["Bcast", "Allreduce", "Alltoall", "Barrier"])
            size = 0 if name == "Barrier" else 8 << draw.randint(0, 15)
            calls, values = draw.randint(5, 1000), [f"{draw.uniform(0.5, 1e5):8.4f}" for _ in range(3)]
            part = draw.random() < 0.2
            where, members = ("PartSize-2", 2) if part else ("MPI_COMM_WORLD", ranks)
            if spoiled := draw.random() < 0.1:
                values[0] = "    -nan"
                drawn.damage[UNREADABLE] += 1
            drawn.lines.append(
                f"{name:<20.20s}\tBytes:\t{size:8d}\tIters:\t{calls:7d}\tAvg:\t{values[0]}\tMin:\t{values[1]}\tMax:\t{values[2]}"
                f"\tComm: {where}\tRanks: {members}"
            )
            if spoiled:
                continue
            filled = True
            datatype = {"Barrier": "none", "Allreduce": "MPI_DOUBLE"}.get(name, "MPI_BYTE")
            nodes = 0 if part else len(set(hosts))
            case = (name.lower(), size, members, nodes, datatype, "default", f"communicator={where}" if part else "")
            for kind, value in zip(("avg", "min", "max"), values, strict=True):
                drawn.add(run, case, f"with_barrier_{kind}", "mean", float(value) * 1e-6, calls)
        drawn.damage[NO_NUMBERS] += not filled
        if draw.random() < 0.8:
            drawn.lines += ["Message buffers (KB):\t12", "END mpiBench"]
        else:
            drawn.damage[NOT_ENDED] += 1
    drawn.damage = +drawn.damage
    return drawn


def skampi(draw: random.Random) -> Drawn:
    """Output of SKaMPI 5."""
    drawn = Drawn()
    drawn.lines += ["# SKaMPI Version 5.0 rev. 191", "", "# Started at Tue Feb  3 04:05:06 2026", ""]
    filled = False
    for _ in range(draw.randint(1, 3)):
        name, operation = draw.choice(
            [
                ("MPI_Bcast-nodes-length", "bcast"),
                ("MPI_Allreduce-length", "allreduce"),
                ("Pingpong_Send_Recv", "ping_pong"),
            ]
        )
        drawn.lines.append(f'begin result "{name}"')
        for _ in range(draw.randint(1, 5)):
            ranks, count, calls = draw.randint(2, 16), draw.randint(1, 1 << 20), draw.randint(8, 33)
            result = f"{draw.uniform(1, 1e5):9.1f}"
            spoiled = draw.random() < 0.1
            times = " ".join(f"{draw.uniform(1, 99):9.1f}" for _ in range(2))
            drawn.lines.append(
                f"nodes= {ranks} count= {count} {4 * count:8d} {'     nan' if spoiled else result} {0.1:9.1f} "
                f"{calls:8d} {times}"
            )
            if spoiled:
                drawn.damage[UNREADABLE] += 1
                continue
            filled = True
            case = (operation, 4 * count, ranks, 0, "", "default", f"table={name}")
            drawn.add(0, case, "middle_mean", "mean", float(result) * 1e-6, calls)
        if draw.random() < 0.9:
            drawn.lines += [f'end result "{name}"', "# duration = 0.12 sec", ""]
        else:
            drawn.damage["tables that did not end"] += 1
    drawn.damage[NO_NUMBERS] += not filled
    if draw.random() < 0.8:
        drawn.lines += ["# Finished at Tue Feb  3 04:06:06 2026", "# Total runtime 60 seconds"]
    else:
        drawn.damage[NOT_ENDED] += 1
    drawn.damage = +drawn.damage
    return drawn


def summaries(values: list[float]) -> dict[str, float]:
    """The statistics that readers compute, by the definition of percentiles."""
    ordered = sorted(values)

    def at(share: float) -> float:
        where = share * (len(ordered) - 1)
        low = int(where)
        return ordered[low] + (where - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])

    shares = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99}
    return {
        "mean": statistics.fmean(values),
        "min": ordered[0],
        "max": ordered[-1],
        **{n: at(s) for n, s in shares.items()},
    }


def reprompi(draw: random.Random) -> Drawn:
    """Output of ReproMPI: calls, processes or summaries."""
    drawn, form = Drawn(), draw.choice(["calls", "processes", "summary"])
    window, ranks = draw.random() < 0.5, draw.randint(2, 4)
    clocks = "global" if window else "local"
    drawn.lines += [
        "#Command-line arguments:  ./mpibenchmark --nrep=3",
        "#MPI calls:",
        "#\tMPI_Bcast",
        "#@operation=MPI_BOR",
    ]
    drawn.lines += ["#@datatype=MPI_INT", "#@datatype_size_bytes=4", "#@reproMPIcommitSHA1=abc", f"#@nprocs={ranks}"]
    drawn.lines += [f"#@clocktype={clocks}", f"#@sync={'window' if window else 'MPI_Barrier'}", "#@nrep=3"]
    heads = {
        "calls": f"test nrep count {'errorcode ' if window else ''}runtime_sec",
        "processes": "process test nrep count "
        + (
            "errorcode loc_tstart_sec loc_tend_sec gl_tstart_sec gl_tend_sec"
            if window
            else "loc_tstart_sec loc_tend_sec"
        ),
        "summary": "test count total_nrep valid_nrep mean_sec median_sec min_sec max_sec",
    }[form]
    drawn.lines.append("      ".join(heads.split()) + " ")
    filled = False
    for count in draw.sample(range(1, 2000), draw.randint(1, 3)):
        case = ("bcast", 4 * count, ranks, 0, "MPI_INT", "default", "")
        if form == "summary":
            texts = [f"{draw.uniform(1e-6, 1e-3):.10f}" for _ in range(4)]
            drawn.lines.append(f"{'MPI_Bcast':>50s} {count:12d} {9:10d} {8:10d}   {'   '.join(texts)} ")
            for statistic, text in zip(("mean", "median", "min", "max"), texts, strict=True):
                drawn.add(0, case, "global_time" if window else "latency_max", statistic, float(text), 8)
            filled = True
            continue
        kinds: dict[str, list[float]] = {}
        for call in range(draw.randint(2, 9)):
            if form == "calls":
                time, invalid, spoiled = (
                    f"{draw.uniform(1e-6, 1e-3):14.10f}",
                    window and draw.random() < 0.1,
                    draw.random() < 0.05,
                )
                code = f" {int(invalid):10d}" if window else ""
                drawn.lines.append(f"{'MPI_Bcast':>50s} {call:10d} {count:12d}{code} {'-1' if spoiled else time}")
                if spoiled:
                    drawn.damage[UNREADABLE] += 1
                elif invalid:
                    drawn.damage["calls that the tool found to be invalid, left out"] += 1
                else:
                    kinds.setdefault("global_time" if window else "latency_max", []).append(float(time))
                continue
            spans = []
            for rank in range(ranks):
                start, length = 5 + draw.uniform(0, 1e-6), draw.uniform(1e-6, 1e-3)
                words = [f"{start:14.10f}", f"{start + length:14.10f}"]
                spans.append([float(word) for word in words])
                drawn.lines.append(
                    f"{rank:7d} {'MPI_Bcast':>50s} {call:10d} {count:12d} {'         0 ' if window else ''}"
                    f"{' '.join(words * (1 + window))}"
                )
            times = [end - start for start, end in spans]
            for kind, over in (("latency_avg", statistics.fmean), ("latency_max", max), ("latency_min", min)):
                kinds.setdefault(kind, []).append(over(times))
            if window:
                kinds.setdefault("global_time", []).append(
                    max(end for _, end in spans) - min(start for start, _ in spans)
                )
        filled |= bool(kinds)
        for kind, values_of_kind in kinds.items():
            for statistic, value in summaries(values_of_kind).items():
                drawn.add(0, case, kind, statistic, value, len(values_of_kind))
    drawn.damage[NO_NUMBERS] += not filled
    drawn.lines += ["# Benchmark started at Tue Feb  3 04:05:06 2026", "# Execution time: 3s"]
    drawn.damage = +drawn.damage
    return drawn


def pico(draw: random.Random, root: Path) -> Drawn:
    """A directory of PICO for a system below `root`, with a table of metadata."""
    drawn, system = Drawn(), "fjord"
    heads = "timestamp,test_id,nnodes,tasks_per_node,collective_type,mpi_lib,mpi_lib_version,gpu_awareness,MPI_Op,notes"
    table, run = [heads], 0
    for day in sorted(draw.sample(range(10, 28), draw.randint(1, 3))):
        time = f"2025_03_{day}___10_20_30"
        for test in range(draw.randint(1, 2)):
            nodes, per_node = draw.choice([("4", 1), ("2x2x2", 1), ("8", 4)])
            total = math.prod(map(int, nodes.split("x")))
            collective = draw.choice(["ALLREDUCE", "BCAST", "REDUCE_SCATTER"])
            notes = draw.choice(["null", "RAILS=1", "a, b"])
            known = draw.random() < 0.95
            if known:
                quoted = f'"{notes}"' if "," in notes else notes
                table.append(f"{time},{test},{nodes},{per_node},{collective},OMPI,4.1.6,no,null,{quoted}")
            directory = root / system / time / str(test)
            directory.mkdir(parents=True)
            settings = [f"system={system}", *([f"shape={nodes}"] if known and "x" in nodes else [])]
            settings += [f"notes={notes.replace(',', ';')}"] if known and notes != "null" else []
            operation, ranks, shown = (collective.lower(), total * per_node, total) if known else ("unknown", 0, 0)
            drawn.damage["tests without metadata, whose operation is unknown"] += not known
            names = draw.sample(["default_ompi", "ring_ompi", "bine_lat_over", "seg_over_16384"], draw.randint(1, 4))
            for name in sorted(
                f"{draw.randint(1, 1 << 20)}_{name}_{draw.choice(['int32', 'double', ''])}".strip("_") for name in names
            ):
                count, _, label = name.partition("_")
                datatype = label.rpartition("_")[2] if label.endswith(("int32", "double")) else ""
                size = int(count) * {"int32": 4, "double": 8, "": 1}[datatype]
                case = (operation, size, ranks, shown, datatype, label.removesuffix(f"_{datatype}"), ",".join(settings))
                lines, kinds = pico_file(draw, drawn)
                (directory / f"{name}.csv").write_text(lines, encoding="utf-8")
                refused = draw.random() < 0.05
                if refused:
                    (directory / f"{name}.err").write_text("[mpi::invalid-value-enum]\n", encoding="utf-8")
                    drawn.damage["cases whose algorithm the library refused, left out"] += 1
                for kind, values in kinds.items() if not refused else ():
                    for statistic, value in summaries(values).items():
                        drawn.add(run, case, kind, statistic, value * 1e-9, len(values))
            run += 1
    (root / f"{system}_metadata.csv").write_text("\n".join(table) + "\n", encoding="utf-8")
    drawn.damage = +drawn.damage
    return drawn


def pico_file(draw: random.Random, drawn: Drawn) -> tuple[str, dict[str, list[float]]]:
    """The content of a file, and kind -> times in ns."""
    ranks = draw.choice([0, 0, 0, 3])
    phases = ranks == 0 and draw.random() < 0.1
    heads = ["rank0", "copy", "send"] if phases else ["highest", *(f"rank{i}" for i in range(ranks))]
    lines, kinds = [",".join(heads)], {}  # type: ignore[var-annotated]
    drawn.damage["columns of phases, which are not read"] += 2 * phases
    for _ in range(draw.choices([draw.randint(1, 30), 0], [20, 1])[0]):
        values = [draw.randint(500, 10**9) for _ in range(max(ranks, 1))]
        if (kind := draw.choices(["good", "zero", "spoiled"], [30, 1, 1])[0]) == "zero":
            drawn.damage["calls of 0 ns, left out"] += 1
            lines.append(",".join(["0"] * len(heads)))
        elif kind == "spoiled":
            drawn.damage[UNREADABLE] += 1
            lines.append(draw.choice(["-5", "1e3", "nan", "12 13"]) + ",1" * (len(heads) - 1))
        else:
            row = [max(values), *(values if ranks else [1, 2] if phases else [])]
            lines.append(",".join(map(str, row)))
            kinds.setdefault("latency_observed" if phases else "latency_max", []).append(max(values))
            if ranks:
                kinds.setdefault("latency_avg", []).append(statistics.fmean(values))
                kinds.setdefault("latency_min", []).append(min(values))
    if not kinds:
        drawn.damage["files without numbers"] += 1
    text = "\n".join(lines) + "\n"
    if draw.random() < 0.1:
        text, drawn.damage[CUT] = text + "123", drawn.damage[CUT] + 1
    elif draw.random() < 0.2:
        text += "Average runtime: 0.000015"
    return text, kinds
