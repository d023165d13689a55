"""Facts of a plan as EXPLAIN tells them: of its inputs, its joins, its rivals, what it drops.

Plain values: text, JSON and drawing are made of them alone. Rates are rows per second, utilisations
are shares of one processor, and both are of the plan without drop boxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

from penstock.planning.plan_run import SeenPlan

LABEL_LENGTH_MAX = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionFacts:
    """A selection: what it asks, which share of the rows it lets through, and who says so."""

    input: str
    part: str
    selectivity: float
    text: str = ""
    origin: str = ""

    def to_json(self) -> dict[str, Any]:
        """Give the facts for machines."""
        return {
            "input": self.input,
            "part": self.part,
            "selectivity": self.selectivity,
            "text": self.text,
            "origin": self.origin,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFacts:
    """An input: `rows` are active in its window, `pass_fraction` of them go on after arriving.

    `origins` say where the figures are from: `rate`, `rows`, `window`.
    """

    number: int
    name: str
    is_table: bool
    rate: float
    window: str
    rows: float
    pass_fraction: float = 1.0
    minimum: float = 0.0
    weight: float = 1.0
    selections: tuple[SelectionFacts, ...] = ()
    origins: tuple[tuple[str, str], ...] = ()

    @property
    def mask(self) -> int:
        """The set of this input alone."""
        return 1 << self.number

    @property
    def label(self) -> str:
        """What a line about it begins with."""
        return self.name

    @property
    def dropped(self) -> float:
        """The share of its rows that the drop box takes."""
        return 1.0 - self.pass_fraction

    def origin(self, figure: str) -> str:
        """Say where a figure is from; nothing if nobody knows."""
        return dict(self.origins).get(figure, "")

    def to_json(self) -> dict[str, Any]:
        """Give the facts for machines."""
        return {
            "input": self.number,
            "name": self.name,
            "is_table": self.is_table,
            "rate": self.rate,
            "window": self.window,
            "rows": self.rows,
            "pass_fraction": self.pass_fraction,
            "minimum": self.minimum,
            "weight": self.weight,
            "selections": [each.to_json() for each in self.selections],
            "origins": dict(self.origins),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinFacts:
    """A join of two parts: what comes in, what goes out, what it keeps of either and how."""

    number: int
    mask: int
    name: str
    left: Node
    right: Node
    rates: tuple[float, float]
    """Of the left and the right part."""
    rows: tuple[float, float]
    """Kept of the left and of the right part."""
    indexes: tuple[str, str]
    output_rate: float
    selectivity: float
    is_product: bool
    utilisation: float
    memory_bytes: float
    share: float = 0.0
    """Of the time that all joins take together: what a scheduler should give it."""
    asked: tuple[SelectionFacts, ...] = ()
    """Selections that are asked of its rows and not at their leaf."""

    @property
    def label(self) -> str:
        """What a line about it begins with: the tree, or a number where that is too long."""
        return self.name if len(self.name) <= LABEL_LENGTH_MAX else f"join {self.number}"

    def to_json(self) -> dict[str, Any]:
        """Give the facts for machines."""
        return {
            "join": self.number,
            "name": self.name,
            "mask": self.mask,
            "rates": list(self.rates),
            "rows": list(self.rows),
            "indexes": list(self.indexes),
            "output_rate": self.output_rate,
            "selectivity": self.selectivity,
            "is_product": self.is_product,
            "utilisation": self.utilisation,
            "memory_bytes": self.memory_bytes,
            "share": self.share,
            "asked": [each.to_json() for each in self.asked],
            "left": self.left.to_json(),
            "right": self.right.to_json(),
        }


Node = InputFacts | JoinFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateFacts:
    """A predicate, or a key that several inputs share: which share of pairs meets.

    Where it depends on whose row comes last, `ways` says what share of the other's window a row of
    each input meets, and `selectivity` is their mean.
    """

    inputs: tuple[str, ...]
    selectivity: float
    text: str = ""
    origin: str = ""
    ways: tuple[tuple[str, float], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give the facts for machines."""
        return {
            "inputs": list(self.inputs),
            "selectivity": self.selectivity,
            "text": self.text,
            "origin": self.origin,
            "ways": dict(self.ways),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalFacts:
    """A plan that was not chosen, and what it would have cost and kept."""

    name: str
    utilisation: float
    memory_rows: float
    memory_bytes: float
    is_feasible: bool
    output: float | None = None
    """Results per second if it had to be shed."""

    def to_json(self) -> dict[str, Any]:
        """Give the facts for machines."""
        return {
            "name": self.name,
            "utilisation": self.utilisation,
            "memory_rows": self.memory_rows,
            "memory_bytes": self.memory_bytes,
            "is_feasible": self.is_feasible,
            "output": self.output,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SheddingFacts:
    """What drop boxes take and leave; `is_in_force` says whether they are closed now.

    `kept` is how many results are emitted by how many there are without dropping, `exact_share` the
    part of them that the full answer has, `found` the part of the full answer that is there.
    `ratios` are results per second of work, by input; `corners` are pairs of a bound in processors
    and the results per second that it allows, best used. The least-cost plan need not be the best
    to shed.
    """

    boxes: str
    strategy: str
    output: float
    kept: float
    utilisation: float
    exact_share: float
    found: float
    ratios: tuple[tuple[str, float], ...]
    corners: tuple[tuple[float, float], ...]
    least_cost_plan: str
    least_cost_output: float
    is_in_force: bool = False

    def to_json(self) -> dict[str, Any]:
        """Give the facts for machines."""
        return {
            "boxes": self.boxes,
            "strategy": self.strategy,
            "output": self.output,
            "kept": self.kept,
            "utilisation": self.utilisation,
            "exact_share": self.exact_share,
            "found": self.found,
            "is_in_force": self.is_in_force,
            "ratios": {name: finite(ratio) for name, ratio in self.ratios},
            "breakpoints": [list(corner) for corner in self.corners],
            "least_cost_plan": self.least_cost_plan,
            "least_cost_output": self.least_cost_output,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """A plan, what it takes and gives, and the verdict on it.

    `utilisation` is in processors and without drop boxes, as is all of `tree`; `bound` is how many
    processors may be busy; `arrive` and `emit` are the parts of rows that come and results that go.
    `costs` says where the times are from; `constant_s` is set where every row costs the same at
    every join. `run` is what the group did in the engine's present run.
    """

    sql: str
    verdict: str
    sentence: str
    is_critical: bool
    tree: Node
    objective: str
    shape: str
    processors: float
    headroom: float
    bound: float
    memory_rows_max: float | None
    memory_bytes_max: float | None
    utilisation: float
    utilisation_worst: float
    arrive: float
    emit: float
    memory_rows: float
    memory_bytes: float
    output_rate: float
    predicates: tuple[PredicateFacts, ...]
    rivals: tuple[RivalFacts, ...]
    shedding: SheddingFacts | None
    shares: tuple[tuple[str, float], ...]
    costs: str
    constant_s: float | None = None
    what_if: tuple[str, ...] = ()
    group: str = ""
    queries: int = 0
    is_new: bool = True
    run: SeenPlan | None = None
    notes: tuple[str, ...] = ()

    @property
    def judgement(self) -> str:
        """The verdict in a sentence: its name, in capitals, and why."""
        opening = f"{self.verdict.capitalize()}: "
        why = self.sentence.removeprefix(opening)
        return f"{self.verdict}{' (critical)' if self.is_critical else ''}: {why}"


def inputs_in(node: Node) -> Iterator[InputFacts]:
    """Give the inputs below a node, from left to right."""
    if isinstance(node, InputFacts):
        yield node
    else:
        yield from inputs_in(node.left)
        yield from inputs_in(node.right)


def joins_in(node: Node) -> Iterator[JoinFacts]:
    """Give the joins of a tree, every one after those below it."""
    if isinstance(node, JoinFacts):
        yield from joins_in(node.left)
        yield from joins_in(node.right)
        yield node


def finite(value: float) -> float | None:
    """Give a number that JSON can hold; without limit is none."""
    return value if isfinite(value) else None
