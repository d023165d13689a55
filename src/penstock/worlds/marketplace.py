"""A made-up marketplace: merchants who offer and merchants who look for something.

Two tables under change, `supply` and `demand`; every row is a pure function of (seed, table,
offset), as in `penstock.worlds.turnover`. Few products make most of the business; supply is small
lots for the most part, demand large ones.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.vocabulary.batches import Floats, Ints
from penstock.worlds.chance import bits, mix
from penstock.worlds.turnover import changes

SEED = 7
STOCK = 5_000
PRODUCTS = 300
PRODUCTS_MAX = 10_000
MERCHANTS = 2_000
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("product", pa.string()),
        ("quantity", pa.int64()),
        ("price", pa.float64()),
        ("merchant", pa.string()),
        ("op", pa.string()),
    ]
)

_KNOWN = (
    *("copper", "wheat", "cotton", "coffee", "sugar", "rice", "timber", "steel", "zinc", "cocoa"),
    *("tea", "wool", "rubber", "salt", "soy", "maize", "silk", "paper", "glass", "leather"),
)
_SUPPLY_SALT = 0x7375_7070
_DEMAND_SALT = 0x6465_6D61
_POPULARITY_BITS = 14
_ZIPF_EXPONENT = 0.6
_ROUNDS = 6
_LOT_MEDIANS = {_SUPPLY_SALT: 60.0, _DEMAND_SALT: 240.0}


def product_names(count: int) -> tuple[str, ...]:
    """Name `count` products.

    >>> product_names(22)[-3:]
    ('leather', 'part-0020', 'part-0021')
    """
    return (*_KNOWN[:count], *(f"part-{number:04d}" for number in range(len(_KNOWN), count)))


@lru_cache(maxsize=16)
def _tables(
    seed: int, products: int, salt: int
) -> tuple[pa.StringArray, npt.NDArray[np.int32], Floats, Ints]:
    """Draw once per seed: names, popularity, prices of products, and sizes of lots."""
    rng = np.random.default_rng([seed, 2])
    weight = 1.0 / np.arange(1, products + 1) ** _ZIPF_EXPONENT
    edges = np.cumsum(weight) / weight.sum()
    points = (np.arange(1 << _POPULARITY_BITS) + 0.5) / (1 << _POPULARITY_BITS)
    popularity = np.minimum(np.searchsorted(edges, points), products - 1).astype(np.int32)
    price = np.asarray(np.exp(rng.uniform(np.log(2.0), np.log(90.0), products)).round(2))
    lots = np.ceil(_LOT_MEDIANS[salt] * rng.lognormal(0.0, 0.8, 1024)).astype(np.int64)
    return pa.array(product_names(products), pa.string()), popularity, price, np.minimum(lots, 1000)


def _offers(
    first: int, last: int, seed: int, stock: int, products: int, salt: int
) -> pa.RecordBatch:
    made = changes(first, last, seed ^ salt, stock, _ROUNDS)
    names, popularity, price, lots = _tables(seed, products, salt)
    own = mix(made.id, seed, salt)
    now = mix(made.id * (1 << 20) + made.version, seed, salt + 1)
    product = popularity[bits(own, 0, _POPULARITY_BITS)]
    merchant = bits(own, 16, 32) % MERCHANTS
    asked = price[product] * (0.9 + bits(now, 10, 10) / 5120.0)
    columns = [
        pa.array(made.id),
        names.take(pa.array(product)),
        pa.array(lots[bits(now, 0, 10)]),
        pa.array(np.rint(asked * 100.0) / 100.0),
        pa.array([f"m{number:04d}" for number in range(MERCHANTS)]).take(pa.array(merchant)),
        made.op,
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def supply(
    first: int, last: int, seed: int = SEED, stock: int = STOCK, products: int = PRODUCTS
) -> pa.RecordBatch:
    """Make the changes of supply at offsets `first` up to, not including, `last`.

    >>> supply(0, 100, seed=3).slice(40, 20).equals(supply(40, 60, seed=3))
    True
    """
    return _offers(first, last, seed, stock, products, _SUPPLY_SALT)


def demand(
    first: int, last: int, seed: int = SEED, stock: int = STOCK, products: int = PRODUCTS
) -> pa.RecordBatch:
    """Make the changes of demand at offsets `first` up to, not including, `last`.

    >>> demand(0, 1).column_names
    ['id', 'product', 'quantity', 'price', 'merchant', 'op']
    """
    return _offers(first, last, seed, stock, products, _DEMAND_SALT)


TABLES = {"supply": supply, "demand": demand}
"""Maker of each table, by its name."""
