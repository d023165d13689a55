"""OPTIONS of a standing join: its mode, its strategy, and what tunes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.algebra.joins import JoinKind, Mode
from penstock.language.places import suggestion
from penstock.vocabulary.errors import PenstockError

STRATEGIES: dict[JoinKind, tuple[str, ...]] = {
    "select_join": ("join", "selection", "scan", "ssi", "hot", "dynamic"),
    "band_join": ("queries", "data", "merge", "ssi", "hot", "dynamic"),
    "window_join": ("join", "selection", "ssi", "hot", "dynamic"),
}
"""How joins of each kind can be processed; all give the same answers."""
MODES: tuple[Mode, ...] = ("full", "identify")
MAINTAINERS = ("lazy-count", "lazy-relaxed", "lazy-witness", "refined")
GROUPED = frozenset({"ssi", "hot", "dynamic"})
BUCKETS_MAX = 1_000_000
EPSILON_MAX = 1_000_000

TUNING = ("alpha", "epsilon", "maintainer", "scattered", "buckets")
NAMES = ("mode", "strategy", *TUNING, "inclusive")


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningChoices:
    """What the options of a join chose."""

    mode: Mode = "full"
    strategy: str = "dynamic"
    inclusive: bool = False
    tuning: dict[str, Any] = field(default_factory=dict)


def choose(options: Mapping[str, Any], kind: JoinKind) -> TuningChoices:
    """Check the options of a join of a kind; those that are not given keep their defaults.

    >>> choose({"mode": "identify", "alpha": 1}, "band_join").tuning
    {'alpha': 1.0}
    """
    chosen: dict[str, Any] = {}
    for name, value in options.items():
        if name not in NAMES:
            remedy = suggestion(name, NAMES, f"Known are: {', '.join(NAMES)}.")
            fact = f"A join has no option {name!r}."
            raise PenstockError("SQL-070", fact, remedy, option=name.lower())
        chosen[name] = _checked(name, value, kind)
    tuning: dict[str, Any] = {name: chosen.pop(name) for name in TUNING if name in chosen}
    return TuningChoices(**chosen, tuning=tuning)


def _checked(name: str, value: Any, kind: JoinKind) -> Any:
    words: dict[str, tuple[str, ...]] = {
        "mode": MODES,
        "strategy": STRATEGIES[kind],
        "maintainer": MAINTAINERS,
        "scattered": tuple(s for s in STRATEGIES[kind] if s not in GROUPED),
    }
    what = f"Option {name!r} cannot be {value!r}"
    if name == "scattered" and kind == "window_join":
        fact = "Option 'scattered' is for select and band joins, and this is a window join."
        raise PenstockError("SQL-071", fact, "Leave it out.", option=name)
    if name == "inclusive" and kind != "window_join":
        fact = "Option 'inclusive' is about WITHIN, and the query has none."
        raise PenstockError("SQL-071", fact, "Leave it out, or add WITHIN.", option=name)
    if name in words:
        if isinstance(value, str) and value.lower() in words[name]:
            return value.lower()
        beside = f" for a {kind.replace('_', ' ')}" if name in {"strategy", "scattered"} else ""
        known = ", ".join(f"'{word}'" for word in words[name])
        remedy = f"Choose one of: {known}."
        raise PenstockError("SQL-071", f"{what}{beside}.", remedy, option=name)
    valid, remedy = _PLAIN[name]
    if not valid(value):
        raise PenstockError("SQL-071", f"{what}.", remedy, option=name)
    return value if isinstance(value, bool) or name == "buckets" else float(value)


def _is_number(value: object, low: float, high: float) -> bool:
    """Say whether a value is a number above `low`, at most `high`."""
    return isinstance(value, int | float) and not isinstance(value, bool) and low < value <= high


_PLAIN: dict[str, tuple[Callable[[Any], bool], str]] = {
    "alpha": (lambda value: _is_number(value, 0, 1), "Write a share above 0, at most 1."),
    "epsilon": (
        lambda value: _is_number(value, 0, EPSILON_MAX),
        f"Write a number above 0, at most {EPSILON_MAX:,}.",
    ),
    "buckets": (
        lambda value: isinstance(value, int) and _is_number(value, 0, BUCKETS_MAX),
        f"Write a whole number from 1 to {BUCKETS_MAX:,}.",
    ),
    "inclusive": (lambda value: isinstance(value, bool), "Write TRUE or FALSE."),
}
