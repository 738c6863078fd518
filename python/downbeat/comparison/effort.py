"""What more launches would show: one line for the end of a run, `compare` and the page."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from downbeat.comparison.judging import EFFECT
from downbeat.text import PERCENT, counted

AFFORDABLE = 100  # launches; to need more says that the machine is noisy


def next_step(needed: ArrayLike, alike: ArrayLike, margin: float, launches: int, option: str = "") -> str:
    """Returns what more launches would show of cells that are open; empty if there are none.

    The first number is what half of the cells need that can be helped: of those counted, nine of ten differ
    significantly if the true ratio is 1.05. With the second, nine of ten are equivalent if all ratios are 1.

    Args:
        needed: by cell, launches that show 5 %, `launches_needed`.
        alike: by cell, launches that show no difference, `launches_alike`.
        margin: of equivalence.
        launches: that there are.
        option: that takes the number, as `--launches`; empty: it is in words.
    """
    numbers, equal = np.asarray(needed, dtype=float), np.asarray(alike, dtype=float)
    cells, effect = numbers.size, f"{PERCENT * (EFFECT - 1):.0f} %"
    if not cells:
        return ""
    of = "the open cell" if cells == 1 else f"the {cells} open cells"
    far = int((numbers > AFFORDABLE).sum())
    if 2 * far > cells:
        which = of if far == cells else f"{far} of {of}"
        return f"a quieter machine (downbeat doctor): more than {AFFORDABLE} launches would show {effect} in {which}"
    useful = numbers[(numbers > launches) & (numbers <= AFFORDABLE)]
    wanted = int(np.ceil(np.median(useful))) if useful.size else launches
    shown = int((numbers <= wanted).sum())
    number = f"{option} {wanted}" if option and useful.size else counted(wanted, "launch")
    where = of if cells == 1 else f"all {cells} open cells" if shown == cells else f"{shown} of {of}"
    if not useful.size and shown < cells:
        first = ""
    elif useful.size:
        first = f"{number} would show {effect} in {where}; "
    else:
        first = f"these {counted(launches, 'launch')} would show {effect} in {where}; "
    beyond = int((equal > AFFORDABLE).sum())
    differs = "it does not differ" if cells == 1 else "none differs"
    what = f"showing that {differs} by more than {PERCENT * margin:g} % takes"
    most = f"more than {AFFORDABLE}" if beyond else f"{int(equal.max())}"
    part = f" in {beyond} of them" if beyond and cells > 1 and beyond < cells else ""
    return f"{first}{what} {most}{part}{'' if first else ' launches'}"
