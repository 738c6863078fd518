"""Numbers and lists as they stand in sentences."""

from __future__ import annotations

from collections.abc import Iterable

from downbeat.pictures.style import MICROSECONDS

# A longer list is cut; what is left out is counted.
MOST_NAMED = 8


def microseconds(seconds: float) -> str:
    """Returns a time in microseconds, three significant digits."""
    return f"{digits(seconds * MICROSECONDS)} us"


def digits(value: float) -> str:
    """Returns a number with three significant digits, without exponent."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def span(low: float, high: float) -> str:
    """Returns two numbers as a range, or as one where they look alike."""
    return digits(low) if digits(low) == digits(high) else f"{digits(low)} to {digits(high)}"


def listed(names: Iterable[object]) -> str:
    """Returns names as a list in a sentence: `a, b and c`."""
    texts = [str(name) for name in names]
    if len(texts) > MOST_NAMED:
        return f"{', '.join(texts[:MOST_NAMED])} and {len(texts) - MOST_NAMED} more"
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun, as `1 launch`, `12 launches`."""
    plural = f"{noun}es" if noun.endswith(("s", "ch")) else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
