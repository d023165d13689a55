"""Explanations of plans: what EXPLAIN says of a multi-way window join, before it starts or after.

As text for people, as JSON for machines, as a drawing for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from penstock.algebra.crossings import Crossing, key_classes
from penstock.algebra.inputs import Place
from penstock.algebra.trees import Join, Leaf, Tree, inputs_of
from penstock.planning.drawings import draw
from penstock.planning.figures import figure, seconds
from penstock.planning.model import InputModel, JoinModel, SelectionModel
from penstock.planning.optimiser import Planned
from penstock.planning.plan_costs import Costing, meets_at_all
from penstock.planning.plan_facts import (
    InputFacts,
    JoinFacts,
    Node,
    PlanFacts,
    PredicateFacts,
    RivalFacts,
    SelectionFacts,
    SheddingFacts,
    joins_in,
)
from penstock.planning.plan_run import SeenPlan
from penstock.planning.plan_text import lines_of
from penstock.vocabulary.codec import encode


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanExplanation(PlanFacts):
    """What EXPLAIN says of a plan."""

    @classmethod
    def of(
        cls,
        planned: Planned,
        model: JoinModel,
        *,
        sql: str = "",
        tags: Mapping[str, str] | None = None,
        what_if: Iterable[str] = (),
        selections: Mapping[int, str] | None = None,
        predicates: Iterable[str] = (),
        constant_s: float | None = None,
        group: str = "",
        queries: int = 0,
        is_new: bool = True,
        run: SeenPlan | None = None,
        notes: Iterable[str] = (),
        in_force: bool = False,
    ) -> PlanExplanation:
        """Explain what the optimiser planned for a model.

        `tags` say where figures are from, by the words of WHAT IF: `rate(a)`, `selectivity(a, b)`;
        `costs` is where the times are from. `selections` are the texts of what is asked of one
        input, `predicates` those of what is asked of several, in the model's order. `in_force`:
        drop boxes, if there are any, are closed now.
        """
        told = _Telling(planned, model, dict(tags or {}), dict(selections or {}), in_force)
        costing, resources = planned.costing, planned.resources
        costs = told.tags.get("costs", "")
        return cls(
            sql=sql,
            verdict=planned.verdict,
            sentence=planned.sentence,
            is_critical=planned.is_critical,
            tree=told.node(ordered(planned.plan.tree)),
            objective=planned.objective,
            shape=planned.choices.shape,
            processors=resources.processors,
            headroom=resources.headroom,
            bound=planned.bound,
            memory_rows_max=resources.memory_rows,
            memory_bytes_max=resources.memory_bytes,
            utilisation=float(costing.cpu),
            utilisation_worst=planned.worst_cpu,
            arrive=costing.arrive_cpu,
            emit=costing.emit_cpu,
            memory_rows=costing.memory_rows,
            memory_bytes=costing.memory_bytes,
            output_rate=costing.output_rate,
            predicates=told.predicates(predicates),
            rivals=told.rivals(),
            shedding=told.shedding(),
            shares=told.shares(),
            costs=costs if constant_s is None else f"{seconds(constant_s)} per row and join",
            constant_s=constant_s,
            what_if=tuple(what_if),
            group=group,
            queries=queries,
            is_new=is_new,
            run=run,
            notes=(*told.warnings(), *notes),
        )

    def text(self) -> str:
        """Give the facts for people."""
        return "\n".join(lines_of(self))

    def svg(self) -> str:
        """Draw the plan, as the text of an SVG file."""
        return draw(self.tree, self.tree.name, self.judgement, self.bound)

    def to_json(self) -> dict[str, Any]:
        """Give the facts for machines."""
        return {
            **encode(self),
            "plan": self.tree.name,
            "shedding": None if self.shedding is None else self.shedding.to_json(),
            "shares": [{"name": name, "share": share} for name, share in self.shares],
            "run": {} if self.run is None else self.run.to_json(),
        }


class _Telling:
    """Turns what was planned into facts with names."""

    def __init__(
        self,
        planned: Planned,
        model: JoinModel,
        tags: dict[str, str],
        selections: dict[int, str],
        in_force: bool,
    ) -> None:
        self.in_force = in_force
        self.planned = planned
        self.model = model
        self.tags = tags
        self.texts = selections
        costing: Costing = planned.costing
        self.joins = {each.mask: each for each in costing.joins}
        self.numbers = {each.mask: number for number, each in enumerate(costing.joins, start=1)}
        self.shares_by_mask = dict(planned.shares)
        places = {(each.input, each.part): each.mask for each in planned.plan.pulled}
        self.asked: dict[int, list[SelectionModel]] = {}
        for each in model.selections:
            place = places.get((each.input, each.part), 1 << each.input)
            self.asked.setdefault(place, []).append(each)

    def node(self, tree: Tree) -> Node:
        return self.input(tree) if isinstance(tree, Leaf) else self.join(tree)

    def input(self, leaf: Leaf) -> InputFacts:
        given = self.model.inputs[leaf.input]
        origins = ((word, self.tags.get(f"{word}({given.name})", "")) for word in _WORDS)
        return InputFacts(
            number=leaf.input,
            name=given.name,
            is_table=given.is_table,
            rate=given.rate,
            window=_window(given),
            rows=given.window,
            pass_fraction=self.planned.plan.share(leaf.input),
            minimum=given.minimum,
            weight=given.weight,
            selections=self.selections(leaf.mask),
            origins={word: origin for word, origin in origins if origin},
        )

    def join(self, tree: Join) -> JoinFacts:
        figures = self.joins[tree.mask]
        sides = (
            (figures.left_rate, figures.left_window, figures.left_index),
            (figures.right_rate, figures.right_window, figures.right_index),
        )
        left, right = sides if figures.left_mask == tree.left.mask else sides[::-1]
        return JoinFacts(
            join=self.numbers[tree.mask],
            mask=tree.mask,
            name=named(tree, self.model),
            left=self.node(tree.left),
            right=self.node(tree.right),
            rates=(left[0], right[0]),
            rows=(left[1], right[1]),
            indexes=(left[2], right[2]),
            output_rate=figures.rate,
            selectivity=figures.selectivity,
            is_product=figures.is_product,
            utilisation=figures.cpu,
            memory_bytes=figures.memory_bytes,
            share=self.shares_by_mask.get(tree.mask, 0.0),
            asked=self.selections(tree.mask),
        )

    def selections(self, mask: int) -> tuple[SelectionFacts, ...]:
        """Tell which selections are asked at a node."""
        return tuple(
            SelectionFacts(
                input=self.model.inputs[each.input].name,
                part=each.part,
                selectivity=each.selectivity,
                text=self.texts.get(each.input, "") if self.is_alone(each) else "",
                origin=self.tags.get(f"selectivity({self.model.inputs[each.input].name})", ""),
            )
            for each in self.asked.get(mask, ())
        )

    def is_alone(self, selection: SelectionModel) -> bool:
        """Say whether an input has this selection only, so that its text speaks of it."""
        return sum(each.input == selection.input for each in self.model.selections) == 1

    def predicates(self, texts: Iterable[str]) -> tuple[PredicateFacts, ...]:
        """Tell which share of pairs meet, for every predicate and every key of the query."""
        keys = {each.mask for each in self.model.classes}
        # A key whose rows do not meet the same share both ways has a predicate that says so.
        of_keys, given = {}, []
        for each, mean in zip(self.model.predicates, self.model.means, strict=True):
            if each.ways and each.is_equality and each.mask in keys:
                of_keys[each.mask] = mean, each.ways
            else:
                given.append((each.mask, mean, each.ways))
        given += [
            (key.mask, *of_keys.pop(key.mask, (key.selectivity, ()))) for key in self.model.classes
        ]
        spoken = [*texts]
        spoken += [""] * (len(given) - len(spoken))
        names = self.model.names
        return tuple(
            PredicateFacts(
                inputs=tuple(names[number] for number in inputs_of(mask)),
                selectivity=selectivity,
                text=text,
                origin=self.origin(mask),
                ways={names[number]: share for number, share in ways},
            )
            for (mask, selectivity, ways), text in zip(given, spoken, strict=False)
        )

    def origin(self, mask: int) -> str:
        """Say where the share of pairs that meet is from; a key of many inputs has many pairs."""
        names = [self.model.inputs[number].name for number in inputs_of(mask)]
        found = [self.tags.get(f"selectivity({a}, {b})", "") for a, b in combinations(names, 2)]
        return ", ".join(dict.fromkeys(each for each in found if each))

    def names(self, mask: int) -> str:
        return ", ".join(self.model.inputs[number].name for number in inputs_of(mask))

    def rivals(self) -> tuple[RivalFacts, ...]:
        return tuple(
            RivalFacts(
                name=named(ordered(each.tree), self.model),
                utilisation=float(each.cpu),
                memory_rows=float(each.memory_rows),
                memory_bytes=float(each.memory_bytes),
                is_feasible=bool(each.is_feasible),
                output=None if each.output is None else float(each.output),
            )
            for each in self.planned.runner_ups
        )

    def shedding(self) -> SheddingFacts | None:
        account = self.planned.shedding
        if account is None:
            return None
        pairs = zip(self.model.inputs, account.ratios, strict=False)
        return SheddingFacts(
            boxes=account.boxes,
            strategy=account.strategy,
            output=float(account.output),
            kept=float(account.kept),
            utilisation=float(account.cpu),
            exact_share=float(account.exact_share),
            found=float(account.found),
            is_in_force=self.in_force,
            ratios=tuple((each.name, float(ratio)) for each, ratio in pairs if not each.is_table),
            corners=tuple((float(each.used), float(each.output)) for each in account.breakpoints),
            least_cost_plan=named(ordered(account.mincost.tree), self.model),
            least_cost_output=float(account.mincost.output),
        )

    def shares(self) -> tuple[tuple[str, float], ...]:
        tree = self.node(ordered(self.planned.plan.tree))
        names = {each.mask: each.label for each in joins_in(tree)}
        for number, each in enumerate(self.planned.filters):
            names[number] = f"{each.part} of {self.model.inputs[each.input].name}"
        return tuple(
            (names.get(mask) or self.names(mask), float(share))
            for mask, share in self.planned.shares
        )

    def warnings(self) -> tuple[str, ...]:
        """Say what figures hide: a join is one thread's work; not every order was weighed."""
        planned, most = self.planned, self.planned.choices.n_max
        alone = tuple(
            f"{self.names(mask)}: this join alone needs {figure(self.joins[mask].cpu)} processors, "
            "and one join cannot be divided."
            for mask in planned.overloaded
            if mask in self.joins and planned.resources.processors > 1
        )
        if len(self.model.inputs) <= most or planned.is_exact:
            return alone
        searched = f"More than {most} inputs: a good order was searched by improvement, not every "
        return (*alone, f"{searched}order weighed; the cheapest may take a few percent less.")


_WORDS = ("rate", "rows", "window")


def _window(given: InputModel) -> str:
    if given.is_table:
        return f"{figure(given.window)} rows"
    if given.rows is not None:
        return f"ROWS {figure(given.rows)}"
    return f"RANGE {seconds(given.range_s or 0.0)}"


def predicate_texts(crossing: Crossing, names: Sequence[str]) -> tuple[str, ...]:
    """Write what is asked of several inputs: comparisons, differences, keys, as a model has them.

    >>> keys = Crossing(equalities=(((0, "x"), (1, "x")), ((1, "x"), (2, "y"))))
    >>> predicate_texts(keys, "abc")
    ('a.x = b.x = c.y',)
    """

    def at(place: Place) -> str:
        return f"{names[place[0]]}.{place[1]}"

    return (
        *(f"{at(each.left)} {each.op} {at(each.right)}" for each in crossing.comparisons),
        *(
            f"{at(each.right)} - {at(each.left)} {_bounds(each.low, each.high)}"
            for each in crossing.differences
        ),
        *(" = ".join(at(place) for place in key) for key in key_classes(crossing.equalities)),
    )


def _bounds(low: int, high: int) -> str:
    """Write the bounds of a difference; the ends of 64 bits are none."""
    if low == -(1 << 63):
        return f"<= {high:,}"
    return f">= {low:,}" if high == (1 << 63) - 1 else f"BETWEEN {low:,} AND {high:,}"


def ordered(tree: Tree) -> Tree:
    """Give a tree's sides in the order in which people write them; joins have no direction.

    >>> from penstock.algebra.trees import shown
    >>> shown(ordered(Join(Leaf(2), Join(Leaf(1), Leaf(0)))), "abc")
    '(a ⋈ b) ⋈ c'
    """
    if isinstance(tree, Leaf):
        return tree
    left, right = ordered(tree.left), ordered(tree.right)
    if (isinstance(right, Join), -_first(right)) > (isinstance(left, Join), -_first(left)):
        return Join(right, left, tree.right_index, tree.left_index)
    return Join(left, right, tree.left_index, tree.right_index)


def _first(tree: Tree) -> int:
    return inputs_of(tree.mask)[0]


def named(tree: Tree, model: JoinModel) -> str:
    """Write a tree for people; parts that no predicate joins meet by ×."""
    if isinstance(tree, Leaf):
        return model.inputs[tree.input].name
    left, right = (
        f"({named(side, model)})" if isinstance(side, Join) else named(side, model)
        for side in (tree.left, tree.right)
    )
    sign = "⋈" if meets_at_all(model, tree.left.mask, tree.right.mask) else "×"
    return f"{left} {sign} {right}"
