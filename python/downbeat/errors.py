"""The one idiom for what goes wrong: an error is a line that names what is wrong and what would be valid."""

from __future__ import annotations


class DownbeatError(Exception):
    """Something outside failed: a file, a program, the system. Exit status 1."""

    status = 1


class UsageError(DownbeatError):
    """What was asked for cannot be done: an unknown name, a bad value. Exit status 2."""

    status = 2
