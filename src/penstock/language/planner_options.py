"""OPTIONS of a multi-way join: what its planner is told, and how many rows may wait."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from penstock.algebra.crossings import Crossing, key_classes
from penstock.algebra.trees import Index, Join, Leaf, Tree
from penstock.language.amounts import bytes_of, number_of
from penstock.language.memory_checks import OPTIONS, Check, whole
from penstock.language.places import suggestion
from penstock.vocabulary.errors import PenstockError

WORDS: dict[str, tuple[str, ...]] = {
    "objective": ("cpu", "memory"),
    "shape": ("bushy", "left-deep"),
    "shedding": ("off", "faithful", "subset"),
    "strategy": ("mincost", "alternate", "exact", "exhaustive"),
}
FLAGS = ("products", "strict", "adapt", "shed_at_once")
PROCESSORS_MAX = 10_000
NAMES = (*WORDS, *FLAGS, "processors", "headroom", "memory", "order", "waiting")
PER_INPUT = ("minimum_", "weight_", "selectivity_")
"""Options that end in the name of an input; of `selectivity_`, two names may follow."""

_TOKEN = re.compile(r'\s*(?:([()])|[,⋈]|"((?:[^"]|"")+)"|([^\s(),⋈"]+))')


def planner_options(
    options: Mapping[str, Any], inputs: Sequence[str], crossing: Crossing
) -> dict[str, Any]:
    """Check the options of a multi-way join; those that are not given keep no entry.

    `order` becomes the JSON of its tree, `memory` becomes `memory_bytes` or `memory_rows`, and an
    option of an input ends in the input's name as the query spells it. Selectivities are named as
    WHAT IF names them.

    >>> planner_options({"memory": "1 GB", "weight_A": 2}, ["a"], Crossing())
    {'memory_bytes': 1000000000, 'weight_a': 2.0}
    >>> planner_options({"selectivity_a_b": 0.5}, ["a", "b"], Crossing())
    {'selectivity(a, b)': 0.5}
    """
    chosen: dict[str, Any] = {}
    for written, value in options.items():
        name = written.lower()
        prefix = next((each for each in PER_INPUT if name.startswith(each)), None)
        if prefix is not None:
            key = _key(prefix, written, name.removeprefix(prefix), inputs)
            chosen[key] = _checked(prefix, written, value)
        elif name not in NAMES:
            known = [*NAMES, *(f"{each}{input_}" for each in PER_INPUT for input_ in inputs)]
            remedy = suggestion(
                name,
                known,
                f"Known are: {', '.join(NAMES)}, and for an input "
                "minimum_<input>, weight_<input> and selectivity_<input>.",
            )
            fact = f"A multi-way join has no option {name!r}."
            raise PenstockError("SQL-070", fact, remedy, option=name)
        elif name == "memory":
            chosen.update(_memory(value))
        elif name == "order":
            chosen[name] = tree_of(value, inputs, crossing).to_json()
        else:
            chosen[name] = _checked(name, written, value)
    return chosen


def _key(prefix: str, option: str, name: str, inputs: Sequence[str]) -> str:
    if prefix != "selectivity_":
        return prefix + _input(option, name, inputs)
    for one, other in permutations(inputs, 2):
        if name == f"{one}_{other}".lower():
            return f"selectivity({one}, {other})"
    return f"selectivity({_input(option, name, inputs)})"


def _input(option: str, name: str, inputs: Sequence[str]) -> str:
    found = next((each for each in inputs if each.lower() == name), None)
    if found is None:
        remedy = suggestion(name, inputs, f"The inputs are: {', '.join(inputs)}.")
        fact = f"Option {option!r} names {name!r}, which is no input of the query."
        raise PenstockError("SQL-070", fact, remedy, option=option.lower())
    return found


def _checked(name: str, written: str, value: Any) -> Any:
    if name in WORDS:
        if isinstance(value, str) and value.lower() in WORDS[name]:
            return value.lower()
        known = ", ".join(f"'{word}'" for word in WORDS[name])
        raise option_refused(written, value, f"Choose one of: {known}.")
    if name in FLAGS:
        if isinstance(value, bool):
            return value
        raise option_refused(written, value, "Write TRUE or FALSE.")
    return checked_number(name, value, written)


def checked_number(name: str, value: Any, written: str) -> float:
    """Give an option that is a number, as whatever it counts; `written` is what it was called."""
    valid, remedy, kind = NUMBERS[name]
    number = None if isinstance(value, str) else number_of(value)
    if number is None or not valid(number):
        raise option_refused(written, value, remedy)
    return kind(number)


def option_refused(name: str, value: Any, remedy: str) -> PenstockError:
    """Say that an option has no such value."""
    fact = f"Option {name!r} cannot be {value!r}."
    return PenstockError("SQL-071", fact, remedy, option=name.lower())


def _memory(value: Any) -> dict[str, int]:
    """Read a budget of bytes, such as `1 GB`, or of rows."""
    size = bytes_of(value)
    if size is not None and size > 0:
        return {"memory_bytes": size}
    rows = number_of(value)
    if rows is not None and rows > 0 and rows == int(rows):
        return {"memory_rows": int(rows)}
    raise option_refused("memory", value, "Write bytes, such as '1 GB', or a number of rows.")


def tree_of(text: Any, inputs: Sequence[str], crossing: Crossing) -> Tree:
    """Read the tree that an order forces: every bracket holds two.

    >>> tree = tree_of("(a b) (c d)", "abcd", Crossing())
    >>> tree.to_json()[:2]
    [[0, 1, 'loop', 'loop'], [2, 3, 'loop', 'loop']]
    """
    remedy = f"Write every input once, two in every bracket, such as '{_example(inputs)}'."
    parts = _bracketed(text) if isinstance(text, str) else None
    if parts is None:
        raise option_refused("order", text, remedy)
    by_name = {name.lower(): number for number, name in enumerate(inputs)}
    met: list[int] = []

    def build(part: Any) -> Tree:
        while isinstance(part, list) and len(part) == 1:
            part = part[0]
        if isinstance(part, str):
            if part.lower() not in by_name:
                known = suggestion(part, inputs, f"The inputs are: {', '.join(inputs)}.")
                fact = f"Option 'order' names {part!r}, which is no input of the query."
                raise PenstockError("SQL-071", fact, known, option="order")
            met.append(by_name[part.lower()])
            return Leaf(met[-1])
        if len(part) != 2 or len(set(met)) < len(met):
            raise option_refused("order", text, remedy)
        left, right = build(part[0]), build(part[1])
        if left.mask & right.mask:
            raise option_refused("order", text, remedy)
        index = _index(left.mask, right.mask, crossing)
        return Join(left, right, index, index)

    tree = build(parts)
    if tree.mask != (1 << len(inputs)) - 1:
        missing = [name for k, name in enumerate(inputs) if not tree.mask >> k & 1]
        fact = f"Option 'order' leaves out {', '.join(missing)}."
        raise PenstockError("SQL-071", fact, remedy, option="order")
    return tree


def _bracketed(text: str) -> list[Any] | None:
    """Read nested brackets of names; None if they do not close, or something else stands there."""
    stack: list[list[Any]] = [[]]
    at = 0
    stripped = text.rstrip()
    while at < len(stripped):
        token = _TOKEN.match(stripped, at)
        if token is None:
            return None
        at = token.end()
        bracket, quoted_name, name = token.groups()
        if bracket == "(":
            stack.append([])
        elif bracket == ")":
            if len(stack) == 1:
                return None
            inner = stack.pop()
            stack[-1].append(inner)
        elif quoted_name or name:
            stack[-1].append(quoted_name.replace('""', '"') if quoted_name else name)
    return stack[0] if len(stack) == 1 else None


def _index(left: int, right: int, crossing: Crossing) -> Index:
    """Say how two parts are kept: by keys if an equality, also through a third, joins them."""
    for places in key_classes(crossing.equalities):
        named = {1 << number for number, _ in places}
        if any(bit & left for bit in named) and any(bit & right for bit in named):
            return "hash"
    return "loop"


def _example(inputs: Sequence[str]) -> str:
    shown = inputs[0]
    for name in inputs[1:]:
        shown = f"({shown} {name})"
    return shown


NUMBERS: dict[str, Check] = {
    "processors": whole(1, PROCESSORS_MAX),
    "waiting": OPTIONS["waiting"],
    "headroom": (lambda value: 0 <= value < 1, "Write a share from 0, below 1.", float),
    "minimum_": (lambda value: 0 <= value <= 1, "Write a share from 0 to 1.", float),
    "selectivity_": (lambda value: 0 <= value <= 1, "Write a share from 0 to 1.", float),
    "weight_": (lambda value: value > 0, "Write a number above 0.", float),
}
