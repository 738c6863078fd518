"""Makes dataclasses of what JSON files hold; a value of another type than the class says is an error."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")
# What the types of fields are called in JSON.
NAMES = {str: "a text", int: "a whole number", float: "a number", tuple: "a list", Mapping: "an object"}


def typed(kind: type[T], value: object, name: str = "it") -> T:
    """Returns a value as the type of a field: a dataclass, str, int, float, or a tuple, Mapping or Literal of these.

    Args:
        kind: the type, as `typing.get_type_hints` has it.
        value: as JSON has it: lists for tuples, dictionaries for dataclasses, which may lack fields with defaults.
        name: of the value, for the error.

    Raises:
        ValueError: the value is of another type, or lacks a field, or has an unknown one.
    """
    if dataclasses.is_dataclass(kind):
        return typed_dataclass(kind, value, name)
    origin = typing.get_origin(kind) or kind
    arguments = typing.get_args(kind)
    result: Any = value
    if origin is typing.Literal:
        fits = value in arguments
    elif origin is tuple and isinstance(value, list):
        inner = arguments[0]
        return typing.cast(T, tuple(typed(inner, one, f"{name}[{place}]") for place, one in enumerate(value)))
    elif origin is Mapping and isinstance(value, dict):
        return typing.cast(T, {key: typed(arguments[1], one, f"{name}.{key}") for key, one in value.items()})
    elif origin is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        result = float(value) if fits and isinstance(value, int | float) else value
    else:
        fits = isinstance(origin, type) and isinstance(value, origin) and not isinstance(value, bool)
    if isinstance(value, str):
        value.encode()  # JSON can escape lone surrogates, which nothing could write
    if not fits:
        wanted = NAMES.get(origin, f"one of {', '.join(map(str, arguments))}")
        raise ValueError(f"{name} is not {wanted}")
    return typing.cast(T, result)


def typed_dataclass(kind: type[T], value: object, name: str) -> T:
    """Returns a dataclass made of an object of JSON."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not an object")
    hints = typing.get_type_hints(kind)
    fields = {one.name: one for one in dataclasses.fields(typing.cast(Any, kind))}
    unknown = [one for one in value if one not in fields]
    missing = [
        one.name
        for one in fields.values()
        if one.name not in value and one.default is one.default_factory is dataclasses.MISSING
    ]
    if unknown or missing:
        raise ValueError(f"{name} has {f'an unknown {unknown[0]}' if unknown else f'no {missing[0]}'}")
    return kind(**{one: typed(hints[one], value[one], one) for one in value})
