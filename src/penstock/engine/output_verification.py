"""Verification of outputs: what subscribers read, against the SELECT list evaluated by DuckDB.

One side is the readers' own way: `ChangeReader` with the selection that a subscription reads. The
other takes pairs and events from the files, whatever the manifests say of groups, and has DuckDB
evaluate the user's own SELECT list over them. Ids, signs and every output must be the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Catalog
from penstock.delivery.changes import ChangeReader
from penstock.delivery.log import LoggedBatch
from penstock.delivery.parts import net_section
from penstock.delivery.sheets import HEAD_COLUMNS, SheetSelection
from penstock.expressions.evaluation import BESIDE_TRY, is_of_a_row
from penstock.expressions.quotation import quoted, theirs
from penstock.kinds.outcomes import (
    EXAMPLES_MAX,
    EXAMPLES_PER_KIND,
    Place,
    SubscriptionOutcome,
    count,
)
from penstock.kinds.recorded import RecordedShelf, sections_of
from penstock.kinds.table_verification import meaning_sql
from penstock.language.select_lists import ROW, SelectList
from penstock.registry.records import Block
from penstock.vocabulary.changes import sign_among, sign_beside

CHANGES_PER_CHUNK = 200_000


def verify_outputs(
    answer: SubscriptionOutcome,
    catalog: Catalog,
    reader: ChangeReader,
    selection: SheetSelection,
    listed: SelectList,
    relation: str | None,
    blocks: list[Block],
    batches: Sequence[LoggedBatch],
    shelf: RecordedShelf,
) -> None:
    """Compare what one text's subscribers read with its SELECT list over the files.

    `relation` is a filter's; of joins, whose rows are the group's own, it is None.
    """
    ids = pa.concat_tables([block.table.select(["query", "id"]) for block in blocks])
    for chunk in _chunks(batches):
        read = _read(reader, selection, chunk)
        with shelf.opened() as db:
            db.register("ids", ids)
            events = _load(db, shelf, catalog, selection, listed, relation, chunk)
            outputs = _answer(db, events, listed, relation is None, selection.change_column)
            _compare(db, answer, read, outputs)


def _chunks(batches: Sequence[LoggedBatch]) -> Iterator[list[LoggedBatch]]:
    chunk: list[LoggedBatch] = []
    changes = 0
    for batch in batches:
        chunk.append(batch)
        changes += batch.matches + batch.rows_in
        if changes >= CHANGES_PER_CHUNK:
            yield chunk
            chunk, changes = [], 0
    if chunk:
        yield chunk


def _read(
    reader: ChangeReader, selection: SheetSelection, batches: Sequence[LoggedBatch]
) -> pa.Table | None:
    """Read as subscribers do; columns are numbered, since their names may be anything."""
    found = []
    for batch in batches:
        for table in reader.batch(batch, [selection]):
            outputs = [f"o{number}" for number in range(table.num_columns - HEAD_COLUMNS)]
            numbers = pa.array(np.full(table.num_rows, batch.batch, dtype=np.int64))
            renamed = table.rename_columns(["_id", "_query", "_sign", *outputs])
            found.append(renamed.add_column(0, "_batch", numbers))
    return pa.concat_tables(found, promote_options="permissive") if found else None


def _load(
    db: duckdb.DuckDBPyConnection,
    shelf: RecordedShelf,
    catalog: Catalog,
    selection: SheetSelection,
    listed: SelectList,
    relation: str | None,
    batches: Sequence[LoggedBatch],
) -> str:
    """Make `pairs`, which are numbered, and the inputs `in0`, `in1`, … with a row for each.

    Gives the name of the table with the events.
    """
    name = relation or selection.group
    if relation is not None and selection.change_column is not None:
        name = net_section(relation)
    places = sections_of(batches, name)
    schema = _schema(catalog, listed, relation, places)
    events, matches = shelf.events(places, schema, with_broken=True), shelf.matches(places)
    db.execute(
        "CREATE TABLE pairs AS SELECT row_number() OVER () AS _n, m._batch, m._part, m.event, "
        f"m.query, ids.id FROM {matches} AS m JOIN ids ON ids.query = m.query"
    )
    for number, each in enumerate(listed.inputs):
        columns = ", ".join(f"e.{theirs(made)} AS {quoted(own)}" for own, made in each.columns)
        db.execute(
            f"CREATE TABLE in{number} AS SELECT {columns}, pairs._n AS {quoted(ROW)} FROM pairs "
            f"JOIN {events} AS e ON e._batch = pairs._batch AND e._part = pairs._part "
            "AND e._row = pairs.event"
        )
    return events


def _schema(
    catalog: Catalog, listed: SelectList, relation: str | None, places: Sequence[Place]
) -> pa.Schema:
    if relation is not None:
        return catalog[relation.lower()].schema
    names = [made for each in listed.inputs for _, made in each.columns]
    if not places:
        signs = (sign_beside(names), pa.int8())
        return pa.schema([*((name, pa.null()) for name in names), signs])
    written = places[0][2].schema()
    return pa.schema([written.field(name) for name in (*names, sign_among(written.names))])


def _answer(
    db: duckdb.DuckDBPyConnection,
    events: str,
    listed: SelectList,
    made: bool,
    change_column: str | None,
) -> int:
    """Make the table `answers`; give how many outputs there are.

    If some value cannot be computed, the whole list is evaluated with care: such a value is NULL.
    """
    try:
        db.execute(f"CREATE TABLE listed AS {listed.sql()}")
    except duckdb.Error as error:
        if not is_of_a_row(error):
            raise
        db.execute(f"SET disabled_optimizers = '{BESIDE_TRY}'")
        db.execute(f"CREATE TABLE listed AS {listed.sql(careful=True)}")
    # A star shows the rows' numbers too, once for each input.
    names = [row[0] for row in db.execute("DESCRIBE listed").fetchall()]
    kept = [name for name in names if not name.startswith(ROW)]
    if made:
        columns = [row[0].removeprefix(".") for row in db.execute(f"DESCRIBE {events}").fetchall()]
        sign = f"e.{theirs(sign_among(columns))}"
    elif change_column is None:
        sign = "1"
    else:
        sign = f"CASE WHEN {meaning_sql(change_column, 'e')} < 0 THEN -1 ELSE 1 END"
    outputs = "".join(f", listed.{quoted(name)} AS o{n}" for n, name in enumerate(kept))
    db.execute(
        f"CREATE TABLE answers AS SELECT pairs._batch, pairs.id AS _id, pairs.query AS _query, "
        f"({sign})::TINYINT AS _sign{outputs} FROM pairs JOIN {events} AS e "
        "ON e._batch = pairs._batch AND e._part = pairs._part AND e._row = pairs.event "
        f"JOIN listed ON listed.{quoted(names[-1])} = pairs._n"
    )
    return len(kept)


def _compare(
    db: duckdb.DuckDBPyConnection, answer: SubscriptionOutcome, read: pa.Table | None, outputs: int
) -> None:
    answer.outputs = max(answer.outputs, outputs)
    if read is None:
        db.execute("CREATE TABLE answers_read AS FROM answers LIMIT 0")
    else:
        db.register("read", read)
        db.execute("CREATE TABLE answers_read AS FROM read")
        answer.read += read.num_rows
    for kind, one, other in (
        ("not read", "answers", "answers_read"),
        ("read wrongly", "answers_read", "answers"),
    ):
        differing = f"(FROM {one} EXCEPT ALL FROM {other})"
        number = count(db, f"SELECT count(*) FROM {differing}")
        answer.misread += number
        if number and len(answer.examples) < EXAMPLES_MAX:
            rows = db.sql(f"FROM {differing} LIMIT {EXAMPLES_PER_KIND}").to_arrow_table()
            answer.examples += [{"kind": kind, **row} for row in rows.to_pylist()]
