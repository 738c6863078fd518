"""The documentation as a site: make docs builds it into build/docs. It works offline, from file://, search included.

Sphinx reads the whole repository, so that links from pages to headers, examples and the README work on the site as they
do in the repository. A broken link is an error (sphinx-build -W).
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

FRONT = "docs/index"
# The side bar; docs/index.md says the same in words.
SECTIONS = {
    "Start": {
        "Quick start": "quick-start",
        "Installation": "install",
        "Coming from OSU or IMB": "coming-from-osu",
        "Results of other tools": "other-tools",
        "downbeat-bench": "downbeat-bench",
        "Experiments": "experiments",
        "Report": "report",
        "Is this machine fit to measure?": "doctor",
        "Troubleshooting": "troubleshooting",
    },
    "Guides": {
        "Comparison": "compare",
        "Regressions, gates for CI": "ci",
        "Tuning": "tuning",
        "Algorithms of the MPI library": "algorithms",
        "Arrival patterns": "arrival-patterns",
        "Unmodified programs": "unmodified-programs",
        "Arrivals": "arrivals",
        "Traces and stamps on one axis": "align",
        "The slow node or link": "locate",
        "Fortran, Python, Julia, Rust": "languages",
        "On a cluster": "clusters",
        "A cluster on one machine": "simulation",
        "Clock experiments, exit skew": "clock-experiments",
        "Figures of the papers": "reproduce",
    },
    "Reference": {
        "The numbers and files": "data",
        "Operations": "operations",
        "README": "/README",
        "Changes": "/CHANGELOG",
        "Contributing": "/CONTRIBUTING",
        "Conformance of an MPIX_Harmonize": "/conformance/README",
    },
    "Background": {
        "MPIX_Harmonize": "harmonize",
        "Clocks": "clocks",
        "Statistics": "statistics",
        "Reliability": "reliability",
        "A text for the MPI Forum": "forum",
        "Internals": "internals",
    },
    "Measured": {
        "Statistics": "measured/statistics",
        "Clocks": "measured/clocks",
        "Common starts": "measured/starts",
        "Alignment": "measured/align",
        "Reliability": "measured/reliability",
        "Benchmarks and traces": "measured/benchmarks",
        "Published archives": "measured/archives",
    },
}

project = "Downbeat"
copyright = "Downbeat developers"  # noqa: A001, Sphinx calls it so
root_doc = FRONT
include_patterns = ["docs/*.md", "docs/measured/*.md", "*.md", "conformance/README.md"]
exclude_patterns = [".*", "build", "python", "bench", "tests", "tools", "lib"]

extensions = ["myst_parser"]
myst_heading_anchors = 4  # as GitHub makes them
nitpicky = True

html_theme = "furo"
html_title = "Downbeat"
html_static_path = ["site"]
html_css_files = ["wide.css"]
html_show_sphinx = False
html_copy_source = False
html_show_search_summary = False  # a browser does not let a page from file:// fetch others
highlight_language = "none"  # of blocks that name no language: output
pygments_style = "friendly"
pygments_dark_style = "monokai"


def add_side_bar(_: Sphinx, name: str, source: list[str]) -> None:
    """Adds the tables of contents to the front page; readers of the repository do not need them."""
    if name == FRONT:
        for caption, pages in SECTIONS.items():
            listed = "\n".join(f"{title} <{page}>" for title, page in pages.items())
            source[0] += f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n"


def lead_to_front(app: Sphinx, failure: Exception | None) -> None:
    """Writes index.html, where people look for it."""
    if failure is None:
        page = f'<!DOCTYPE html>\n<meta charset="utf-8">\n<meta http-equiv="refresh" content="0; url={FRONT}.html">\n'
        (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_side_bar)
    app.connect("build-finished", lead_to_front)
