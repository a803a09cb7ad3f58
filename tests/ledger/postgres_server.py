"""A PostgreSQL server for the tests: a private cluster in a temporary folder, on a socket there."""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest


def _programs() -> str | None:
    """The folder of initdb and pg_ctl, which Debian keeps off the path."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb")) or [shutil.which("initdb")]
    return os.path.dirname(os.path.realpath(found[-1])) if found[-1] else None


def _user() -> str | None:
    """Whom to run the server as: initdb refuses root. None: as we are."""
    if os.getuid():
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


class Server:
    """A cluster that is started, killed and started again."""

    def __init__(self) -> None:
        programs = _programs()
        if programs is None:
            pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
        if os.geteuid() == 0 and shutil.which("setpriv") is None:
            pytest.skip(
                "initdb refuses root, and setpriv (util-linux), which would change users, is not there"
            )
        pytest.importorskip("psycopg")
        self.programs, self.user = programs, _user()
        self.folder = Path(
            tempfile.mkdtemp(prefix="prepriv-pg-", dir="/tmp")
        )  # a socket's path must be short
        if self.user:
            shutil.chown(self.folder, self.user)
        self._run("initdb", "-D", self.data, "-A", "trust", "-U", "ledger", "-E", "UTF8", "--locale=C", "-N")
        settings = f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nmax_connections = 60\n"
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(settings)
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, name: str = "ledger") -> str:
        return f"postgresql://ledger@/postgres?host={self.folder}&ledger={name}"

    def _run(self, program: str, *arguments: object) -> None:
        command = [f"{self.programs}/{program}", *map(str, arguments)]
        if self.user:
            command = [
                "setpriv",
                f"--reuid={self.user}",
                f"--regid={pwd.getpwnam(self.user).pw_gid}",
                "--clear-groups",
                *command,
            ]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/tmp")
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")

    def start(self) -> None:
        self._run("pg_ctl", "start", "-D", self.data, "-w", "-t", "60", "-s", "-l", self.folder / "log")

    def kill(self) -> None:
        """kill -9 of the server and all its processes, as a power cut would."""
        postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
        own = [postmaster, *_children(postmaster)]
        for pid in own:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while any(_alive(pid) for pid in own):
            time.sleep(0.005)
        for lock in (self.data / "postmaster.pid", self.folder / ".s.PGSQL.5432.lock"):
            lock.unlink(missing_ok=True)  # nobody may have reaped its process yet

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._run("pg_ctl", "stop", "-D", self.data, "-m", "immediate", "-w", "-s")
        shutil.rmtree(self.folder, ignore_errors=True)


def _children(parent: int) -> list[int]:
    out = []
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            fields = Path(stat).read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            out.append(int(stat.split("/")[2]))
    return out


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
