"""One Spark for all tests of this directory: starting it is what takes long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

from tests.support.spark import spark

__all__ = ["spark"]

Drain = Callable[..., list[pa.Table]]


@pytest.fixture
def drain(tmp_path: Path) -> Drain:
    """Run a stream to its end and give its micro-batches; the same name resumes."""

    def run(frame: DataFrame, name: str = "query") -> list[pa.Table]:
        batches: list[pa.Table] = []
        query = (
            frame.writeStream.foreachBatch(lambda batch, _: batches.append(batch.toArrow()))
            .option("checkpointLocation", str(tmp_path / f"checkpoint-{name}"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return batches

    return run
