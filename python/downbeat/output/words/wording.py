"""The functions `long` and `short`, which word a fact; the modules of this folder register wordings for each type."""

from __future__ import annotations

from functools import singledispatch

from downbeat.output.facts import Fact


@singledispatch
def long(fact: Fact) -> str:
    """The wording of a fact that stands alone."""
    raise TypeError(f"{type(fact).__name__} has no wording in output/words")


@singledispatch
def short(fact: Fact) -> str:
    """The wording of a fact in a summary; the long wording if no short one is registered."""
    return long(fact)
