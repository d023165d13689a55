"""What kernels of sources take: tolerances as arrays, and room to write into."""

from __future__ import annotations

import numpy as np

from penstock.algebra.models import ModelConjunction
from penstock.kernels.root_grids import root_room
from penstock.kernels.segment_regressions import FitRoom
from penstock.kernels.segment_tolerances import Allowances, SlackSearch, TurnRoom
from penstock.models.conditions import ConditionSolver
from penstock.models.gains import compared
from penstock.models.tolerances import SourceTolerances
from penstock.vocabulary.batches import Floats

STRICT = 1.0 - 1e-12
"""The part of a slack that rows may be off: less than all of it."""


def allowances(tolerances: SourceTolerances, attributes: int) -> Allowances:
    """Give tolerances as arrays."""
    pools = tolerances.pools
    amounts = np.array([pool.amounts for pool in pools], np.float64)
    return Allowances(
        amounts.reshape(len(pools), attributes),
        np.array([pool.form == "relative" for pool in pools], np.bool_),
        tolerances.floor, tolerances.split == "gradient", tolerances.min_share,
    )  # fmt: skip


def turn_room(width: int, attributes: int) -> TurnRoom:
    """Make what the search for turning points writes into."""
    wide = width + 2
    return TurnRoom(
        np.empty(wide), np.empty(wide), np.empty(wide, np.int8), root_room(wide),
        np.empty(wide), np.zeros((4, attributes)),
    )  # fmt: skip


def slack_search(tolerances: SourceTolerances, attributes: int, width: int) -> SlackSearch:
    """Give a source's own condition as kernels take it."""
    condition = tolerances.condition or ModelConjunction(terms=())
    program, room = ConditionSolver(condition, attributes).kernel_input(width)
    solutions = len(room.cuts)
    return SlackSearch(
        tolerances.condition is not None, tolerances.fidelity == "literal",
        slack_parts(tolerances, attributes), program, room, np.zeros((1, attributes, width)),
        np.zeros((1, 0)), np.zeros((2, 1)), np.zeros(1, np.bool_), np.empty(solutions, np.int64),
        np.empty((2, solutions)), np.zeros(1, np.int64), np.zeros(1),
    )  # fmt: skip


def slack_parts(tolerances: SourceTolerances, attributes: int) -> Floats:
    """Give what a slack of 1 allows each attribute of a linear condition, divided equally."""
    steepness = np.zeros(attributes)
    for comparison in compared(tolerances.condition or ModelConjunction(terms=())):
        for term in comparison.polynomial.terms:
            for place, power in enumerate(term.powers):
                if power:
                    steepness[place] = max(steepness[place], abs(term.factor))
    members = max(int((steepness > 0.0).sum()), 1)
    with np.errstate(divide="ignore"):
        return STRICT / (members * steepness)


def fit_room(kept: int, attributes: int, width: int) -> FitRoom:
    """Make what fits write into."""
    return FitRoom(
        np.empty((width, width + 1)), np.empty(3 * width), np.empty(kept, np.int64),
        np.empty((kept, attributes)), np.empty(kept + 1, np.int64), np.empty(kept + 1),
        np.empty((attributes, width)),
    )  # fmt: skip
