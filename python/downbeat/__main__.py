"""Lets the command run as `python -m downbeat`."""

from __future__ import annotations

from downbeat.cli import main

main()
