"""Checks of the machine before a measurement: a file for each, and the list of them."""

from __future__ import annotations

from downbeat.doctor.machine import Finding as Finding
from downbeat.doctor.registry import examine as examine
