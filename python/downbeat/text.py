"""Text that others wrote, in files, names and messages: shown, never obeyed."""

from __future__ import annotations

import re
import unicodedata

KEPT = "\n\t"


def printable(text: str) -> str:
    r"""Returns a text whose control characters are visible: an escape becomes `\x1b`. Lines and tabs are kept.

    These are the characters that terminals obey, that XML forbids, and that reverse the order of letters.
    """
    quick = text.replace("\n", "").replace("\t", "")
    return text if quick.isprintable() else "".join(one if harmless(one) else escaped(one) for one in text)


def harmless(character: str) -> bool:
    """Whether a character is shown as it is; Python calls no space printable but one."""
    return character.isprintable() or character in KEPT or unicodedata.category(character) == "Zs"


def one_line(text: str) -> str:
    """Returns a printable text in one line."""
    return printable(re.sub(r"\s*\n\s*", " ", text.strip()))


def escaped(character: str) -> str:
    """Returns a character as Python writes it in a string."""
    return character.encode("unicode_escape").decode("ascii")


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun: `1 launch`, `12 launches`."""
    plural = f"{noun}es" if noun.endswith(("s", "ch")) else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
