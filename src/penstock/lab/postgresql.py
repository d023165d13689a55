"""A PostgreSQL server of one's own: on loopback, on a free port, in a temporary directory."""

from __future__ import annotations

import importlib.util
import os
import pwd
import signal
import subprocess
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from penstock.lab.own_servers import SECONDS_MAX, OwnServer, started

PLACES = ("/usr/lib/postgresql", "/opt/homebrew/opt")
OWNER = "postgres"
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


class PostgresqlServer(OwnServer):
    """One server; `url()` is where it is."""

    def __init__(self, settings: Mapping[str, str] = QUIET) -> None:
        found = programs()
        assert found is not None
        super().__init__("postgres")
        self._bin = found
        self._settings = settings
        self._data = self.home / "data"
        if os.geteuid() == 0 and (own := _owner()) is not None:
            self.who = {"user": own.pw_uid, "group": own.pw_gid, "extra_groups": []}
            os.chown(self.home, own.pw_uid, own.pw_gid)
        self._run("initdb", "-D", str(self._data), "-U", OWNER, "--no-sync", "-E", "UTF8",
                  "--locale=C").check_returncode()  # fmt: skip
        (self._data / "pg_hba.conf").write_text(HBA)

    def _run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [str(self._bin / program), *arguments], capture_output=True, check=False,
            cwd=self.home, timeout=SECONDS_MAX, **self.who,
        )  # fmt: skip

    def url(self, user: str = OWNER, password: str = "", database: str = "postgres") -> str:
        """Give the address, as a lookup's source names it."""
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@127.0.0.1:{self.port}/{database}"

    def command(self) -> list[str]:
        """Give the command that starts it."""
        settings = [f"--{name}={value}" for name, value in self._settings.items()]
        return [str(self._bin / "postgres"), "-D", str(self._data), "-p", str(self.port), *settings]

    def is_ready(self) -> bool:
        """Say whether it takes connections."""
        asked = ("-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", OWNER)
        return self._run("pg_isready", *asked).returncode == 0

    def stop(self) -> None:
        """Stop at once, as a crash does: whoever is connected is cut off."""
        self.end(signal.SIGQUIT)

    def remove(self) -> None:
        """Stop, and leave nothing behind."""
        self.stop()
        super().remove()


def measured_server() -> AbstractContextManager[PostgresqlServer]:
    """Give a server that runs, for measurements."""
    return started(PostgresqlServer(MEASURED))
