"""Servers of one's own: on loopback, on a free port, in a temporary directory."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from penstock.lab.ports import free_port

SECONDS_MAX = 600


class OwnServer(ABC):
    """One server, as a process with a directory; `who` says whose, if it is another user's."""

    def __init__(self, word: str) -> None:
        self.home = Path(tempfile.mkdtemp(prefix=f"penstock-{word}-"))
        self.port = free_port()
        self.who: Mapping[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Give the command that starts it, as its files are written."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Say whether it takes connections."""

    def start(self) -> None:
        """Start, and wait until connections are taken."""
        assert self._process is None
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, cwd=self.home, start_new_session=True,
                **self.who,
            )  # fmt: skip
        until = time.monotonic() + SECONDS_MAX
        while not self.is_ready():
            told = (self.home / "log").read_text(errors="replace")
            assert self._process.poll() is None, told
            assert time.monotonic() < until, told
            time.sleep(0.02)

    def end(self, number: signal.Signals) -> None:
        """End it by a signal; what it keeps in files stays."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(SECONDS_MAX)
            self._process = None

    def remove(self) -> None:
        """End it, and leave nothing behind."""
        self.end(signal.SIGTERM)
        shutil.rmtree(self.home, ignore_errors=True)


Own = TypeVar("Own", bound=OwnServer)


@contextmanager
def started(server: Own) -> Iterator[Own]:
    """Start a server, and remove it in the end."""
    try:
        server.start()
        yield server
    finally:
        server.remove()
