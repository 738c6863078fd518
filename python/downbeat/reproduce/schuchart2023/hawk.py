"""Notes on how far this machine can show figures that were measured on the paper's, Hawk."""

from __future__ import annotations

from collections.abc import Callable

from downbeat.reproduce.site import Site


def full_node(what: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        same = "; on 2 ranks most algorithms are the same one message" if site.node == 2 else ""
        return f"{site.node} ranks of 128 on one node: {what}{same}"

    return shows


def many_nodes(what: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        nodes = "" if site.launcher else "; no network, 1 node of 128"
        return f"{site.worth(site.most)}{nodes}: {what}"

    return shows


def counts_of(what: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        nodes = "" if site.launcher else "on 1 node of 128, "
        place = site.place if site.launcher else f"{site.cores} cores"
        return f"{', '.join(map(str, site.counts))} ranks of 16384 {nodes}{place}: {what}"

    return shows
