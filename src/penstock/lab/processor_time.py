"""Processor time of processes: what they did themselves, whatever else the machine did."""

from __future__ import annotations

import os
from pathlib import Path
from time import process_time, sleep

SETTLE_S = 0.00005
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


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
        return sum(map(int, spent)) / TICKS_PER_S


def family_seconds() -> float:
    """Give the processor time of this process and of all that it has started and that still run.

    Spark's Java is one of them. That of others is told in hundredths of a second.

    >>> family_seconds() > 0.0
    True
    """
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            told = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            continue
        process = int(path.parent.name)
        parents[process], ticks[process] = int(told[1]), int(told[11]) + int(told[12])
    family, found = {os.getpid()}, {os.getpid()}
    while found:
        found = {process for process, parent in parents.items() if parent in found} - family
        family |= found
    others = family - {os.getpid()}
    return process_time() + sum(ticks.get(each, 0) for each in others) / TICKS_PER_S
