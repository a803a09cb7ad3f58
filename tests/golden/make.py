"""The golden file: hashes of what seeded configurations release (plans, models, reports, exit codes), before and now.

`golden.json` holds one hash for each part of each configuration, made from the commit that it names. Where a part changed
since, it holds the old hash, the new one, and `meant`: the change of CHANGELOG.md that meant it. `test_golden.py` compares.

A change of yours turned a hash:

    python tests/golden/make.py --texts now                          # what is hashed, one file for each configuration
    git worktree add OLD COMMIT                                       # the version before, or the commit of the file
    PYTHONPATH=OLD/src python tests/golden/make.py --texts before     # this script runs on both; then: diff -r before now
    python tests/golden/make.py                                       # enters the new hashes; write `meant` where it is empty

If no change explains the difference, fix the code, not the file. To rebuild the whole file from a later version:

    PYTHONPATH=OLD/src python tests/golden/make.py --from COMMIT

Hashed is what is the same on every machine: numbers to eight digits (another scipy or BLAS turns the last of sixteen), no
version, no time, and no hash of what is hashed here by itself.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from configurations import CONFIGURATIONS, release

FILE = Path(__file__).with_name("golden.json")
_PACKED = {"float64", "shape"}
_DIGEST = re.compile(r"[0-9a-f]{64}")

Hashes = dict[str, str]
Entry = str | dict[str, str | None]


def text_of(part: Any) -> str:
    """What is hashed of a part."""
    return json.dumps(_rounded(part), sort_keys=True, indent=1) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        if set(value) == _PACKED:
            return _rounded(np.frombuffer(base64.b64decode(value["float64"])).tolist())
        return {str(name): _rounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    if isinstance(value, float):
        return f"{value + 0.0:.8g}"  # and no -0
    return "(hash)" if isinstance(value, str) and _DIGEST.fullmatch(value) else value


def hashes_of(name: str) -> Hashes:
    """The hash of each part that a configuration releases."""
    return {
        part: hashlib.sha256(text_of(made).encode()).hexdigest()[:16] for part, made in release(name).items()
    }


def read() -> dict[str, Any]:
    """The golden file."""
    data: dict[str, Any] = json.loads(FILE.read_text())
    return data


def wanted(entries: Mapping[str, Entry], which: str = "new") -> Hashes:
    """The hashes that a configuration should have now, or had ("old")."""
    said = {part: e if isinstance(e, str) else e[which] for part, e in entries.items()}
    return {part: h for part, h in said.items() if h is not None}


def compared(entries: Mapping[str, Entry], now: Hashes) -> dict[str, Entry]:
    """The entries of a configuration whose hashes are these now; `meant` stays as long as the new hash does."""
    old, out = wanted(entries, "old"), dict[str, Entry]()
    for part in sorted({*old, *now}):
        before, after, entry = old.get(part), now.get(part), entries.get(part)
        if before == after and after is not None:
            out[part] = after
        else:
            same = isinstance(entry, dict) and entry["new"] == after
            out[part] = {"old": before, "new": after, "meant": entry["meant"] if same else ""}
    return out


def main(arguments: list[str] | None = None) -> int:
    """Enter the hashes of this version; 1 where no word says which change meant one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--from", dest="commit", help="rebuild the whole file: the commit that is on the path"
    )
    parser.add_argument("--texts", type=Path, help="write what is hashed into this folder, and nothing else")
    asked = parser.parse_args(arguments)
    if asked.texts:
        asked.texts.mkdir(parents=True, exist_ok=True)
        for name in CONFIGURATIONS:
            text = "".join(f"# {part}\n{text_of(made)}" for part, made in release(name).items())
            (asked.texts / f"{name}.txt").write_text(text)
        return 0
    now = {name: hashes_of(name) for name in CONFIGURATIONS}
    if asked.commit:
        data = {"made from": asked.commit, "configurations": now}
    else:
        data = read()
        listed = data["configurations"]
        data["configurations"] = {name: compared(listed.get(name, {}), now[name]) for name in now}
    FILE.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    changed = {
        (n, p): e for n, es in data["configurations"].items() for p, e in es.items() if isinstance(e, dict)
    }
    for name, part in (at for at, entry in changed.items() if not entry["meant"]):
        print(f"{name}, {part}: changed, and no change of the CHANGELOG is named")
    return int(any(not entry["meant"] for entry in changed.values()))


if __name__ == "__main__":
    sys.exit(main())
