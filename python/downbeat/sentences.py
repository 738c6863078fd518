"""Sentences with numbers: a fact is a key and its values, the sentence a line of sentences.toml."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from downbeat.output.facts import Fact
from downbeat.output.words import long
from downbeat.text import PERCENT, counted, listed, time_text

TEMPLATES = Path(__file__).with_name("sentences.toml")


@dataclass(frozen=True)
class Sentence(Fact):
    """A fact: which line of sentences.toml says it, and its values."""

    key: str
    values: Mapping[str, Any]

    def __str__(self) -> str:
        return template(self.key).render(self.values)


@long.register
def _(fact: Sentence) -> str:
    return str(fact)


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
