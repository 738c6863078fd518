"""Notes on how far this machine can show figures that were measured on the paper's, Hawk."""

from __future__ import annotations

from collections.abc import Callable

from downbeat_papers.site import Site


def full_node(what: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        same = "; on 2 ranks most algorithms are the same one message" if site.node == 2 else ""
        place = "on one node" if site.one_machine or site.placed else site.place
        return f"{site.node} ranks of 128 {place}: {what}{same}"

    return shows


def many_nodes(what: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        if site.one_machine:
            return f"{site.worth(site.most)}; no network, 1 node of 128: {what}"
        return f"{site.worth(site.most)} of 128"

    return shows


def counts_of(what: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        place = f"on 1 node of 128, {site.cores} cores" if site.one_machine else site.place
        return f"{', '.join(map(str, site.counts))} ranks of 16384 {place}: {what}"

    return shows
