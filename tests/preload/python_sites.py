"""Collectives of mpi4py at known lines. Prints `site FUNCTION LINE CALLS` for each; runs under mpirun, with any mpi4py.

Methods are drawn of those of arrays and of those that pickle; functions run in the main thread, in threads, in
generated code, or many times from memory that other code had before.
"""

from __future__ import annotations

import gc
import sys
import threading
from array import array
from collections import Counter

from mpi4py import MPI

comm = MPI.COMM_WORLD.Dup()
planned: Counter[tuple[str, str, int]] = Counter()


def here(operation: str, calls: int = 1) -> None:
    """Notes that the caller's next line makes so many calls."""
    frame = sys._getframe(1)
    planned[operation, frame.f_code.co_filename, frame.f_lineno + 1] += calls


def arrays() -> None:
    mine, sums = array("d", [1.0] * 4), array("d", [0.0] * 4)
    here("allreduce")
    comm.Allreduce(mine, sums)
    here("barrier")
    comm.Barrier()
    here("allreduce")
    comm.Allreduce(
        mine,
        sums,
    )
    here("bcast")
    comm.Bcast(mine)


def pickles() -> None:
    here("bcast")  # the size comes first, so it makes more calls than this
    comm.bcast({"step": [1, 2, 3]})
    here("barrier")
    comm.barrier()


def requests() -> None:
    here("barrier")
    comm.Ibarrier().Wait()


def comprehension() -> None:
    here("barrier", 3)
    [comm.Barrier() for _ in range(3)]


def generator() -> None:
    def steps():  # noqa: ANN202
        for _ in range(2):
            here("barrier")
            comm.Barrier()
            yield

    list(steps())


def generated() -> None:
    """Code whose memory is free again when the next is made; each has its line elsewhere."""
    for number in range(40):
        name, line = f"<generated {number % 3}>", 1 + number % 7
        text = "\n" * (line - 1) + "comm.Barrier()\n"
        planned["barrier", name, line] += 1
        exec(compile(text, name, "exec"), {"comm": comm})
        gc.collect()


def in_thread() -> None:
    if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
        return
    for what in (arrays, pickles):
        one = threading.Thread(target=what)
        one.start()
        one.join()


def with_library() -> None:
    """A common start, and what it returns in the middle of the others."""
    from downbeat import mpi

    for _ in range(3):
        mpi.harmonize(comm)
        arrays()
    assert mpi.stats(comm).calls == 3


KINDS = (arrays, pickles, requests, comprehension, generator, generated, in_thread)


def main() -> None:
    for name in sys.argv[1:]:
        globals()[name]()
    if comm.rank == 0:
        for (operation, file, line), calls in planned.items():
            print(f"site {operation} {calls} {line} {file}")


main()
