"""Budgets, policies, laws and their options: what they may be, in a text or from Python."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import PathFinder
from typing import Any, Protocol

from penstock.algebra.memories import (
    JOIN_POLICIES,
    OWN_POLICIES,
    Family,
    PolicyName,
    StreamLaw,
)
from penstock.language.amounts import number_of
from penstock.language.places import suggestion
from penstock.vocabulary.errors import PenstockError

ROWS_MAX = 10_000_000
"""Rows of one budget."""
BUCKETS_MAX = 100_000
SEED_MAX = 2**63 - 1
MODEL_POLICIES: tuple[PolicyName, ...] = ("HEEB", "PROB", "LIFE")
"""Policies that ask laws of the streams."""
LEARNT_FAMILIES: tuple[Family, ...] = ("auto", "linear trend", "random walk")
"""Families whose form is all that HIST wants to know."""
FAMILY_WORDS: dict[str, Family] = {
    "AUTO": "auto",
    "STATIONARY": "stationary",
    "LINEAR TREND": "linear trend",
    "RANDOM WALK": "random walk",
    "AR(1)": "ar1",
    "AR1": "ar1",
    "HISTOGRAM": "histogram",
    "OFFLINE": "offline",
}
NOISES = ("uniform", "normal", "bounded normal")
MEMORY_OPTIONS = ("alpha", "lifetime", "refit_every", "seed")

Check = tuple[Callable[[float], bool], str, type[int] | type[float]]
"""Which numbers are valid, what to write instead of others, and what valid ones become."""
NUMBER_MAX = 10**15
"""Beyond, keys and parts of them no longer stand apart."""
NUMBER: Check = (
    lambda value: abs(value) <= NUMBER_MAX,
    "Write a number from -1e15 to 1e15.",
    float,
)
POSITIVE: Check = (
    lambda value: 0 < value <= NUMBER_MAX,
    "Write a number above 0, at most 1e15.",
    float,
)


def whole(least: int, most: int) -> Check:
    """Ask for whole numbers from `least` to `most`."""
    remedy = f"Write a whole number from {least:,} to {most:,}."
    return (lambda value: value == int(value) and least <= value <= most, remedy, int)


PARAMETERS: dict[Family, dict[str, Check | None]] = {
    "auto": {},
    "stationary": {},
    "linear trend": {
        "slope": NUMBER,
        "intercept": NUMBER,
        "noise": None,
        "sigma": POSITIVE,
        "bound": whole(0, SEED_MAX),
    },
    "random walk": {"drift": NUMBER, "sigma": POSITIVE},
    "ar1": {
        "phi0": NUMBER,
        "phi1": (
            lambda value: 0 < abs(value) < 1,
            "Write a number between -1 and 1, other than 0.",
            float,
        ),
        "sigma": POSITIVE,
    },
    "histogram": {"buckets": whole(1, BUCKETS_MAX)},
    "offline": {"file": None, "column": None},
}
"""The parameters of every family; None is a text."""
OPTIONS: dict[str, Check] = {
    "alpha": POSITIVE,
    "lifetime": (lambda value: value > 1, "Write a number of ticks above 1.", float),
    "refit_every": whole(1, SEED_MAX),
    "seed": whole(0, SEED_MAX),
    "slice": whole(1, ROWS_MAX),
    "waiting": whole(1, ROWS_MAX),
}


class Refuse(Protocol):
    """Makes an error of a code, a fact and a remedy; that of a text knows its place too.

    `of` is the word of a clause, or the name of an option or a parameter, that the error is about.
    """

    def __call__(self, code: str, fact: str, remedy: str, of: str = "", /) -> PenstockError:
        """Make the error."""


def refused(code: str, fact: str, remedy: str, of: str = "", /) -> PenstockError:
    """Make an error about what a text says elsewhere, or none does."""
    return PenstockError(code, fact, remedy, option=of or None)


def checked_rows(value: object, what: str, refuse: Refuse = refused) -> int:
    """Give a budget of rows; `what` is MEMORY or CACHE."""
    rows = number_of(value) if not isinstance(value, str) else None
    if rows is None or rows != int(rows) or not 1 <= rows <= ROWS_MAX:
        fact = f"No {what} holds {value} rows."
        remedy = f"Write a whole number from 1 to {ROWS_MAX:,}, such as {what} 10000 ROWS."
        raise refuse("SQL-110", fact, remedy)
    return int(rows)


def checked_policy(
    word: str, known: Sequence[PolicyName], what: str, refuse: Refuse = refused
) -> PolicyName:
    """Give the policy of a name; `what` is a join or a lookup, `known` its built-in policies."""
    name, own = word.upper(), own_policies()
    file = f"{OWN_POLICIES}/{name.lower()}.py"
    if name in JOIN_POLICIES and name in own:
        fact = f"{name} is a policy that is built in, and {file} is called so too."
        raise refuse("SQL-120", fact, "Give the file and its policy another name.", "USING")
    names = (*known, *own)
    if name not in names:
        chosen = f"Choose one of: {', '.join(names)}."
        if name.isidentifier() and name not in JOIN_POLICIES:
            chosen = f"{chosen[:-1]}; or define it in {file} on the Python path."
        remedy = suggestion(word, names, chosen)
        raise refuse("SQL-120", f"{word!r} is no policy of a {what}.", remedy, "USING")
    return name


def own_policies() -> tuple[PolicyName, ...]:
    """Name the policies that have files of their own on the Python path; none is opened."""
    # A file may be younger than what Python remembers of its directory.
    importlib.invalidate_caches()
    spec = PathFinder.find_spec(OWN_POLICIES)
    places = (spec and spec.submodule_search_locations) or ()
    return tuple(sorted(each.name.upper() for each in pkgutil.iter_modules(places)))


def checked_law(words: str, parameters: Mapping[str, Any], refuse: Refuse = refused) -> StreamLaw:
    """Give the law of a family's words, such as `LINEAR TREND`, and of its parameters.

    >>> checked_law("ar(1)", {"phi1": 0.5})
    StreamLaw(family='ar1', parameters={'phi1': 0.5})
    """
    shown = " ".join(words.upper().split())
    family = FAMILY_WORDS.get(shown)
    if family is None:
        known = ", ".join(word for word in FAMILY_WORDS if word != "AR1")
        remedy = suggestion(words, FAMILY_WORDS, f"Choose one of: {known}.")
        raise refuse("SQL-116", f"{words!r} is no family of laws.", remedy)
    checks = PARAMETERS[family]
    found: dict[str, Any] = {}
    for name, value in parameters.items():
        if name not in checks:
            fact = f"{shown} has no parameter {name!r}."
            listed = f"Its parameters are: {', '.join(checks)}." if checks else "Leave it out."
            raise refuse("SQL-117", fact, suggestion(name, checks, listed), name)
        found[name] = _checked_parameter(shown, name, value, refuse)
    _check_together(shown, family, found, refuse)
    return StreamLaw(family=family, parameters=found)


def _checked_parameter(family: str, name: str, value: Any, refuse: Refuse = refused) -> Any:
    check = PARAMETERS[FAMILY_WORDS[family]][name]
    fact = f"The parameter {name!r} of {family} cannot be {value!r}."
    if check is not None:
        return checked_number(value, check, refuse, ("SQL-118", fact, name))
    text = value.strip() if isinstance(value, str) else ""
    if name == "noise" and text.lower() not in NOISES:
        known = ", ".join(f"'{word}'" for word in NOISES)
        raise refuse("SQL-118", fact, f"Choose one of: {known}.", name)
    if not text:
        raise refuse("SQL-118", fact, "Write a text in quotes.", name)
    return text.lower() if name == "noise" else text


def checked_number(
    value: Any, check: Check, refuse: Refuse, otherwise: tuple[str, str, str]
) -> int | float:
    """Give a number that passes a check, or refuse it: a code, a fact, and what it is about."""
    valid, remedy, kind = check
    number = None if isinstance(value, str) else number_of(value)
    if number is None or not valid(number):
        code, fact, of = otherwise
        raise refuse(code, fact, remedy, of)
    return kind(number)


def _check_together(
    shown: str, family: Family, found: Mapping[str, Any], refuse: Refuse = refused
) -> None:
    """Refuse parameters that contradict each other, and a missing one that cannot be fitted."""
    if family == "offline" and "file" not in found:
        fact = f"{shown} does not say where the stream's keys are."
        raise refuse("SQL-117", fact, f"Write {shown} (file = 'keys.parquet').")
    for noise, name in (("uniform", "sigma"), ("normal", "bound")):
        if found.get("noise") == noise and name in found:
            fact = f"The {noise} noise of {shown} has no {name!r}."
            raise refuse("SQL-117", fact, f"Leave {name!r} out, or choose another noise.", name)


def check_takes_law(policy: PolicyName, law: StreamLaw, refuse: Refuse = refused) -> None:
    """Refuse a law beside a policy that does not ask for it."""
    if policy in MODEL_POLICIES:
        return
    if policy != "HIST":
        fact = f"{policy} asks for no law of the streams."
        raise refuse("SQL-121", fact, "Leave MODEL out, or say USING HEEB.", "MODEL")
    if law.family not in LEARNT_FAMILIES or law.parameters:
        fact = "HIST learns what it needs, and wants to know of a stream only which form it has."
        remedy = "Write LINEAR TREND, RANDOM WALK or AUTO without parameters; or say USING HEEB."
        raise refuse("SQL-121", fact, remedy, "MODEL")


def shown_family(family: Family) -> str:
    """Name a family as a text does.

    >>> shown_family("ar1")
    'AR(1)'
    """
    return next(words for words, each in FAMILY_WORDS.items() if each == family)


def checked_options(
    options: Mapping[str, Any],
    policy: PolicyName,
    known: Sequence[str],
    what: str,
    refuse: Refuse,
    listed: Sequence[str] = (),
) -> dict[str, Any]:
    """Check the options that tune a budget; `known` are those that `what` has.

    `listed` are all that a remedy names, if they are more.
    """
    found: dict[str, Any] = {}
    for written, value in options.items():
        name = written.lower()
        if name not in known:
            names = listed or known
            remedy = suggestion(name, names, f"Known are: {', '.join(names)}.")
            if name == "adapt":
                remedy = "Leave ADAPT out: laws are fitted again by themselves."
            raise refuse("SQL-070", f"A {what} has no option {name!r}.", remedy, name)
        takers = {"alpha": ("HEEB",), "lifetime": ("HEEB",), "refit_every": MODEL_POLICIES}
        if policy not in takers.get(name, (policy,)):
            fact = f"Option {name!r} is for {', '.join(takers[name])}, and the policy is {policy}."
            raise refuse("SQL-071", fact, "Leave it out, or say USING HEEB.", name)
        fact = f"Option {name!r} cannot be {value!r}."
        found[name] = checked_number(value, OPTIONS[name], refuse, ("SQL-071", fact, name))
    if "alpha" in found and "lifetime" in found:
        fact = "Options 'alpha' and 'lifetime' both say how far HEEB looks ahead."
        raise refuse("SQL-071", fact, "Keep one of them.", "lifetime")
    return found
