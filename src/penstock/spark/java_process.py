"""Spark's Java process: started by us, with an eye on what it prints, and asked whether it lives.

Spark starts Java with a module that Java itself warns of, and its Python processes say on stderr
that they begin, or that Spark hung up on them at the end of a query. None of it is news to a user.
So Java's stderr goes through here, and all but these lines is passed on as it comes.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from penstock.vocabulary.errors import PenstockError

DEAD = "RUN-012"
STDERR = 2
PY4J_LOGGERS = ("", "py4j.clientserver", "py4j.java_gateway")
"""Where Py4J logs: a filter holds for what is logged at its logger itself."""
LAST_WORDS_S = 2.0
"""A connection may break a moment before its process is gone."""
_CHATTER = re.compile(
    rb"WARNING: Using incubator modules: "
    rb"|(?:Starting )?Streaming TransformWithStateInPandas Python worker"
)
_TRACE = b"Traceback (most recent call last):"
_HUNG_UP = b"BrokenPipeError: "
_DAEMON = b"pyspark/daemon.py"


def launch_java(conf: SparkConf) -> None:
    """Start Java for this process, if it has none yet; its stderr is passed on without chatter."""
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    heard, said = os.pipe()
    threading.Thread(target=_pass_on, args=(heard,), name="java-stderr", daemon=True).start()
    try:
        gateway = launch_gateway(conf, {"stderr": said})  # type: ignore[no-untyped-call]
    finally:
        os.close(said)
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


class JavaProcess:
    """The Java process of the sessions of this process, as it is when this is made."""

    def __init__(self) -> None:
        gateway: Any = SparkContext._gateway
        self._process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)

    @property
    def number(self) -> int | None:
        """By which the system knows it; None where it is not our own."""
        return None if self._process is None else self._process.pid

    def ended(self, within_s: float = 0.0) -> int | None:
        """Give the code with which it ended; None while it lives, or where it is not our own."""
        if self._process is None:
            return None
        try:
            return self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            return None

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Ask it something; if it is dead, say that with a code instead of a page of sockets.

        Raises
        ------
        PenstockError
            RUN-012 if it has ended.
        """
        try:
            yield
        except (Py4JError, OSError, EOFError) as error:
            code = self.ended(LAST_WORDS_S)
            if code is None:
                raise
            raise _death(code) from error


def _death(code: int) -> PenstockError:
    how = f"with code {code}" if code >= 0 else f"by the signal {signal.Signals(-code).name}"
    return PenstockError(
        DEAD,
        f"Spark's Java process has ended, {how}.",
        "Open the home again with a new engine: it goes on from its checkpoint, and the batch in "
        "hand is run again. If the machine's memory ran out, give it more.",
    )


def without_chatter(lines: Iterable[bytes]) -> Iterator[bytes]:
    r"""Leave out what is no news to users; everything else comes as it is, in its order.

    >>> said = [b"WARNING: Using incubator modules: jdk.incubator.vector\n", b"java.lang.Error\n"]
    >>> list(without_chatter(said))
    [b'java.lang.Error\n']
    """
    block: list[bytes] = []
    was_chatter = False
    for line in lines:
        if block:
            block.append(line)
            if line[:1].isspace():
                continue
            if not _is_hung_up(block):
                yield from block
            block = []
        elif line.startswith(_TRACE):
            block = [line]
        elif _CHATTER.match(line):
            was_chatter = True
            continue
        elif not (was_chatter and not line.strip()):
            yield line
        was_chatter = False
    yield from block


def _is_hung_up(block: list[bytes]) -> bool:
    """Say whether a traceback is that of a Python process on which Spark hung up."""
    places = [line for line in block if line.lstrip().startswith(b"File ")]
    return block[-1].startswith(_HUNG_UP) and all(_DAEMON in place for place in places)


def _pass_on(heard: int) -> None:
    with os.fdopen(heard, "rb") as said:
        for line in without_chatter(iter(said.readline, b"")):
            os.write(STDERR, line)


def forget_dead_java() -> None:
    """Let go what PySpark keeps of a Java process that died, so that another can be started."""
    if JavaProcess().ended() is not None:
        SparkContext._active_spark_context = None
        SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = None


def hush_after_death(context: SparkContext) -> None:
    """Let PySpark and Py4J say nothing of their own when Java dies: others tell it."""
    for name in PY4J_LOGGERS:
        logging.getLogger(name).addFilter(_is_news)
    server: Any = context._accumulatorServer
    loud = server.handle_error

    def handle_error(request: object, address: object) -> None:
        if JavaProcess().ended(LAST_WORDS_S) is None:
            loud(request, address)

    server.handle_error = handle_error


def _is_news(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname or JavaProcess().ended(LAST_WORDS_S) is None
