"""One Spark for all tests of a worker: starting it is what takes long."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from penstock.spark.sessions import local_session

SHARDS = 2


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Give a local Spark with two cores."""
    session = local_session("penstock-tests", cores=2, shuffle_partitions=SHARDS)
    yield session
    session.stop()
