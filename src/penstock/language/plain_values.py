"""Values that stand in the text themselves, and options that have them."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from penstock.language.places import ScriptSource
from penstock.language.statements import OptionValue


def plain_value(node: exp.Expr, script: ScriptSource) -> OptionValue:
    """Give the value of a string, number or boolean that stands in the text itself."""
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    sign = -1 if isinstance(node, exp.Neg) else 1
    literal = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(literal, exp.Literal) or (literal.is_string and sign < 0):
        fact = f"{node.sql('duckdb')} is not a string, a number, TRUE or FALSE."
        raise script.error(
            "SQL-007", fact, "Write the value itself; quote texts with '…'.", at=node
        )
    if literal.is_string:
        return str(literal.this)
    digits = str(literal.this).replace("_", "")
    return sign * (int(digits) if digits.isdigit() else float(digits))


def named_values(
    nodes: Iterable[exp.Expr], what: str, script: ScriptSource
) -> dict[str, OptionValue]:
    """Give the values of `name = value, …` by name, in lower case; refuse a name that comes twice.

    `what` says what each of them is: an `option`, a `parameter`.
    """
    values: dict[str, OptionValue] = {}
    for node in nodes:
        key = node.name.lower()
        if key in values:
            fact = f"{what.capitalize()} {key!r} is given twice."
            raise script.error("SQL-006", fact, "Remove one of them.", at=node)
        values[key] = plain_value(node.expression, script)
    return values
