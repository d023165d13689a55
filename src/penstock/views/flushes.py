"""The SQL that flushes an input of a view, step by step.

A flush joins the changes of one input with the rows of the others as of their last flush, so that
the view is the query over a prefix of every input's changes, whichever inputs were flushed when.
What a joined row adds to a group is linear in its weight, but for min, max and distinct counts:
these are read from the values of the group, and an extreme is looked for there only if it went.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from penstock.views.layout import Argument, Findable, ViewLayout, names
from penstock.views.shape import Shape

JOINED, DELTA = "joined", "delta"
"""What a flush keeps while it runs: joined rows, and groups, as they change."""
EXTREMES = {"min": ("least", "<="), "max": ("greatest", ">=")}
"""Functions of values that are kept as they are: which of two is taken, and what lies beyond."""
ODD = {"nan": "NaN", "inf": "Infinity", "neg": "-Infinity"}
"""Floats that cannot be taken out of a sum again: they are counted."""


@dataclass(frozen=True, slots=True)
class FlushStep:
    """A statement of a flush.

    If it `makes` a table, it is the SELECT that fills it. It is run only if `guard`, a SELECT,
    gives rows. If it `decides` and has made no rows, the view does not change, and the steps that
    follow are not run.
    """

    sql: str
    makes: str | None = None
    guard: str | None = None
    decides: bool = False

    @property
    def text(self) -> str:
        """The statement, for people to read."""
        return f"CREATE TEMP TABLE {self.makes} AS {self.sql}" if self.makes else self.sql


class FlushStatements:
    """The statements that flush an input of a view, in the SQL of its store.

    `queued` is what they take for the queue; if it is not given, that is the queue, netted. `named`
    names what a flush keeps while it runs, and `read` says how that is read: temporary tables, if
    they are not given.
    """

    def __init__(
        self,
        layout: ViewLayout,
        input_: int,
        queued: str | None = None,
        named: Callable[[str], str] | None = None,
        read: str = "{}",
    ) -> None:
        self.layout = layout
        self.dialect = layout.dialect
        self.shape = Shape(layout)
        self.input = input_
        self.base = layout.base(input_)
        self.queue = layout.table(f"queue{input_}")
        self.queued = queued or self.netted()
        self._table = layout.table
        self._named = named
        self._read = read

    def work(self, name: str) -> str:
        """Name what is of use during this flush alone."""
        return self._named(name) if self._named else self.layout.work(f"{name}{self.input}")

    def kept(self, name: str) -> str:
        """Read what this flush has kept."""
        return self._read.format(self.work(name))

    def view(self) -> Iterator[FlushStep]:
        """Give the steps that bring the queue into the view."""
        grouped = self.layout.definition.is_grouped
        yield FlushStep(self._joined(), makes=self.work(JOINED), decides=True)
        yield from self._groups() if grouped else self._rows()

    def merge(self) -> str:
        """Give what brings the queue into the input's rows."""
        if not self.dialect.is_log:
            return self.added(self.base, self.queued)
        listed = ", ".join(names(self.base.columns))
        return self.added(self.base, f"SELECT {listed}, _n FROM {self.queue}")

    def settled(self, table: Findable) -> tuple[str, ...]:
        """Net those rows of a log whose weight has sunk; all others stand as they came."""
        own, listed = self._table(table.name), ", ".join(names(table.columns))
        sunk, same = self.work("sunk"), table.same("stood", "sunk")
        return (
            f"CREATE OR REPLACE TEMP TABLE {sunk} AS SELECT {listed}, "
            f"{self.shape.summed('stood._n')} AS _n FROM {own} AS stood WHERE EXISTS "
            f"(SELECT 1 FROM {own} AS sunk WHERE sunk._n < 0 AND {same}) GROUP BY {listed}",
            f"DELETE FROM {own} AS stood USING {sunk} AS sunk WHERE {same}",
            f"INSERT INTO {own} ({listed}, _n) SELECT {listed}, _n FROM {sunk} WHERE _n <> 0",
        )

    def emptied(self) -> str:
        """Give what empties the queue."""
        return f"DELETE FROM {self.queue}"

    def texts(self) -> tuple[str, ...]:
        """Give all statements, for people to read."""
        return (*(step.text for step in self.view()), self.merge(), self.emptied())

    def netted(self) -> str:
        """Give the queue, netted."""
        listed = ", ".join(names(self.base.columns))
        return (
            f"SELECT {listed}, {self.shape.summed('_n')} AS _n "
            f"FROM {self.queue} GROUP BY {listed} HAVING sum(_n) <> 0"
        )

    def added(self, table: Findable, source: str) -> str:
        """Add rows with weights to those that a table has."""
        listed = ", ".join([*names(table.columns), "_n"])
        if self.dialect.is_log:
            return f"INSERT INTO {self._table(table.name)} ({listed}) {source}"
        kept = ", ".join([*table.kept(), "_n"])
        given = ", ".join(f"came.{each}" for each in [*table.kept(), "_n"])
        return (
            f"MERGE INTO {self._table(table.name)} AS stood "
            f"USING {table.found(f'({source})')} AS came ON {table.same('stood', 'came')} "
            "WHEN MATCHED AND stood._n + came._n = 0 THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET _n = stood._n + came._n "
            f"WHEN NOT MATCHED THEN INSERT ({kept}) VALUES ({given})"
        )

    def _joined(self) -> str:
        """Give what an input's queue, joined with the rows of the other inputs, makes."""
        layout, definition = self.layout, self.layout.definition
        sources = [
            layout.read(each, f"({self.queued}) AS queued")
            if each == self.input
            else layout.read(each, self._table(f"base{each}"))
            for each in range(len(layout.inputs))
        ]
        weight = " * ".join(layout.weight(each) for each in range(len(layout.inputs)))
        outputs = zip(layout.outputs, definition.outputs, strict=True)
        keys = zip(layout.keys, definition.keys, strict=True)
        made = (
            [(own, each.sql, each.type) for (own, _), each in keys]
            + [(each.name, each.sql, each.type) for each in layout.arguments]
            if definition.is_grouped
            else [(own, each.sql, each.type) for (own, _), each in outputs]
        )
        listed = [f"{self.dialect.cast(sql, type_)} AS {own}" for own, sql, type_ in made]
        return (
            f"SELECT {', '.join([*listed, f'{weight} AS _n'])} FROM {', '.join(sources)}"
            f"{self.shape.where()}"
        )

    def _rows(self) -> Iterator[FlushStep]:
        """Bring joined rows into an ungrouped view."""
        listed = ", ".join(names(self.layout.outputs))
        netted = (
            f"SELECT {listed}, {self.shape.summed('_n')} AS _n FROM {self.kept(JOINED)} "
            f"GROUP BY {listed} HAVING sum(_n) <> 0"
        )
        yield FlushStep(netted, makes=self.work(DELTA), decides=True)
        source = f"SELECT {listed}, _n FROM {self.kept(DELTA)}"
        yield FlushStep(self.added(self.layout.rows, source))
        yield FlushStep(self.shape.told(source))

    def _groups(self) -> Iterator[FlushStep]:
        """Bring joined rows into the groups of a view."""
        layout = self.layout
        delta = self.kept(DELTA)
        valued = [each for each in layout.arguments if each.has_values]
        if not layout.has_one_group:
            yield FlushStep(self._newcomers())
        for each in valued:
            yield FlushStep(self._changed(each), makes=self.work(self._changes(each)))
        yield FlushStep(self._delta(), makes=self.work(DELTA))
        touched = f"_id IN (SELECT _id FROM {delta})"
        listed = ", ".join(names(layout.outputs))
        outputs = self.shape.finals(touched)
        yield FlushStep(self.shape.told(f"SELECT {listed}, -1 FROM ({outputs}) AS gone"))
        for each in valued:
            source = f"SELECT _id, v, _n FROM {self.kept(self._changes(each))}"
            yield FlushStep(self.added(layout.values(each), source))
        yield FlushStep(self._updated())
        for each in valued:
            for extreme in sorted(each.functions & set(EXTREMES)):
                yield self._sought(each, extreme, touched)
        yield FlushStep(self.shape.told(f"SELECT {listed}, 1 FROM ({outputs}) AS come"))
        if not layout.has_one_group:
            is_empty = self.dialect.frequent.format("_n = 0")
            yield FlushStep(f"DELETE FROM {self._table('groups')} WHERE {is_empty} AND {touched}")

    def _newcomers(self) -> str:
        groups = self.layout.groups
        listed = ", ".join(groups.kept())
        same = groups.same("stood", "came")
        return (
            f"INSERT INTO {self._table('groups')} ({listed}) "
            f"SELECT DISTINCT {listed} FROM {groups.found(self.kept(JOINED))} AS came "
            f"WHERE NOT EXISTS (SELECT 1 FROM {self._table('groups')} AS stood WHERE {same})"
        )

    def _changes(self, argument: Argument) -> str:
        return f"values{argument.number}_"

    def _known(self) -> str:
        """Give joined rows with the numbers of their groups."""
        joined = self.kept(JOINED)
        if self.layout.has_one_group:
            return f"(SELECT *, CAST(0 AS BIGINT) AS _id FROM {joined} AS all_) AS known"
        groups = self.layout.groups
        return (
            f"(SELECT came.*, stood._id FROM {groups.found(joined)} AS came "
            f"JOIN {self._table('groups')} AS stood ON {groups.same('stood', 'came')}) AS known"
        )

    def _changed(self, argument: Argument) -> str:
        return (
            f"SELECT _id, {argument.name} AS v, {self.shape.summed('_n')} AS _n "
            f"FROM {self._known()} WHERE {argument.name} IS NOT NULL "
            f"GROUP BY _id, {argument.name} HAVING sum(_n) <> 0"
        )

    def _delta(self) -> str:
        """Give what changes in the state of groups."""
        sums, columns, joins = [f"{self.shape.summed('_n')} AS _n"], ["added._n"], ""
        for each in self.layout.arguments:
            for name, sql in self._sums(each):
                sums.append(f"{sql} AS {name}")
                columns.append(name)
            if each.has_values:
                of_values = list(self._of_values(each))
                columns += [name for name, _ in of_values]
                listed = ", ".join(f"{sql} AS {name}" for name, sql in of_values)
                joins += (
                    f" LEFT JOIN (SELECT _id, {listed} FROM {self._compared(each)} AS compared "
                    f"GROUP BY _id) AS m{each.number} ON m{each.number}._id = added._id"
                )
        return (
            f"SELECT added._id, {', '.join(columns)} FROM (SELECT _id, {', '.join(sums)} "
            f"FROM {self._known()} GROUP BY _id) AS added{joins}"
        )

    def _sums(self, argument: Argument) -> Iterator[tuple[str, str]]:
        x = argument.name

        def weights(test: str) -> str:
            return f"CAST(coalesce(sum(_n) FILTER (WHERE {test}), 0) AS BIGINT)"

        yield f"{x}_n", weights(f"{x} IS NOT NULL")
        if argument.is_added:
            type_ = self.dialect.sum_type(argument.type)
            finite = self.dialect.finite.format(x) if argument.is_float else f"{x} IS NOT NULL"
            product = f"CAST({x} AS {type_}) * _n"
            yield f"{x}_s", f"CAST(coalesce(sum({product}) FILTER (WHERE {finite}), 0) AS {type_})"
        if argument.is_float:
            for odd, text in ODD.items():
                yield f"{x}_{odd}", weights(f"{x} = '{text}'")

    def _of_values(self, argument: Argument) -> Iterator[tuple[str, str]]:
        """Give what the changes of a group's values say of its extremes and of their number."""
        x = argument.name
        for extreme in sorted(argument.functions & set(EXTREMES)):
            for word, test in (("", "_n > 0"), ("_went", "_n < 0")):
                yield (
                    f"{x}_{extreme}{word}",
                    self.dialect.extreme(extreme, "v", argument.type, test),
                )
        if "count_distinct" in argument.functions:
            yield (
                f"{x}_d",
                (
                    "CAST(sum(CASE WHEN was + _n > 0 THEN 1 ELSE 0 END "
                    "- CASE WHEN was > 0 THEN 1 ELSE 0 END) AS BIGINT)"
                ),
            )

    def _compared(self, argument: Argument) -> str:
        """Give the changes of values, beside what the values weighed, if that matters."""
        changed = self.kept(self._changes(argument))
        if "count_distinct" not in argument.functions:
            return changed
        values = self.layout.values(argument)
        return (
            "(SELECT came._id, came.v, came._n, coalesce(sum(stood._n), 0) AS was "
            f"FROM {values.found(changed)} AS came "
            f"LEFT JOIN {self._table(values.name)} AS stood ON {values.same('stood', 'came')} "
            "GROUP BY came._id, came.v, came._n)"
        )

    def _updated(self) -> str:
        """Bring what changes into the state of groups; an extreme that went is unknown for now."""
        sets = ["_n = stood._n + delta._n"]
        for each in self.layout.arguments:
            x = each.name
            counts = [f"{x}_n", *(f"{x}_{odd}" for odd in ODD if each.is_float)]
            sets += [f"{name} = stood.{name} + delta.{name}" for name in counts]
            if each.is_added:
                total = f"stood.{x}_s + delta.{x}_s"
                if each.is_float:
                    # What rounding left behind goes with the last number.
                    finite = f"stood.{x}_n + delta.{x}_n" + "".join(
                        f" - stood.{x}_{odd} - delta.{x}_{odd}" for odd in ODD
                    )
                    total = f"CASE WHEN {finite} = 0 THEN 0 ELSE {total} END"
                sets.append(f"{x}_s = {total}")
            for extreme in sorted(each.functions & set(EXTREMES)):
                nearer, beyond = EXTREMES[extreme]
                own = f"{x}_{extreme}"
                sets.append(
                    f"{own} = CASE WHEN delta.{own}_went {beyond} stood.{own} THEN NULL "
                    f"ELSE {nearer}(stood.{own}, delta.{own}) END"
                )
            if "count_distinct" in each.functions:
                sets.append(f"{x}_d = stood.{x}_d + coalesce(delta.{x}_d, 0)")
        return (
            f"UPDATE {self._table('groups')} AS stood SET {', '.join(sets)} "
            f"FROM {self.kept(DELTA)} AS delta WHERE delta._id = stood._id"
        )

    def _sought(self, argument: Argument, extreme: str, touched: str) -> FlushStep:
        """Look for an extreme that went among the values that are left."""
        x, groups = argument.name, self._table("groups")
        is_gone = self.dialect.frequent.format(f"{x}_{extreme} IS NULL")
        is_lost = f"{x}_n > 0 AND {is_gone} AND {touched}"
        lost = f"SELECT _id FROM {groups} WHERE {is_lost}"
        values = self.layout.values(argument)
        found = self.dialect.extreme(extreme, "v", argument.type)
        if self.dialect.is_log:
            netted = self.shape.netted(values, f"_id IN ({lost})")
            sql = (
                f"UPDATE {groups} AS stood SET {x}_{extreme} = found.v FROM (SELECT _id, "
                f"{found} AS v FROM ({netted}) AS netted GROUP BY _id) AS found "
                "WHERE found._id = stood._id"
            )
        else:
            first = (
                f"SELECT {found} FROM {self._table(values.name)} AS each "
                "WHERE _id = stood._id AND _n > 0"
            )
            sql = f"UPDATE {groups} AS stood SET {x}_{extreme} = ({first}) WHERE {is_lost}"
        return FlushStep(sql, guard=lost)
