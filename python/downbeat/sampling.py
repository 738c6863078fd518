"""A sample of ranks, where thousands would be compared or drawn one by one: always the same of as many."""

from __future__ import annotations

from collections.abc import Sequence


def evenly(numbers: Sequence[int], most: int) -> list[int]:
    """Returns at most so many of some numbers, evenly spaced, with the first and the last; of one, the last."""
    if len(numbers) <= most:
        return list(numbers)
    if most == 1:
        return [numbers[-1]]
    step = (len(numbers) - 1) / (most - 1)
    return [numbers[round(position * step)] for position in range(most)]


def drawn_of(ranks: int, most: int) -> str:
    """Says for a caption which ranks are drawn; empty: all."""
    return f" Of {ranks} ranks {most} are drawn, evenly spaced." if ranks > most else ""
