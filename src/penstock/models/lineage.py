"""Lineage: which input segments an output segment is made of, and bounds that follow it.

Operators give parts of time ranges, and attributes hang on keys: so a key and a range say which
inputs made an output. Bounds of live outputs are divided among these inputs, operator by operator
down to the sources; what is reached on several ways has what all of them allow. This is the
inversion that looks at segments. It explains and experiments: answers hang on
`penstock.models.inversion` alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.algebra.models import ModelFilter, ModelJoin, ModelMap, ModelStage, ModelWindow
from penstock.kernels.polynomials import polynomials_shift
from penstock.models.gains import compared, function_gains
from penstock.models.ranges import ValueRange, used
from penstock.models.splits import Bound, BoundSplit, Dependency, equi_split, model_measures
from penstock.vocabulary.batches import Floats

SECOND_US = 1_000_000
CAUSES_MAX = 1 << 20
"""How many inputs a lineage knows."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A segment, as lineage knows it: times in microseconds, models from `reference` on."""

    key: tuple[int, ...]
    reference: int
    low_us: int
    high_us: int
    coefficients: Floats
    """(attributes, coefficients)."""


@dataclass(slots=True)
class Lineage:
    """What made the outputs of one operator, as long as they hold.

    Outputs of a key do not overlap: the newer one cuts the older. When there are too many, those
    that end first go.
    """

    causes_max: int = CAUSES_MAX
    _made: dict[tuple[int, ...], list[tuple[Cause, tuple[Cause, ...]]]] = field(
        default_factory=dict
    )

    def __len__(self) -> int:
        return sum(len(each) for each in self._made.values())

    def note(self, output: Cause, causes: Iterable[Cause]) -> None:
        """Note what an output is made of; older outputs of its key end where it begins."""
        mine = self._made.setdefault(output.key, [])
        cut = [(_until(old, output.low_us), why) for old, why in mine]
        mine[:] = [each for each in cut if each[0].low_us < each[0].high_us]
        mine.append((output, tuple(causes)))
        if len(self) > self.causes_max:
            ends = sorted(old.high_us for each in self._made.values() for old, _ in each)
            self.evict(ends[len(self) // 2])

    def causes(self, key: tuple[int, ...], at_us: int) -> tuple[Cause, ...]:
        """Give what made the output of a key at an event time; nothing: there is none."""
        for output, causes in self._made.get(key, ()):
            if output.low_us <= at_us < output.high_us:
                return causes
        return ()

    def outputs(self) -> list[tuple[Cause, tuple[Cause, ...]]]:
        """Give all outputs that are known, with what made them."""
        return [each for mine in self._made.values() for each in mine]

    def evict(self, now_us: int) -> None:
        """Let outputs go that have ended."""
        for key, mine in list(self._made.items()):
            mine[:] = [each for each in mine if each[0].high_us > now_us]
            if not mine:
                del self._made[key]


def _until(output: Cause, end_us: int) -> Cause:
    return Cause(
        output.key, output.reference, output.low_us, min(output.high_us, end_us),
        output.coefficients,
    )  # fmt: skip


Allocated = dict[tuple[tuple[int, ...], int], Bound]
"""Bounds, by key and attribute."""


def accuracy_inverted(
    stage: ModelStage,
    output: Cause,
    causes: Sequence[Cause],
    bounds: Mapping[int, Bound],
    split: BoundSplit = equi_split,
) -> Allocated:
    """Divide bounds of the attributes of an output segment among the segments that made it.

    `bounds` are by attribute of the output. Keys outside the lineage get nothing. Each part is
    divided by the gain of its input, over the values that it has in this very segment.
    """
    found: Allocated = {}
    box = _boxes(stage, output, causes)
    for attribute, bound in bounds.items():
        gains = _stage_gains(stage, attribute, box, bounds)
        places = [(number, place) for number, place in _inputs(stage, causes) if place in gains]
        flat = [
            Dependency(
                causes[number].key, place,
                _shifted(causes[number], place - _first(stage, causes, number), output.reference),
            )
            for number, place in places
        ]  # fmt: skip
        spare = getattr(_mapped(stage, attribute), "tolerance", 0.0)
        narrowed = min(bound[0] + spare, 0.0), max(bound[1] - spare, 0.0)
        low = (output.low_us - output.reference) / SECOND_US
        high = (output.high_us - output.reference) / SECOND_US
        if not flat:
            continue
        for (number, place), part in zip(places, split(narrowed, flat, low, high), strict=True):
            gain = gains[place] or 1.0
            own = causes[number].key, place - _first(stage, causes, number)
            _intersect(found, own, (part[0] / gain, part[1] / gain))
    return found


def slack_inverted(
    slack: float,
    dependencies: Sequence[Dependency],
    gains: Sequence[float],
    low: float,
    high: float,
    split: BoundSplit = equi_split,
) -> Allocated:
    """Divide the slack of a condition without solution among what its rows are made of."""
    found: Allocated = {}
    parts = split((-slack, slack), dependencies, low, high)
    for each, gain, part in zip(dependencies, gains, parts, strict=True):
        _intersect(found, (each.key, each.attribute), (part[0] / gain, part[1] / gain))
    return found


def plan_inverted(
    chain: Sequence[tuple[ModelStage, Lineage]],
    bounds: Mapping[int, Bound],
    split: BoundSplit = equi_split,
) -> Allocated:
    """Lead bounds through a chain of operators, the last one first, along all live outputs."""
    live: dict[tuple[int, ...], dict[int, Bound]] | None = None
    found: Allocated = {}
    for stage, lineage in chain:
        found = {}
        for output, causes in lineage.outputs():
            own = bounds if live is None else live.get(output.key, {})
            for place, bound in accuracy_inverted(stage, output, causes, own, split).items():
                _intersect(found, place, bound)
        live = {}
        for (key, attribute), bound in found.items():
            live.setdefault(key, {})[attribute] = bound
    return found


def _intersect(found: Allocated, place: tuple[tuple[int, ...], int], bound: Bound) -> None:
    old = found.get(place, (-math.inf, math.inf))
    found[place] = max(old[0], bound[0]), min(old[1], bound[1])


def _first(stage: ModelStage, causes: Sequence[Cause], number: int) -> int:
    """Give the place of the first attribute of a cause among those of the stage's input."""
    if not isinstance(stage, ModelJoin):
        return 0
    return sum(len(cause.coefficients) for cause in causes[:number])


def _inputs(stage: ModelStage, causes: Sequence[Cause]) -> list[tuple[int, int]]:
    """Give every attribute of every cause, by its place in the stage's input."""
    return [
        (number, _first(stage, causes, number) + place)
        for number, cause in enumerate(causes)
        for place in range(len(cause.coefficients))
    ]


def _boxes(stage: ModelStage, output: Cause, causes: Sequence[Cause]) -> list[ValueRange]:
    """Give the values that the attributes of a stage's input have while an output holds."""
    box: dict[int, ValueRange] = {}
    for number, place in _inputs(stage, causes):
        cause = causes[number]
        model = _shifted(cause, place - _first(stage, causes, number), output.reference)
        low = (output.low_us - output.reference) / SECOND_US
        high = (output.high_us - output.reference) / SECOND_US
        values = ValueRange(*model_measures([model], low, high)[2:, 0].tolist())
        box[place] = (
            values if place not in box else box[place].around(values.low).around(values.high)
        )
    return [box[place] for place in sorted(box)]


def _shifted(cause: Cause, attribute: int, reference: int) -> Floats:
    """Give a model as one of the seconds after another reference."""
    model = np.ascontiguousarray(cause.coefficients[attribute], np.float64)[None, None, :].copy()
    later = np.array([(reference - cause.reference) / SECOND_US])
    polynomials_shift(model, later, model)
    moved: Floats = model[0, 0]
    return moved


def _mapped(stage: ModelStage, attribute: int) -> object:
    return stage.attributes[attribute] if isinstance(stage, ModelMap) else None


def _stage_gains(
    stage: ModelStage, attribute: int, box: Sequence[ValueRange], kept: Iterable[int]
) -> dict[int, float]:
    """Give the gain of every attribute of the input that an output attribute depends on.

    Those that conditions alone speak of have the gain 1.
    """
    if isinstance(stage, ModelMap):
        mapped = stage.attributes[attribute]
        names = set(used(mapped.polynomial))
        names |= used(mapped.divisor) if mapped.divisor is not None else set()
        return function_gains(mapped, sorted(names), box)[0]
    if isinstance(stage, ModelFilter | ModelJoin):
        return dict.fromkeys([attribute, *sorted(inferred(stage, kept))], 1.0)
    if isinstance(stage, ModelWindow) and stage.function == "sum":
        return {stage.attribute: stage.size_us / SECOND_US}
    return {stage.attribute: 1.0} if hasattr(stage, "attribute") else {attribute: 1.0}


def inferred(stage: ModelFilter | ModelJoin, kept: Iterable[int]) -> frozenset[int]:
    """Give the attributes of a stage that only its condition speaks of, if these are kept above."""
    names = {name for each in compared(stage.condition) for name in used(each.polynomial)}
    return frozenset(names - set(kept))
