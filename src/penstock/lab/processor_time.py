"""Processor time of processes: what they did themselves, whatever else the machine did."""

from __future__ import annotations

import os
from pathlib import Path
from time import sleep

SETTLE_S = 0.00005


class ProcessClock:
    """Seconds that another process, of one thread, has been on a processor.

    The system books them when the process is taken off it: whoever reads waits until it sleeps.

    >>> import os, time
    >>> ProcessClock.can_read(os.getpid()) in (True, False)
    True
    """

    def __init__(self, process: int) -> None:
        self._stat = Path(f"/proc/{process}/stat")
        self._booked = Path(f"/proc/{process}/schedstat")

    @staticmethod
    def can_read(process: int) -> bool:
        """Say whether this system books processor time to the nanosecond."""
        return Path(f"/proc/{process}/schedstat").exists()

    def __call__(self) -> float:
        """Give the seconds since the process began."""
        while self._stat.read_text().rpartition(")")[2].split()[0] != "S":
            sleep(SETTLE_S)
        return int(self._booked.read_text().split()[0]) / 1e9


class ThreadsClock:
    """Seconds that a process has been on processors, all its threads together, in hundredths.

    >>> import os
    >>> ThreadsClock(os.getpid())() > 0
    True
    """

    def __init__(self, process: int) -> None:
        self._stat = Path(f"/proc/{process}/stat")

    def __call__(self) -> float:
        """Give the seconds since the process began."""
        spent = self._stat.read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")
