"""Conditions: a predicate over the rows of a table, in which what fails is neither true nor false.

A predicate joins *conditions* by AND, OR and NOT. A condition that fails in a row counts as NULL
there, so that its place in the text does not matter: `x = 0 OR 10 // x > 1` holds where x is 0, and
`x <> 0 AND 10 // x > 1` does not. DuckDB, which may evaluate conditions in any order, fails or does
not; so, where it fails, conditions are asked one by one. It is DuckDB's own parser that takes a
predicate apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from penstock.expressions.allowances import Pace, allowed
from penstock.expressions.evaluation import connection, evaluate, failure, forget, is_of_a_row
from penstock.vocabulary.batches import Flags

Node = dict[str, Any]
"""A node of DuckDB's syntax tree, as JSON."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a predicate is true; and where it is undecided because a condition failed, if any."""

    holds: Flags
    failed: Flags | None = None


class Predicate:
    """A boolean DuckDB expression.

    >>> predicate = Predicate("x = 0 OR 10 // x > 1")
    >>> held = predicate.ask(pa.table({"x": [0, 1, 10]}))
    >>> held.holds.tolist(), held.failed.tolist()
    ([True, True, False], [False, False, False])
    >>> Predicate("10 // x > 1").ask(pa.table({"x": [0, 1, 10]})).failed.tolist()
    [True, False, False]
    """

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._plain = f"coalesce(({sql}), false) AS holds"
        self._pace = Pace()

    def ask(self, rows: pa.Table) -> Decision:
        """Say for every row whether the predicate is true (not false, not NULL, no failure).

        Raises
        ------
        EvaluationError
            RUN-005 if DuckDB fails for a reason that is not in the rows, RUN-013 if it takes too
            long.
        """
        asked, rows = connection(), self._pace.pieces(rows)
        try:
            answer = allowed(
                asked,
                rows,
                lambda: asked.from_arrow(rows).project(self._plain).fetchnumpy()["holds"],
                self._pace,
            )
        except duckdb.Error as error:
            if not is_of_a_row(error):
                forget()
                raise failure(error) from error
            return self._one_by_one(rows)
        return Decision(np.asarray(np.ma.filled(answer, False), dtype=np.bool_))

    def _one_by_one(self, rows: pa.Table) -> Decision:
        conditions, joined = apart(self._sql)
        answers = [evaluate([condition], rows)[0] for condition in conditions]
        columns = {f"a{i}": answer.values for i, answer in enumerate(answers)}
        (whole,) = evaluate([joined], pa.table(columns))
        decided = whole.values.is_valid().to_numpy()
        failed: Flags = np.zeros(rows.num_rows, dtype=np.bool_)
        for answer in answers:
            if answer.failed is not None:
                failed |= answer.failed
        holds = whole.values.fill_null(False).to_numpy()
        return Decision(np.asarray(holds, dtype=np.bool_), failed & ~decided)


@lru_cache(maxsize=1_024)
def apart(sql: str) -> tuple[tuple[str, ...], str]:
    """Take a predicate apart: its conditions, and how it joins them, as `a0`, `a1`, ….

    >>> apart("x = 0 OR NOT (y > 1 AND s LIKE 'a%')")[1]
    '(a0 OR (NOT (a1 AND a2)))'
    """
    tree = parsed(sql)
    conditions = list(_conditions(tree))
    texts = tuple(f"CAST({printed(each)} AS BOOLEAN)" for each in conditions)
    for number, each in enumerate(conditions):
        _become(each, parsed(f"a{number}"))
    return texts, printed(tree)


def tried(sql: str) -> str:
    """Write a predicate so that a condition that fails is NULL, and no row makes DuckDB fail.

    Comparisons of bare columns cannot fail and stay as they are: DuckDB joins by them.

    >>> tried("a = b AND NOT CAST(s AS INTEGER) > 5")
    '((a = b) AND (NOT TRY((CAST(s AS INTEGER) > 5))))'
    """
    tree = parsed(sql)
    for each in list(_conditions(tree)):
        sides = (each.get("left"), each.get("right"))
        if not all(side and side["class"] == "COLUMN_REF" for side in sides):
            _become(each, _try(dict(each)))
    return printed(tree)


def parsed(sql: str) -> Node:
    """Give DuckDB's syntax tree of an expression."""
    node: Node = _statement(sql)["statements"][0]["node"]["select_list"][0]
    return node


def printed(node: Node) -> str:
    """Give the text of a syntax tree, as DuckDB prints it."""
    tree = _statement("0")
    tree["statements"][0]["node"]["select_list"] = [node]
    text = connection().execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)])
    return str(text.fetchall()[0][0]).removeprefix("SELECT ")


def _statement(sql: str) -> Node:
    text = connection().execute("SELECT json_serialize_sql(?::VARCHAR)", [f"SELECT {sql}"])
    tree: Node = json.loads(text.fetchall()[0][0])
    assert not tree["error"], tree
    return tree


def _conditions(node: Node) -> Iterator[Node]:
    """Give what AND, OR and NOT join, from left to right."""
    if node["class"] == "CONJUNCTION" or node["type"] == "OPERATOR_NOT":
        for child in node["children"]:
            yield from _conditions(child)
    else:
        yield node


def _become(node: Node, other: Node) -> None:
    """Put one node in the place of another."""
    node.clear()
    node.update(other)


def _try(node: Node) -> Node:
    made = parsed("TRY(0)")
    made["children"] = [node]
    return made
