"""Make the database that `companies.sql` looks companies up in: `python companies.py FILE`.

The companies are those of the made-up market; every tenth is missing, as it happens.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pyarrow as pa

from penstock.worlds.market import SYMBOLS_DEFAULT, symbol_names

SECTORS = ("software", "chips", "drinks", "devices", "banks")
MISSING_EVERY = 10


def companies(count: int = SYMBOLS_DEFAULT) -> pa.Table:
    """Give symbol, sector and shares of the market's companies."""
    names = [name for i, name in enumerate(symbol_names(count)) if i % MISSING_EVERY]
    return pa.table(
        {
            "symbol": pa.array(names),
            "sector": pa.array([SECTORS[i % len(SECTORS)] for i in range(len(names))]),
            "shares": pa.array([1_000 + 37 * i for i in range(len(names))], pa.int64()),
        }
    )


def main(path: Path) -> None:
    """Write the database."""
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as db:
        db.register("given", companies())
        columns = "symbol VARCHAR PRIMARY KEY, sector VARCHAR, shares BIGINT"
        db.execute(f"CREATE TABLE companies ({columns})")
        db.execute("INSERT INTO companies FROM given")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "companies.duckdb"))
