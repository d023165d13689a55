"""Ports for servers of one's own: free ones that the system gives to nobody meanwhile.

A port that was free a moment ago, of those which the system hands out, may be another's when the
server starts, or starts again after a crash: any connection may have been given it. Those below
are taken by who asks for them by number alone.
"""

from __future__ import annotations

import os
import socket
from itertools import count
from pathlib import Path

FIRST = 12_000
HANDED_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""From where on the system hands out ports, on Linux; elsewhere that is higher."""
HANDED_OUT_FIRST = 32_768
_ASKED = count()


def free_port() -> int:
    """Give a free port of this machine; processes that ask at once begin to look far apart."""
    first_handed_out = HANDED_OUT_FIRST
    if HANDED_OUT.exists():
        first_handed_out = int(HANDED_OUT.read_text().split()[0])
    places = max(first_handed_out - FIRST, 1_000)
    begin = os.getpid() * 997 + next(_ASKED) * 17
    for step in range(places):
        port = FIRST + (begin + step) % places
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise OSError("no port of this machine is free")
