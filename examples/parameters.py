"""Makes the parameters of the examples: one standing join per row.

python examples/parameters.py                     makes the two files beside this one again
python examples/parameters.py 100000 /tmp/many    makes 100,000 of each, elsewhere
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

LOTS = (20, 50, 100, 250, 500)
"""Quantities around which merchants' wishes gather: the hotspots."""
REACH_KM = {"cutter": 12.0, "patrol boat": 5.0, "helicopter": 30.0, "battery": 20.0}
KINDS = ("smuggler", "trawler", "drifter", "submarine", "skiff", "unknown")


def merchants(count: int) -> pd.DataFrame:
    """Say which quantities each merchant cares about, on offer and looked for."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"merchant": [f"m{number:04d}" for number in range(count)]})
    for side in ("s", "d"):
        middle = rng.choice(LOTS, count) * rng.uniform(0.9, 1.1, count)
        width = middle * rng.uniform(0.05, 0.2, count)
        frame[f"{side}_lo"] = np.maximum(middle - width / 2, 1).astype(int)
        frame[f"{side}_hi"] = np.ceil(middle + width / 2).astype(int)
    return frame


def orders(count: int) -> pd.DataFrame:
    """Say which targets each order is about: the class that may fire, how far, at what."""
    rng = np.random.default_rng(2)
    chosen = rng.choice(list(REACH_KM), count)
    reach = np.array([REACH_KM[name] for name in chosen]) * rng.uniform(0.05, 0.2, count)
    return pd.DataFrame(
        {
            "name": [f"order-{number:04d}" for number in range(count)],
            "class": chosen,
            "kind": rng.choice(KINDS, count),
            "lo": np.round(-reach * rng.uniform(0.1, 1.0, count), 3),
            "hi": np.round(reach, 3),
        }
    )


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    directory = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent
    directory.mkdir(parents=True, exist_ok=True)
    merchants(rows).to_csv(directory / "merchants.csv", index=False)
    orders(rows // 2).to_csv(directory / "orders.csv", index=False)
