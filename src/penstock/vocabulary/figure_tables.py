"""Figure tables: the figures of a batch or a run, by whom they are of.

A subject is a group, a relation, or a kind whose groups are told together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from penstock.vocabulary.figures import Figure, Labels, Tally, added_up

Declared = Callable[[str], Mapping[str, Figure]]
"""`(subject)`: the figures that it may tell, by name, for those who read what was written down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRow:
    """One value of one figure, and the group, the relation or the kind that it is of."""

    figure: Figure
    group: str
    labels: Mapping[str, str]
    value: int


class FigureTable:
    """Figures by subject. Iterating gives typed rows.

    >>> rows = Figure("rows", "Rows that are held.", "rows", "gauge", labels=("input",))
    >>> table = FigureTable({"g": Tally({(rows, 0): 3}), "h": Tally({(rows, 0): 4})})
    >>> [(row.figure.name, row.group, dict(row.labels), row.value) for row in table]
    [('rows', 'g', {'input': '0'}, 3), ('rows', 'h', {'input': '0'}, 4)]
    >>> table["g"][rows, 0], table.total(rows), table["nobody"].total(rows)
    (3, 7, 0)
    """

    __slots__ = ("_tallies",)

    def __init__(self, tallies: Mapping[str, Tally] | None = None) -> None:
        self._tallies = dict(tallies or {})

    def __getitem__(self, subject: str) -> Tally:
        return self._tallies.get(subject, Tally())

    def __iter__(self) -> Iterator[FigureRow]:
        for subject, tally in self._tallies.items():
            for figure, labels, value in tally:
                named = dict(zip(figure.labels, labels, strict=True))
                yield FigureRow(figure=figure, group=subject, labels=named, value=value)

    def __bool__(self) -> bool:
        return any(self._tallies.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FigureTable):
            return NotImplemented
        subjects = self._tallies.keys() | other._tallies.keys()
        return all(self[subject] == other[subject] for subject in subjects)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"FigureTable({self._tallies})"

    def items(self) -> Iterable[tuple[str, Tally]]:
        """Give every subject with its tally."""
        return self._tallies.items()

    def values(self) -> Iterable[Tally]:
        """Give every tally."""
        return self._tallies.values()

    def whole(self) -> Tally:
        """Add all subjects up."""
        return added_up(self._tallies.values())

    def total(self, figure: Figure) -> int:
        """Add a figure up over all subjects and labels."""
        return sum(tally.total(figure) for tally in self._tallies.values())

    def of_kind(self, kind: Literal["counter", "gauge"]) -> FigureTable:
        """Give the counters, or the gauges."""
        return FigureTable({name: own.of_kind(kind) for name, own in self._tallies.items()})

    def without(self, subjects: Collection[str]) -> FigureTable:
        """Give what is told of all others."""
        others = self._tallies.items()
        return FigureTable({name: own for name, own in others if name not in subjects})

    def then(self, later: FigureTable) -> FigureTable:
        """Give what both tell of a run: counters add up, of gauges the later ones stand."""
        return together([self.of_kind("counter"), later])

    def to_json(self) -> dict[str, Any]:
        """Describe what is not 0, by subject, name and labels.

        >>> asked = Figure("asked", "Rows asked.", "rows", labels=("input", "part"))
        >>> FigureTable({"g": Tally({(asked, 0, "terms"): 4})}).to_json()
        {'g': {'asked': {'0': {'terms': 4}}}}
        """
        found: dict[str, Any] = {}
        for subject, tally in self._tallies.items():
            for figure, labels, value in tally:
                if value:
                    path = [subject, figure.name, *labels]
                    place = found
                    for name in path[:-1]:
                        place = place.setdefault(name, {})
                    place[path[-1]] = value
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any], declared: Declared) -> FigureTable:
        """Give back what `to_json` described; figures that nobody declares any more are gone."""
        table: dict[str, Tally] = {}
        for subject, own in data.items():
            tally, known = table.setdefault(subject, Tally()), declared(subject)
            for name, told in own.items():
                if name in known:
                    figure = known[name]
                    for labels, value in _leaves(told, len(figure.labels)):
                        tally[figure, *labels] = value
        return cls(table)


def merged(shards: Iterable[FigureTable]) -> FigureTable:
    """Give what the shards of one lane tell together, each figure as it declares.

    >>> queries = Figure("queries", "Standing queries.", "queries", "gauge", "max")
    >>> held = Figure("rows_held", "Rows that are held.", "rows", "gauge")
    >>> shards = [FigureTable({"g": Tally({queries: 5, held: n})}) for n in (2, 3)]
    >>> merged(shards).to_json()
    {'g': {'queries': 5, 'rows_held': 5}}
    """
    found: dict[str, Tally] = {}
    for shard in shards:
        for subject, tally in shard.items():
            found.setdefault(subject, Tally()).merge(tally)
    return FigureTable(found)


def together(tables: Iterable[FigureTable]) -> FigureTable:
    """Add tables up: of lanes, which have different groups, or of batches, if they are counters."""
    found: dict[str, Tally] = {}
    for table in tables:
        for subject, tally in table.items():
            found.setdefault(subject, Tally()).add(tally)
    return FigureTable(found)


RENAMED = {"model": "law"}
"""Figures that had another name in the version before."""


def figures_before(told: Mapping[str, int], declared: Declared) -> FigureTable:
    """Read what the version before wrote: `<subject>/<name>`, the labels at the end of the name.

    >>> rows = Figure("rows", "Rows that are held.", "rows", "gauge", labels=("input",))
    >>> figures_before({"g/rows_1": 3, "queries": 2}, lambda _: {"rows": rows}).to_json()
    {'g': {'rows': {'1': 3}}}
    """
    table: dict[str, Tally] = {}
    for key, value in told.items():
        subject, slash, name = key.rpartition("/")
        head, labels, known = name, "", declared(subject)
        while head and RENAMED.get(head, head) not in known:
            head, _, last = head.rpartition("_")
            labels = f"{last}_{labels}" if labels else last
        if slash and head:
            figure = known[RENAMED.get(head, head)]
            own = labels.split("_", len(figure.labels) - 1) if labels else []
            if len(own) == len(figure.labels):
                table.setdefault(subject, Tally())[figure, *own] = value
    return FigureTable(table)


def told_figures(described: Mapping[str, Any], declared: Declared) -> FigureTable:
    """Read the figures of a part as it is described, by this version or the one before."""
    if "figures" in described:
        return FigureTable.from_json(described["figures"], declared)
    before = {**described.get("sizes", {}), **described.get("counts", {})}
    return figures_before(before, declared)


def _leaves(told: Any, depth: int) -> Iterator[tuple[Labels, int]]:
    if depth == 0:
        yield (), int(told)
        return
    for label, below in told.items():
        for labels, value in _leaves(below, depth - 1):
            yield (label, *labels), value
