"""How all pictures look: colours that the colour-blind can tell apart, sizes that a phone can show."""

from __future__ import annotations

from matplotlib.figure import Figure

WIDTH_INCHES = 7.0
HEIGHT_INCHES = 4.2
MICROSECONDS = 1e6  # per second

# Okabe and Ito 2008, without yellow, which is lost on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# What is compared most often looks the same in all pictures.
FIXED = {"mpi_barrier": 1, "harmonize": 0}


def new_figure(width: float = WIDTH_INCHES, height: float = HEIGHT_INCHES) -> Figure:
    """Returns an empty figure that belongs to nobody else."""
    return Figure(figsize=(width, height), layout="constrained")


def colour_of(name: str, position: int) -> str:
    """Returns the colour of a synchronizer, or of the value at this position of any other factor."""
    return COLOURS[FIXED.get(name, position) % len(COLOURS)]
