"""The cluster host's shards without a JVM: on Spark's own test bench for stateful processors."""

from __future__ import annotations

import copy
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester

from penstock.spark import operate
from penstock.spark.cluster import packer
from penstock.spark.hosts import Pipeline
from penstock.spark.lanes import Lanes
from penstock.spark.layout import Layout
from penstock.spark.operate import ShardProcessor

WORKERS = 3


class Bench:
    """The shards of a home in several workers, which share no memory, on one state store."""

    def __init__(self, home: Path, layout: Layout, lanes: Lanes) -> None:
        pipeline = Pipeline(engine="e", home=home, layout=layout, record=False)
        self.lanes = lanes
        self.tester = TwsTester(ShardProcessor(pipeline, lanes))
        self.pack = packer(layout, lanes)
        self.workers: list[OrderedDict[Any, Any]] = [OrderedDict() for _ in range(WORKERS)]
        self.steps: dict[int, int] = {}
        """The steps that shards were left at."""

    def run(self, table: pa.Table, worker: int, batch: int = 0) -> dict[int, bytes]:
        """Run a batch in a worker; give the parts of the shards that Spark would call."""
        packed = [rows.to_pandas() for rows in self.pack(iter(table.to_batches()))]
        if not packed:
            return {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(operate, "_LIVE", self.workers[worker])
            patch.setattr(operate, "batch_number", lambda: batch)
            return {
                int(key): self._payload(int(key), rows)
                for key, rows in pd.concat(packed).groupby("key")
            }

    def _payload(self, key: int, rows: pd.DataFrame) -> bytes:
        given: Any = self.tester.testInPandas(key, rows)
        (payload,), (self.steps[key],) = given["payload"], given["step"]
        return bytes(payload)

    def store(self) -> Any:
        """Give a copy of the state store."""
        handle = self.tester.handle
        return copy.deepcopy([{n: s.state for n, s in handle.value_states.items()},
                              {n: s.state for n, s in handle.map_states.items()}])  # fmt: skip

    def roll_back(self, kept: Any) -> None:
        """Bring the state store back to what it was."""
        values, maps = copy.deepcopy(kept)
        handle = self.tester.handle
        for name, value in values.items():
            handle.value_states[name].state = value
        for name, value in maps.items():
            handle.map_states[name].state = value
