"""The library through downbeat.mpi: every call against what is known to be true. Runs under mpirun, with any mpi4py."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

from downbeat import mpi
from downbeat.mpi import HANDLE, CStats
from mpi4py import MPI

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("matplotlib", "numpy", "pandas", "pyarrow", "rich", "scipy", "typer", "xarray")

comm = MPI.COMM_WORLD.Dup()


def error_class(call: object, *arguments: object) -> int:
    """Returns the class of the error that a call raises."""
    try:
        call(*arguments)  # type: ignore[operator]
    except MPI.Exception as error:
        return error.Get_error_class()
    raise AssertionError(f"{call} did not fail")


def nothing_heavy_was_imported() -> None:
    # mpi4py loads numpy where it is asked for arrays, not before.
    assert [name for name in HEAVY if name in sys.modules] == []


def structures_are_those_of_the_header() -> None:
    header = (ROOT / "lib/include/mpix_harmonize.h").read_text(encoding="utf-8")
    structure = re.search(r"typedef struct MPIX_Harmonize_stats \{(.*?)\}", header, re.DOTALL)
    assert structure is not None
    fields = re.findall(r"^ +(long long|double|int) (\w+);", structure[1], re.MULTILINE)
    kinds = {"long long": "c_longlong", "double": "c_double", "int": "c_int"}
    # ctypes may call a long long a long, where they are the same.
    ours = [(name, kind.__name__.replace("c_longlong", "c_long")) for name, kind, *_ in CStats._fields_]
    assert ours == [(name, kinds[kind].replace("c_longlong", "c_long")) for kind, name in fields]
    assert tuple(name for _, name in fields) == mpi.Stats._fields


def errors() -> None:
    assert error_class(mpi.harmonize, MPI.COMM_NULL) == MPI.ERR_COMM
    assert error_class(mpi.deadline, comm) == MPI.ERR_OTHER  # never prepared
    assert error_class(mpi.harmonize_delayed, comm, -1.0) == MPI.ERR_ARG
    assert error_class(mpi.set_info, comm, {"slak": 1}) == MPI.ERR_INFO_KEY
    assert error_class(mpi.set_info, comm, {"slack": "soon"}) == MPI.ERR_INFO_VALUE
    for wrong in (None, 3, MPI.INFO_NULL):
        try:
            mpi.harmonize(wrong)  # type: ignore[arg-type]
        except TypeError as error:
            assert "communicator of mpi4py" in str(error)
        else:
            raise AssertionError(f"{wrong!r} is no communicator")


def settings() -> None:
    mpi.set_info(comm, {"slack": 1e-3, "share": "verified"})
    assert mpi.get_info(comm)["slack"] == "0.001"
    info = MPI.Info.Create()
    info.Set("slack", "auto")
    mpi.set_info(comm, info)
    info.Free()
    mpi.set_info(comm, MPI.INFO_NULL)
    assert mpi.get_info(comm)["slack"] == "auto"


def truth() -> None:
    """As test_sync.c: the true error is within the bound, directly after a synchronization and later."""
    mpi.set_info(comm, {"validation": "offset=100,skew=9e-6,wander=0.5e-6,seed=1"})
    assert mpi.stats(comm).clock_domains == comm.size
    for pause in (0, 0, 0, 0.3):
        mpi.sync(comm)
        time.sleep(pause)
        error = mpi.true_error(comm)
        bound = mpi.error_bound(comm)  # later, so not smaller than at the time of the error
        assert abs(error) <= bound, (error, bound)
        assert abs(error) < 1  # clocks that are up to 200 s apart were synchronized
        assert 0 <= mpi.expected_error(comm) <= bound
        if comm.rank == 0:
            assert error == bound == mpi.expected_error(comm) == 0
        else:
            assert bound > 0


def starts() -> None:
    """A start, its deadline, and what the next one says of it; the validation clock is on."""
    assert mpi.stats(comm).calls == 0
    assert mpi.verdict(comm) is None
    mpi.set_info(comm, {"slack": 2e-3})
    deadlines = []
    all_flags = None
    for i in range(6):
        delay = 1e-4 * comm.rank if i % 2 else 0.0
        flag = mpi.harmonize_delayed(comm, delay) if i % 2 else mpi.harmonize(comm)
        left = mpi.time(comm)
        deadlines.append(mpi.deadline(comm))
        assert left >= deadlines[-1] + delay  # nobody leaves early
        assert comm.allgather(deadlines[-1]) == [deadlines[-1]] * comm.size
        assert mpi.verdict(comm) is all_flags
        if i:
            late = mpi.lateness(comm)
            assert comm.allgather(late) == [late] * comm.size
            assert late >= 0
        all_flags = all(comm.allgather(flag))
    assert deadlines == sorted(set(deadlines))
    stats = mpi.stats(comm)
    assert stats.calls == 6
    assert stats.slack == 2e-3
    assert stats.syncs >= 4
    assert 0 < stats.sync_share < 1
    assert stats.sync_seconds > 0
    mpi.set_info(comm, {"slack": "auto"})


def waits() -> None:
    """No wait ends early, and sooner or later one is not disturbed, if each rank has a processor."""
    for _ in range(500):
        target = mpi.time(comm) + 1e-4
        in_time = mpi.wait_until(comm, target)
        assert mpi.time(comm) >= target
        if in_time or comm.size > 2:
            break
    assert in_time or comm.size > 2
    assert mpi.wait_until(comm, target) is False  # the past is missed


def main() -> None:
    nothing_heavy_was_imported()
    structures_are_those_of_the_header()
    errors()
    settings()
    truth()
    starts()
    waits()
    comm.Free()
    if MPI.COMM_WORLD.rank == 0:
        print(mpi.library(), mpi.version(), HANDLE.__name__)


try:
    main()
except BaseException:
    # Without this the other ranks would hang.
    sys.excepthook(*sys.exc_info())
    MPI.COMM_WORLD.Abort(1)
