"""One codec for frozen nodes: any dataclass to JSON and back, by its fields and their types.

- A *record* is an object, its `kind` first if it has one; a *row* is the list of its values; a
  *bare* node is its one value. A class says so by `FORM`.
- Tuples are lists, Arrow's types are their names.
- A dictionary whose field has the metadata `SORTED` is written in the order of its names; a field
  with `OMITTED` is left out while it has its default.
- Records that may stand in one place are told apart by their `kind`.
- Any field with a default may be missing: files of before it was there can be read.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True, kw_only=True)
... class Point(Node):
...     x: int
...     types: tuple[pa.DataType, ...] = ()
>>> Point(x=3, types=(pa.int8(),)).to_json()
{'x': 3, 'types': ['int8']}
>>> Point.from_json({"x": 4})
Point(x=4, types=())
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from penstock.vocabulary.types import type_name, type_named

Form = Literal["record", "row", "bare"]

SORTED = types.MappingProxyType({"sorted": True})
"""Metadata of a dictionary whose order says nothing."""
OMITTED = types.MappingProxyType({"omitted": True})
"""Metadata of a field that is not written while it has its default."""


def stored_as(name: str) -> Mapping[str, Any]:
    """Give the metadata of a field that files know by another name."""
    return types.MappingProxyType({"stored": name})


def _stored(each: Field[Any]) -> str:
    return str(each.metadata.get("stored", each.name))


class Node:
    """A frozen dataclass that can be written as JSON."""

    __slots__ = ()
    FORM: ClassVar[Form] = "record"

    def to_json(self) -> Any:
        """Describe the node for a file; equal nodes give equal descriptions."""
        return encode(self)

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Give back the node that `to_json` described."""
        found: Self = decode(cls, data)
        return found


def encode(value: Any) -> Any:
    """Give a value as JSON has it."""
    if isinstance(value, Node):
        return _encoded(value)
    if isinstance(value, pa.DataType):
        return type_name(value)
    if isinstance(value, tuple | list):
        return [encode(each) for each in value]
    if isinstance(value, Mapping):
        return {name: encode(each) for name, each in value.items()}
    return value


def _encoded(node: Node) -> Any:
    own_type: Any = type(node)
    own = [(each, getattr(node, each.name)) for each, _ in _fields(own_type)]
    if node.FORM == "record":
        return {
            _stored(each): encode(
                dict(sorted(value.items())) if "sorted" in each.metadata else value
            )
            for each, value in own
            if not ("omitted" in each.metadata and value == _default(each))
        }
    values = [encode(value) for _, value in own]
    return values if node.FORM == "row" else values[0]


def decode(type_: Any, data: Any) -> Any:
    """Give back a value of a type."""
    if data is None or type_ is Any:
        return data
    if type_ is pa.DataType:
        return type_named(data)
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in {Union, types.UnionType}:
        return decode(_chosen([each for each in arguments if each is not type(None)], data), data)
    if origin is tuple:
        items = (arguments[0],) * len(data) if arguments[-1] is Ellipsis else arguments
        return tuple(decode(own, each) for own, each in zip(items, data, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {name: decode(arguments[1], each) for name, each in data.items()}
    if is_dataclass(type_):
        return _decoded(type_, data)
    return data


def _decoded(type_: Any, data: Any) -> Any:
    own = _fields(type_)
    if type_.FORM == "record":
        given = {
            each.name: decode(hint, data[_stored(each)])
            for each, hint in own
            if _stored(each) in data
        }
        lacking = [
            _stored(each) for each, _ in own if _stored(each) not in data and not _has_default(each)
        ]
        if lacking:
            raise KeyError(lacking[0])
        return type_(**given)
    values = data if type_.FORM == "row" else [data]
    pairs = zip(own, values, strict=True)
    return type_(**{each.name: decode(hint, value) for (each, hint), value in pairs})


def _chosen(arguments: list[Any], data: Any) -> Any:
    """Tell which of several types a value was written from, by the form that it has."""
    if len(arguments) == 1:
        return arguments[0]
    form = "record" if isinstance(data, dict) else "row" if isinstance(data, list) else "bare"
    fitting = [each for each in arguments if getattr(each, "FORM", form) == form]
    if len(fitting) > 1 and isinstance(data, dict) and "kind" in data:
        fitting = [each for each in fitting if _kind(each) == data["kind"]]
    assert len(fitting) == 1, f"{arguments} are not told apart by {form}"
    return fitting[0]


def _kind(type_: Any) -> Any:
    """Give the `kind` that nodes of a type are written with; None: they have none."""
    own = next((each for each in fields(type_) if each.name == "kind"), None)
    return None if own is None else own.default


@cache
def _fields(type_: Any) -> tuple[tuple[Field[Any], Any], ...]:
    """Give the fields of a node in the order in which they are written, each with its type."""
    hints = get_type_hints(type_)
    own = [each for each in fields(type_) if each.init]
    if getattr(type_, "FORM", "record") == "record":
        own.sort(key=lambda each: each.name != "kind")
    return tuple((each, hints[each.name]) for each in own)


def _has_default(each: Field[Any]) -> bool:
    return each.default is not MISSING or each.default_factory is not MISSING


def _default(each: Field[Any]) -> Any:
    if each.default_factory is not MISSING:
        return each.default_factory()
    return each.default
