"""The kind: which queries it claims, what they ask, and how their answers are verified."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.algebra.catalog import Catalog
from penstock.algebra.logical import Logical
from penstock.expressions.connections import connect
from penstock.kinds.outcomes import compare_changes, parameter_columns, without_nan
from penstock.kinds.protocol import AnswerComparison, Kind
from penstock.kinds.recorded import load_events, load_found, sections_of
from penstock.kinds.told import Told
from penstock.language.outputs import outputs_of
from penstock.language.queries import Query
from penstock.language.select_lists import SelectList, resolved_list
from penstock.language.splices import cut

from .node import NAME, DistinctValues
from .operator import UNTOLD


class Distinct(Kind):
    """`SELECT DISTINCT column FROM relation`."""

    name = NAME
    operators = (NAME,)

    def claims(self, query: Query) -> bool:
        return query.tree.args.get("distinct") is not None

    def bind(self, query: Query) -> DistinctValues:
        query.tree.args.pop("distinct")
        query.tokens = [each for each in query.tokens if each.token_type is not TokenType.DISTINCT]
        select, names = query.select, query.names
        items = cut(query.tokens).items
        if query.joins or select.args.get("where") or len(items) != 1:
            fact = "DISTINCT is about one column of one relation, and all its rows."
            raise query.source.error("DIS-001", fact, "Write SELECT DISTINCT column FROM relation.")
        names.resolve(select)
        outputs = outputs_of(select.expressions, items, names)
        column = select.expressions[0].unalias()
        if not isinstance(column, exp.Column):
            fact = "DISTINCT is about a column, and this is computed."
            raise query.source.error("DIS-002", fact, "Name a column.")
        relation = names.scopes[0].relation.name
        type_ = names.column_type(column.name)
        return DistinctValues(relation=relation, column=column.name, type=type_, outputs=outputs)

    def verify(self, asked: AnswerComparison) -> None:
        logical, batches = asked.logical, asked.batches
        schema = asked.registry.catalog[logical.relation.lower()].schema
        column = without_nan(logical.column, logical.type)
        with connect() as db:
            db.register("given", asked.parameters)
            columns = parameter_columns(asked.parameters.schema)
            db.execute(f"CREATE TABLE p AS SELECT {columns} FROM given")
            load_events(db, "events", sections_of(batches, logical.relation), schema)
            db.execute(
                f"CREATE TABLE expected AS SELECT p._query, min(_batch) AS _batch, {column}, "
                "1::BIGINT AS _sign FROM events, p "
                "WHERE _batch >= p._first AND _batch < p._last GROUP BY ALL"
            )
            made = [(logical.column, logical.type)]
            load_found(db, sections_of(batches, asked.group), made)
            compare_changes(db, asked.answer)
        # A query that was told as many values as it may be may lack others, which are counted.
        told = Told(asked.log, len(batches), asked.group)
        asked.answer.may_miss |= told.counts[UNTOLD] > 0
        asked.progress(asked.answer.subscription, 1, 1)

    def select_list(self, sql: str, logical: Logical, catalog: Catalog) -> SelectList:
        assert isinstance(logical, DistinctValues)
        return resolved_list(logical.outputs, [logical.column])


KIND = Distinct()
