"""Look at pages in headless Chromium, as people do: narrow, middling and wide, light and dark; complain, keep pictures.

    python docs/screens.py PAGE.html ... [--keep docs/img]

It complains of horizontal scrolling, a message on the console, a request to anywhere but a file, a page above 1 MB and
what axe (axe-core) finds against WCAG 2 A and AA: contrast, headings, alternative texts. Exit code 1 if anything is
found. Needs Chromium (Debian: apt-get install chromium) and `pip install ".[screens]"`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

WIDTHS = (360, 768, 1440)
SCHEMES = ("light", "dark")
LARGEST = 1_000_000  # bytes of a page
MANY = "[id='claim']"  # pages that have it are reports, whose size counts


def look(page: Page, path: Path, keep: Path | None) -> list[str]:
    """What is wrong with one page, in every width and scheme."""
    said: list[str] = []
    page.on("console", lambda m: said.append(f"console: {m.text}") if m.type == "error" else None)
    page.on("pageerror", lambda error: said.append(f"script: {error}"))
    page.on(
        "request",
        lambda r: None if r.url.startswith(("file:", "data:")) else said.append(f"request: {r.url}"),
    )
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(path.resolve().as_uri())
            across = page.evaluate("document.documentElement.scrollWidth")
            if across > width:
                said.append(f"scrolls: {across} px at {width}")
            if keep is not None:
                page.screenshot(path=str(keep / f"{path.stem}-{width}-{scheme}.png"))
        said += [f"{scheme}: {one}" for one in found_by_axe(page)]
    if page.query_selector(MANY) and path.stat().st_size > LARGEST:
        said.append(f"size: {path.stat().st_size} bytes")
    return sorted(set(said))


def found_by_axe(page: Page) -> list[str]:
    """What axe finds, one line each."""
    options: dict[str, Any] = {"runOnly": ["wcag2a", "wcag2aa", "best-practice"]}
    found = Axe().run(page, options=options).response["violations"]
    return [f"axe: {v['id']}: {v['help']}: {v['nodes'][0]['html'][:120]}" for v in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    wrong = 0
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for path in asked.pages:
            page = browser.new_page()
            said = look(page, path, asked.keep)
            page.close()
            wrong += bool(said)
            print(f"{path}: {'; '.join(said) or 'fine'}")
        browser.close()
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
