"""Downbeat for Benchpark: runs the Ramble application `downbeat` (docs/harnesses.md).

Copy this directory to `experiments/` of Benchpark and packaging/ramble/applications/downbeat to its `repo/`.
"""

from benchpark.directives import maintainers, variant
from benchpark.experiment import Experiment


class Downbeat(Experiment):
    """MPI collectives, measured from a common start, on all cores of some nodes."""

    variant("workload", default="collectives", values=("collectives",), description="workload of the application")
    variant("version", default="0.1.0", description="version of downbeat")
    maintainers("downbeat")

    def compute_applications_section(self) -> None:
        """Sets what is measured, on which resources."""
        self.add_experiment_variable("n_nodes", 2, True)
        self.add_experiment_variable("n_ranks", "{n_nodes}*{sys_cores_per_node}", True)
        self.add_experiment_variable("operations", "barrier bcast reduce allreduce alltoall", False)
        self.add_experiment_variable("sizes", "8,4K,64K", False)
        self.add_experiment_variable("sync", "mpi_barrier,harmonize", False)
        self.add_experiment_variable("repetitions", "1000", False)
        self.set_required_variables(
            n_resources="{n_ranks}", process_problem_size="{sizes}", total_problem_size="{sizes}"
        )

    def compute_package_section(self) -> None:
        """Names the Spack package."""
        version = self.spec.variants["version"][0]
        self.add_package_spec(self.name, [f"downbeat@{version}"])
