"""Waiting for an engine, or for anything, without asking what time it is."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pyspark import SparkContext

import penstock as ps

POLL_S = 0.05
POLLS_MAX = 12_000
STACK_DEPTH_MAX = 30


def until_events(engine: ps.Engine, events: int) -> None:
    """Wait until a running engine has processed so many events since it was opened."""
    for _ in range(POLLS_MAX):
        if engine.runner.totals["events"] >= events:
            return
        assert not engine.wait(POLL_S), "the engine ended by itself"
    had = engine.runner.totals["events"]
    raise AssertionError(f"{had} of {events} events after a long time.\n{java_stacks()}")


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, however busy the machine is."""
    pause = threading.Event()
    for _ in range(POLLS_MAX):
        if is_so():
            return
        pause.wait(POLL_S)
    raise AssertionError("it is not so after a long time")


def java_stacks() -> str:
    """Tell what Spark's own threads in Java are doing, for whoever waits in vain."""
    context = SparkContext._active_spark_context
    if context is None or context._jvm is None:
        return "There is no Spark."
    stacks = context._jvm.java.lang.Thread.getAllStackTraces()
    told = []
    for thread in stacks.keySet():
        frames = [str(frame) for frame in stacks[thread]]
        if any("apache.spark" in frame for frame in frames):
            told.append("\n    ".join([thread.getName(), *frames[:STACK_DEPTH_MAX]]))
    return "\n".join(told)
