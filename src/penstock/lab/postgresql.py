"""A PostgreSQL server of one's own: on loopback, on a free port, in a temporary directory."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.lab.ports import free_port

PLACES = ("/usr/lib/postgresql", "/opt/homebrew/opt")
OWNER = "postgres"
SECONDS_MAX = 600
HBA = """
host all postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
"""
QUIET = {
    "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off",
    "autovacuum": "off", "max_connections": "20", "shared_buffers": "16MB",
    "logging_collector": "off",
}  # fmt: skip
MEASURED = {
    **QUIET, "shared_buffers": "256MB", "work_mem": "16MB", "max_wal_size": "2GB",
    "max_parallel_workers_per_gather": "0",
}  # fmt: skip
"""For measurements: what a small server has, and its housekeeping when it is asked for."""


def programs() -> Path | None:
    """Give where PostgreSQL's programs are; the newest version's."""
    found = [
        path.parent
        for place in PLACES
        for path in sorted(Path(place).glob("*/bin/initdb"), key=_version)
    ]
    return found[-1] if found else None


def missing() -> str | None:
    """Say why no server can be started and spoken to here, if so."""
    if programs() is None:
        return "there is no PostgreSQL here (Debian: apt-get install postgresql)"
    if os.geteuid() == 0 and _owner() is None:
        return "PostgreSQL does not run as root, and there is no user postgres"
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg is not installed (pip install 'penstock[postgresql]')"
    return None


def _version(path: Path) -> tuple[int, ...]:
    digits = "".join(sign if sign.isdigit() else " " for sign in path.parts[-3])
    return tuple(map(int, digits.split()))


def _owner() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(OWNER)
    except KeyError:
        return None


class PostgresqlServer:
    """One server; `url()` is where it is."""

    def __init__(self, settings: Mapping[str, str] = QUIET) -> None:
        found = programs()
        assert found is not None
        self._bin = found
        self._settings = settings
        self._owner = _owner() if os.geteuid() == 0 else None
        self.home = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
        self._data = self.home / "data"
        if self._owner is not None:
            os.chown(self.home, self._owner.pw_uid, self._owner.pw_gid)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self._run("initdb", "-D", str(self._data), "-U", OWNER, "--no-sync", "-E", "UTF8",
                  "--locale=C").check_returncode()  # fmt: skip
        (self._data / "pg_hba.conf").write_text(HBA)

    def _as_owner(self) -> dict[str, Any]:
        if self._owner is None:
            return {}
        return {"user": self._owner.pw_uid, "group": self._owner.pw_gid, "extra_groups": []}

    def _run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [str(self._bin / program), *arguments], capture_output=True, check=False,
            cwd=self.home, timeout=SECONDS_MAX, **self._as_owner(),
        )  # fmt: skip

    def url(self, user: str = OWNER, password: str = "", database: str = "postgres") -> str:
        """Give the address, as a lookup's source names it."""
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start, and wait until connections are taken."""
        assert self._process is None
        settings = [f"--{name}={value}" for name, value in self._settings.items()]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._bin / "postgres"), "-D", str(self._data), "-p", str(self.port),
                 *settings],
                stdout=log, stderr=log, cwd=self.home, start_new_session=True, **self._as_owner(),
            )  # fmt: skip
        until = time.monotonic() + SECONDS_MAX
        asked = ("-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", OWNER)
        while self._run("pg_isready", *asked).returncode != 0:
            told = (self.home / "log").read_text()
            assert self._process.poll() is None, told
            assert time.monotonic() < until, told
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop at once, as a crash does: whoever is connected is cut off."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(SECONDS_MAX)
            self._process = None

    def remove(self) -> None:
        """Stop, and leave nothing behind."""
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)


@contextmanager
def measured_server() -> Iterator[PostgresqlServer]:
    """Give a server that runs, for measurements."""
    server = PostgresqlServer(MEASURED)
    try:
        server.start()
        yield server
    finally:
        server.remove()
