"""Admission: which texts of users DuckDB may evaluate, by DuckDB's own reading of them.

sqlglot reads a query for its shape; DuckDB reads the words once more, and what the two read
differently must not be a way out. So every text is looked at as DuckDB's own syntax tree: it is
made of values, columns, operators and functions that may be called, of no query, and is small once
its macros are unfolded. What it may then cost in one row is bounded, since whatever makes values of
its own is guarded, and what is done to each of them is counted here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.expressions.function_list import RANDOM_AGGREGATES
from penstock.expressions.guards import COMPARING, GUARDS, LIST_MAX, MATCHING, TEXT_MAX
from penstock.vocabulary.errors import PenstockError

Node = dict[str, Any]
"""A node of DuckDB's syntax tree, as JSON."""

CLASSES = frozenset(
    {
        "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT",
        "FUNCTION", "LAMBDA", "OPERATOR", "TYPE",
    }
)  # fmt: skip
"""What an expression may be made of."""
UNFOLDED_MAX = 20_000
"""Nodes that the macros of a text may add to it: each repeats some of its arguments."""
STEPS_MAX = 1_000_000
"""How often the body of a lambda may be evaluated in one row, by what the text itself makes."""
FORMATS = frozenset({"printf", "format"})
WIDE = re.compile(r"\d{4,}|\*|\{[^}]*\{")
"""A width of a thousand and more, or one that is not in the format."""
AGGREGATING = frozenset(
    {"list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate"}
)
SEPARATED = frozenset({"string_agg", "listagg", "group_concat"})
SEPARATING = {
    **dict.fromkeys(AGGREGATING, 2), "array_to_string": 1, "array_to_string_comma_default": 1
}  # fmt: skip
"""Functions that put a text between the elements of a list, and which argument that is."""
SEPARATOR_MAX = 100
REDUCING = frozenset({"list_reduce", "array_reduce", "reduce"})
STEADY = frozenset(
    """
    + - * / // % ** ^ & | ~ << >> @ = != < <= > >= abs add subtract multiply divide mod pow
    power sqrt cbrt exp ln log log2 log10 sign floor ceil ceiling round trunc greatest least gcd
    lcm xor bit_count isnan isinf isfinite lower upper lcase ucase trim ltrim rtrim left right
    substr substring reverse length len strlen list_element list_extract array_extract
    element_at struct_extract list_contains list_distinct list_sort list_reverse_sort list_slice
    array_slice list_intersect starts_with ends_with contains
    """.split()
)
"""What makes a value no longer than its arguments are."""
DOUBLING = frozenset({"||", "concat", "concat_ws", "list_concat", "list_cat", "array_concat",
                      "array_cat", "list_append", "array_append", "list_prepend",
                      "array_prepend", "array_push_back", "array_push_front"})  # fmt: skip
"""What puts values behind each other: with itself, a value doubles at every step."""
JOINING = frozenset({"concat_ws"})
"""Guarded as others are, and what they make is one value of what the row has."""
MAKERS = GUARDS.keys() - {
    *COMPARING, *MATCHING, *JOINING, "replace", "regexp_replace", "json_pretty"
}  # fmt: skip
MADE_MAX = 2_000_000
"""Characters or elements that all calls of a text together may make of nothing, in one row."""
TYPES_MAX, TYPES_DEPTH_MAX = 500, 32
"""Types that a text may name, and how many may stand inside each other: room is made for each."""
STRUCTURED = frozenset({"from_json", "from_json_strict", "json_transform", "json_transform_strict"})
"""Functions that are told a type as JSON."""
USES_MAX = 1_000
"""How often lambdas inside each other may use what the outermost was given: `a || a` doubles it."""
TYPES_OUTSIDE = frozenset({"VARIANT"})
"""Types that nothing is cast to: of a deep JSON DuckDB makes one by calls of its own, and dies."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: how many nodes it has, and how often it names each of its parameters."""

    size: int
    uses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TextSize:
    """A part of a text: its nodes, those that it has once its macros are unfolded."""

    plain: int
    unfolded: int


class AdmissionError(PenstockError):
    """A text that DuckDB is not given."""


def _refused(code: str, fact: str, remedy: str) -> AdmissionError:
    return AdmissionError(code, fact, remedy)


NESTED = "Write it without a query inside."
TOO_LARGE = "Write it shorter: compute a part of it in the source of the stream."


class Admission:
    """Looks at syntax trees, with what a DuckDB knows of its functions."""

    def __init__(self, kinds: Mapping[str, str], macros: Mapping[str, Macro]) -> None:
        self._kinds = kinds
        self._macros = macros

    def check(self, statement: Node) -> None:
        """Refuse a statement `SELECT <expressions>` unless its expressions may be evaluated."""
        node = statement["node"]
        plain = node["type"] == "SELECT_NODE" and node["from_table"]["type"] == "EMPTY"
        further = ("where_clause", "group_expressions", "having", "sample", "qualify", "modifiers")
        if not plain or node["cte_map"]["map"] or any(node.get(name) for name in further):
            raise _refused("SQL-013", "A clause stands among expressions.", NESTED)
        sizes = [self._measured(each, 1, 0) for each in node["select_list"]]
        made = sum(_made(each) for part in node["select_list"] for each in nodes_of(part))
        if made > MADE_MAX:
            fact = f"It makes more than {MADE_MAX:,} characters or elements in a row."
            raise _refused("SQL-028", fact, TOO_LARGE)
        types = sum(
            each["class"] == "TYPE" for part in node["select_list"] for each in nodes_of(part)
        )
        depth = max(map(_types_deep, node["select_list"]), default=0)
        _check_types(types, depth)
        if sum(size.unfolded - size.plain for size in sizes) > UNFOLDED_MAX:
            fact = "Its functions unfold to an expression that is too large."
            raise _refused("SQL-028", fact, TOO_LARGE)

    def _measured(self, node: Node, steps: int, inside: int) -> TextSize:
        """Measure a part; it is evaluated `steps` times in a row, inside so many lambdas."""
        class_ = node["class"]
        if class_ == "SUBQUERY":
            return self._any(node, steps, inside)
        if class_ not in CLASSES:
            what = "A query" if class_ == "WINDOW" else class_.replace("_", " ").capitalize()
            raise _refused("SQL-013", f"{what} cannot stand inside an expression.", NESTED)
        if class_ == "FUNCTION":
            return self._call(node, steps, inside)
        if class_ == "TYPE" and node["type_name"].upper() in TYPES_OUTSIDE:
            raise _refused("SQL-027", f"Nothing may be cast to {node['type_name']}.", CASTABLE)
        return _sum(self._measured(child, steps, inside) for child in parts_of(node))

    def _any(self, node: Node, steps: int, inside: int) -> TextSize:
        """Take `x = ANY(list)`, which DuckDB reads as a query over the list."""
        query = node["subquery"]["node"]
        listed = query.get("select_list") or []
        names = [each.get("function_name") for each in listed]
        if (
            node["subquery_type"] != "ANY"
            or names != ["unnest"]
            or (query["from_table"]["type"] != "EMPTY")
        ):
            raise _refused("SQL-013", "A query stands inside an expression.", NESTED)
        return _sum(
            self._measured(part, steps, inside)
            for part in [*parts_of(listed[0]), node["child"]]
            if part is not None
        )

    def _call(self, node: Node, steps: int, inside: int) -> TextSize:
        name = node["function_name"].lower()
        kind = self._kinds.get(name)
        if kind not in {"scalar", None}:
            raise _refused("SQL-027", f"{name}() may not be called.", CALLABLE)
        if name in GUARDS and node["schema"].lower() in OWN_SCHEMAS:
            fact = f"{node['schema']}.{name}() is called by the name of its schema."
            raise _refused("SQL-027", fact, f"Write {name}().")
        if node.get("filter") or node.get("distinct") or node["order_bys"]["orders"]:
            raise _refused("SQL-011", f"{name}() is called as an aggregate.", CALLABLE)
        arguments = [each["expression"] for each in node["arguments"]]
        self._check_arguments(name, arguments)
        many = max((_elements(each) for each in arguments), default=1)
        sizes = []
        for argument in arguments:
            if _is_lambda(argument):
                if steps * many > STEPS_MAX:
                    fact = (
                        f"{name}() would evaluate its lambda more than {STEPS_MAX:,} times a row."
                    )
                    raise _refused("SQL-028", fact, TOO_LARGE)
                body = argument["expr"]
                if name in REDUCING:
                    _check_growth(name, argument)
                if inside == 0 and _uses(argument) > USES_MAX:
                    fact = f"{name}() may make its value more than {USES_MAX:,} times as long."
                    raise _refused("SQL-028", fact, TOO_LARGE)
                sizes.append(self._measured(body, steps * many, inside + 1))
            else:
                sizes.append(self._measured(argument, steps, inside))
        values = LIST_MAX if name in MATCHING else _elements(node)
        if inside and name in GUARDS.keys() - JOINING and steps * values > STEPS_MAX:
            fact = f"{name}() would make more than {STEPS_MAX:,} values a row, inside a lambda."
            raise _refused("SQL-028", fact, TOO_LARGE)
        plain = 1 + sum(size.plain for size in sizes)
        macro = self._macros.get(name)
        if macro is None:
            return TextSize(plain, 1 + sum(size.unfolded for size in sizes))
        uses = (*macro.uses, *(1 for _ in sizes))
        unfolded = macro.size + sum(u * s.unfolded for u, s in zip(uses, sizes, strict=False))
        return TextSize(plain, unfolded)

    def _check_arguments(self, name: str, arguments: list[Node]) -> None:
        if name in FORMATS and arguments:
            text = _text(arguments[0])
            if text is None or WIDE.search(text):
                fact = f"{name}() has a width that its format does not bound."
                raise _refused("SQL-028", fact, "Write the format as a text, with small widths.")
        _check_separator(name, arguments)
        if name in STRUCTURED and len(arguments) > 1:
            text = _text(arguments[1])
            if text is None:
                fact = f"{name}() makes of JSON what nobody can foresee."
                raise _refused("SQL-028", fact, "Write the type as a text.")
            _check_types(*_json_types(text))
        by_name = _text(arguments[1]) if name in AGGREGATING and len(arguments) > 1 else None
        if by_name is not None and by_name.lower() in RANDOM_AGGREGATES:
            raise _refused("SQL-023", f"{name}() throws dice here.", CALLABLE)


CALLABLE = "Call a function whose value follows from its arguments alone."
OWN_SCHEMAS = frozenset({"main", "system", "pg_catalog", "temp"})


CASTABLE = "Cast it to a type whose values are of one kind, or leave it as JSON."


def _check_separator(name: str, arguments: list[Node]) -> None:
    """Refuse what puts a long text, or one of a row, between the elements of a list."""
    place = SEPARATING.get(name, len(arguments))
    if place >= len(arguments):
        return
    by_name = _text(arguments[1]) if name in AGGREGATING else None
    if by_name is not None and by_name.lower() not in SEPARATED:
        return
    text = _text(arguments[place])
    if text is None or len(text) > SEPARATOR_MAX:
        fact = f"{name}() puts a text between elements that may be very long."
        remedy = f"Write it as a text of at most {SEPARATOR_MAX} characters."
        raise _refused("SQL-028", fact, remedy)


def _check_types(types: int, depth: int) -> None:
    if types > TYPES_MAX or depth > TYPES_DEPTH_MAX:
        fact = f"It names {types:,} types, {depth:,} of them inside each other."
        remedy = f"Name at most {TYPES_MAX} types, {TYPES_DEPTH_MAX} inside each other."
        raise _refused("SQL-028", fact, remedy)


def _types_deep(node: Node) -> int:
    """Say how many types stand inside each other."""
    inside: int = max(map(_types_deep, parts_of(node)), default=0)
    return inside + int(node["class"] == "TYPE")


def _json_types(text: str) -> tuple[int, int]:
    """Say how many types a type as JSON names at most, and how many inside each other."""
    depth = deepest = 0
    for mark in re.findall(r"[\[\]{}]", text):
        depth += 1 if mark in "[{" else -1
        deepest = max(deepest, depth)
    return 1 + sum(map(text.count, "[,:")), deepest


def _check_growth(name: str, body: Node) -> None:
    """Refuse a reduction whose value may grow by more than an element at each step."""
    variable = _names(body["lhs"])[:1]
    called: set[str] = set()
    for each in nodes_of(body["expr"]):
        if "function_name" in each and _count(each, variable):
            called.add(each["function_name"].lower())
    if called - STEADY - DOUBLING or (called & DOUBLING and _count(body["expr"], variable) > 1):
        fact = f"{name}() makes a value that may grow at every step by more than an element."
        raise _refused("SQL-028", fact, TOO_LARGE)


def _count(node: Node, names: list[str]) -> int:
    """Count how often a part names one of some variables."""
    return sum(
        each["class"] == "COLUMN_REF" and each["column_names"][0] in names
        for each in nodes_of(node)
    )


def _uses(node: Node) -> int:
    """Say how often a lambda may use what it is given, by its own words and those inside it."""
    most = max(map(_uses, parts_of(node)), default=1)
    if _is_lambda(node):
        most *= max(1, _count(node["expr"], _names(node["lhs"])))
    return most


def _names(node: Node) -> list[str]:
    return [each["column_names"][-1] for each in nodes_of(node) if each["class"] == "COLUMN_REF"]


def _is_lambda(node: Node) -> bool:
    return node["class"] == "LAMBDA" and node.get("syntax_type") == "LAMBDA_KEYWORD"


def _elements(node: Node) -> int:
    """Say how many elements a list may have that the text itself makes; a column's count as one."""
    most = 1
    for each in nodes_of(node):
        name = each.get("function_name", "").lower()
        if name in {"list_value", "array_value"} or each["type"] == "ARRAY_CONSTRUCTOR":
            most = max(most, len(parts_of(each)))
        elif name in GUARDS.keys() - JOINING - MATCHING.keys():
            counts = [_whole(argument["expression"]) for argument in each["arguments"]]
            known = [count for count in counts if count is not None]
            most = max(most, min(max(known), LIST_MAX) if len(known) == len(counts) else LIST_MAX)
    return most


def _made(node: Node) -> int:
    """Say how many characters or elements a call of a maker may make of nothing."""
    if node.get("function_name", "").lower() not in MAKERS:
        return 0
    arguments = [each["expression"] for each in node["arguments"]]
    known = [_whole(each) for each in arguments[1:]]
    return sum(known) if None not in known else TEXT_MAX  # type: ignore[arg-type]


def _whole(node: Node) -> int | None:
    literal = node.get("literal") or {}
    text = str(literal.get("text", ""))
    return abs(int(text)) if node["class"] == "CONSTANT" and text.lstrip("-").isdigit() else None


def _text(node: Node) -> str | None:
    literal = node.get("literal") or {}
    return str(literal.get("text", "")) if node["class"] == "CONSTANT" else None


def _sum(parts: Iterator[TextSize]) -> TextSize:
    plain = unfolded = 1
    for part in parts:
        plain += part.plain
        unfolded += part.unfolded
    return TextSize(plain, unfolded)


def parts_of(node: Node) -> list[Node]:
    """Give the nodes right below a node, in DuckDB's order."""
    found: list[Node] = []
    pending: list[Any] = list(node.values())[::-1]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending.extend(value[::-1])
        elif isinstance(value, dict):
            if "class" in value:
                found.append(value)
            else:
                pending.extend(list(value.values())[::-1])
    return found


def nodes_of(node: Node) -> Iterator[Node]:
    """Give a node and all below it."""
    pending = [node]
    while pending:
        each = pending.pop()
        yield each
        pending.extend(reversed(parts_of(each)))
