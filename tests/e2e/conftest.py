"""What end-to-end tests share: the worker's one Spark, and engines on either host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from tests.support.spark import SHARDS, spark

__all__ = ["spark"]

Open = Callable[..., ps.Engine]


@pytest.fixture(params=["embedded", "cluster"])
def host(request: pytest.FixtureRequest) -> str:
    """Where operators live: every promise holds on both hosts."""
    return str(request.param)


@pytest.fixture
def open_engine(spark: SparkSession, host: str, tmp_path: Path) -> Iterator[Open]:
    """Open engines on this test's host; the same home opens again what the last one left."""
    with ExitStack() as stack:

        def open_one(home: str = "home", **options: Any) -> ps.Engine:
            settings = {"host": host, "record": True, **options}
            if settings["host"] == "cluster":
                settings.setdefault("shards", SHARDS)
            engine = ps.Engine(tmp_path / home, spark=spark, **settings)
            stack.callback(engine.close)
            return engine

        yield open_one
