"""Record types are checked where they are made, and keep their rows together."""

import numpy as np
import pandas as pd
import pytest
from downbeat.tables import Column, Flags, Floats, Ints, Table, Texts, Wide, Words, column


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


def test_rows_with_equal_keys_are_grouped_in_the_order_of_their_first_occurrence() -> None:
    table = waits(3, 1, 3, 2)
    assert [(key, list(group.waited)) for key, group in table.groups(table.rank)] == [
        (3, [1.5, 1.5]),
        (1, [0.5]),
        (2, [1.0]),
    ]
    parity = table.groups(table.rank % 2, np.array(["a", "b", "a", "a"], dtype=object))
    assert [(key, list(group.rank)) for key, group in parity] == [((1, "a"), [3, 3]), ((1, "b"), [1]), ((0, "a"), [2])]
    assert [len(group) for _, group in table.groups(np.array([np.nan, 1.0, np.nan, 2.0]))] == [2, 1, 1]


class Launches(Wide):
    """The launches of a file."""

    number: Ints = column("from 1")
    library: Texts = column("MPI library", missing="")


def test_a_frame_with_more_columns_than_are_declared_keeps_them() -> None:
    frame = pd.DataFrame({"other": [0.1, 0.2, 0.3], "number": [1, 2, 3]})
    frame.attrs["units"] = {"other": "s"}
    table = Launches.of(frame)[np.array([False, True, True])]
    assert (list(table.number), list(table.library)) == ([2, 3], ["", ""])
    assert list(table.frame()["other"]) == [0.2, 0.3]
    assert table.frame().attrs == frame.attrs
    with pytest.raises(KeyError, match="number"):
        Launches.of(frame.drop(columns="number"))


def test_a_table_is_made_of_rows() -> None:
    table = Waits.of_tuples([(3, 1.5), (1, 0.5)])
    assert (table.rank.dtype.name, table.waited.dtype.name) == ("int64", "float64")
    assert (list(table.rank), list(table.waited)) == ([3, 1], [1.5, 0.5])
    assert len(Waits.of_tuples([])) == 0


class Names(Waits):
    """The same ranks by name."""

    name: Words = column("of the rank", dtype="i4")
    flag: Flags = column("anything")


def test_rows_make_a_table_of_the_declared_types_and_none_an_empty_one() -> None:
    rows = [{"rank": rank, "waited": 1, "name": name, "flag": True} for rank, name in ((2, "b"), (1, "a"), (0, "b"))]
    for table, count in ((Names.of_rows(rows), 3), (Names.of_rows([]), 0)):
        assert len(table) == count
        assert [each.dtype for each in (table.rank, table.waited, table.flag)] == [np.int64, np.float64, np.bool_]
        assert isinstance(table.name, Words)
    assert Names.columns()[2] == Column("name", "of the rank", dtype="i4")


def test_words_are_joined_by_what_they_are_and_chosen_like_other_columns() -> None:
    few = [Names.of_rows([{"rank": 0, "waited": 0.5, "name": name, "flag": False}]) for name in ("b", "a", "b")]
    joined = Names.joined(few)
    assert list(joined.name) == ["b", "a", "b"]
    assert list(joined.name.categories) == ["b", "a"]
    assert list(joined[np.array([1, 2])].name) == ["a", "b"]
    assert list(joined.frame("name", "flag").columns) == ["name", "flag"]


def test_a_table_is_made_of_a_frame_and_extended_by_columns() -> None:
    table = Waits.of_frame(waits(3, 1).frame().assign(other=1))
    names = table.extended(Names, name=Words(["x", "y"]), flag=np.array([True, False]))
    again = Names.of_frame(names.frame())
    assert (list(again.rank), list(again.name), list(again.flag)) == ([3, 1], ["x", "y"], [True, False])
    with pytest.raises(ValueError, match="differ in length"):
        table.extended(Names, name=Words(["x"]), flag=np.array([True, False]))
