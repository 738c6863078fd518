"""The pictures of a page as files, for papers and slides."""

from __future__ import annotations

from pathlib import Path

from downbeat.errors import DownbeatError
from downbeat.report.page import Page
from downbeat.report.svg import anchor, set_plain
from downbeat.spreadsheet import write_csv

DOTS_PER_INCH = 200


def write_pictures(directory: Path, page: Page) -> None:
    """Writes each picture as PNG and PDF, and its numbers as CSV; makes the directory.

    Raises:
        DownbeatError: a file cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for section in page.sections:
            for picture in section.pictures:
                name = anchor(picture.name)
                set_plain(picture.figure)
                picture.figure.savefig(directory / f"{name}.png", dpi=DOTS_PER_INCH)
                # Without the date the same picture is the same file.
                picture.figure.savefig(directory / f"{name}.pdf", metadata={"CreationDate": None})
                write_csv(picture.numbers, directory / f"{name}.csv")
    except OSError as error:
        raise DownbeatError(f"cannot write pictures to '{directory}': {error.strerror}") from error
