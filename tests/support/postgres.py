"""A PostgreSQL server of a test's own, which can be stopped, started again and made to hang."""

from __future__ import annotations

import os
import signal
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import psycopg

from penstock.lab.own_servers import started
from penstock.lab.postgresql import PostgresqlServer, missing

__all__ = ["Server", "missing", "running"]


class Server(PostgresqlServer):
    """One server; `url()` is where it is."""

    def stop(self) -> None:
        """Stop at once, as a crash does: whoever is connected is cut off."""
        if self._process is not None:
            self.go_on()
        super().stop()

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


def running() -> AbstractContextManager[Server]:
    """Give a server that runs."""
    return started(Server())
