"""The figures of Hunold, Carpen-Amarie: On the Impact of Synchronizing Clocks and Processes on Benchmarking (2015)."""

from __future__ import annotations

from downbeat_papers.hunold2015.figures import FIGURES as FIGURES
