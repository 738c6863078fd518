"""The table of collectives has those that libdownbeat-preload records, and its columns agree with each other."""

import re

from downbeat.data.collectives import COLLECTIVES, ROOTED, collectives
from downbeat.run.libraries import CHECKOUT


def test_the_table_has_the_collectives_that_are_recorded() -> None:
    text = (CHECKOUT / "preload" / "src" / "collectives.h").read_text(encoding="utf-8")
    recorded = re.findall(r"X\((?!Name)[A-Z]\w*, (\w+),", text)
    names = [each.name for each in COLLECTIVES]
    assert len(recorded) > 20
    assert sorted(names) == sorted(set(recorded))
    assert len(set(names)) == len(names)


def test_ranks_with_blocks_of_their_own_size_put_no_limit_on_clocks() -> None:
    for each in COLLECTIVES:
        assert each.uneven == each.name.endswith(("v", "w"))
        assert not (each.uneven and each.limits_clocks)
        assert not (each.rooted and each.symmetric)
    assert {"bcast", "gather", "reduce", "scatter"} < set(ROOTED)
    assert not set(ROOTED) & set(collectives("all"))
    assert set(collectives("from root", limits_clocks=True)) == {"bcast", "scatter"}
