"""The wordings of facts: for each a long one, which stands alone, and where it has one a short one for a summary.

A module per subject; a wording is a plain function of the fact. `Line(fact)` of `blocks.py` shows it; JSON has the fact
itself.
"""

from downbeat.output.words import alignment, clocks, comparison, experiment, locate, tool_results, trace, tuning
from downbeat.output.words.wording import long, short

__all__ = [
    "alignment",
    "clocks",
    "comparison",
    "experiment",
    "locate",
    "long",
    "short",
    "tool_results",
    "trace",
    "tuning",
]
