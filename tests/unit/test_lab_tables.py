"""Tables of the lab: every column can be told from the others, by readers and by charts."""

from __future__ import annotations

import pytest

from penstock.lab.filters.registrations import DAEMON
from penstock.lab.report import Table


def test_no_table_has_two_columns_of_one_name() -> None:
    with pytest.raises(AssertionError, match="two columns of one name"):
        Table("rates", ("queries", "groups", "queries"), [(1, 2, 3)])


def test_the_memory_of_workers_is_not_that_of_java() -> None:
    java = b"java -cp x org.apache.spark.deploy.SparkSubmit "
    settings = b"--conf spark.python.daemon.module=penstock.spark.daemon pyspark-shell "
    assert not DAEMON.search(java + settings)
    assert DAEMON.search(b"/venv/bin/python -m penstock.spark.daemon pyspark.worker ")
    assert DAEMON.search(b"/venv/bin/python -m pyspark.daemon pyspark.worker ")
