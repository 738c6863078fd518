"""The MPI libraries that figures 4 and 5 compare."""

from __future__ import annotations

from downbeat.reproduce.site import MPICH, Site


def two_libraries(site: Site) -> list[tuple[str, str]]:
    """Returns Intel MPI and what stands for MVAPICH, as far as they are there, with their labels; else one library."""
    found = [
        (name, label)
        for name, label in (
            ("intelmpi" if "intelmpi" in site.benches else None, "Intel MPI"),
            (site.first_of(MPICH), "MPICH (for MVAPICH)"),
        )
        if name
    ]
    return found or [(site.main(), site.main())]
