"""A run: one configuration of a figure, launched several times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from downbeat_papers.site import Site


@dataclass(frozen=True)
class Run:
    """One configuration of a figure, launched several times.

    Attributes:
        label: names its directory, its cells in frames, and the run in drawings; unique within the figure.
        library: MPI library, by its name in `downbeat.launchers.libraries`.
        ranks: of each launch.
        operations: of downbeat-bench, or the one word that begins another experiment, as "skew".
        options: of downbeat-bench, as in `Measurement`.
        variables: of the environment, as DOWNBEAT_VALIDATION.
        seconds: what a launch takes, roughly.
        most_launches: more are not worth their time; 0: as many as are asked for.
        ranks_per_node: the most that a node gets; 0: as many as the site says.
    """

    label: str
    library: str
    ranks: int
    operations: tuple[str, ...]
    options: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 1.0
    most_launches: int = 0
    ranks_per_node: int = 0

    def launches(self, site: Site) -> int:
        """Returns how often it is launched at a site."""
        return min(site.launches, self.most_launches or site.launches)

    def per_node(self, site: Site) -> int:
        """Returns the most ranks that a node gets at a site; 0: as the launcher does it."""
        return (self.ranks_per_node or site.ranks_per_node) if site.placed else 0

    def crowded(self, site: Site) -> bool:
        """Whether its ranks share cores."""
        return site.crowded(self.ranks, self.per_node(site))
