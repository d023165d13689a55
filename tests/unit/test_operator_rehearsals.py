"""Every kind of operator can be warmed up for a step, and for all its steps at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.operators.catalogue import OPERATORS
from penstock.operators.shared.rehearsal import NO_CHANGES, open_entries, rehearse
from penstock.vocabulary.batches import QueryChanges


class Witness:
    """An operator that writes down what happens to it."""

    def __init__(self, told: list[str], snapshot: bytes | None) -> None:
        self.told = told
        told.append("restored" if snapshot else "built")

    def begin(self, *_: object) -> None:
        raise AssertionError("a rehearsal begins with nothing")

    def apply(self, changes: QueryChanges) -> None:
        self.told.append(f"applied {sorted(changes.adds)}")

    def process(self, batch: dict[str, pa.Table]) -> list[object]:
        self.told.append(f"processed {sorted(batch)}")
        return []

    def sizes(self) -> dict[str, int]:
        self.told.append("sizes")
        return {}

    def delta(self) -> bytes | None:
        return b"delta"

    def catch_up(self, delta: bytes) -> None:
        self.told.append(f"caught up {delta!r}")

    def snapshot(self) -> bytes | None:
        return b"snapshot"


def test_a_rehearsal_goes_through_a_whole_life() -> None:
    told: list[str] = []
    entries = open_entries(pa.schema([("query", pa.int64()), ("i0_l0", pa.int64())]), 3, 2)
    changes = QueryChanges(adds={"queries": entries})
    batch = {"a": pa.table({"x": np.arange(2)})}
    rehearse(
        lambda snapshot: Witness(told, snapshot),  # type: ignore[arg-type,return-value]
        [(changes, batch), (NO_CHANGES, {})],
    )
    assert told == [
        "built", "applied ['queries']", "processed ['a']", "applied []", "processed []", "sizes",
        "built", "caught up b'delta'", "restored", "sizes",
    ]  # fmt: skip
    assert entries["query"].to_pylist() == [3, 4]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_every_kind_is_warmed_up_for_all_its_steps(name: str) -> None:
    OPERATORS[name].warm_up(None)
