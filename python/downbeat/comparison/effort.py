"""What more launches would show: one line for the end of a run, `compare` and the page."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from downbeat.comparison.judging import EFFECT
from downbeat.text import PERCENT, counted

AFFORDABLE = 100  # launches; to need more says that the machine is noisy


def next_step(
    needed: ArrayLike, alike: ArrayLike, margin: float, launches: int, option: str = "", cells_known: bool = False
) -> str:
    """Says what more launches would show of cells that are open; empty if there are none.

    The first number is what half of the cells need that can be helped: of those counted, nine of ten differ
    significantly if the true ratio is 1.05. With the second, nine of ten are equivalent if all ratios are 1.

    Args:
        needed: by cell, launches that show 5 %, `launches_needed`.
        alike: by cell, launches that show no difference, `launches_alike`.
        margin: of equivalence.
        launches: that there are.
        option: that takes the number, as `--launches`; empty: it is in words.
        cells_known: the text before it says how many cells are open.
    """
    numbers, equal = np.asarray(needed, dtype=float), np.asarray(alike, dtype=float)
    cells, effect = numbers.size, f"{PERCENT * (EFFECT - 1):.0f} %"
    if not cells:
        return ""

    def within(count: int) -> str:
        if cells == 1:
            return "" if cells_known else " in the open cell"
        if cells_known:
            return f" in {count if count < cells else 'all'}"
        return f" in {f'{count} of the' if count < cells else 'all'} {cells} open cells"

    far = int((numbers > AFFORDABLE).sum())
    if 2 * far > cells:
        return f"a quieter machine (downbeat doctor): more than {AFFORDABLE} launches would show {effect}{within(far)}"
    useful = numbers[(numbers > launches) & (numbers <= AFFORDABLE)]
    wanted = int(np.ceil(np.median(useful))) if useful.size else launches
    shown = int((numbers <= wanted).sum())
    number = f"{option} {wanted}" if option and useful.size else counted(wanted, "launch")
    these = "" if useful.size else "these "
    first = f"{these}{number} would show {effect}{within(shown)}; " if useful.size or shown == cells else ""
    beyond = int((equal > AFFORDABLE).sum())
    most = f"over {AFFORDABLE}" if beyond else f"{int(equal.max())}"
    some = f" in {beyond}" if 0 < beyond < cells else ""
    return f"{first}equality within {PERCENT * margin:g} % takes {most}{'' if first else ' launches'}{some}"
