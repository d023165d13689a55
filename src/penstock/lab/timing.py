"""Timing: two or more sides, alternately, in one run.

The machine's moods fall on all sides alike; what is reported is the ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from rich.console import Console

console = Console(stderr=True)
"""Progress goes to standard error: standard output is the report's."""


def say(text: str) -> None:
    """Tell what is being measured."""
    console.print(f"[dim]lab[/] {text}")


def alternate(
    sides: Mapping[str, Callable[[], Any]], rounds: int, clock: Callable[[], float] = perf_counter
) -> dict[str, float]:
    """Run every side once per round; give each side's best time in seconds.

    Sides of one thread are better told by the processor's clock, `thread_time`: what else the
    machine does meanwhile is not theirs.

    >>> sorted(alternate({"a": lambda: None, "b": lambda: None}, rounds=2))
    ['a', 'b']
    """
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(rounds):
        for name, side in sides.items():
            started = clock()
            side()
            best[name] = min(best[name], clock() - started)
    return best
