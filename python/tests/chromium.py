"""A real browser without a screen, for the tests of pages."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # in a container there may be too little
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
)
TIMEOUT_SECONDS = 600
DARK, LIGHT = 0, 1  # mojom::PreferredColorScheme
# What a page is asked from outside, so that it stays as it is: no script may run in it.
LOOK = r"""<!DOCTYPE html>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<script>
function look(frame) {
  const page = frame.contentDocument;
  const ground = element => {
    const color = getComputedStyle(element).backgroundColor;
    return color == "rgba(0, 0, 0, 0)" ? ground(element.parentElement) : color;
  };
  const box = element => {
    const all = element.getBoundingClientRect();
    return [all.left, all.right, all.width, all.height, all.top];
  };
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify({
    width: page.documentElement.scrollWidth,
    window: frame.contentWindow.innerWidth,
    pictures: [...page.querySelectorAll("figure svg")].filter((svg) => svg.checkVisibility()).map(box),
    fonts: [...page.querySelectorAll("figure svg text")].slice(0, 1).map(text => getComputedStyle(text).fontFamily),
    text: page.body.innerText,
    active: [...page.querySelectorAll("*")].filter(element =>
      /^(script|iframe|object|embed|base|form)$/i.test(element.tagName) ||
      [...element.attributes].some(one => /^on/i.test(one.name) || /^\s*(javascript|vbscript):/i.test(one.value))
    ).map(element => element.outerHTML),
    title: page.title,
    ids: [...page.querySelectorAll("[id]")].map(element => element.id),
    colors: ["body", "a", "th", "figcaption", "summary", ".warnings li", "dt", "footer"].flatMap(name => {
      const element = page.querySelector(name);
      return element ? [[name, getComputedStyle(element).color, ground(element)]] : [];
    }),
    lettering: [...page.querySelectorAll("figure svg text")].filter((text) => text.checkVisibility()).map(box),
  });
  document.body.append(result);
}
</script>
<body style="margin: 0">
<iframe style="width: %dpx; height: %dpx; border: 0" onload="look(this)" srcdoc="%s"></iframe>
"""


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the browser once, with a profile of its own."""
    assert PROGRAM
    command = [PROGRAM, *FLAGS, f"--user-data-dir={directory / 'profile'}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=True)


def look(
    page: Path, directory: Path, width: int, height: int = 800, dark: bool = False, screenshot: Path | None = None
) -> dict[str, Any]:
    """Returns what a browser makes of a page in a window of this size: `LOOK`, and `console`, its complaints.

    With `dark` the browser prefers dark colors. A screenshot, as PNG, is of the window.
    """
    wrapper = directory / "wrapper.html"
    wrapper.write_text(LOOK % (width, height, html.escape(page.read_text(encoding="utf-8"))), encoding="utf-8")
    options = [f"--blink-settings=preferredColorScheme={DARK if dark else LIGHT}"]
    if screenshot:
        options += [f"--screenshot={screenshot}", f"--window-size={width},{height}"]
    done = run(directory, *options, "--dump-dom", "--virtual-time-budget=10000", wrapper.as_uri())
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    seen: dict[str, Any] = json.loads(html.unescape(found[1]))
    return seen | {"console": console}


def print_page(page: Path, directory: Path) -> bytes:
    """Returns the page as it is printed: PDF."""
    target = directory / "page.pdf"
    run(directory, "--no-pdf-header-footer", f"--print-to-pdf={target}", page.as_uri())
    return target.read_bytes()


def pdf_pages(pdf: bytes) -> int:
    """Returns the number of pages."""
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def pdf_text(pdf: bytes) -> str:
    """Returns the text of a PDF that Chromium wrote: what is drawn, by the maps of its fonts, without layout."""
    objects = {
        int(number): body for number, body in re.findall(rb"(?:^|\n)(\d+) 0 obj\s*(.*?)\s*endobj", pdf, re.DOTALL)
    }
    maps = {}
    for number, body in objects.items():
        found = re.search(rb"/ToUnicode (\d+) 0 R", body)
        if found:
            maps[number] = font_map(stream(objects[int(found[1])]))
    named: dict[bytes, dict[int, str]] = {}
    for body in objects.values():
        for name, number in re.findall(rb"/(F\d+) (\d+) 0 R", body):
            named[name] = maps.get(int(number), {})
    text = []
    for body in objects.values():
        content = stream(body) if b"stream" in body else b""
        font: dict[int, str] = {}
        for name, drawn in re.findall(rb"/(F\d+) [\d.]+ Tf|<([0-9A-Fa-f]+)>", content):
            if name:
                font = named.get(name, {})
            else:
                text += [font.get(int(drawn[at : at + 4], 16), "") for at in range(0, len(drawn), 4)]
    return "".join(text)


def stream(body: bytes) -> bytes:
    """Returns what a stream of a PDF holds."""
    content = body.split(b"stream\n", 1)[1].rsplit(b"\nendstream", 1)[0] if b"stream\n" in body else b""
    return zlib.decompress(content) if b"/FlateDecode" in body.split(b"stream", 1)[0] else content


def font_map(content: bytes) -> dict[int, str]:
    """Returns the characters of glyphs."""
    found = {}
    for block in re.findall(rb"beginbfchar(.*?)endbfchar", content, re.DOTALL):
        for glyph, character in re.findall(rb"<(\w+)> <(\w+)>", block):
            found[int(glyph, 16)] = bytes.fromhex(character.decode()).decode("utf-16-be")
    for block in re.findall(rb"beginbfrange(.*?)endbfrange", content, re.DOTALL):
        for first, last, character in re.findall(rb"<(\w+)> <(\w+)> <(\w+)>", block):
            for offset in range(int(last, 16) - int(first, 16) + 1):
                found[int(first, 16) + offset] = chr(int(character, 16) + offset)
    return found
