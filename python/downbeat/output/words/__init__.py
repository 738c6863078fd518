"""The wordings of facts: sentences of the output.

There is a module for each subject. A wording is a function of a fact, registered with `long` (it stands alone) or
`short` (in a summary). `Line(fact)` of `blocks.py` shows a wording; JSON has the fact and its long wording.
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
