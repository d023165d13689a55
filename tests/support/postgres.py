"""A PostgreSQL server of a test's own: on loopback, on a free port, in a temporary directory.

It can be stopped and started again, and made to hang, while something is connected to it.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

PLACES = ("/usr/lib/postgresql", "/opt/homebrew/opt")
OWNER = "postgres"
SECONDS_MAX = 60
HBA = """
host all postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
"""
QUIET = {
    "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off",
    "autovacuum": "off", "max_connections": "20", "shared_buffers": "16MB",
    "logging_collector": "off",
}  # fmt: skip


def programs() -> Path | None:
    """Give where PostgreSQL's programs are; the newest version's."""
    found = [
        path.parent
        for place in PLACES
        for path in sorted(Path(place).glob("*/bin/initdb"), key=_version)
    ]
    return found[-1] if found else None


def missing() -> str | None:
    """Say why no server can be started here, if so."""
    if programs() is None:
        return "there is no PostgreSQL here (Debian: apt-get install postgresql)"
    if os.geteuid() == 0 and _owner() is None:
        return "PostgreSQL does not run as root, and there is no user postgres"
    return None


def _version(path: Path) -> tuple[int, ...]:
    digits = "".join(sign if sign.isdigit() else " " for sign in path.parts[-3])
    return tuple(map(int, digits.split()))


def _owner() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(OWNER)
    except KeyError:
        return None


class Server:
    """One server; `url()` is where it is."""

    def __init__(self) -> None:
        found = programs()
        assert found is not None
        self._bin = found
        self._owner = _owner() if os.geteuid() == 0 else None
        self.home = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
        self._data = self.home / "data"
        if self._owner is not None:
            os.chown(self.home, self._owner.pw_uid, self._owner.pw_gid)
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._run("initdb", "-D", str(self._data), "-U", OWNER, "--no-sync", "-E", "UTF8",
                  "--locale=C")  # fmt: skip
        (self._data / "pg_hba.conf").write_text(HBA)

    def _as_owner(self) -> dict[str, Any]:
        if self._owner is None:
            return {}
        return {"user": self._owner.pw_uid, "group": self._owner.pw_gid, "extra_groups": []}

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._bin / program), *arguments], check=True, capture_output=True,
            cwd=self.home, timeout=SECONDS_MAX, **self._as_owner(),
        )  # fmt: skip

    def url(self, user: str = OWNER, password: str = "", database: str = "postgres") -> str:
        """Give the address, as a lookup's source names it."""
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start, and wait until connections are taken."""
        assert self._process is None
        settings = [f"--{name}={value}" for name, value in QUIET.items()]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._bin / "postgres"), "-D", str(self._data), "-p", str(self.port),
                 *settings],
                stdout=log, stderr=log, cwd=self.home, start_new_session=True, **self._as_owner(),
            )  # fmt: skip
        until = time.monotonic() + SECONDS_MAX
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
            except psycopg.OperationalError:
                told = (self.home / "log").read_text()
                assert self._process.poll() is None, told
                assert time.monotonic() < until, told
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """Stop at once, as a crash does: whoever is connected is cut off."""
        if self._process is not None:
            self.go_on()
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(SECONDS_MAX)
            self._process = None

    def hang(self) -> None:
        """Stop all its processes where they are: connections stand, and nobody answers."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let its processes go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        main = self._process.pid
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        for pid in (main, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as the owner; give the rows of the last one."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def remove(self) -> None:
        """Stop, and leave nothing behind."""
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)


@contextmanager
def running() -> Iterator[Server]:
    """Give a server that runs."""
    server = Server()
    try:
        server.start()
        yield server
    finally:
        server.remove()
