"""Ask every outside link of README and docs, and list those that are dead: python docs/outside_links.py [FILE.md ...].

Needs a network, so it is not part of the tests. Exit code 1 if a link is dead. A site that refuses programs (403, 429) is listed
apart: look at it yourself.
"""

from __future__ import annotations

import re
import sys
import urllib.error
import urllib.request
from pathlib import Path

LINK = re.compile(r"https?://[^\s)>\"'`\]|]+")
REFUSED = (401, 403, 405, 406, 429)


def asked(address: str) -> str:
    """What is wrong with it; nothing: ""."""
    request = urllib.request.Request(address, headers={"User-Agent": "Mozilla/5.0 (link check)"})
    try:
        with urllib.request.urlopen(request, timeout=20):
            return ""
    except urllib.error.HTTPError as error:
        return f"refused ({error.code})" if error.code in REFUSED else f"dead ({error.code})"
    except (OSError, ValueError) as error:
        return f"dead ({error})"


def main() -> int:
    pages = [Path(p) for p in sys.argv[1:]] or [Path("README.md"), *sorted(Path("docs").rglob("*.md"))]
    where: dict[str, list[str]] = {}
    for page in pages:
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            where.setdefault(link.rstrip(".,;:"), []).append(str(page))
    wrong = 0
    for link, found in sorted(where.items()):
        if told := asked(link):
            wrong += told.startswith("dead")
            print(f"{told}: {link} ({', '.join(sorted(set(found)))})")
    print(f"{len(where)} links, {wrong} dead")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
