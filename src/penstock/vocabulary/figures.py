"""Figures: everything that is counted or measured, each declared once, by whoever tells it.

A declaration says what a display, Prometheus and a merge of shards need to know: name, help, unit,
kind, and how the values of several shards become one. Values never travel under names that have
numbers in them: what tells them apart are labels, `rows` of `input` 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Labels = tuple[str, ...]
"""The values of a figure's labels, in the order in which it declares them."""


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """The declaration of one figure: two declarations are two figures, whatever they say.

    Attributes
    ----------
    name
        One name has one declaration, whichever operators tell it.
    help
        What it says, in a sentence.
    unit
        What is counted or measured: `rows`, `queries`, `nanoseconds`.
    kind
        A counter tells what a batch met, and adds up over batches; a gauge tells what stands.
    merge
        How the values of shards become one: `sum` where rows are divided among them, `max` where
        each of them holds the same, `last` where any will do.
    labels
        The names of what tells several values of the figure apart.
    apart
        Whether every group tells it by itself, also of kinds whose groups are told together.
    is_exposed
        Whether monitors are told it. One whose labels come and go without end is for planners only:
        every label is a time series that a monitor keeps.

    >>> Figure("rows", "Rows that are held.", "rows", "gauge", labels=("input",)).merge
    'sum'
    """

    name: str
    help: str
    unit: str
    kind: Literal["counter", "gauge"] = "counter"
    merge: Literal["sum", "max", "last"] = "sum"
    labels: tuple[str, ...] = ()
    apart: bool = False
    is_exposed: bool = True

    def __post_init__(self) -> None:
        assert self.kind == "gauge" or self.merge == "sum", "what batches add up, shards do too"

    def merged(self, one: int, other: int) -> int:
        """Give what two shards say together; the other one spoke last."""
        if self.merge == "sum":
            return one + other
        return max(one, other) if self.merge == "max" else other


Key: TypeAlias = Figure | tuple[Figure, *tuple[str | int, ...]]
"""A figure, or a figure with the values of its labels."""
Place = tuple[Figure, Labels]
"""A figure with the values of its labels, as texts."""


class Tally:
    """The values of figures of one subject: a group, a relation, or all of a kind.

    What was not told is 0.

    >>> held = Figure("rows", "Rows that are held.", "rows", "gauge", labels=("input",))
    >>> tally = Tally()
    >>> tally[held, 0] += 3
    >>> tally[held, 1] += 5
    >>> tally[held, 0], tally.total(held), tally.by(held)
    (3, 8, {'0': 3, '1': 5})
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[Key, int] | None = None) -> None:
        self._values: dict[Place, int] = {}
        for key, value in (values or {}).items():
            self[key] = value

    def __getitem__(self, key: Key) -> int:
        return self._values.get(place_of(key), 0)

    def __setitem__(self, key: Key, value: int) -> None:
        self._values[place_of(key)] = value

    def __contains__(self, key: Key) -> bool:
        return place_of(key) in self._values

    def __iter__(self) -> Iterator[tuple[Figure, Labels, int]]:
        for (figure, labels), value in self._values.items():
            yield figure, labels, value

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self._told() == other._told()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Tally({ {_text(figure, labels): value for figure, labels, value in self} })"

    def __bool__(self) -> bool:
        return bool(self._told())

    def _told(self) -> dict[Place, int]:
        return {place: value for place, value in self._values.items() if value}

    def total(self, figure: Figure) -> int:
        """Add up a figure, whatever its labels are."""
        return sum(value for (own, _), value in self._values.items() if own is figure)

    def by(self, figure: Figure) -> dict[str, int]:
        """Give the values of a figure that has one label, by that label."""
        return {labels[0]: value for own, labels, value in self if own is figure}

    def add(self, other: Tally, sign: int = 1) -> None:
        """Take what happened later, or take away what happened before."""
        for place, value in other._values.items():
            self._values[place] = self._values.get(place, 0) + sign * value

    def divide(self, apart: Tally, rest: Tally) -> None:
        """Add what is not 0 to two others: what every group tells by itself, and the rest."""
        for place, value in self._values.items():
            if value:
                into = apart._values if place[0].apart else rest._values
                into[place] = into.get(place, 0) + value

    def merge(self, other: Tally) -> None:
        """Take what another shard tells of the same."""
        for place, value in other._values.items():
            mine = self._values.get(place)
            self._values[place] = value if mine is None else place[0].merged(mine, value)

    def of_kind(self, kind: Literal["counter", "gauge"]) -> Tally:
        """Give the counters, or the gauges."""
        found = Tally()
        found._values = {place: v for place, v in self._values.items() if place[0].kind == kind}
        return found


def added_up(tallies: Iterable[Tally]) -> Tally:
    """Add tallies up.

    >>> rows = Figure("late_rows", "Rows that came late.", "rows")
    >>> added_up([Tally({rows: 1}), Tally({rows: 2})])[rows]
    3
    """
    total = Tally()
    for tally in tallies:
        total.add(tally)
    return total


def place_of(key: Key) -> Place:
    """Give a figure and the values of its labels as texts."""
    if isinstance(key, Figure):
        assert not key.labels, f"{key.name} has labels: {', '.join(key.labels)}"
        return key, ()
    figure, *labels = key
    assert len(labels) == len(figure.labels), f"{figure.name} has the labels {figure.labels}"
    return figure, tuple(str(label) for label in labels)


def _text(figure: Figure, labels: Labels) -> str:
    """Write a figure as Prometheus does.

    >>> _text(Figure("rows", "Rows.", "rows", labels=("input",)), ("0",))
    'rows{input="0"}'
    """
    told = ", ".join(f'{name}="{own}"' for name, own in zip(figure.labels, labels, strict=True))
    return f"{figure.name}{{{told}}}" if told else figure.name
