"""Damage as disks, networks and editors do it, by a seed: what readers must not stumble over."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from downbeat.errors import DownbeatError

# Replacements for any value of JSON or TOML.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**400, 0.5, -1e308, 1e308, float("nan"), float("inf")),
    *("", "\0", "a", "../../etc/passwd", "=1+1", "\x1b[31m", "\ud800", "x" * 5000, "nan", "1", "é\u202e\ufffe"),
    *([], [[]], [None], {}, {"": {}}, {"a": 1}),
)
WORDS = (
    *("", "-", "--", "---", "-o", "--json", "--output=", "-1", "0", "1e400", "nan", "9" * 20, "8:1M", "8:"),
    *(",", "a,b", "a=b", "=", "==", "name=", "trace(file=x)", "f(a=", ")", "((", "\x1b[2J", "\udcff", "é", " ", "\n"),
    *("/", ".", "..", "/dev/null", "/proc/self/mem", "no/such/file", "*", "$HOME", "'", '"', "%s%n", "x" * 3000),
)


def flipped(content: bytes, chance: random.Random) -> bytes:
    """Returns the content of a file with some of its bits flipped, bytes replaced or cleared, or its end cut off."""
    damaged = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        place = chance.randrange(len(damaged))
        kind = chance.choice(["flip", "flip", "flip", "replace", "clear", "cut"])
        if kind == "flip":
            damaged[place] ^= 1 << chance.randrange(8)
        elif kind == "replace":
            damaged[place] = chance.randrange(256)
        elif kind == "clear":
            end = min(len(damaged), place + chance.randrange(1, 64))
            damaged[place:end] = bytes(end - place)
        else:
            del damaged[place + 1 :]
    return bytes(damaged)


def one_bit(content: bytes, chance: random.Random) -> bytes:
    """Returns the content of a file with one bit flipped."""
    damaged = bytearray(content)
    damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def share_found(path: Path, read: Callable[[], object], flips: int) -> float:
    """Flips one bit of a file after the other; what is read without an error must be what the whole file has.

    Args:
        path: the file, which is as it was afterwards.
        read: reads it; what it returns can be compared.
        flips: how many.

    Returns:
        The share of the flips that were refused. The others changed nothing that is read.
    """
    content, whole = path.read_bytes(), read()
    found = 0
    for seed in range(flips):
        path.write_bytes(one_bit(content, random.Random(seed)))
        try:
            assert read() == whole, f"seed {seed}: damage was read"
        except DownbeatError:
            found += 1
    path.write_bytes(content)
    assert read() == whole
    return found / flips


def replaced_fields(content: bytes, chance: random.Random) -> bytes:
    """Returns a binary file with numbers of 4 and 8 bytes replaced by those at which arithmetic goes wrong."""
    damaged = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 5))):
        size = chance.choice((4, 8))
        place = chance.randrange(max(1, len(damaged) // size)) * size
        number = chance.choice((0, 1, -1, 2 ** (8 * size - 1) - 1, -(2 ** (8 * size - 1)), chance.randrange(1000)))
        field = number.to_bytes(size, "little", signed=True)
        damaged[place : place + size] = field if chance.random() < 0.5 else field[::-1]
    return bytes(damaged)


def other_shape(content: bytes, chance: random.Random) -> bytes:
    """Returns lines of JSON with some values, at any depth, replaced, doubled or removed."""
    lines = content.decode().splitlines() if content.startswith(b'{"') else [content.decode()]
    at = chance.randrange(len(lines))
    document = json.loads(lines[at])
    for _ in range(chance.choice((1, 1, 2))):
        document = other_values(document, chance)
    lines[at] = json.dumps(document)
    return "\n".join(lines).encode()


def other_values(value: object, chance: random.Random) -> object:
    """Returns a value of JSON that differs in one place, at any depth."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.15:
        return copy.deepcopy(chance.choice(VALUES))  # another one may be put inside
    inside = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
    kind = chance.random()
    if kind < 0.15:
        del value[inside]
    elif kind < 0.25:
        if isinstance(value, dict):
            value[chance.choice(("", "unknown", "name", "\x1b"))] = copy.deepcopy(value[inside])
        else:
            value.append(copy.deepcopy(value[inside]))
    else:
        value[inside] = other_values(value[inside], chance)
    return value


def other_text(content: bytes, chance: random.Random) -> bytes:
    """Returns a text with pieces removed, doubled, moved or replaced."""
    damaged = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4))):
        begin = chance.randrange(len(damaged) + 1)
        end = min(len(damaged), begin + chance.choice((0, 1, 1, 2, 8, 40)))
        piece = damaged[begin:end]
        kind = chance.randrange(4)
        if kind == 0:
            del damaged[begin:end]
        elif kind == 1:
            damaged[begin:begin] = piece
        elif kind == 2:
            there = chance.randrange(len(damaged) + 1)
            damaged[there:there] = piece
        else:
            damaged[begin:end] = json.dumps(chance.choice(VALUES)).encode()
    return bytes(damaged)


def other_words(words: Sequence[str], chance: random.Random) -> list[str]:
    """Returns the words of a command line, some of them gone, doubled, swapped, or others."""
    damaged = list(words)
    for _ in range(chance.choice((1, 1, 2, 3))):
        place = chance.randrange(len(damaged) + 1)
        kind = chance.randrange(6)
        if kind == 0:
            del damaged[place : place + 1]
        elif kind == 1:
            damaged[place : place + 1] = damaged[place : place + 1] * 2
        elif kind == 2:
            damaged.insert(place, chance.choice(WORDS))
        elif kind == 3 and place < len(damaged):
            damaged[place] = chance.choice(WORDS)
        elif kind == 4 and place < len(damaged) and damaged[place]:
            at = chance.randrange(len(damaged[place]))
            damaged[place] = damaged[place][:at] + chance.choice(WORDS) + damaged[place][at + 1 :]
        elif damaged:
            other = chance.randrange(len(damaged))
            damaged.insert(place, damaged.pop(other))
    return damaged
