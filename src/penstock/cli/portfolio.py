"""The demo's standing queries: what a few thousand clients of a broker might ask to be told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.worlds import market

SEED = 11
SAMPLE_ROWS = 40_000
POPULAR_SHARE = 0.2
"""Every fifth query is about a symbol drawn by how often it trades; the others are about any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A subscription to be: a name, a text, and its share of the standing queries."""

    name: str
    sql: str
    share: float


RANGES = Wish(
    name="price_ranges",
    sql="SELECT * FROM trades WHERE symbol = :symbol AND price BETWEEN :low AND :high",
    share=0.55,
)
WISHES = (
    RANGES,
    Wish(
        name="buy_limits",
        sql="SELECT * FROM trades WHERE symbol = :symbol AND price <= :low",
        share=0.15,
    ),
    Wish(
        name="sell_limits",
        sql="SELECT * FROM trades WHERE symbol = :symbol AND price >= :high",
        share=0.15,
    ),
    Wish(
        name="blocks",
        sql="SELECT * FROM trades WHERE symbol = :symbol AND size >= :size",
        share=0.07,
    ),
    Wish(
        name="venue_blocks",
        sql="SELECT * FROM trades WHERE symbol = :symbol AND venue = :venue AND size >= :size",
        share=0.03,
    ),
    Wish(
        name="cheap_asks",
        sql="SELECT ts, symbol, ask FROM quotes WHERE symbol = :symbol AND ask <= :low",
        share=0.05,
    ),
)
ALERTS = {
    "ibm_or_nvidia": "SELECT * FROM trades WHERE symbol IN ('IBM', 'NVDA') AND size >= 2000",
    "young_names": "SELECT * FROM trades WHERE size >= 1500 AND symbol LIKE 'ZA%'",
    "either_way": "SELECT * FROM trades WHERE symbol = 'AAPL' AND size > 1800 "
    "OR venue = 'IEXG' AND size > 2200",
    "wide_spreads": "SELECT symbol, ask - bid AS spread FROM quotes "
    "WHERE ask >= 400 AND ask - bid > 0.45",
}
"""Single queries in plain SQL: IN, OR, LIKE, arithmetic."""


class Clients:
    """Draws parameters of standing queries around the prices at which the market opens."""

    def __init__(self, symbols: int, seed: int = SEED) -> None:
        self._rng = np.random.default_rng(seed)
        sample = market.trades(0, SAMPLE_ROWS, symbols=symbols)
        traded = sample.column("symbol").to_numpy(zero_copy_only=False)
        self._names, first, self._traded = np.unique(traded, return_index=True, return_inverse=True)
        self._prices = sample.column("price").to_numpy()[first]
        self._next_id = 0

    def draw(self, rows: int) -> pa.Table:
        """Draw rows of parameters: id, symbol, low, high, size, venue."""
        rng = self._rng
        popular = rng.random(rows) < POPULAR_SHARE
        symbol = np.where(
            popular,
            self._traded[rng.integers(0, len(self._traded), rows)],
            rng.integers(0, len(self._names), rows),
        )
        price = self._prices[symbol]
        middle = price * (1.0 + rng.normal(0.0, 0.05, rows))
        half = price * rng.uniform(0.0003, 0.002, rows)
        # A limit that the market is already beyond is no limit: buyers wait below, sellers above.
        away = price * rng.uniform(0.004, 0.08, rows)
        table = {
            "id": np.arange(self._next_id, self._next_id + rows, dtype=np.int64),
            "symbol": self._names[symbol],
            "low": np.round(middle - half, 2),
            "high": np.round(middle + half, 2),
            "below": np.round(price - away, 2),
            "above": np.round(price + away, 2),
            "size": rng.integers(800, 3_000, rows),
            "venue": np.asarray(market.VENUES)[rng.integers(0, 8, rows)],
        }
        self._next_id += rows
        return pa.table(table)

    def parameters(self, wish: Wish, rows: int) -> pa.Table:
        """Draw the parameters that a wish names."""
        drawn = self.draw(rows)
        if ":low" in wish.sql and ":high" not in wish.sql:
            drawn = drawn.drop_columns(["low"]).rename_columns({"below": "low"})
        elif ":high" in wish.sql and ":low" not in wish.sql:
            drawn = drawn.drop_columns(["high"]).rename_columns({"above": "high"})
        named = [name for name in drawn.column_names if f":{name}" in wish.sql]
        return drawn.select(["id", *named])

    def choose(self, ids: list[int], count: int) -> list[int]:
        """Choose some of the ids, never more than half."""
        chosen = self._rng.choice(len(ids), min(count, len(ids) // 2), replace=False)
        return [ids[place] for place in chosen.tolist()]


def shares(queries: int) -> list[tuple[Wish, int]]:
    """Divide the standing queries among the wishes.

    >>> sum(count for _, count in shares(1_000)), shares(1_000)[0][1]
    (1000, 550)
    """
    counts = [int(queries * wish.share) for wish in WISHES]
    counts[0] += queries - sum(counts)
    return list(zip(WISHES, counts, strict=True))
