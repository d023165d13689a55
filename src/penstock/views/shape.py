"""What a view is, in SQL: its rows from what its store keeps, and from its inputs alone."""

from __future__ import annotations

import pyarrow as pa

from penstock.algebra.physical import Typed
from penstock.algebra.views import Aggregate
from penstock.expressions.quotation import quoted
from penstock.views.layout import Findable, ViewLayout, names


class Shape:
    """A view as SELECTs over the tables of its layout."""

    def __init__(self, layout: ViewLayout) -> None:
        self.layout = layout
        self.dialect = layout.dialect
        self.table = layout.table

    def finals(self, where: str) -> str:
        """Give the outputs of groups, by the names `o0`, ….

        The groups may be narrowed by a condition on the table `groups`.
        """
        layout, definition = self.layout, self.layout.definition
        known = [
            f"{own} AS {quoted(key.name)}"
            for (own, _), key in zip(layout.keys, definition.keys, strict=True)
        ]
        known += [f"{self.final(each)} AS {quoted(each.name)}" for each in definition.aggregates]
        tests = [] if layout.has_one_group else ["_n > 0"]
        tests += [where] if where else []
        narrowed = f" WHERE {' AND '.join(tests)}" if tests else ""
        listed = ", ".join(known) or "1 AS nothing"
        having = f" WHERE {definition.having}" if definition.having else ""
        outputs = self._outputs()
        return (
            f"SELECT {outputs} FROM (SELECT {listed} FROM {self.table('groups')}{narrowed}) "
            f"AS found{having}"
        )

    def final(self, aggregate: Aggregate) -> str:
        """Give the value of an aggregate from the state of its group."""
        if aggregate.argument is None:
            return self.dialect.cast("_n", aggregate.type)
        argument = self.layout.argument(aggregate)
        x, double = argument.name, self.dialect.float
        found = {
            "count": f"{x}_n",
            "count_distinct": f"{x}_d",
            "min": f"{x}_min",
            "max": f"{x}_max",
        }.get(aggregate.function)
        if found is None:
            found = f"{x}_s"
            if aggregate.function == "avg":
                found = f"CAST({x}_s AS {double}) / {x}_n"
                if not argument.is_float and _is_decimal(aggregate):
                    found = f"{x}_s / {x}_n"
            if argument.is_float:
                found = (
                    f"CASE WHEN {x}_nan > 0 OR {x}_inf > 0 AND {x}_neg > 0 "
                    f"THEN CAST('NaN' AS {double}) "
                    f"WHEN {x}_inf > 0 THEN CAST('Infinity' AS {double}) "
                    f"WHEN {x}_neg > 0 THEN CAST('-Infinity' AS {double}) ELSE {found} END"
                )
            found = f"CASE WHEN {x}_n <> 0 THEN {found} END"
        return self.dialect.cast(found, aggregate.type)

    def shown(self) -> str:
        """Give the rows of the view as readers see them: users' names, duplicates one by one."""
        layout = self.layout
        outputs = [
            f"{own} AS {quoted(each.name)}"
            for (own, _), each in zip(layout.outputs, layout.definition.outputs, strict=True)
        ]
        is_grouped = layout.definition.is_grouped
        source = self.finals("") if is_grouped else self.expanded(layout.rows)
        return f"SELECT {', '.join(outputs)} FROM ({source}) AS shown"

    def expanded(self, table: Findable) -> str:
        """Give a table's rows, each as often as its weight says."""
        return self._repeated(table.columns, self.netted(table))

    def _repeated(self, columns: Typed, netted: str) -> str:
        listed, repeated = ", ".join(names(columns)), self.dialect.numbers.format("_n")
        return (
            f"SELECT {listed} FROM (SELECT {listed}, {repeated} "
            f"FROM ({netted}) AS netted) AS repeated"
        )

    def known(self, turn: int) -> str:
        """Give the rows of the view without what turns after one tell of."""
        listed = ", ".join(names(self.layout.outputs))
        shown = f"(SELECT * FROM {self.layout.shown}) AS shown({listed})"
        netted = (
            f"SELECT {listed}, {self.summed('_n')} AS _n "
            f"FROM (SELECT {listed}, 1 AS _n FROM {shown} UNION ALL "
            f"SELECT {listed}, -_n FROM {self.table('outbox')} WHERE _turn > {turn}) "
            f"AS all_ GROUP BY {listed} HAVING sum(_n) > 0"
        )
        return self._repeated(self.layout.outputs, netted)

    def netted(self, table: Findable, where: str = "") -> str:
        """Give a table's rows, each once with its weight, those that stand."""
        listed = ", ".join(names(table.columns))
        tests = f" WHERE {where}" if where else ""
        if not self.dialect.is_log:
            tests = f"{tests} AND _n > 0" if tests else " WHERE _n > 0"
            return f"SELECT {listed}, _n FROM {self.table(table.name)}{tests}"
        return (
            f"SELECT {listed}, {self.summed('_n')} AS _n FROM {self.table(table.name)}{tests} "
            f"GROUP BY {listed} HAVING sum(_n) > 0"
        )

    def recomputed(self) -> str:
        """Compute the view from the rows of its inputs, by SQL's own aggregates."""
        layout, definition = self.layout, self.layout.definition
        tables = ", ".join(
            layout.read(
                number,
                f"(SELECT *, 1 AS _n FROM ({self.expanded(layout.base(number))}) AS each) AS all_",
            )
            for number in range(len(layout.inputs))
        )
        where = self.where()
        if not definition.is_grouped:
            return f"SELECT {self._outputs()} FROM {tables}{where}"
        known = [
            f"{self.dialect.cast(key.sql, key.type)} AS {quoted(key.name)}"
            for key in definition.keys
        ]
        known += [
            f"{self.dialect.cast(self._plain(each), each.type)} AS {quoted(each.name)}"
            for each in definition.aggregates
        ]
        keys = ", ".join(str(number + 1) for number in range(len(definition.keys)))
        grouped = f" GROUP BY {keys}" if keys else ""
        having = f" WHERE {definition.having}" if definition.having else ""
        listed = ", ".join(known) or "count(*) AS nothing"
        return (
            f"SELECT {self._outputs()} FROM (SELECT {listed} FROM {tables}{where}{grouped}) "
            f"AS found{having}"
        )

    def told(self, source: str) -> str:
        """Put rows that came or went into the outbox, for the next turn that ends."""
        listed = ", ".join(names(self.layout.outputs))
        return (
            f"INSERT INTO {self.table('outbox')} ({listed}, _n, _turn) "
            f"SELECT *, (SELECT taken + 1 FROM {self.table('meta')}) FROM ({source}) AS told"
        )

    def _plain(self, aggregate: Aggregate) -> str:
        """Give an aggregate as SQL computes it."""
        if aggregate.argument is None:
            return "count(*)"
        if aggregate.function in {"min", "max"}:
            type_ = aggregate.argument_type
            return self.dialect.extreme(aggregate.function, aggregate.argument, type_)
        if aggregate.function == "count_distinct":
            return f"count(DISTINCT {aggregate.argument})"
        return f"{aggregate.function}({aggregate.argument})"

    def summed(self, sql: str) -> str:
        """Add up weights."""
        return f"CAST(sum({sql}) AS BIGINT)"

    def _outputs(self) -> str:
        layout = self.layout
        return ", ".join(
            f"{self.dialect.cast(each.sql, each.type)} AS {own}"
            for (own, _), each in zip(layout.outputs, layout.definition.outputs, strict=True)
        )

    def where(self) -> str:
        """Give the conditions of the view."""
        tests = [f"({each})" for each in self.layout.definition.conditions]
        return f" WHERE {' AND '.join(tests)}" if tests else ""


def _is_decimal(aggregate: Aggregate) -> bool:
    return bool(pa.types.is_decimal(aggregate.type))
