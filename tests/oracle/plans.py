"""The slow twin of the planner: closed formulas for sets of inputs, and every plan tried.

Nothing is carried from node to node: rate and window of a set are reckoned from its inputs (E5,
E6), a join from the two sets that meet (E8), memory from the windows kept (E11). A tree is nested
pairs of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations, product
from math import prod
from typing import Any

from penstock.algebra.trees import Leaf, Tree
from penstock.planning.costs import CostLibrary
from penstock.planning.model import JoinModel, PredicateModel, SelectionModel

Nest = Any
"""A number, or a pair of nests."""
Places = Mapping[int, frozenset[int]]
"""For every selection, by its number, the set of inputs it is asked of."""


def members(nest: Nest) -> frozenset[int]:
    return frozenset((nest,)) if isinstance(nest, int) else members(nest[0]) | members(nest[1])


def nested(tree: Tree) -> Nest:
    return tree.input if isinstance(tree, Leaf) else (nested(tree.left), nested(tree.right))


def shape_of(nest: Nest) -> frozenset[frozenset[int]]:
    """A tree without left and right: the sets of its nodes."""
    return frozenset(members(node) for node in nodes(nest))


def nodes(nest: Nest) -> Iterator[Nest]:
    yield nest
    if not isinstance(nest, int):
        yield from nodes(nest[0])
        yield from nodes(nest[1])


def all_nests(inputs: int) -> list[Nest]:
    """Every tree: the next input is put in at every place of every tree of those before it."""
    found: list[Nest] = [0]
    for number in range(1, inputs):
        found = [grown for nest in found for grown in insertions(nest, number)]
    return found


def insertions(nest: Nest, number: int) -> Iterator[Nest]:
    yield (nest, number)
    if not isinstance(nest, int):
        for left in insertions(nest[0], number):
            yield (left, nest[1])
        for right in insertions(nest[1], number):
            yield (nest[0], right)


def is_deep(nest: Nest) -> bool:
    return all(
        isinstance(node, int) or isinstance(node[0], int) or isinstance(node[1], int)
        for node in nodes(nest)
    )


def bits(inputs: frozenset[int]) -> int:
    return sum(1 << number for number in inputs)


def factors(
    model: JoinModel,
    inputs: frozenset[int],
    equalities_only: bool = False,
    youngest: int | None = None,
) -> list[float]:
    """The selectivities of all join predicates inside a set, those of a class once less.

    Of predicates that differ by which of their two inputs comes last, that of the `youngest`, or
    the mean of both, weighted by how many pairs either completes.
    """
    found = []
    uneven: dict[int, list[PredicateModel]] = {}
    for each in model.predicates:
        if each.mask & ~bits(inputs) == 0 and (each.is_equality or not equalities_only):
            if each.reverse is None:
                found.append(each.selectivity)
            else:
                uneven.setdefault(each.mask, []).append(each)
    for mask, together in uneven.items():
        pair = [number for number in inputs if mask >> number & 1]
        matches = {number: prod(one_way(each, number) for each in together) for number in pair}
        share = matches[youngest] if youngest in matches else mean_of(model, matches)
        # One factor for each predicate: how many there are is asked, too.
        found += [share, *[1.0] * (len(together) - 1)]
    for key in model.classes:
        inside = sum(key.mask >> number & 1 for number in inputs)
        found += [key.selectivity] * (inside - 1)
    return found


def one_way(predicate: PredicateModel, number: int) -> float:
    """What share of the other window rows of an input match."""
    assert predicate.reverse is not None
    is_first = predicate.mask % (1 << number) == 0
    return predicate.selectivity if is_first else predicate.reverse


def mean_of(model: JoinModel, matches: Mapping[int, float]) -> float:
    """The share of pairs of two windows that match: by the rates at which rows complete pairs."""
    (one, f), (other, g) = matches.items()
    first, second = model.inputs[one], model.inputs[other]
    arrive = [0.0 if each.is_table else each.rate for each in (first, second)]
    pairs = second.window * arrive[0], first.window * arrive[1]
    return (f * pairs[0] + g * pairs[1]) / sum(pairs) if sum(pairs) else (f + g) / 2


def rate_and_window(
    model: JoinModel, inputs: frozenset[int], asked: list[SelectionModel], rates: list[float]
) -> tuple[float, float]:
    """E5 and E6: with the selections that were asked of rows of the set."""
    windows = {number: model.inputs[number].window for number in inputs}
    share = prod(each.selectivity for each in asked)
    rate = sum(
        rates[k]
        * prod(windows[i] for i in inputs if i != k)
        * prod(factors(model, inputs, youngest=k))
        for k in inputs
        if not model.inputs[k].is_table
    )
    return share * rate, share * prod(factors(model, inputs)) * prod(windows.values())


@dataclass(frozen=True)
class Reckoned:
    cpu: float
    memory: float
    output: float
    window: float


def reckon(
    model: JoinModel,
    nest: Nest,
    library: CostLibrary,
    places: Places | None = None,
    rates: list[float] | None = None,
) -> Reckoned:
    """Sum up a plan; selections without a place are asked at their input, in the best order."""
    rates = rates or [each.rate for each in model.inputs]
    place = {
        number: (places or {}).get(number, frozenset((each.input,)))
        for number, each in enumerate(model.selections)
    }

    def figures(inputs: frozenset[int], before: bool = False) -> tuple[float, float]:
        asked = [
            each
            for number, each in enumerate(model.selections)
            if place[number] < inputs or (place[number] == inputs and not before)
        ]
        return rate_and_window(model, inputs, asked, rates)

    streams = [each.rate for each in model.inputs if not each.is_table]
    cpu = library.batch_s + library.read_s * sum(streams)
    cpu += library.arrive_s * sum(
        rate for rate, each in zip(rates, model.inputs, strict=True) if not each.is_table
    )
    memory = 0.0
    for node in nodes(nest):
        here = [model.selections[number] for number in place if place[number] == members(node)]
        cpu += cheapest_chain(figures(members(node), before=True)[0], here)
        if isinstance(node, int):
            continue
        sides = members(node[0]), members(node[1])
        for own, other in (sides, sides[::-1]):
            window = figures(own)[1]
            memory += window
            cpu += cheapest_side(
                model, library, own, other, window, figures(own)[0], figures(other)[0]
            )
    output, window = figures(members(nest))
    return Reckoned(cpu + library.emit_s * output, memory, output, window)


def cheapest_side(
    model: JoinModel,
    library: CostLibrary,
    own: frozenset[int],
    other: frozenset[int],
    window: float,
    rate: float,
    other_rate: float,
) -> float:
    """E8 for one window, by the cheapest of its indexes."""
    whole = factors(model, own | other, equalities_only=True)
    parts = factors(model, own, True) + factors(model, other, True)
    crossing = list(whole)
    for each in parts:
        crossing.remove(each)
    everything = factors(model, own | other, equalities_only=False)
    asked = len(everything) - sum(len(factors(model, each, False)) for each in (own, other))
    matches, more = prod(crossing) * window, 0.0
    if len(own) > 1:
        more += library.composite_s + library.composite_match_s * matches
    if asked > 1:
        more += library.several_s + library.several_match_s * matches
    return other_rate * more + min(
        other_rate * library.probe(index, window, prod(crossing), len(own) > 1)
        + rate * (library.insert(index, window) + library.invalidate(index, window))
        for index in library.indexes(bool(crossing))
    )


def cheapest_chain(rate: float, selections: list[SelectionModel]) -> float:
    """Ask selections in every order; give what the cheapest order takes."""
    best = float("inf")
    for order in permutations(selections):
        left, spent = rate, 0.0
        for each in order:
            spent += each.cost_s * left
            left *= each.selectivity
        best = min(best, spent)
    return best


def all_places(model: JoinModel, nest: Nest) -> Iterator[Places]:
    """Every choice of places: terms anywhere above their input, residuals at its ends."""
    whole = members(nest)
    choices = []
    for each in model.selections:
        above = {members(node) for node in nodes(nest) if each.input in members(node)}
        ends = {frozenset((each.input,)), whole}
        choices.append(sorted(above if each.part == "terms" else ends, key=sorted))
    for chosen in product(*choices):
        yield dict(enumerate(chosen))


def is_product(model: JoinModel, nest: Nest) -> bool:
    """Whether some join of a tree has no predicate."""
    return any(
        len(factors(model, members(node)))
        == len(factors(model, members(node[0]))) + len(factors(model, members(node[1])))
        for node in nodes(nest)
        if not isinstance(node, int)
    )
