"""Facts of a plan as EXPLAIN tells them: of its inputs, its joins, its rivals, what it drops.

Plain values: text, JSON and drawing are made of them alone. Rates are rows per second, utilisations
are shares of one processor, and both are of the plan without drop boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from penstock.planning.plan_run import SeenPlan
from penstock.vocabulary.codec import Node as Written
from penstock.vocabulary.codec import stored_as

LABEL_LENGTH_MAX = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionFacts(Written):
    """A selection: what it asks, which share of the rows it lets through, and who says so."""

    input: str
    part: str
    selectivity: float
    text: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFacts(Written):
    """An input: `rows` are active in its window, `pass_fraction` of them go on after arriving.

    `origins` say where the figures are from: `rate`, `rows`, `window`.
    """

    number: int = field(metadata=stored_as("input"))
    name: str
    is_table: bool
    rate: float
    window: str
    rows: float
    pass_fraction: float = 1.0
    minimum: float = 0.0
    weight: float = 1.0
    selections: tuple[SelectionFacts, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)

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
        return self.origins.get(figure, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinFacts(Written):
    """A join of two parts: what comes in, what goes out, what it keeps of either and how."""

    join: int
    """Its number among the joins of the tree."""
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
        return self.name if len(self.name) <= LABEL_LENGTH_MAX else f"join {self.join}"


Node = InputFacts | JoinFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateFacts(Written):
    """A predicate, or a key that several inputs share: which share of pairs meets.

    Where it depends on whose row comes last, `ways` says what share of the other's window a row of
    each input meets, and `selectivity` is their mean.
    """

    inputs: tuple[str, ...]
    selectivity: float
    text: str = ""
    origin: str = ""
    ways: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalFacts(Written):
    """A plan that was not chosen, and what it would have cost and kept."""

    name: str
    utilisation: float
    memory_rows: float
    memory_bytes: float
    is_feasible: bool
    output: float | None = None
    """Results per second if it had to be shed."""


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
class PlanFacts(Written):
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
    rivals: tuple[RivalFacts, ...] = field(metadata=stored_as("runner_ups"))
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
