"""Streams of things that move: made-up objects, ticks and vessels, and aircraft that really flew.

All give rows in the order of their times, in microseconds: a key by its number, and values.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Self

import numpy as np

from penstock.vocabulary.batches import Floats, Ints
from penstock.worlds.aircraft import KNOTS, flown

SECOND = 1_000_000
COLLECTIONS = ("quickstart", "switzerland", "savan")
FLEET, ANCHORED = 20, 2
"""Ships of a harbour, and how many of them lie at anchor."""
COAST_M = 120_000.0, 300_000.0
"""Where harbours are, on both axes: 0.05 % of it is 60 to 150 metres, above receivers' errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion:
    """Positions and velocities in a plane, in metres and seconds."""

    key: Ints
    at: Ints
    x: Floats
    y: Floats
    vx: Floats
    vy: Floats

    def __len__(self) -> int:
        return len(self.at)

    def first(self, rows: int) -> Self:
        """Give the first rows."""
        return type(self)(**{each.name: getattr(self, each.name)[:rows] for each in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticks:
    """Prices of symbols."""

    key: Ints
    at: Ints
    price: Floats

    def __len__(self) -> int:
        return len(self.at)


def moving_objects(
    chance: np.random.Generator, objects: int, rows: int, per_segment: int, period_us: int = SECOND
) -> Motion:
    """Draw objects that keep their velocity for exactly so many rows, and then take another.

    They report in turns, each once in a period; x stays between 0 and 1,000 or so.
    """
    each = -(-rows // objects)
    per_segment = min(per_segment, each)
    turns = -(-each // per_segment)
    vx, vy = (chance.uniform(-1, 1, (objects, turns)).repeat(per_segment, 1) for _ in range(2))
    step = period_us / SECOND
    x, y = (
        chance.uniform(0, 1000, (objects, 1))
        + np.concatenate([np.zeros((objects, 1)), np.cumsum(own[:, :-1], 1) * step], 1)
        for own in (vx, vy)
    )
    phase = (np.arange(objects) * period_us) // objects
    at = np.arange(x.shape[1])[None] * period_us + phase[:, None]
    key = np.broadcast_to(np.arange(objects)[:, None], at.shape)
    order = np.argsort(at, axis=None, kind="stable")[:rows]
    return Motion(
        key=key.ravel()[order], at=at.ravel()[order],
        **{name: own[:, : x.shape[1]].ravel()[order] for name, own in
           (("x", x), ("y", y), ("vx", vx), ("vy", vy))},
    )  # fmt: skip


def random_ticks(
    chance: np.random.Generator, symbols: int, rows: int, per_second: float, step: float = 2e-4
) -> Ticks:
    """Draw trades: popular symbols trade more (Zipf), prices walk at random on a grid of cents."""
    weights = 1 / np.arange(1, symbols + 1)
    key = chance.choice(symbols, rows, p=weights / weights.sum())
    at = np.cumsum(chance.exponential(1 / per_second, rows) * SECOND).astype(np.int64)
    steps = chance.normal(0, step, rows)
    order = np.argsort(key, kind="stable")
    walked = np.cumsum(steps[order])
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    walked -= np.repeat(walked[first] - steps[order][first], np.diff([*first, rows]))
    opening = chance.uniform(20, 200, symbols)
    price = np.empty(rows)
    price[order] = np.round(opening[key[order]] * np.exp(walked), 2)
    return Ticks(key=key.astype(np.int64), at=at, price=price)


def regular_ticks(
    chance: np.random.Generator, symbols: int, rows: int, period_us: int, step: float = 2e-4
) -> Ticks:
    """Draw a price for every symbol in every period, all of them walking at random."""
    turns = -(-rows // symbols)
    walked = np.cumsum(chance.normal(0, step, (turns, symbols)), 0)
    price = np.round(chance.uniform(20, 200, symbols) * np.exp(walked), 2)
    key = np.tile(np.arange(symbols, dtype=np.int64), turns)
    at = np.repeat(np.arange(turns, dtype=np.int64) * period_us, symbols)
    at += key * (period_us // symbols)
    return Ticks(key=key[:rows], at=at[:rows], price=price.ravel()[:rows])


def coastal_vessels(chance: np.random.Generator, ships: int, seconds: int) -> Motion:
    """Draw ships around harbours along a coast, twenty around each; two of twenty lie at anchor."""
    parts = []
    for first in range(0, ships, FLEET):
        fleet = vessels(chance, min(FLEET, ships - first), seconds, anchored=ANCHORED)
        x, y = chance.uniform(*COAST_M, 2)
        parts.append(replace(fleet, key=fleet.key + first, x=fleet.x + x, y=fleet.y + y))
    columns = {
        each.name: np.concatenate([getattr(own, each.name) for own in parts])
        for each in fields(Motion)
    }
    order = np.argsort(columns["at"], kind="stable")
    return Motion(**{name: own[order] for name, own in columns.items()})


def vessels(
    chance: np.random.Generator, ships: int, seconds: int, noise_m: float = 10.0, anchored: int = 0
) -> Motion:
    """Draw ships on straight courses between waypoints; one in twenty follows another.

    A ship reports every 2 to 10 seconds, with the error of its receiver; 0 to 20 knots. The first
    ones may lie at anchor, and report every three minutes.
    """
    parts = []
    paths: list[tuple[Floats, Floats, Floats, Floats]] = []
    for ship in range(ships):
        if ship % 20 == 19:
            x, y, vx, vy = paths[-1]
            apart = chance.uniform(200, 900)
            angle = chance.uniform(0, 2 * np.pi)
            path = x + apart * np.cos(angle), y + apart * np.sin(angle), vx, vy
        else:
            path = _course(chance, seconds, 20.0 if ship >= anchored else 0.0)
        paths.append(path)
        at = np.cumsum(chance.uniform(2, 10, seconds // 2))
        if ship < anchored:
            at = np.cumsum(chance.uniform(170, 190, seconds // 170 + 1)) - 170
        at = at[at < seconds - 1]
        whole = at.astype(np.int64)
        x, y, vx, vy = (own[whole] for own in path)
        rest = at - whole
        noise = chance.normal(0, noise_m, (2, len(at)))
        parts.append(
            (np.full(len(at), ship), (at * SECOND).astype(np.int64), x + vx * rest + noise[0],
             y + vy * rest + noise[1], vx, vy)
        )  # fmt: skip
    columns = [np.concatenate(own) for own in zip(*parts, strict=True)]
    order = np.argsort(columns[1], kind="stable")
    key, at_us, x, y, vx, vy = (own[order] for own in columns)
    return Motion(key=key.astype(np.int64), at=at_us, x=x, y=y, vx=vx, vy=vy)


def _course(
    chance: np.random.Generator, seconds: int, knots: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Draw positions and velocities second by second: a new course every five minutes or so."""
    vx, vy = np.empty(seconds), np.empty(seconds)
    start = 0
    while start < seconds:
        end = min(start + int(chance.exponential(300)) + 30, seconds)
        speed, angle = chance.uniform(0, knots) * KNOTS, chance.uniform(0, 2 * np.pi)
        vx[start:end], vy[start:end] = speed * np.cos(angle), speed * np.sin(angle)
        start = end
    x, y = (
        chance.uniform(-20_000, 20_000) + np.concatenate([[0.0], np.cumsum(own[:-1])])
        for own in (vx, vy)
    )
    return x, y, vx, vy


@cache
def aircraft(collection: str) -> Motion:
    """Give real positions of aircraft, projected to metres around their middle."""
    own = flown(collection)
    _, key = np.unique(own.aircraft, return_inverse=True)
    return Motion(key=key.astype(np.int64), at=own.at, x=own.x, y=own.y, vx=own.vx, vy=own.vy)
