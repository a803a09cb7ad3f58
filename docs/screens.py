"""Look at pages in headless Chromium, as people do: narrow, middling and wide, light and dark; complain, keep pictures.

    python docs/screens.py PAGE.html ... [--keep docs/img]     # pages below the current folder

It complains about horizontal scrolling (on paper: text that is cut off), a message on the console, a request to
anywhere else, a report above 1 MB, and what axe (axe-core) finds against WCAG 2 A and AA in the narrowest and the
widest window: contrast, headings, alternative texts. Exit code 1 if anything is found. Needs Chromium (Debian: apt-get install chromium) and `pip install ".[screens]"`.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

WIDTHS = (360, 768, 1440)
SCHEMES = ("light", "dark")
PAPER = 687  # pixels across A4 without its margins
LARGEST = 1_000_000  # bytes of a page
_CUT = "[...document.querySelectorAll('pre, td, th, p, li, svg')].filter(e => e.offsetParent !== null && (e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth + 1) && getComputedStyle(e).display !== 'inline').map(e => e.tagName + ' ' + e.textContent.trim().slice(0, 40))"
_WHOLE = "Math.max(500, ...[...document.querySelectorAll('h2')].map(e => e.getBoundingClientRect().top - 16).filter(y => y <= 900))"
REPORT = "[id='claim']"  # of which the size counts


def look(page: Page, path: Path, address: str, keep: Path | None) -> list[str]:
    """What is wrong with one page, in every width and scheme."""
    said: list[str] = []
    page.on("console", lambda m: said.append(f"console: {m.text}") if bad(m) else None)
    page.on("pageerror", lambda error: said.append(f"script: {error}"))
    page.on(
        "request",
        lambda r: None if r.url.startswith((address, "data:")) else said.append(f"request: {r.url}"),
    )
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        page.goto(f"{address}{path}")  # as a phone loads it; then it is turned and widened
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            across = page.evaluate("document.documentElement.scrollWidth")
            if across > width:
                said.append(f"scrolls: {across} px at {width}")
            if keep is not None:
                page.screenshot(path=str(keep / f"{path.stem}-{width}-{scheme}.png"), clip=shown(page, width))
            if width in (WIDTHS[0], WIDTHS[-1]):
                said += [f"{scheme}, {width}: {one}" for one in found_by_axe(page)]
    page.emulate_media(media="print", color_scheme="light")
    page.set_viewport_size({"width": PAPER, "height": 900})
    said += [f"cut on paper: {one}" for one in page.evaluate(_CUT)]
    page.emulate_media(media="screen")
    if page.query_selector(REPORT) and path.stat().st_size > LARGEST:
        said.append(f"size: {path.stat().st_size} bytes")
    return sorted(set(said))


def shown(page: Page, width: int) -> Any:
    """The part to keep: what a window shows at first; of a report no half of a section."""
    height = page.evaluate(_WHOLE) if page.query_selector(REPORT) else 900
    return {"x": 0, "y": 0, "width": width, "height": height}


def bad(message: Any) -> bool:
    """Whether it is an error of the page; browsers ask for an icon that none has to have."""
    return message.type == "error" and not message.location["url"].endswith("favicon.ico")


def found_by_axe(page: Page) -> list[str]:
    """What axe finds, one line each."""
    options: dict[str, Any] = {
        "preload": False,  # it would look for style sheets in wrong folders
        "runOnly": ["wcag2a", "wcag2aa", "best-practice"],
        "rules": {
            "empty-table-header": {"enabled": False}
        },  # a table of two lists has no name for its corner
    }
    found = Axe().run(page, options=options).response["violations"]
    return [f"axe: {v['id']}: {v['help']}: {v['nodes'][0]['html'][:120]}" for v in found]


class Silent(http.server.SimpleHTTPRequestHandler):
    """Says nothing about what it serves."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    wrong = 0
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Silent, directory=os.getcwd())
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for path in asked.pages:
            page = browser.new_page()
            said = look(page, path, address, asked.keep)
            page.close()
            wrong += bool(said)
            print(f"{path}: {'; '.join(said) or 'fine'}")
        browser.close()
    server.shutdown()
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
