"""The figures of Hoefler, Schneider, Lumsdaine: Accurately Measuring Collective Operations at Massive Scale (2008)."""

from __future__ import annotations

from downbeat_papers.hoefler2008.figures import FIGURES as FIGURES
