"""Samples: how large a home and its processes are at a moment."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

PARTS = ("results", "registry", "state", "checkpoint", "sinks", "views")
MB = 1e6
IN_YARDSTICKS = "batch in yardsticks"
"""What a batch takes of processors, over what the same work takes there at that time."""


def resident_mb(processes: Iterable[int]) -> float:
    """Give the memory that processes have resident, after what is no longer used is let go."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    page = os.sysconf("SC_PAGE_SIZE")
    each = (Path(f"/proc/{own}/statm").read_text().split()[1] for own in processes)
    return sum(int(pages) for pages in each) * page / MB


def processor_s(process: int) -> float:
    """Give the processor time that a process has taken."""
    told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def sizes_of(home: Path) -> dict[str, int]:
    """Count the files and bytes of a home, and of its parts."""
    found = {"files": 0, "bytes": 0, **dict.fromkeys(PARTS, 0)}
    for directory, _, names in os.walk(home):
        parts = Path(directory).relative_to(home).parts
        for name in names:
            try:
                size = (Path(directory) / name).stat().st_size
            except FileNotFoundError:  # it went this moment
                continue
            found["files"] += 1
            found["bytes"] += size
            if parts and parts[0] in found:
                found[parts[0]] += size
    return found
