"""Pathway's side of the end-to-end experiment: a script for an environment of its own.

pathway_run.py <form> <supply> <demand> <queries>    three parquet files

Prints, as JSON, the seconds that the computation took and the number of affected queries, distinct
pairs of a row and a query. Pathway joins on equal values only. The form `filter` joins every
joined row with every query and filters; the form `buckets` is the expert's: ranges are cut into
buckets of the supplied quantity, equal buckets are joined, then filtered.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

import pandas as pd
import pathway as pw

BUCKET = 100


def affected(form: str, supply: pd.DataFrame, demand: pd.DataFrame, queries: pd.DataFrame) -> int:
    """Count the pairs."""
    queries = queries.rename(columns={"id": "query"})  # Pathway keeps `id` for itself
    if form == "buckets":
        spans = zip(queries["s_lo"] // BUCKET, queries["s_hi"] // BUCKET, strict=True)
        queries = queries.assign(bucket=[list(range(low, high + 1)) for low, high in spans])
        queries = queries.explode("bucket").astype({"bucket": "int64"}).reset_index(drop=True)
    s, d, q = (pw.debug.table_from_pandas(frame) for frame in (supply, demand, queries))
    joined = s.join(d, s.product == d.product).select(
        s.number, supplied=s.quantity, demanded=d.quantity, bucket=s.quantity // BUCKET
    )
    met = joined.join(q, joined.bucket == q.bucket) if form == "buckets" else joined.join(q)
    pairs = met.select(
        joined.number,
        q.query,
        fits=(joined.supplied >= q.s_lo)
        & (joined.supplied <= q.s_hi)
        & (joined.demanded >= q.d_lo)
        & (joined.demanded <= q.d_hi),
    ).filter(pw.this.fits)
    distinct = pairs.groupby(pairs.number, pairs.query).reduce(pairs.number, pairs.query)
    counted = distinct.reduce(pairs=pw.reducers.count())
    found = [0]

    def keep(*, row: dict[str, int], is_addition: bool, **_: object) -> None:
        if is_addition:
            found[0] = row["pairs"]

    pw.io.subscribe(counted, on_change=keep)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return found[0]


def main() -> None:
    """Read, run, print."""
    form, *paths = sys.argv[1:]
    supply, demand, queries = (pd.read_parquet(path) for path in paths)
    started = perf_counter()
    pairs = affected(form, supply, demand, queries)
    sys.stdout.write(json.dumps({"seconds": perf_counter() - started, "pairs": pairs}) + "\n")


if __name__ == "__main__":
    main()
