"""Model queries of an engine that is to be killed: when courses are beyond limits."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

import penstock as ps
from tests.oracle.model_queries import SECOND, LineTwin, above
from tests.support.tables import BEGIN, Feeder
from tests.support.victim_words import register_or_drop, say

STREAM = "courses"
QUERIES, KEYS = 4, ("e", "f", "g")
LIMITS = (-2.0, 0.0, 1.5)
ALLOWED = 0.5
TEXTS = (
    f"SELECT k, starts, ends, x FROM {STREAM} MODEL x = x + v * t KEY k WHERE x > :limit "
    f"ERROR WITHIN {ALLOWED}",
    f"SELECT k, starts, ends, status FROM {STREAM} MODEL x = x + v * t KEY k WHERE x > :limit "
    f"ERROR WITHIN {ALLOWED} HORIZON 2 SECONDS",
)
HORIZON_US = 10 * SECOND
"""How long a model holds if the text does not say."""
Told = tuple[int, int, str, int, int]
"""The id and the sign, the key, and from when to when, in microseconds since 1970."""


def name_of(number: int) -> str:
    """Name a subscription."""
    return f"c{number:02d}"


def subscribe(engine: ps.Engine, number: int) -> None:
    """Register a subscription: what is and what is expected, in turn."""
    each = [{"id": i, "limit": limit} for i, limit in enumerate(LIMITS)]
    engine.subscribe(TEXTS[number % len(TEXTS)], name=name_of(number), each=each)
    say(f"ack {name_of(number)}")


def act(engine: ps.Engine) -> bool:
    """Do the next thing that is not done yet; says whether there was one."""
    names = [name_of(number) for number in range(QUERIES)]
    return register_or_drop(engine, names, subscribe, lambda number: number > 1, len(LIMITS))


def declare(engine: ps.Engine, source: str) -> None:
    """Declare the stream; register one of each kind: a cluster fixes its lanes at its start."""
    if STREAM not in engine.desk.registry.catalog:
        engine.stream(
            STREAM, f"parquet:{source}/{STREAM}", event_time="ts", lateness=0,
            maxFilesPerTrigger=1,
        )  # fmt: skip
    for number in (0, 1):
        if name_of(number) not in engine.desk.registry.subscriptions:
            subscribe(engine, number)


def course_files(place: Path, seed: int, files: int, rows: int) -> list[Told]:
    """Fill the stream's directory; give what the first subscription must be told in the end."""
    feeder, chance = Feeder(place / STREAM), np.random.default_rng([seed, 18])
    twin, told = LineTwin(Fraction(ALLOWED), HORIZON_US), list[Told]()
    where = dict.fromkeys(KEYS, 0.0)
    for file in range(files):
        drawn = []
        for tick in range(file * rows, (file + 1) * rows):
            at, key = BEGIN + timedelta(milliseconds=100 * tick), str(chance.choice(KEYS))
            if chance.random() < 0.3:
                where[key] = float(chance.integers(-16, 17)) / 4
            slope = float(chance.integers(-4, 5)) / 4
            drawn.append({"n": tick, "k": key, "x": where[key], "v": slope, "ts": at})
            for piece in twin.take(key, round(at.timestamp() * SECOND), where[key], slope):
                parts = ((i, above(piece, limit)) for i, limit in enumerate(LIMITS))
                told += [(i, *part[:4]) for i, part in parts if part is not None]
        feeder.put(pa.Table.from_pylist(drawn))
    return told
