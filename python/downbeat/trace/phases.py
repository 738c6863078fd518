"""Reads the phases of a program, from MPI_Pcontrol(1, name) to MPI_Pcontrol(-1, name), and reports errors in them.

Phases nest; a phase has a path, `outer > inner`.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from downbeat.errors import reading
from downbeat.output.facts import Fact
from downbeat.output.facts.trace import MixedPhases, PhaseNotEnded, PhaseOnSomeRanks, PhasesWithoutRoom, PhaseUnbalanced
from downbeat.tables import Floats, Ints, Table, Texts, Words, column
from downbeat.trace.file import Section, text

SEPARATOR = " > "  # between the names in a path


class Phases(Table):
    """Phases by process."""

    rank: Ints = column("rank of the process in MPI_COMM_WORLD")
    phase: Texts = column("path of the phase, outer > inner")
    begins: Ints = column("times that the phase began", "1")
    time: Floats = column("time in the phase", "s")


def ended_names(sections: Sequence[Section]) -> set[str]:
    """Returns the names of phases that some process ended.

    A name without an end is no phase: MPI_Pcontrol(1) without a name records random bytes of a register as the name.
    """
    tables = (section.tables.phases for section in sections)
    return {text(phase.name) for table in tables for phase in table if phase.ends or phase.strays}


def phase_paths(section: Section, names: Container[str]) -> list[str]:
    """Returns the path of each phase of a process; the index is the phase's number. The first is "": no phase.

    Args:
        section: what the process recorded.
        names: of phases (`ended_names`); other names are left out of paths.
    """
    paths = [""]
    for phase in section.tables.phases:
        if phase.parent >= len(paths):
            raise ValueError(f"its phase {len(paths)} is within phase {phase.parent}")
        name, outer = text(phase.name), paths[phase.parent]
        paths.append(SEPARATOR.join(filter(None, (outer, name))) if name in names else outer)
    if len(section.tables.profile) and section.tables.profile["phase"].max() >= len(paths):
        raise ValueError("it has calls of an unknown phase")
    return paths


def phases_of(sections: Sequence[Section]) -> Phases:
    """Returns the phases of all processes."""
    names = ended_names(sections)
    rows: list[dict[str, Any]] = []
    for section in sections:
        with reading(section.path):
            tick = section.clocks.tick()
            rows += [
                {"rank": section.rank, "phase": path, "begins": int(phase.begins), "time": phase.ticks * tick}
                for path, phase in zip(phase_paths(section, names)[1:], section.tables.phases, strict=True)
                if phase.begins and text(phase.name) in names
            ]
    return Phases.of_rows(rows)


def in_phase(paths: Texts, phase: str) -> np.ndarray:
    """Flags the paths of a phase and of the phases within it.

    Args:
        paths: of phases; "": no phase.
        phase: a path; "" flags only the paths "".
    """
    if not phase:
        return np.array([path == "" for path in paths], dtype=bool)
    return np.array([path == phase or path.startswith(phase + SEPARATOR) for path in paths], dtype=bool)


def phase_problems(sections: Sequence[Section]) -> list[Fact]:
    """Reports phases that were not begun and ended in pairs, or not on all ranks."""
    by_name: dict[str, list[tuple[int, np.record]]] = {}
    for section in sections:
        for phase in section.tables.phases:
            by_name.setdefault(text(phase.name), []).append((section.rank, phase))
    names = ended_names(sections)
    facts: list[Fact] = []
    for name, phases in by_name.items():
        begins, ends, cut, strays = (
            sum(int(getattr(phase, count)) for _, phase in phases) for count in ("begins", "ends", "cut", "strays")
        )
        ranks = sorted({rank for rank, phase in phases if phase.begins > 0})
        if name not in names:
            facts.append(PhaseNotEnded(name, begins, len(ranks)))
            continue
        if cut or strays or begins > ends + cut:
            facts.append(PhaseUnbalanced(name, begins, ends + strays, cut, begins - ends - cut, strays))
        if 0 < len(ranks) < len(sections):
            facts.append(PhaseOnSomeRanks(name, tuple(ranks), len(sections)))
    dropped = sum(int(section.header.phases_dropped) for section in sections)
    return [*facts, PhasesWithoutRoom(dropped)] if dropped else facts


def mixed_calls(phase: Words, rank: Ints, begins: Ints) -> list[Fact]:
    """Reports calls that ranks made in different phases, with an example; empty: no such calls.

    Args:
        phase: of each process in each call, by call.
        rank: of each process in each call, by call.
        begins: the first row of each call.
    """
    codes, names = phase.codes, phase.categories
    mixed = np.flatnonzero(np.minimum.reduceat(codes, begins) != np.maximum.reduceat(codes, begins))
    if not len(mixed):
        return []
    first = begins[mixed[0]]
    call = slice(first, begins[mixed[0] + 1] if mixed[0] + 1 < len(begins) else len(rank))
    other = first + int(np.argmax(codes[call] != codes[first]))
    (a, b), ranks = (str(names[codes[at]]) for at in (first, other)), rank[[first, other]].tolist()
    return [MixedPhases(len(mixed), ranks[0], a, ranks[1], b)]
