"""Downbeat for Ramble: one launch of downbeat-bench per experiment (docs/harnesses.md).

Copy this directory to `applications/` of a Ramble repository. Launches are repetitions of an experiment: `n_repeats: '10'`.
"""

from ramble.appkit import *  # noqa: F403


class Downbeat(SpackApplication):  # noqa: F405
    """MPI collectives, measured from a common start."""

    name = "downbeat"

    tags("benchmark", "mpi", "network-collectives", "network-latency-bound")  # noqa: F405

    software_spec("downbeat", pkg_spec="downbeat")  # noqa: F405
    required_package("downbeat")  # noqa: F405

    executable(  # noqa: F405
        "measure",
        "downbeat-bench {operations} --sizes {sizes} --sync {sync} --repetitions {repetitions} "
        "--output {experiment_run_dir}/launch.nc",
        use_mpi=True,
    )
    workload("collectives", executables=["measure"])  # noqa: F405

    workload_variable(  # noqa: F405
        "operations",
        default="barrier bcast reduce allreduce alltoall",
        description="Operations, with spaces between them",
        workloads=["collectives"],
    )
    workload_variable(  # noqa: F405
        "sizes", default="8,4K,64K", description="Message sizes in bytes", workloads=["collectives"]
    )
    workload_variable(  # noqa: F405
        "sync", default="mpi_barrier,harmonize", description="Synchronizers", workloads=["collectives"]
    )
    workload_variable(  # noqa: F405
        "repetitions", default="1000", description="Valid samples of each cell", workloads=["collectives"]
    )

    log = "{experiment_run_dir}/{experiment_name}.out"
    # A row of the table after two synchronizers; barriers have `-` for a size.
    row = (
        r"^(?P<operation>[a-z_]+)\s+(?P<bytes>\d+|-)\s+(?P<barrier>[\d.]+)\s+[\d.]+\s+(?P<common>[\d.]+)\s+[\d.]+"
        r"\s+(?P<ratio>[\d.]+)\s+(?P<barrier_skew>[\d.]+)\s+(?P<common_skew>[\d.]+)\s+(?P<rejected>[\d.]+)$"
    )
    figure_of_merit_context("cell", regex=row, output_format="{operation} {bytes}")  # noqa: F405
    for figure, group, units in [
        ("latency after a barrier", "barrier", "us"),
        ("latency from a common start", "common", "us"),
        ("barrier / common start", "ratio", ""),
        ("exit skew of the barrier", "barrier_skew", "us"),
        ("exit skew of the common start", "common_skew", "us"),
        ("rejected", "rejected", "%"),
    ]:
        figure_of_merit(  # noqa: F405
            figure, log_file=log, fom_regex=row, group_name=group, units=units, contexts=["cell"]
        )

    # The last line on standard error when nothing is missing.
    success_criteria(  # noqa: F405
        "complete", mode="string", match=r".*downbeat-bench: (\d+) of \1 cells complete.*", file=log
    )
