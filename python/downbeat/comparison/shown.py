"""The rows of a comparison that are shown: those of states of the machine with enough launches for a verdict."""

from __future__ import annotations

import pandas as pd

from downbeat.data.cells import STATE
from downbeat.data.states import state_text
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.statistics.verdicts import FEWEST_LAUNCHES


def shown_rows(frame: pd.DataFrame, every_state: bool = False) -> tuple[pd.DataFrame, list[str]]:
    """Returns the rows of the result of `compare` to show, and a line on each state that has too few launches.

    Where no state has enough, the one with the most launches is shown. No number changes: tests are those of all rows.

    Args:
        frame: of `compare`.
        every_state: leave no row out.
    """
    if every_state or STATE not in frame or frame[STATE].nunique() < 2:
        return frame, []
    sides = ["launches_b"] if frame.attrs.get("history_is_a") else ["launches_a", "launches_b"]
    launches = frame[sides].min(axis=1).fillna(0).astype(int)
    configuration = [frame[name] for name in LAUNCH_FACTORS if name in frame] or [pd.Series(0, frame.index)]
    of_state = launches.groupby([*configuration, frame[STATE]], sort=False).transform("max")
    most = of_state.groupby(configuration, sort=False).transform("max")
    kept = (of_state >= FEWEST_LAUNCHES) | (of_state == most)
    counts = of_state.groupby(frame[STATE], sort=False).max()
    hidden = [state for state in frame.loc[~kept, STATE].unique() if not kept[frame[STATE] == state].any()]
    return frame[kept], [few_line(str(state), int(counts[state]), int(counts.sum())) for state in hidden]


def few_line(state: str, launches: int, of: int) -> str:
    """Says why the rows of a state are not shown."""
    found = f"{launches} of {of} launches: too few for verdicts" if launches else "no launch on one of both sides"
    return f"state {state_text(state)}, {found} (--states all shows it)"
