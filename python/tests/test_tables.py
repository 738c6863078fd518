"""Record types are checked where they are made, and keep their rows together."""

import numpy as np
import pytest
from downbeat.tables import Column, Floats, Ints, Table, column


class Waits(Table):
    """How long each rank waited."""

    rank: Ints = column("rank in MPI_COMM_WORLD")
    waited: Floats = column("time in the wait", "s")


def waits(*ranks: int) -> Waits:
    return Waits(rank=np.array(ranks), waited=np.array(ranks) * 0.5)


def test_columns_are_declared_once() -> None:
    assert Waits.columns() == (Column("rank", "rank in MPI_COMM_WORLD"), Column("waited", "time in the wait", "s"))


def test_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Waits .*'rank': 2, 'waited': 1"):
        Waits(rank=np.array([0, 1]), waited=np.array([0.5]))


@pytest.mark.parametrize("rows", [np.array([False, True, True]), np.array([1, 2]), slice(1, None)])
def test_rows_are_selected_in_all_columns(rows: slice) -> None:
    selected = waits(3, 1, 2)[rows]
    assert (list(selected.rank), list(selected.waited)) == ([1, 2], [0.5, 1.0])


def test_tables_are_joined_in_order() -> None:
    joined = Waits.joined([waits(3), waits(), waits(1, 2)])
    assert len(joined) == 3
    assert list(joined.frame()["waited"]) == [1.5, 0.5, 1.0]


def test_a_column_is_replaced_and_the_table_stays() -> None:
    before = waits(3, 1)
    after = before.replaced(waited=np.zeros(2))
    assert (list(before.waited), list(after.waited), list(after.rank)) == ([1.5, 0.5], [0.0, 0.0], [3, 1])
