"""The finding of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["good", "notice", "problem"]


@dataclass(frozen=True)
class Finding:
    """An observation on the machine.

    Attributes:
        check: which check saw it, as its file is called.
        seen: what, in one sentence, with numbers.
        verdict: "good"; "notice": may matter, or could not be seen; "problem": distorts measurements.
        advice: what to do; "" if there is nothing to do.
    """

    check: str
    seen: str
    verdict: Verdict
    advice: str = ""
