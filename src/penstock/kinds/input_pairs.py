"""Pairs of inputs whose share of matches somebody states, in OPTIONS or in WHAT IF.

`selectivity(a, b)` is the share of b's window that a row of a meets. Stated alone, it holds for the
rows of b too; beside `selectivity(b, a)` it is one way of two, as between one and many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat

from penstock.planning.model import JoinModel, PredicateModel
from penstock.vocabulary.errors import PenstockError, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """The shares that rows of two inputs meet of one another's windows; `back` None: the same."""

    first: int
    second: int
    forth: float
    back: float | None = None
    place: Place | None = None

    @property
    def mask(self) -> int:
        """The set of the two."""
        return 1 << self.first | 1 << self.second


def stated_pairs(
    given: Iterable[tuple[Sequence[str], float, Place | None]], names: Sequence[str]
) -> tuple[Stated, ...]:
    """Bring the two ways of every pair together.

    >>> [(each.forth, each.back) for each in stated_pairs(
    ...     [(("b", "a"), 0.5, None), (("A", "b"), 0.1, None), (("b", "c"), 0.2, None)], "abc")]
    [(0.1, 0.5), (0.2, None)]
    """
    numbers = {name.lower(): number for number, name in enumerate(names)}
    found: dict[int, Stated] = {}
    for of, value, place in given:
        one, other = (numbers[name.lower()] for name in of)
        new = Stated(first=one, second=other, forth=value, place=place)
        known = found.get(new.mask)
        if known is not None:
            one_way, back = (known, new) if known.first < known.second else (new, known)
            new = replace(one_way, back=back.forth)
        found[new.mask] = new
    return tuple(found.values())


def paired(model: JoinModel, stated: Stated) -> JoinModel:
    """Let the first predicate of two inputs have the whole share, any other none of it."""
    mask = stated.mask
    is_uneven = stated.back is not None and stated.back != stated.forth
    predicates = [each for each in model.predicates if not is_of_key(each, model)]
    masks = [*(each.mask for each in model.classes), *(each.mask for each in predicates)]
    if not any(own & mask == mask for own in masks):
        names = " and ".join(repr(model.names[n]) for n in (stated.first, stated.second))
        raise PenstockError(
            "ENG-035",
            f"No predicate of the query joins {names}.",
            "Assume the selectivity of two inputs that WHERE compares with each other.",
            stated.place,
        )
    keyed = [each for each in model.classes if each.mask & mask == mask]
    if is_uneven and keyed and keyed[0].mask != mask:
        raise PenstockError(
            "ENG-035",
            "The two inputs have a key that others share: both meet the same share of rows.",
            "State one way, or the number of values: distinct_<column> of the streams.",
            stated.place,
        )
    shares = chain([1.0 if is_uneven and keyed else stated.forth], repeat(1.0))
    classes = tuple(
        replace(key, selectivity=next(shares)) if key in keyed else key for key in model.classes
    )
    own = [
        replace(each, selectivity=next(shares), reverse=None) if each.mask == mask else each
        for each in predicates
    ]
    if is_uneven and keyed:
        own.append(PredicateModel(mask=mask, selectivity=stated.forth, reverse=stated.back))
    elif is_uneven:
        place = next(number for number, each in enumerate(own) if each.mask == mask)
        own[place] = replace(own[place], reverse=stated.back)
    others = [each for each in model.predicates if is_of_key(each, model) and each.mask != mask]
    return replace(model, classes=classes, predicates=(*own, *others))


def has_ways(model: JoinModel, mask: int) -> bool:
    """Say whether two inputs may meet different shares: they share no key with others."""
    keyed = [each.mask for each in model.classes if each.mask & mask == mask]
    asked = [each.mask for each in model.predicates if each.mask == mask]
    return keyed[0] == mask if keyed else bool(asked)


def is_of_key(predicate: PredicateModel, model: JoinModel) -> bool:
    """Say whether a predicate only says what a key's rows meet, each way; the key says nothing."""
    keys = {each.mask for each in model.classes}
    return predicate.is_equality and predicate.reverse is not None and predicate.mask in keys
