"""A made-up stock market: every row is a pure function of (seed, stream, offset).

Rows can be made in any order and any partitioning, again and again, without keeping a thing: the
walk of a price is a closed form of time, chance is a hash of the row's offset. Only additions,
multiplications and rounding are used, which every machine does alike, so the same seed gives the
same bits everywhere. No Spark here: the lab uses this module as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.vocabulary.batches import Floats, Ints
from penstock.worlds.chance import bits, mix, wave

SEED = 7
SYMBOLS_DEFAULT = 300
SYMBOLS_MAX = 10_000
RATE_ROWS_PER_S = 10_000
START_US = 1_767_364_200_000_000
"""2026-01-02 14:30 UTC, when New York opens."""

VENUES = ("XNYS", "XNAS", "ARCX", "BATS", "IEXG", "MEMX", "EDGX", "XCHI")
TIMESTAMP = pa.timestamp("us", "UTC")
TRADES = pa.schema(
    [
        ("ts", TIMESTAMP),
        ("symbol", pa.string()),
        ("price", pa.float64()),
        ("size", pa.int64()),
        ("venue", pa.string()),
        ("trade_id", pa.int64()),
    ]
)
QUOTES = pa.schema(
    [
        ("ts", TIMESTAMP),
        ("symbol", pa.string()),
        ("bid", pa.float64()),
        ("ask", pa.float64()),
        ("bid_size", pa.int64()),
        ("ask_size", pa.int64()),
        ("quote_id", pa.int64()),
    ]
)

_KNOWN = (
    "IBM NVDA AAPL MSFT AMZN GOOG META TSLA AVGO JPM LLY V XOM MA UNH COST WMT PG HD NFLX JNJ ORCL "
    "BAC KO PEP MRK CVX AMD CRM ABBV ADBE MCD CSCO INTC QCOM GE CAT DIS T VZ PFE NKE BA GS MS AXP "
    "UPS F GM SBUX"
).split()
_TRADES_SALT = 0x7261_6465
_QUOTES_SALT = 0x7175_6F74
_POPULARITY_BITS = 16
_ZIPF_EXPONENT = 0.9
_PRICE_ANCHOR_IBM = 122.5
_PERIODS_S = (21_600.0, 2_700.0, 420.0, 61.0, 9.7)
_AMPLITUDES = (0.040, 0.015, 0.006, 0.002, 0.0007)
_NOISE = 0.0008


def symbol_names(count: int) -> tuple[str, ...]:
    """Name `count` symbols: well-known ones first, then four letters each.

    >>> symbol_names(2), symbol_names(52)[-2:]
    (('IBM', 'NVDA'), ('ZAAA', 'ZAAB'))
    """
    made = (
        "Z" + "".join(chr(65 + number // 26**place % 26) for place in (2, 1, 0))
        for number in range(max(0, count - len(_KNOWN)))
    )
    return (*_KNOWN[:count], *made)


SYMBOLS = symbol_names(SYMBOLS_DEFAULT)


@dataclass(frozen=True, slots=True)
class _Tables:
    """What is drawn once per seed: who is traded how often, and how each price walks."""

    names: pa.StringArray
    popularity: npt.NDArray[np.int32]
    price: Floats
    half_spread: Floats
    frequency_hz: Floats
    phase: Floats
    lots: Ints


@lru_cache(maxsize=16)
def _tables(seed: int, symbols: int) -> _Tables:
    rng = np.random.default_rng([seed, 1])
    weight = 1.0 / np.arange(1, symbols + 1) ** _ZIPF_EXPONENT
    edges = np.cumsum(weight) / weight.sum()
    points = (np.arange(1 << _POPULARITY_BITS) + 0.5) / (1 << _POPULARITY_BITS)
    price = np.asarray(np.exp(rng.uniform(np.log(8.0), np.log(600.0), symbols)).round(2))
    price[0] = _PRICE_ANCHOR_IBM
    stretch = rng.uniform(0.7, 1.4, (len(_PERIODS_S), symbols))
    return _Tables(
        names=pa.array(symbol_names(symbols), pa.string()),
        popularity=np.minimum(np.searchsorted(edges, points), symbols - 1).astype(np.int32),
        price=price,
        half_spread=np.maximum(0.005, np.round(price * rng.uniform(5e-5, 4e-4, symbols), 3)),
        frequency_hz=stretch / np.array(_PERIODS_S)[:, None],
        phase=rng.uniform(0.0, 1.0, (len(_PERIODS_S), symbols)),
        lots=np.ceil(100 * rng.lognormal(0.3, 1.0, 256)).astype(np.int64),
    )


def _middle(tables: _Tables, symbol: npt.NDArray[np.int32], time_s: Floats) -> Floats:
    """Price each symbol at its time: its base price times a bounded walk."""
    walk = np.ones(len(time_s))
    for frequency, phase, amplitude in zip(
        tables.frequency_hz, tables.phase, _AMPLITUDES, strict=True
    ):
        walk += amplitude * wave(time_s * frequency[symbol] + phase[symbol])
    return np.asarray(tables.price[symbol] * walk)


def _cents(price: Floats) -> Floats:
    return np.asarray(np.rint(price * 100.0) / 100.0)


def _times(offsets: Ints, rows_per_second: int, start_us: int) -> tuple[Floats, pa.Array]:
    """Give seconds since the start, and the timestamps; both ascend with the offset."""
    elapsed_us = offsets * 1_000_000 // rows_per_second
    stamps = pa.array(elapsed_us + start_us, pa.int64()).cast(TIMESTAMP)
    return elapsed_us / 1e6, stamps


def trades(
    first: int,
    last: int,
    seed: int = SEED,
    symbols: int = SYMBOLS_DEFAULT,
    rows_per_second: int = RATE_ROWS_PER_S,
    start_us: int = START_US,
) -> pa.RecordBatch:
    """Make the trades of offsets `first` up to, not including, `last`.

    Few symbols make most of the trades; prices stay near the quotes of the same seed and time.

    >>> whole = trades(0, 100, seed=3)
    >>> whole.slice(40, 20).equals(trades(40, 60, seed=3))
    True
    """
    tables = _tables(seed, symbols)
    offsets = np.arange(first, last, dtype=np.int64)
    chance = mix(offsets, seed, _TRADES_SALT)
    symbol = tables.popularity[bits(chance, 0, _POPULARITY_BITS)]
    time_s, stamps = _times(offsets, rows_per_second, start_us)
    noise = bits(chance, 16, 20) * (2.0 * _NOISE / (1 << 20)) - _NOISE
    columns = [
        stamps,
        tables.names.take(pa.array(symbol)),
        pa.array(_cents(_middle(tables, symbol, time_s) * (1.0 + noise))),
        pa.array(tables.lots[bits(chance, 36, 8)]),
        pa.array(VENUES, pa.string()).take(pa.array(bits(chance, 44, 3))),
        pa.array(offsets),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=TRADES)


def quotes(
    first: int,
    last: int,
    seed: int = SEED,
    symbols: int = SYMBOLS_DEFAULT,
    rows_per_second: int = RATE_ROWS_PER_S,
    start_us: int = START_US,
) -> pa.RecordBatch:
    """Make the quotes of offsets `first` up to, not including, `last`.

    The bid is always below the ask, by a spread that is the symbol's own and breathes a little.

    >>> quotes(0, 1).column_names
    ['ts', 'symbol', 'bid', 'ask', 'bid_size', 'ask_size', 'quote_id']
    """
    tables = _tables(seed, symbols)
    offsets = np.arange(first, last, dtype=np.int64)
    chance = mix(offsets, seed, _QUOTES_SALT)
    symbol = tables.popularity[bits(chance, 0, _POPULARITY_BITS)]
    time_s, stamps = _times(offsets, rows_per_second, start_us)
    middle = _middle(tables, symbol, time_s)
    spread = tables.half_spread[symbol] * (1.0 + bits(chance, 16, 10) / 1024.0)
    bid = _cents(middle - spread)
    columns = [
        stamps,
        tables.names.take(pa.array(symbol)),
        pa.array(bid),
        pa.array(np.maximum(_cents(middle + spread), _cents(bid + 0.01))),
        pa.array(tables.lots[bits(chance, 26, 8)]),
        pa.array(tables.lots[bits(chance, 34, 8)]),
        pa.array(offsets),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=QUOTES)


STREAMS = {"trades": (TRADES, trades), "quotes": (QUOTES, quotes)}
"""Schema and maker of each stream, by its name."""
