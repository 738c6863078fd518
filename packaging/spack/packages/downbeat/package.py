# Copyright Downbeat developers. SPDX-License-Identifier: BSD-3-Clause
"""Spack's recipe: the library and downbeat-bench for one MPI library, and with +python the command `downbeat`."""

import os

from spack.package import *


class Downbeat(CMakePackage):
    """MPI processes that start at the same instant, and MPI collectives measured from that instant."""

    homepage = "https://doi.org/10.1145/3615318.3615325"  # the paper
    # The archive of `make dist`, in the directory where spack is called: an archive cannot have its own checksum.
    url = f"file://{os.getcwd()}/downbeat-0.1.0.tar.gz"
    manual_download = True

    license("BSD-3-Clause", checked_by="downbeat")

    version("0.1.0")

    variant("bench", default=True, description="Build downbeat-bench")
    variant("fortran", default=True, description="Build the Fortran module")
    variant("python", default=False, description="Install the command downbeat")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.22:", type="build")
    depends_on("python@3.11:", type="build")
    depends_on("mpi@3.1:")
    with when("+bench"):
        depends_on("pkgconfig", type="build")
        depends_on("cli11@2:", type="build")
        depends_on("nlohmann-json@3.10:", type="build")
        depends_on("fmt@9:")
    with when("+python"):
        extends("python")
        depends_on("python@3.11:", type=("build", "run"))
        depends_on("py-pip", type="build")
        depends_on("py-hatchling@1.27:", type="build")
        for name in "jinja2 matplotlib msgspec numpy pandas rich typer xarray".split():
            depends_on(f"py-{name}", type=("build", "run"))

    conflicts("%gcc@:10", msg="downbeat-bench is C++20")

    def cmake_args(self):
        """Returns the options of CMake: compiler wrappers of the MPI library, and variants."""
        mpi = self.spec["mpi"]
        return [
            self.define("MPI_C_COMPILER", mpi.mpicc),
            self.define("MPI_CXX_COMPILER", mpi.mpicxx),
            self.define("DOWNBEAT_BUILD_TESTS", self.run_tests),
            self.define("DOWNBEAT_BUILD_FORTRAN", "ON" if self.spec.satisfies("+fortran") else "OFF"),
            self.define_from_variant("DOWNBEAT_BUILD_BENCH", "bench"),
        ]

    @run_after("install", when="+python")
    def install_command(self):
        """Installs the Python package, whose dependencies are Spack's."""
        pip("install", "--no-deps", "--no-build-isolation", f"--prefix={self.prefix}", self.stage.source_path)
