"""Solving: when one model is below another, pair by pair, beside `numpy.roots`.

Models by chance, whose differences have few roots in the range; and differences whose roots all lie
in it, which no stream is likely to have. `numpy.roots` finds roots by eigenvalues, and no more than
these: neither signs nor ranges.
"""

from __future__ import annotations

from time import thread_time

import numpy as np

from penstock.algebra.models import Comparator, ModelComparison
from penstock.lab.draws import generator
from penstock.lab.models.queries import polynomial
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.models.conditions import ConditionSolver
from penstock.models.segments import WIDTH
from penstock.vocabulary.batches import Floats, Ints

PAIRS = sized(2_000, 100_000, 400_000)
PEER_PAIRS = sized(50, 2_000, 5_000)
DEGREES = sized((1, 3, 8), (1, 2, 3, 4, 5, 6, 7, 8), (1, 2, 3, 4, 5, 6, 7, 8))
RANGE_S = 10.0
ROUNDS = 3
CHANCE = "by chance"
REAL = 1e-9
"""What the imaginary part of a real root may be, by rounding."""


def run(size: Size) -> Findings:
    """Time both sides, degree by degree."""
    solver, equal = (_solver(comparator) for comparator in ("<", "="))
    differing = asked = 0
    worst: dict[str, tuple[float, float]] = {}
    for kind, draw in ((CHANCE, _by_chance), ("all roots inside", _all_inside)):
        found = []
        for degree in DEGREES[size]:
            models = draw(generator(90, degree), PAIRS[size], degree)
            own = _solved(solver, models)
            some = models[: PEER_PAIRS[size]]
            peer, roots = _eigenvalues(some, degree)
            if kind == CHANCE:  # Roots that are close to each other are too much for eigenvalues.
                differing += int(np.count_nonzero(_instants(equal, some) != roots))
                asked += len(some)
            found.append((degree, 1e-6 / own, peer * 1e6, peer / own))
        yield Table(
            f"Pairs of models, {kind}",
            ("degree", "million pairs/s", "numpy.roots (µs)", "times"), found,
        )  # fmt: skip
        worst[kind] = min(each[1] for each in found), min(each[3] for each in found)
    yield at_most(
        "Share of pairs of which both know another number of roots", differing / asked, 1e-3
    )
    if size != "tiny":
        rate, times = worst[CHANCE]
        yield at_least("Pairs a second and core, in millions, any degree", rate, 1, timed=True)
        yield at_least("numpy.roots over the solver, any degree", times, 30, timed=True)


def _by_chance(chance: np.random.Generator, pairs: int, degree: int) -> Floats:
    """Draw pairs of models whose terms are alike in size in the middle of the range."""
    models = np.zeros((pairs, 2, WIDTH))
    models[:, :, : degree + 1] = chance.normal(size=(pairs, 2, degree + 1))
    models *= (RANGE_S / 1.7) ** -np.arange(WIDTH, dtype=np.float64)
    return models


def _all_inside(chance: np.random.Generator, pairs: int, degree: int) -> Floats:
    """Draw pairs whose difference has all of its roots in the range, anywhere."""
    models = np.zeros((pairs, 2, WIDTH))
    models[:, 0, 0] = 1.0
    for _ in range(degree):
        root = chance.uniform(0, RANGE_S, (pairs, 1))
        raised = np.concatenate([np.zeros((pairs, 1)), models[:, 0, :-1]], 1)
        models[:, 0] = raised - root * models[:, 0]
    return models


def _solved(solver: ConditionSolver, models: Floats) -> float:
    """Give the seconds for a pair."""
    low, high = np.zeros(len(models)), np.full(len(models), RANGE_S)
    solver.solve(models[:10], low[:10], high[:10])
    best = np.inf
    for _ in range(ROUNDS):
        started = thread_time()
        solver.solve(models, low, high)
        best = min(best, thread_time() - started)
    return best / len(models)


def _solver(comparator: Comparator) -> ConditionSolver:
    difference = polynomial((-1.0, (0, 1)), (1.0, (1, 0)))
    return ConditionSolver(ModelComparison(polynomial=difference, comparator=comparator), 2)


def _instants(equal: ConditionSolver, models: Floats) -> Ints:
    """Count the instants at which both models of a pair are equal."""
    index, *_ = equal.solve(models, np.zeros(len(models)), np.full(len(models), RANGE_S))
    return np.bincount(index, minlength=len(models))


def _eigenvalues(models: Floats, degree: int) -> tuple[float, Ints]:
    """Give the seconds that `numpy.roots` takes for a pair, and how many roots are in the range."""
    differences = models[:, 0] - models[:, 1]
    started = thread_time()
    found = [np.roots(own[degree::-1]) for own in differences]
    seconds = (thread_time() - started) / len(models)
    real = ([root.real for root in roots if abs(root.imag) < REAL] for roots in found)
    return seconds, np.array([sum(0 <= root < RANGE_S for root in own) for own in real])
