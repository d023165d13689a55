"""A made-up coast: units that guard it and targets that move along it.

Two tables under change, `units` and `targets`; every row is a pure function of (seed, table,
offset), as in `penstock.worlds.turnover`. A position is kilometres along the coast line, exact to
the metre. Targets sail to the end of the coast and back; units patrol near their stations.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.worlds.chance import bits, mix, wave
from penstock.worlds.turnover import changes

SEED = 7
STOCK = 2_000
COAST_KM = 1_000.0
CLASSES = ("cutter", "patrol boat", "helicopter", "battery")
KINDS = ("smuggler", "trawler", "drifter", "submarine", "skiff", "unknown")
UNITS = pa.schema(
    [("id", pa.int64()), ("class", pa.string()), ("position", pa.float64()), ("op", pa.string())]
)
TARGETS = pa.schema(
    [
        ("id", pa.int64()),
        ("kind", pa.string()),
        ("speed", pa.int64()),
        ("position", pa.float64()),
        ("op", pa.string()),
    ]
)
_UNITS_SALT = 0x756E_6974
_TARGETS_SALT = 0x7461_7267
_UNIT_ROUNDS = 40
_TARGET_ROUNDS = 12
_PATROL_KM = 4.0
_STEP_H = 0.05
"""Hours between two positions of a target."""


def units(first: int, last: int, seed: int = SEED, stock: int = STOCK) -> pa.RecordBatch:
    """Make the changes of units at offsets `first` up to, not including, `last`.

    >>> units(0, 100, seed=3).slice(40, 20).equals(units(40, 60, seed=3))
    True
    """
    made = changes(first, last, seed ^ _UNITS_SALT, stock, _UNIT_ROUNDS)
    own = mix(made.id, seed, _UNITS_SALT)
    station = bits(own, 0, 24) * (COAST_KM / (1 << 24))
    turns = made.version / 16.0 + bits(own, 24, 8) / 256.0
    columns = [
        pa.array(made.id),
        pa.array(CLASSES, pa.string()).take(pa.array(bits(own, 40, 2))),
        pa.array(np.rint((station + _PATROL_KM * wave(turns)) * 1000.0) / 1000.0),
        made.op,
    ]
    return pa.RecordBatch.from_arrays(columns, schema=UNITS)


def targets(first: int, last: int, seed: int = SEED, stock: int = STOCK) -> pa.RecordBatch:
    """Make the changes of targets at offsets `first` up to, not including, `last`.

    >>> targets(0, 1).column_names
    ['id', 'kind', 'speed', 'position', 'op']
    """
    made = changes(first, last, seed ^ _TARGETS_SALT, stock, _TARGET_ROUNDS)
    own = mix(made.id, seed, _TARGETS_SALT)
    speed = 8 + bits(own, 40, 5)
    sailed = bits(own, 0, 24) * (2.0 * COAST_KM / (1 << 24)) + speed * made.version * _STEP_H
    folded = COAST_KM - np.abs(np.mod(sailed, 2.0 * COAST_KM) - COAST_KM)
    columns = [
        pa.array(made.id),
        pa.array(KINDS, pa.string()).take(pa.array(bits(own, 48, 8) % len(KINDS))),
        pa.array(speed),
        pa.array(np.rint(folded * 1000.0) / 1000.0),
        made.op,
    ]
    return pa.RecordBatch.from_arrays(columns, schema=TARGETS)


TABLES = {"units": (UNITS, units), "targets": (TARGETS, targets)}
"""Schema and maker of each table, by its name."""
