"""Names for places on a page."""

from __future__ import annotations

import re


def anchor(text: str) -> str:
    """Returns a name for what is called so: letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
