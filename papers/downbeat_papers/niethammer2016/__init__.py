"""The figures of Niethammer et al.: Impact of the Entering Time on the Performance of MPI Collective Operations (2016).

The paper draws two machines of Cray, Hornet and Hazel Hen; one machine stands for both here, and the figures of the
second are drawn from the launches of the first. Global times are the smallest of 100 samples (section IV).
"""

from __future__ import annotations

from downbeat_papers.niethammer2016.figures import FIGURES as FIGURES
