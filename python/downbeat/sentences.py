"""Sentences with numbers: a fact is a key and its values, the sentence a line of sentences.toml."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from downbeat.text import PERCENT, counted, microseconds

TEMPLATES = Path(__file__).with_name("sentences.toml")
MOST_NAMED = 8  # a longer list is cut; the rest is counted


@dataclass(frozen=True)
class Sentence:
    """A fact: which line of sentences.toml says it, and its values."""

    key: str
    values: Mapping[str, Any]

    def __str__(self) -> str:
        return template(self.key).render(self.values)


@functools.cache
def template(key: str) -> Template:
    """Returns a line of sentences.toml."""
    environment = Environment(undefined=StrictUndefined, autoescape=False)
    environment.filters |= {
        "count": counted,
        "list": listed,
        "each": lambda facts, line: listed(template(line).render(fact) for fact in facts),
        "us": time_text,
        "times": lambda ratio: f"{ratio:.2f}",
        "percent": lambda share: f"{PERCENT * share:.3g} %",
        "off": lambda ratio: f"{PERCENT * (ratio - 1):+.3g} %",
    }
    return environment.from_string(tomllib.loads(TEMPLATES.read_text(encoding="utf-8"))[key])


def listed(names: Iterable[object]) -> str:
    """Returns names as a list in a sentence: `a, b and c`."""
    texts = [str(name) for name in names]
    if len(texts) > MOST_NAMED:
        return f"{', '.join(texts[:MOST_NAMED])} and {len(texts) - MOST_NAMED} more"
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def time_text(seconds: float) -> str:
    """Returns a time in us, with its unit."""
    return f"{microseconds(seconds)} us"
