"""The functions that give a fact its wording; the modules beside this one register the wordings of a subject."""

from __future__ import annotations

from functools import singledispatch

from downbeat.output.facts import Fact


@singledispatch
def long(fact: Fact) -> str:
    """The wording of a fact where it stands alone."""
    raise TypeError(f"{type(fact).__name__} has no wording in words.py")


@singledispatch
def short(fact: Fact) -> str:
    """The wording of a fact among others; the long one where no shorter one is registered."""
    return long(fact)
