"""What Java prints: only news is passed on."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark import SparkContext

from penstock.spark.java_process import (
    PY4J_LOGGERS,
    JavaProcess,
    hush_after_death,
    without_chatter,
)

HUNG_UP = b"""\
Traceback (most recent call last):
  File "/x/pyspark.zip/pyspark/daemon.py", line 264, in manager
  File "/x/pyspark.zip/pyspark/daemon.py", line 95, in worker
BrokenPipeError: [Errno 32] Broken pipe
"""
OF_A_USER = HUNG_UP.replace(b"pyspark/daemon.py", b"mine/source.py")
SAID = b"""\
WARNING: Using incubator modules: jdk.incubator.vector
Starting Streaming TransformWithStateInPandas Python worker.

Streaming TransformWithStateInPandas Python worker Starting execution of UDF: <f>.

12:00:00 ERROR TaskSetManager: lost

"""


def test_chatter_is_left_out_and_news_comes_in_its_order() -> None:
    said = (SAID + HUNG_UP + b"one\n" + OF_A_USER + b"two\n").splitlines(keepends=True)
    heard = b"".join(without_chatter(said))
    assert heard == b"12:00:00 ERROR TaskSetManager: lost\n\none\n" + OF_A_USER + b"two\n"


def test_a_traceback_that_is_cut_off_is_passed_on() -> None:
    cut = HUNG_UP.splitlines(keepends=True)[:2]
    assert list(without_chatter(cut)) == cut


@pytest.mark.parametrize("name", PY4J_LOGGERS)
def test_of_a_dead_java_py4j_says_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = SimpleNamespace(handle_error=print)
    hush_after_death(cast(SparkContext, SimpleNamespace(_accumulatorServer=server)))
    logger = logging.getLogger(name)
    said = logger.makeRecord(
        logger.name, logging.ERROR, "py4j/clientserver.py", 1, "gone", (), None
    )
    logger.handle(said)
    monkeypatch.setattr(JavaProcess, "ended", lambda _self, _wait_s=0.0: -9)
    logger.handle(said)
    assert len(caplog.records) == 1
