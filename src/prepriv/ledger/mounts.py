"""Where a ledger file may lie: what the system says about the mount that holds it, and of its names.

SQLite keeps the write-ahead log beside the *name* of a file, and its locks on that log. Two names of one file in two
folders therefore have two logs: each misses the charges of the other, and what one writes back damages what the other
wrote. No setting of SQLite fixes that (a rollback journal stands beside the name, too), so a file with a second name
is refused: a hard link, and a file that is mounted by itself, as a container's `-v L.db:/L.db` does. A symbolic link is
followed to the one name. Two mounts of one *folder* hold the same log.

A view of a folder (FUSE, a layer of an overlay) gives a file a second name, too, and so does a folder that another machine
shares. There are more of those than anyone can list: a file system is taken that is known, and any other is refused.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from prepriv.ledger.errors import LedgerUnavailable

# On one machine, with one cache and one set of locks for each file. An overlay is the root of a container, and is one view
# of a file where nobody opens it in a layer: `_layers`. The last line: read only, as in an image.
_TAKEN = (
    *(
        "ext2",
        "ext3",
        "ext4",
        "xfs",
        "btrfs",
        "zfs",
        "f2fs",
        "bcachefs",
        "jfs",
        "nilfs2",
        "ubifs",
        "tmpfs",
        "ramfs",
    ),
    *("apfs", "hfs", "hfsplus", "vfat", "exfat", "ntfs3", "fuseblk", "overlay"),
    *("squashfs", "erofs", "iso9660"),
)
_OWN = Path("/proc/self")


@dataclass(frozen=True)
class Mount:
    """A line of the table of mounts of this process. root: the folder of the file system that stands at `point`.

    options: of the file system, as the table writes them.
    """

    number: str
    parent: str
    device: str
    root: str
    point: str
    kind: str
    options: str


def refuse_unsafe_place(path: Path) -> None:
    """Raise LedgerUnavailable where SQLite's log or its locks cannot be trusted. `path` is absolute, without links."""
    if os.path.realpath(path) != os.fspath(path):  # SQLite follows it, and keeps the log where it leads to
        raise LedgerUnavailable(
            f"{path.name}: a link stands where the ledger or its folder was; open it again"
        )
    kind = file_system(path)
    if kind is not None and kind not in (*_TAKEN, ""):
        raise LedgerUnavailable(
            f"{path.name}: its file system is {kind}: a network file system, a view of another folder, or one that is not known "
            "to keep locks; keep it on a local disk (such as ext4, xfs, btrfs, zfs), or on a server (postgresql://...)"
        )
    if path.stat().st_nlink > 1:
        raise LedgerUnavailable(
            f"{path.name}: has hard links, and charges by one name are not seen by the other; keep one name"
        )
    alone = mounted_alone(path)
    if alone:
        raise LedgerUnavailable(
            f"{path.name}: is mounted by itself, and charges by one name are not seen by the other; "
            "mount the folder that holds it (a container: -v FOLDER:/ledger)"
        )
    if alone is None or kind is None:
        raise LedgerUnavailable(
            f"{path.name}: the system does not tell whether this file is mounted by itself, and of which type its file system "
            f"is: {_OWN} cannot be read; keep the ledger where it can, or on a server (postgresql://...)"
        )
    if in_a_layer(path):
        raise LedgerUnavailable(
            f"{path.name}: lies in a layer of an overlay that is mounted, and charges by one name are not seen by the other; "
            "open it where the overlay is mounted, or keep it in a folder of its own (a container: -v FOLDER:/ledger)"
        )


def mounted_alone(path: Path, own: Path = _OWN) -> bool | None:
    """Whether the file is a mount point of its own; None where Linux does not tell. own: what it says about this process."""
    if sys.platform != "linux":
        return path.stat().st_dev != path.parent.stat().st_dev
    file, folder = (_mount_id(place, own) for place in (path, path.parent))
    if file is not None and folder is not None:
        return file != folder
    mounts = _mounts(own)
    return any(mount.point == os.fspath(path) for mount in mounts) if mounts else None


def file_system(path: Path, own: Path = _OWN) -> str | None:
    """The type of the file system that holds `path` (absolute); "" where no system tells, None where Linux does not."""
    if sys.platform != "linux":
        return ""
    mount = _mount_of(path, _mounts(own), own)
    return None if mount is None else mount.kind


def in_a_layer(path: Path, own: Path = _OWN) -> bool:
    """Whether `path` lies below a folder of which an overlay is made that this process sees, and is not reached by it.

    Of a path that an overlay shows, what lies in its upper layer is asked, too: another overlay can have the same one.
    """
    mounts = _mounts(own)
    mine = _mount_of(path, mounts, own)
    overlays = {m.device: m for m in mounts if m.kind == "overlay" and (not mine or m.device != mine.device)}
    layers = {folder / layer for m in overlays.values() for layer in _layers(m) for folder in path.parents}
    known, shown = (
        {*map(_identity, layers)} - {None},
        [_place(layer, _reached(layer, mounts)) for layer in layers],
    )
    for name, mount in [(path, mine), *((n, _reached(n, mounts)) for n in _below(path, mine))]:
        here = _place(name, mount)
        if not known.isdisjoint(map(_identity, name.parents)) or any(
            _lies_in(here, layer) for layer in shown
        ):
            return True
    return False


def _below(path: Path, mine: Mount | None) -> Iterator[Path]:
    """The names that a path of an overlay has in its upper layer."""
    if mine is not None and mine.kind == "overlay" and (place := _place(path, mine)) is not None:
        for layer in _layers(mine, ("upperdir",)):
            yield from (folder.joinpath(layer, *place[1][1:]) for folder in path.parents)


def _place(path: Path, mount: Mount | None) -> tuple[str, tuple[str, ...]] | None:
    """(device, folders from the root of the file system on): a mount can show a folder of it alone."""
    if mount is None or not path.is_relative_to(mount.point):
        return None
    return mount.device, (PurePosixPath(mount.root) / path.relative_to(mount.point)).parts


def _lies_in(place: tuple[str, tuple[str, ...]] | None, layer: tuple[str, tuple[str, ...]] | None) -> bool:
    if place is None or layer is None or place[0] != layer[0]:
        return False
    return place[1][: len(layer[1])] == layer[1]


def _layers(
    overlay: Mount, which: Sequence[str] = ("upperdir", "lowerdir", "lowerdir+", "datadir+")
) -> Iterator[str]:
    """The folders of which an overlay is made, as they were named when it was mounted: some relative to a folder unknown."""
    for name, _, value in (option.partition("=") for option in overlay.options.split(",")):
        if name in which:
            several = re.split(r"(?<!\\):", _plain(value)) if name == "lowerdir" else [_plain(value)]
            for layer in filter(None, several):  # "::" stands before a layer of data alone
                # a colon and a comma were escaped when it was mounted: some kernels show how
                yield from (layer, re.sub(r"\\(.)", r"\1", layer))


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        found = folder.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _mount_of(path: Path, mounts: Sequence[Mount], own: Path) -> Mount | None:
    number = _mount_id(path, own) if mounts else None
    if number is None:
        return _reached(path, mounts)
    return next((mount for mount in mounts if mount.number == number), None)


def _reached(path: Path, mounts: Sequence[Mount]) -> Mount | None:
    """The mount that holds a path, by the table alone: from the root down, at each folder what is mounted on what is there."""
    here = None
    for folder in (*reversed(path.parents), path):
        while over := [m for m in mounts if m.point == os.fspath(folder) and _is_on(m, here)]:
            here = over[-1]
    return here


def _is_on(mount: Mount, here: Mount | None) -> bool:
    return here is None or (mount is not here and mount.parent == here.number)


def _mounts(own: Path) -> list[Mount]:
    """The mounts that this process sees; none where the system does not tell."""
    try:
        table = os.fsdecode((own / "mountinfo").read_bytes())
    except OSError:
        return []
    lines, out = table.split("\n"), []  # a name can hold other ends of lines
    for left, _, right in (line.partition(" - ") for line in lines if line):
        number, parent, device, root, point, *_ = left.split(" ")
        kind, _, source = right.partition(" ")
        out.append(Mount(number, parent, device, _plain(root), _plain(point), kind, source.partition(" ")[2]))
    return out


def _plain(text: str) -> str:
    """What the table says with codes for spaces and the like."""
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), text)


def _mount_id(path: Path, own: Path) -> str | None:
    """The number of the mount that a path is reached by, None where the system does not tell."""
    # O_PATH: closing any other descriptor of the file would drop the locks that SQLite holds on it
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    try:
        told = (own / "fdinfo" / str(descriptor)).read_text(encoding="ascii")
    except OSError:
        return None
    finally:
        os.close(descriptor)
    found = re.search(r"^mnt_id:\s*(\d+)$", told, re.MULTILINE)
    return found[1] if found else None
