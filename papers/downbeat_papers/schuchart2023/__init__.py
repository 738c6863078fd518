"""The figures of Schuchart, Hunold, Bosilca: MPI Process Synchronization in Space and Time. EuroMPI 2023.

The setup of all: Hawk, an HPE Apollo 9000 at HLRS, two AMD EPYC 7702 of 64 cores per node, InfiniBand HDR200;
Open MPI 4.1.4 and MVAPICH2; OSU benchmarks 7.0.1, the mean of ten runs with their standard deviation (section 6).
"""

from __future__ import annotations

from downbeat_papers.schuchart2023.figures import FIGURES as FIGURES
