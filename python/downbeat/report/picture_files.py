"""The pictures of a page as files, for papers and slides."""

from __future__ import annotations

from pathlib import Path

from downbeat.durable import replacing, writing
from downbeat.report.page import Page
from downbeat.report.svg import anchor, set_plain
from downbeat.spreadsheet import write_csv

DOTS_PER_INCH = 200


def write_pictures(directory: Path, page: Page) -> None:
    """Writes each picture as PNG and PDF, and its numbers as CSV; makes the directory.

    Raises:
        DownbeatError: a file cannot be written.
    """
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    for section in page.sections:
        for picture in section.pictures:
            name = anchor(picture.name)
            set_plain(picture.figure)
            with replacing(directory / f"{name}.png", binary=True) as file:
                picture.figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
            with replacing(directory / f"{name}.pdf", binary=True) as file:
                # Without the date the same picture is the same file.
                picture.figure.savefig(file, format="pdf", metadata={"CreationDate": None})
            with replacing(directory / f"{name}.csv") as file:
                write_csv(picture.numbers, file)
