"""Errors: each is one line that names the mistake and what to do instead."""

from __future__ import annotations


class DownbeatError(Exception):
    """A file, a program or the system failed. Exit status 1."""

    status = 1


class UsageError(DownbeatError):
    """A request is not valid: an unknown name, a bad value. Exit status 2."""

    status = 2
