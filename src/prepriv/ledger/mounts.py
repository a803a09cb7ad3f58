"""Where a ledger file may lie: what the system says of the mount that holds it, and of its names.

SQLite keeps the write-ahead log beside the *name* of a file, and its locks on that log. Two names of one file in two
folders therefore have two logs: each misses the charges of the other, and what one writes back damages what the other
wrote. No setting of SQLite mends that (a rollback journal stands beside the name, too), so a file with a second name
is refused: a hard link, and a file that is mounted by itself, as a container's `-v L.db:/L.db` does. A symbolic link is
followed to the one name. Two mounts of one *folder* hold the same log.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from prepriv.ledger.errors import LedgerUnavailable

# File systems that another machine shares, or the host of a virtual machine: no common memory, unreliable locks.
_SHARED = re.compile(
    r"(fuse\.)?(nfs\d*|cifs|smb\w*|9p|afs|ceph|glusterfs|lustre|beegfs\w*|gpfs|sshfs|davfs2?|s3fs|gcsfuse|rclone"
    r"|virtiofs|vboxsf|vmhgfs(-fuse)?|prl_fs|grpcfuse|osxfs|fakeowner|drvfs|juicefs|moosefs|mfs|goofys|blobfuse\d?"
    r"|mount-s3|gfs2|ocfs2|orangefs|coda|panfs|cvmfs\w*)"
)
_OWN = "/proc/self"


def refuse_unsafe_place(path: Path) -> None:
    """Raise LedgerUnavailable where SQLite's log or its locks cannot be trusted. `path` is absolute, without links."""
    kind = file_system(path)
    if _SHARED.fullmatch(kind):
        raise LedgerUnavailable(
            f"{path.name}: is on a network file system ({kind}), where locks fail; "
            "keep it on a local disk, or on a server (postgresql://...)"
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
    if alone is None:
        raise LedgerUnavailable(
            f"{path.name}: the system does not tell whether this file is mounted by itself: {_OWN} cannot be read; "
            "keep the ledger where it can, or on a server (postgresql://...)"
        )


def mounted_alone(path: Path, own: Path = Path(_OWN)) -> bool | None:
    """Whether the file is a mount point of its own; None where Linux does not tell. own: what it says of this process."""
    if sys.platform != "linux":
        return path.stat().st_dev != path.parent.stat().st_dev
    file, folder = (_mount_id(place, own) for place in (path, path.parent))
    if file is not None and folder is not None:
        return file != folder
    points = _mount_points(own / "mountinfo")
    return None if points is None else any(point == os.fspath(path) for point, _ in points)


def file_system(path: Path, mounts: Path = Path(_OWN) / "mountinfo") -> str:
    """The type of the file system that holds `path` (absolute), "" where the system does not tell."""
    best, found = -1, ""
    for point, kind in _mount_points(mounts) or ():
        if path.is_relative_to(point) and len(point) >= best:  # of two on one point the later covers
            best, found = len(point), kind
    return found


def _mount_points(mounts: Path) -> list[tuple[str, str]] | None:
    """(where, type) of each mount of this process; None where the system does not tell."""
    try:
        lines = os.fsdecode(mounts.read_bytes()).split("\n")  # a name can hold other ends of lines
    except OSError:
        return None
    out = []
    for left, _, right in (line.partition(" - ") for line in lines if line):
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), left.split(" ")[4])
        out.append((point, right.split(" ")[0]))
    return out


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
