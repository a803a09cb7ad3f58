"""Two names of one file are two logs: a ledger mounted by itself, or replaced in use, grants nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prepriv.ledger import Ledger, LedgerUnavailable, mounts, sql_rows

CHARGE_BY_BOTH_NAMES = """
import sys
from prepriv.ledger import Ledger, LedgerError
granted, refused = 0, set()
for turn in range(12):
    for place in sys.argv[1:]:
        try:
            Ledger.open(place).charge(f"{turn}-{place[-6]}", "5e" * 32, adjacency="replace-one", epsilon=0.1, delta=0)
            granted += 1
        except LedgerError as error:
            refused.add(f"{place}: {error}")
print(granted, len(Ledger.open(sys.argv[1]).entries()), *refused, sep="\\n")
"""


def in_private_mounts(script, *arguments):
    """What a script says that may mount; skips where nobody may."""
    unshare = shutil.which("unshare")
    if unshare is None or sys.platform != "linux":
        pytest.skip("needs unshare")
    command = [unshare, "-rm", "sh", "-c", script, "sh", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("needs a private mount")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("through", ["b/l.db", "link.db"])
def test_a_file_that_is_mounted_by_itself_is_refused_and_the_other_name_keeps_the_cap(tmp_path, through):
    """As a container's -v L.db:/L.db: by both names, 0.2.0 granted nearly twice the cap, and the file was corrupt."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "b/l.db").touch()
    (tmp_path / "link.db").symlink_to("b/l.db")
    Ledger.create(tmp_path / "a/l.db", "census", epsilon=0.5, delta=0)
    mount = 'mount --bind "$1" "$2" || exit 77; shift 2; exec "$@"'
    said = in_private_mounts(
        mount,
        tmp_path / "a/l.db",
        tmp_path / "b/l.db",
        sys.executable,
        "-c",
        CHARGE_BY_BOTH_NAMES,
        tmp_path / "a/l.db",
        tmp_path / through,
    )
    granted, booked, *refused = said.splitlines()
    assert granted == booked == "5"
    assert all("is left" in line or "mount the folder that holds it" in line for line in refused)
    assert sum("mount the folder that holds it" in line for line in refused) == 1


def test_a_folder_that_is_mounted_twice_is_one_ledger(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    Ledger.create(tmp_path / "a/l.db", "census", epsilon=0.5, delta=0)
    mount = 'mount --bind "$1" "$2" || exit 77; shift 2; exec "$@"'
    code = [sys.executable, "-c", CHARGE_BY_BOTH_NAMES, tmp_path / "a/l.db", tmp_path / "b/l.db"]
    said = in_private_mounts(mount, tmp_path / "a", tmp_path / "b", *code)
    granted, booked, *refused = said.splitlines()
    assert granted == booked == "5" and all("is left" in line for line in refused)


def test_a_second_name_stops_a_ledger_that_is_open(tmp_path, ledger, pay):
    os.link(ledger.path, tmp_path / "second.db")
    for action in (lambda: pay(ledger, "x"), ledger.remaining, ledger.entries):
        with pytest.raises(LedgerUnavailable, match="keep one name"):
            action()
    (tmp_path / "second.db").unlink()
    assert pay(ledger, "x").sequence == 5


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_where_linux_does_not_tell_the_table_of_mounts_does_or_nothing_is_granted(
    tmp_path, ledger, pay, monkeypatch
):
    assert mounts.mounted_alone(ledger.path) is False
    assert mounts.mounted_alone(ledger.path, tmp_path / "none") is None
    line = "7 1 0:40 / {} rw - ext4 /dev/sda1 rw\n"
    for odd in ("l.db", "l\u2028\x0b.db", "\udcff.db"):  # ends of lines for some, and no UTF-8
        path = tmp_path / odd
        path.touch()
        (tmp_path / "mountinfo").write_bytes(os.fsencode(line.format("/") + line.format(path)))
        assert mounts.mounted_alone(path, tmp_path) is True
        assert mounts.mounted_alone(ledger.path, tmp_path) is False
    monkeypatch.setattr(mounts, "mounted_alone", lambda path: None)
    with pytest.raises(LedgerUnavailable, match="does not tell whether"):
        pay(ledger, "x")


def _locked_by_others(path):
    """Whether another process holds the lock by which SQLite knows that a connection is open."""
    import fcntl

    with path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
        except OSError:
            return True
    return False


def test_looking_at_the_mount_keeps_the_locks_of_the_file(ledger, in_child):
    """Closing a descriptor of a file drops what the process has locked in it, unless it was opened as a path alone.

    Another process would then take itself for the last, and delete the log.
    """
    with ledger._store.transaction(write=True):
        mounts.mounted_alone(ledger.path)
        assert in_child(lambda: _locked_by_others(ledger.path))
    assert not in_child(lambda: _locked_by_others(ledger.path))


SHARED = [
    "virtiofs",
    "vboxsf",
    "fuse.grpcfuse",
    "fakeowner",
    "fuse.JuiceFS",
    "gfs2",
    "wekafs",
    "pvfs2",
    "acfs",
]
VIEWS = ["fuse", "fuse.bindfs", "fuse.fuse-overlayfs", "fuse.prl_fsd", "ecryptfs", "aufs", "of tomorrow"]


@pytest.mark.parametrize("kind", SHARED + VIEWS)
def test_a_file_system_that_is_not_known_to_be_of_one_machine_and_one_name_is_refused(
    ledger, pay, monkeypatch, kind
):
    monkeypatch.setattr(mounts, "file_system", lambda path: kind)
    with pytest.raises(LedgerUnavailable, match=f"is {kind}: a network .*local disk"):
        pay(ledger, "x")


def test_a_file_system_that_linux_does_not_tell_is_refused(ledger, pay, monkeypatch):
    monkeypatch.setattr(mounts, "file_system", lambda path: None)
    with pytest.raises(LedgerUnavailable, match="type its file system is"):
        pay(ledger, "x")


def test_the_file_system_is_that_of_the_mount_that_holds_the_file_and_not_of_one_that_is_covered(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    script = """mount -t tmpfs t "$1/a/b" && mount -t ramfs t "$1/a" || exit 77
mkdir -p "$1/a/b" "$1/own"; touch "$1/a/b/l.db"; cp /proc/self/mountinfo "$1/own"; shift; exec "$@" """
    code = """if True:
        import sys; from pathlib import Path; from prepriv.ledger import mounts
        base = Path(sys.argv[1])
        print(mounts.file_system(base / "a/b/l.db"), mounts.file_system(base / "a/b/l.db", base / "own"))"""
    assert in_private_mounts(script, tmp_path, sys.executable, "-c", code, tmp_path).split() == ["ramfs"] * 2


OVERLAY = """mount -t tmpfs t "$1" && cd "$1" && mkdir lower "up,:per" work merged "new lower" || exit 77
mount -t overlay o -o "lowerdir=lower:new lower,upperdir=up\\,:per,workdir=work" merged || exit 77
shift; exec "$@" """


@pytest.mark.parametrize("layer", ["up,:per", "lower", "new lower"])
def test_an_overlay_is_one_name_and_a_layer_of_it_is_refused(tmp_path, layer):
    """As the root of a container, and the folder of the host that it is made of: 15 of 10 charges were granted."""
    code = f"""if True:
        import sys; from pathlib import Path; from prepriv.ledger import Ledger, LedgerUnavailable
        base = Path(sys.argv[1]); name = Path({layer!r}) / "l.db"
        try:
            Ledger.create(base / name, "census", epsilon=0.5, delta=0)
        except LedgerUnavailable as error:
            print("create:", error)
        Ledger.create(base / "merged/l.db", "census", epsilon=0.5, delta=0)
        if not (base / name).exists():
            (base / name).write_bytes((base / "merged/l.db").read_bytes())
        sys.argv = ["", str(base / "merged/l.db"), str(base / name)]
    """
    run = [sys.executable, "-c", code + "\n" + CHARGE_BY_BOTH_NAMES, tmp_path]
    created, granted, booked, *refused = in_private_mounts(OVERLAY, tmp_path, *run).splitlines()
    assert "lies in a layer of an overlay" in created
    assert granted == booked == "5"
    assert sorted("in a layer of an overlay" in line for line in refused) == [False, True]


@pytest.mark.parametrize("put_back", [True, False])
def test_a_file_replaced_while_a_charge_is_written_grants_nothing(
    tmp_path, ledger, pay, monkeypatch, put_back
):
    """The charge went into a file that has no name any more."""
    copy, written = tmp_path / "copy.db", sql_rows.append
    shutil.copy(ledger.path, copy)

    def replaced(db, entry):
        written(db, entry)
        if put_back:
            os.replace(copy, ledger.path)
        else:
            Path(ledger.path).unlink()

    monkeypatch.setattr(sql_rows, "append", replaced)
    with pytest.raises(LedgerUnavailable, match="replaced while in use; nothing"):
        pay(ledger, "x")


TWO_NAMES = """if True:
    import sys; from pathlib import Path; from prepriv.ledger import Ledger, LedgerUnavailable
    base, *names = Path(sys.argv[1]), *sys.argv[2:]
    for name in names:
        try:
            Ledger.create(base / name, "census", epsilon=0.5, delta=0)
            print("made")
        except LedgerUnavailable as error:
            print(error)"""


@pytest.mark.parametrize(
    ("more", "names", "refused"),
    [
        (
            'mkdir -p "up,:per/sub" view && mount --bind "up,:per/sub" view',
            ["view/l.db", "merged/sub/m.db"],
            1,
        ),
        (
            'mkdir work2 m2 && mount -t overlay o -o "lowerdir=lower,upperdir=up\\,:per,workdir=work2" m2',
            ["merged/l.db", "m2/m.db"],
            2,
        ),
    ],
    ids=["a folder of the layer, mounted elsewhere", "two overlays with one upper layer"],
)
def test_a_layer_is_known_by_its_place_in_the_file_system(tmp_path, more, names, refused):
    """13 to 15 of 10 charges were granted: a path has no folder of the layer among its parents."""
    script = OVERLAY.replace('shift; exec "$@"', more + ' || exit 77\nshift; exec "$@"')
    said = in_private_mounts(script, tmp_path, sys.executable, "-c", TWO_NAMES, tmp_path, *names).splitlines()
    assert ["in a layer of an overlay" in line for line in said] == [True] * refused + [False] * (2 - refused)


def test_a_layer_of_data_alone_makes_no_other_folder_a_layer(tmp_path):
    """mountinfo says lowerdir=A::B of it, and the empty name between the colons was every folder."""
    overlay = "40 30 0:40 / {point} ro - overlay o ro,lowerdir={base}/lower::{base}/data\n"
    for name in ("lower", "data", "home"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "l.db").touch()
    (tmp_path / "mountinfo").write_text(
        "30 1 0:30 / / rw - ext4 /dev/sda1 rw\n" + overlay.format(point=tmp_path / "merged", base=tmp_path)
    )
    found = {
        name: mounts.in_a_layer(tmp_path / name / "l.db", tmp_path) for name in ("lower", "data", "home")
    }
    assert found == {"lower": True, "data": True, "home": False}


def test_a_link_left_where_an_open_ledger_was_stops_it(tmp_path, pay):
    """SQLite follows it, and the place that was looked at was that of the link."""
    folder = tmp_path / "here"
    folder.mkdir()
    ledger = Ledger.create(folder / "l.db", "census", epsilon=1, delta=1e-5)
    for left in (folder / "l.db", folder):
        moved = tmp_path / f"{left.name} moved"
        os.rename(left, moved)
        os.symlink(moved, left)
        with pytest.raises(LedgerUnavailable, match="link stands where the ledger"):
            pay(ledger, "x")
        left.unlink()
        os.rename(moved, left)
    assert pay(ledger, "x").sequence == 1


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_a_ledger_is_not_called_as_a_log_of_another(tmp_path, ledger, ending):
    """A look at the other one took it for its log, and took it away."""
    with pytest.raises(ValueError, match="choose another name"):
        Ledger.create(f"{ledger.path}{ending}", "census", epsilon=0.5, delta=0)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="becomes another user")
def test_a_look_by_a_user_who_cannot_write_the_file_leaves_nothing_beside_it(in_child):
    import tempfile

    with tempfile.TemporaryDirectory() as name:  # not below a folder that only root can enter
        folder = Path(name)
        folder.chmod(0o777)
        path = folder / "l.db"
        Ledger.create(path, "census", epsilon=0.5, delta=0)
        path.chmod(0o644)

        def look():
            os.setuid(65534)
            return len(Ledger.open(path).entries())

        assert in_child(look) == 0
        assert [file.name for file in folder.iterdir()] == ["l.db"]
