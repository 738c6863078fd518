"""A picture as SVG for a page with other pictures: screen readers read it, and it takes the page's font."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree

import matplotlib
from markupsafe import Markup
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

from downbeat.pictures.picture import Picture
from downbeat.text import printable

SVG = "http://www.w3.org/2000/svg"
LINK = "http://www.w3.org/1999/xlink"
# How matplotlib itself writes powers of ten beside an axis.
MATHEMATICS = "$\\mathdefault{"
METADATA = f"{{{SVG}}}metadata"


def anchor(text: str) -> str:
    """Returns a name for a place on a page: letters, digits and dashes of a text."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def picture_svg(picture: Picture) -> Markup:
    """Returns a picture as an element `svg`: text stays text, no identifier occurs in another picture.

    The same picture gives the same text, so that a report of the same data is the same file.
    """
    set_plain(picture.figure)
    file = io.BytesIO()
    name = anchor(picture.name)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        # Not by `savefig`, which draws everything once more, only to lay it out.
        FigureCanvasSVG(picture.figure).print_svg(file, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", LINK)
    root = ElementTree.fromstring(printable(file.getvalue().decode()))
    for child in root.findall(METADATA):
        root.remove(child)
    for element in root.iter():
        for attribute, value in element.attrib.items():
            element.set(attribute, with_prefix(attribute, value, name))
    # The page decides on the size, by the box that the picture was drawn in.
    del root.attrib["width"], root.attrib["height"]
    title, description = f"{name}.title", f"{name}.caption"
    root.attrib |= {"role": "img", "aria-labelledby": title, "aria-describedby": description}
    texts = (("title", title, picture.title), ("desc", description, picture.caption))
    for position, (tag, identifier, text) in enumerate(texts):
        element = ElementTree.Element(f"{{{SVG}}}{tag}", {"id": identifier})
        element.text = printable(text)
        root.insert(position, element)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def set_plain(figure: Figure) -> None:
    """Makes the texts of a figure plain: a `$` in a name begins no formula."""
    for text in figure.findobj(Text):
        if not text.get_text().startswith(MATHEMATICS):
            text.set_parse_math(False)


def with_prefix(attribute: str, value: str, prefix: str) -> str:
    """Returns an attribute's value with identifiers, and references to them, made those of one picture."""
    if attribute == "id":
        return f"{prefix}.{value}"
    if attribute in ("href", f"{{{LINK}}}href"):
        return re.sub("^#", f"#{prefix}.", value)
    return value.replace("url(#", f"url(#{prefix}.")
