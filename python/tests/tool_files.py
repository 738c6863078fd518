"""Results of other tools as their programs print them, drawn at random, with the numbers that are in them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TypeAlias

Number: TypeAlias = tuple[str, int, int, str, str, float]  # operation, size, ranks, kind, statistic, value in SI


@dataclass
class Written:
    """A file, the numbers in each of its lines (from 1), and damage that the tool itself reports."""

    lines: list[str] = field(default_factory=list)
    numbers: dict[int, list[Number]] = field(default_factory=dict)
    reported: list[str] = field(default_factory=list)
    runs: int = 0

    @property
    def text(self) -> str:
        """The content of the file."""
        return "".join(f"{line}\n" for line in self.lines)

    def row(self, line: str, numbers: list[Number]) -> None:
        """Adds a line with numbers."""
        self.lines.append(line)
        self.numbers[len(self.lines)] = numbers


NOISE = (
    "[node17:04242] Rank 0 bound to package[0][core:0]",
    "Hello from rank 380, thread 0, on nid001306. (core affinity = 79,207)",
    "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
    "libibverbs: Warning: couldn't load driver 'mlx5': no such file",
    "",
)
OSU_TITLES = {
    "bcast": "Broadcast",
    "alltoall": "All-to-All Personalized Exchange",
    "allgather": "Allgather",
    "allreduce": "Allreduce",
    "reduce_scatter": "Reduce_scatter",
    "ialltoall": "Non-blocking All-to-All",
    "iallreduce": "Non-blocking Allreduce",
    "bcast_init": "Broadcast Persistent",
    "barrier": "Barrier",
    "ping_pong": "",
    "bandwidth": "Bandwidth",
    "bi-directional_bandwidth": "Bi-Directional Bandwidth",
}
US, MB = 1e-6, 1e6


def number(chance: random.Random) -> str:
    """A number as tools print it."""
    return f"{10 ** chance.uniform(-1, 5):.2f}"


def sizes(chance: random.Random, first: int = 0) -> list[int]:
    """Sizes of a table."""
    start = chance.randrange(first, 12)
    return [1 << power for power in range(start, start + chance.randrange(1, 12))]


def osu_file(seed: int) -> Written:
    """Runs of OSU's programs of several versions, with lines of a launcher."""
    chance, written = random.Random(seed), Written()
    prefix = chance.choice(("", "", "[1,0]<stdout>:", "0: "))
    for _ in range(chance.randrange(1, 5)):
        written.runs += 1
        operation, version = chance.choice(list(OSU_TITLES)), chance.choice(("5.3.2", "5.6.3", "6.2", "7.1", "7.5.2"))
        ranks = chance.choice((0, 2, 36))
        if ranks:
            written.lines.append(f"$ mpirun -n {ranks} --bind-to core ./osu_{operation} -m 1:4096")
        written.lines += chance.sample(NOISE, chance.randrange(3))
        accelerator = chance.choice(("", "", "-CUDA", "-ROCM"))
        title = f"{OSU_TITLES[operation]} Latency".strip() if "bandwidth" not in operation else OSU_TITLES[operation]
        written.lines.append(f"{prefix}# OSU MPI{accelerator} {title} Test v{version}")
        setting = f"device={accelerator[1:].lower()}" if accelerator else ""
        if version < "7" and accelerator and operation in ("ping_pong", "bandwidth"):
            written.lines.append(f"{prefix}# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)")
            setting += ",buffers=DH"
        nonblocking = operation.startswith("i")
        if nonblocking:
            written.lines += [f"{prefix}# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait", prefix]
        if version >= "7":
            written.lines.append(f"{prefix}# Datatype: MPI_CHAR.")
        headings = osu_columns(chance, operation, nonblocking)
        sized = operation != "barrier"
        text = "".join(f"{heading:>20}" for heading, *_ in headings)
        written.lines.append(f"{prefix}# Size    {text}" if sized else f"{prefix}# {text.lstrip()}")
        name = f"{operation}({setting})" if setting else operation
        for size in sizes(chance) if sized else [0]:
            if chance.random() < 0.1:
                written.lines.append(chance.choice(NOISE))
            words, numbers = [str(size)] if sized else [], []
            for heading, kind, statistic, factor in headings:
                word = "1000" if heading == "Iterations" else "Pass" if heading == "Validation" else number(chance)
                words.append(word)
                if kind:
                    numbers.append((name, size, ranks, kind, statistic, float(word) * factor))
            written.row(prefix + "   ".join(words), numbers)
    return written


def osu_columns(chance: random.Random, operation: str, nonblocking: bool) -> list[tuple[str, str, str, float]]:
    """Headings of a table after the size, each with kind, statistic and factor."""
    full = chance.random() < 0.5
    if "bandwidth" in operation:
        columns = [("Bandwidth (MB/s)", "bandwidth", "mean", MB)]
        if chance.random() < 0.3:
            columns.append(("P99 Tail BW(MB/s)", "bandwidth", "p99", MB))
        return columns
    if nonblocking:
        details = [
            ("Coll. Init(us)", "start_call", "mean", US),
            ("MPI_Test(us)", "tests", "mean", US),
            ("MPI_Wait(us)", "wait", "mean", US),
        ]
        ends = [("Min Comm.(us)", "rank_mean_min", "mean", US), ("Max Comm.(us)", "rank_mean_max", "mean", US)]
        return [
            ("Overall(us)", "overall", "mean", US),
            ("Compute(us)", "computed", "mean", US),
            *(details if full else []),
            ("Pure Comm.(us)", "latency_avg", "mean", US),
            *(ends if full else []),
            ("Overlap(%)", "overlap_osu", "mean", 1e-2),
        ]
    kind = "one_way" if operation == "ping_pong" else "latency_avg"
    columns = [(chance.choice(("Avg Latency(us)", "Latency (us)")), kind, "mean", US)]
    if full and kind == "latency_avg":
        columns += [("Min Latency(us)", "rank_mean_min", "mean", US), ("Max Latency(us)", "rank_mean_max", "mean", US)]
        columns += [("Iterations", "", "", 1)]
    if chance.random() < 0.3:
        columns.append(("Validation", "", "", 1))
    if chance.random() < 0.3:
        columns += [("P50 Tail Lat(us)", kind, "median", US), ("P99 Tail Lat(us)", kind, "p99", US)]
    return columns


IMB_RANGE = [("t_min[usec]", "rank_mean_min"), ("t_max[usec]", "rank_mean_max"), ("t_avg[usec]", "latency_avg")]
IMB_OVERLAP = [
    ("t_ovrl[usec]", "overall_slowest"),
    ("t_pure[usec]", "pure_slowest"),
    ("t_CPU[usec]", "computed_slowest"),
    ("overlap[%]", "overlap_imb"),
]
IMB_BENCHMARKS = {
    "PingPong": ("ping_pong", [("t[usec]", "one_way"), ("Mbytes/sec", "bandwidth")], 1),
    "PingPing": ("pingping", [("t[usec]", "call_time"), ("Mbytes/sec", "bandwidth")], 1),
    "Sendrecv": ("sendrecv", [*IMB_RANGE, ("Mbytes/sec", "bandwidth")], 2),
    "Exchange": ("exchange", [*IMB_RANGE, ("Mbytes/sec", "bandwidth")], 4),
    "Uniband": ("uniband", [("Mbytes/sec", "bandwidth"), ("Msg/sec", "message_rate")], 0),
    "Allreduce": ("allreduce", IMB_RANGE, 0),
    "Reduce_scatter": ("reduce_scatter", IMB_RANGE, 0),
    "Bcast": ("bcast", IMB_RANGE, 0),
    "Barrier": ("barrier", IMB_RANGE, 0),
    "Iallgather": ("iallgather", IMB_OVERLAP, 0),
    "Unidir_put": ("unidir_put", [("t[usec]", "call_time"), ("Mbytes/sec", "bandwidth")], 1),
}
IMB_FAILURES = {
    ' out-of-mem.; needed X=   2.001 GB; use flag "-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)': "memory",
    " int-overflow.; The production rank*size caused int overflow for given sample": "overflow",
    ' time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use "-time X"': "time limit",
}


def imb_file(seed: int) -> Written:
    """Runs of IMB of several versions: benchmarks, counts of ranks, groups, sizes that were left out."""
    chance, written = random.Random(seed), Written()
    for _ in range(chance.randrange(1, 3)):
        written.runs += 1
        version = chance.choice(("4.0", "4.1", "2018 Update 1", "2019 Update 6", "2021.7"))
        megabyte = 2.0**20 if version.startswith("4") else MB
        written.lines += chance.sample(NOISE, chance.randrange(3))
        written.lines += [
            "#------------------------------------------------------------",
            f"#    Intel{chance.choice(('(R)', ' (R)'))} MPI Benchmarks {version}, MPI-1 part    ",
            "#------------------------------------------------------------",
            "# Date                  : Sat Nov 14 13:39:25 2020",
            "# MPI Version           : 3.1",
            "# MPI_Datatype                   :   MPI_BYTE ",
            "# MPI_Datatype for reductions    :   MPI_FLOAT",
        ]
        for benchmark in chance.sample(list(IMB_BENCHMARKS), chance.randrange(1, 5)):
            for ranks in sorted(chance.sample((2, 4, 8, 1024), chance.randrange(1, 3))):
                imb_table(chance, written, benchmark, ranks, megabyte)
        written.lines += ["", "# All processes entering MPI_Finalize", ""]
    return written


def imb_table(chance: random.Random, written: Written, benchmark: str, ranks: int, megabyte: float) -> None:
    """Adds a table to a file."""
    operation, columns, moved = IMB_BENCHMARKS[benchmark]
    groups, idle = chance.choice((0, 0, 0, 2)), chance.choice((0, 0, 30))
    written.lines += ["", "#---------------------", f"# Benchmarking {'Multi-' if groups else ''}{benchmark} "]
    settings = []
    if groups:
        written.lines.append(f"# ( {groups} groups of {ranks} processes each running simultaneous ) ")
        written.lines.append("# Group  0:    0    1")
        settings.append(f"groups={groups}")
    else:
        written.lines.append(f"# #processes = {ranks} ")
    if idle:
        written.lines.append(f"# ( {idle} additional processes waiting in MPI_Barrier)")
        settings.append(f"idle={idle}")
    sized = benchmark != "Barrier"
    first = [*(["Group"] if groups else []), *(["#bytes"] if sized else []), "#repetitions"]
    headings = [*first, *(each for each, _ in columns)]
    written.lines += ["#---------------------", "".join(f"{heading:>13}" for heading in headings)]
    for size in sizes(chance, 4) if sized else [0]:
        if sized and chance.random() < 0.05:
            failure = chance.choice(list(IMB_FAILURES))
            written.lines.append(f"{size:>13}{failure}")
            written.reported.append(IMB_FAILURES[failure])
            continue
        for group in range(max(groups, 1)):
            times = sorted(float(number(chance)) + 100 for _ in range(3))
            values: dict[str, float] = dict(zip(("t_min[usec]", "t_avg[usec]", "t_max[usec]"), times, strict=True))
            values |= dict.fromkeys(("t[usec]", "t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]"), times[0])
            longest = values["t_max[usec]"] if "t_max[usec]" in headings else values["t[usec]"]
            values |= {"overlap[%]": times[0] % 100, "Msg/sec": float(round(times[2]))}
            values["Mbytes/sec"] = moved * size / longest * MB / megabyte if moved else times[1]
            words = [*([str(group)] if groups else []), *([str(size)] if sized else []), "1000"]
            words += [f"{values[name]:.0f}" if name == "Msg/sec" else f"{values[name]:.2f}" for name, _ in columns]
            setting = ",".join([*settings, *([f"group={group}"] if groups else [])])
            name = f"{operation}({setting})" if setting else operation
            numbers: list[Number] = []
            for (heading, kind), word in zip(columns, words[-len(columns) :], strict=True):
                unit = {"Mbytes/sec": megabyte, "Msg/sec": 1.0, "overlap[%]": 1e-2}.get(heading, US)
                numbers.append((name, size, ranks, kind, "mean", float(word) * unit))
            written.row("".join(f"{word:>13}" for word in words), numbers)
