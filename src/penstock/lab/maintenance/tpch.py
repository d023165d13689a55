"""The published view over TPC-H: its tables, its definition, and two streams of updates.

`MIN(ps_supplycost)` of all that suppliers in the Middle East offer. Costs of offers change, and
suppliers move to other nations; an update is a delete and an insert.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.algebra.views import (
    Aggregate,
    StoreDialect,
    ViewColumn,
    ViewDefinition,
    ViewInput,
)
from penstock.lab.report import Size, sized
from penstock.views.protocol import WEIGHT
from penstock.vocabulary.batches import Floats, Ints
from penstock.vocabulary.errors import PenstockError

SCALE = sized(0.01, 0.1, 1.0)
PARTSUPP, SUPPLIER, NATION, REGION = range(4)
UPDATED = (PARTSUPP, SUPPLIER)
"""The inputs that change, in the order of their curves."""
NAMES = ("partsupp", "supplier", "nation", "region")
COLUMNS: tuple[tuple[tuple[str, pa.DataType], ...], ...] = (
    (("ps_partkey", pa.int64()), ("ps_suppkey", pa.int64()), ("ps_supplycost", pa.float64())),
    (("s_suppkey", pa.int64()), ("s_nationkey", pa.int64())),
    (("n_nationkey", pa.int64()), ("n_regionkey", pa.int64())),
    (("r_regionkey", pa.int64()), ("r_name", pa.string())),
)
"""Of each table its key and what changes; the view reads the last two."""
CONDITIONS = (
    '"partsupp"."ps_suppkey" = "supplier"."s_suppkey"',
    '"supplier"."s_nationkey" = "nation"."n_nationkey"',
    '"nation"."n_regionkey" = "region"."r_regionkey"',
    '"region"."r_name" = \'MIDDLE EAST\'',
)
CHOSEN = "MIDDLE EAST"
NATIONS = 25
CENTS_MAX = 100_000
"""Costs are drawn up to 1,000.00, as the generator draws them."""


def cheapest_offer(dialect: StoreDialect) -> ViewDefinition:
    """Give the published view for a store."""
    cost = pa.float64()
    return ViewDefinition(
        name="cheapest_offer",
        dialect=dialect,
        inputs=tuple(
            ViewInput(relation=name, alias=name, columns=columns[-2:])
            for name, columns in zip(NAMES, COLUMNS, strict=True)
        ),
        conditions=CONDITIONS,
        is_grouped=True,
        aggregates=(
            Aggregate(
                name="a0",
                function="min",
                argument='"partsupp"."ps_supplycost"',
                argument_type=cost,
                type=cost,
            ),
        ),
        outputs=(ViewColumn(name="min_cost", sql='"a0"', type=cost),),
    )


Updates = dict[int, pa.Table]
"""Changes of one moment, by input."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Offers:
    """The four tables as they are at first, and what becomes of them."""

    tables: tuple[pa.Table, ...]
    """By input, ordered by their keys."""

    def loaded(self) -> Updates:
        """Give all rows as changes."""
        return {number: weighted(table, 1) for number, table in enumerate(self.tables)}

    def updates(self, drawn: np.random.Generator, arrivals: Ints) -> list[Updates]:
        """Draw so many updates of offers and of suppliers at every moment, from 1.

        `arrivals` counts changes, of which an update is two. Who is changed twice is changed from
        what it had become.
        """
        now = self.state()
        return [now.updated(drawn, *(int(count) // 2 for count in come)) for come in arrivals[1:]]

    def state(self) -> OffersState:
        """Give the rows as one who changes them keeps them."""
        columns = [
            [table[name].to_numpy().copy() for name in table.column_names]
            for table in self.tables[:NATION]
        ]
        nations, regions = (self.tables[number].to_pydict() for number in (NATION, REGION))
        chosen = regions["r_regionkey"][regions["r_name"].index(CHOSEN)]
        near = [
            key
            for key, region in zip(nations["n_nationkey"], nations["n_regionkey"], strict=True)
            if region == chosen
        ]
        return OffersState(*columns, near=np.array(near))


class OffersState:
    """Offers and suppliers while they change: the oracle of what the view must say."""

    def __init__(self, offers: list[Floats], suppliers: list[Ints], *, near: Ints) -> None:
        self._offers = offers
        self._suppliers = suppliers
        self._near = near
        self._places = np.zeros(int(suppliers[0].max()) + 1, np.int64)
        self._places[suppliers[0]] = np.arange(len(suppliers[0]))

    def updated(self, drawn: np.random.Generator, offers: int, suppliers: int) -> Updates:
        """Draw new costs for some offers and new nations for some suppliers."""
        costs = drawn.integers(100, CENTS_MAX, offers) / 100.0
        moves = drawn.integers(1, NATIONS, suppliers)
        rows = [
            drawn.choice(len(own[0]), count, replace=False)
            for own, count in ((self._offers, offers), (self._suppliers, suppliers))
        ]
        nations = (self._suppliers[1][rows[1]] + moves) % NATIONS
        told = {
            PARTSUPP: changed(rows[0], self._offers, costs, COLUMNS[PARTSUPP]),
            SUPPLIER: changed(rows[1], self._suppliers, nations, COLUMNS[SUPPLIER]),
        }
        return {number: table for number, table in told.items() if table.num_rows}

    def least(self) -> float:
        """Compute the view anew."""
        _, suppkeys, costs = self._offers
        nations = self._suppliers[1][self._places[suppkeys.astype(np.int64)]]
        return float(costs[np.isin(nations, self._near)].min())

    def follow(self, changes: Updates) -> None:
        """Take changes that were drawn before."""
        for number, own in ((PARTSUPP, self._offers), (SUPPLIER, self._suppliers)):
            if number not in changes:
                continue
            come = changes[number].filter(changes[number][WEIGHT].to_numpy() > 0)
            for row in zip(*(come[name].to_numpy() for name, _ in COLUMNS[number]), strict=True):
                own[-1][_place(own, row[:-1])] = row[-1]


def _place(columns: list[Floats] | list[Ints], key: tuple[float, ...]) -> int:
    """Find the row of a key; offers are ordered by part and suppliers by number."""
    low = int(np.searchsorted(columns[0], key[0]))
    while any(column[low] != part for column, part in zip(columns, key, strict=False)):
        low += 1
    return low


def changed(
    rows: Ints,
    columns: list[Floats] | list[Ints],
    values: Floats | Ints,
    names: tuple[tuple[str, pa.DataType], ...],
) -> pa.Table:
    """Give new values to rows, none of which is named twice; give what went and what came."""
    gone = [column[rows].copy() for column in columns]
    columns[-1][rows] = values
    come = [column[rows].copy() for column in columns]
    found = [np.concatenate(pair) for pair in zip(gone, come, strict=True)]
    weights = np.repeat([-1, 1], len(rows))
    arrays = [pa.array(each).cast(type_) for each, (_, type_) in zip(found, names, strict=True)]
    return pa.table([*arrays, pa.array(weights)], names=[*(name for name, _ in names), WEIGHT])


def undone(moments: list[Updates]) -> Updates:
    """Give the changes that take back all changes of some moments."""
    found: Updates = {}
    for number in UPDATED:
        tables = [changes[number] for changes in moments if number in changes]
        if tables:
            whole = pa.concat_tables(tables)
            weights = pa.array(-whole[WEIGHT].to_numpy())
            found[number] = whole.set_column(whole.num_columns - 1, WEIGHT, weights)
    return found


@contextmanager
def generated(size: Size) -> Iterator[Offers]:
    """Make TPC-H's tables by its generator, in a directory that goes away."""
    with generated_files(SCALE[size], NAMES) as directory:
        yield Offers(
            tables=tuple(
                read_table(directory / f"{name}.parquet", columns)
                for name, columns in zip(NAMES, COLUMNS, strict=True)
            )
        )


@contextmanager
def generated_files(scale: float, names: Sequence[str]) -> Iterator[Path]:
    """Give a directory with files of TPC-H's tables, which goes away."""
    program = _program()
    with TemporaryDirectory(prefix="penstock-tpch-") as directory:
        subprocess.run(
            [program, "parquet", "-s", str(scale), f"--tables={','.join(names)}",
             f"--output-dir={directory}"],
            check=True, capture_output=True,
        )  # fmt: skip
        yield Path(directory)


def read_table(path: Path, columns: tuple[tuple[str, pa.DataType], ...]) -> pa.Table:
    """Read some columns of a table, ordered by all but the last."""
    table = pq.read_table(path, columns=[name for name, _ in columns])
    order = [(name, "ascending") for name, _ in columns[:-1]]
    return table.cast(pa.schema(columns)).sort_by(order)


def _program() -> str:
    beside = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    program = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if program is None:
        raise PenstockError(
            "LAB-003",
            "TPC-H's tables cannot be made: tpchgen-cli is not installed.",
            "Install it: pip install 'penstock[bench]'.",
        )
    return program


def weighted(table: pa.Table, weight: int) -> pa.Table:
    """Give rows as changes."""
    return table.append_column(WEIGHT, pa.array(np.full(table.num_rows, weight, np.int64)))
