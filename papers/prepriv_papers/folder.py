"""Where a reproduction leaves its numbers and pictures."""

from __future__ import annotations

from pathlib import Path

from prepriv.commands.exits import Stop, reason
from prepriv.commands.outputs import writable_folder

_REPRODUCED = "written by prepriv reproduce.txt"


def reproduction_folder(out: Path) -> Path:
    """A folder for numbers and pictures, made if it is not there. Those in it are replaced only if a reproduction's
    mark is beside them."""
    writable_folder(out)
    there = out.iterdir() if out.is_dir() else ()
    if any(path.suffix in (".csv", ".json", ".png") for path in there) and not (out / _REPRODUCED).is_file():
        raise Stop(f"{out} holds files of no reproduction, which are not overwritten: choose another --out")
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / _REPRODUCED).touch()
    except OSError as error:
        raise Stop(f"cannot write to {out}: {reason(error)}") from None
    return out
