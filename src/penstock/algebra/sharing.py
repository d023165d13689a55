"""Sharing plans: which model queries have which stages in common, and how.

Queries are known by numbers. Stages of several queries that can be shared are one *expression*,
known by its number in the workload (`penstock.models.sharing.workloads`). A query has an expression
in one of three ways: *cover*, it reads a covering stage, from the source on, and compensates;
*union*, what it has up to there is united with what others have, and they go on together; *alone*.
The consumers of a covering stage are an *instance*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.vocabulary.codec import Node

Sharing = Literal["cover", "union", "alone"]
Consumers = tuple[int, ...]
"""Numbers of queries, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedExpression(Node):
    """Who has an expression in which way; every query that has it stands in one place."""

    cover: tuple[Consumers, ...] = ()
    union: tuple[Consumers, ...] = ()
    alone: Consumers = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Way(Node):
    """The expressions of a query in the order in which its segments pass them."""

    FORM = "row"
    query: int
    expressions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingPlan(Node):
    """How queries share: by number of the expression, and the way of every query."""

    expressions: tuple[SharedExpression, ...] = ()
    ways: tuple[Way, ...] = ()
    measured: tuple[int, ...] = ()
    """The expressions whose segments are worth counting."""
    kind: Literal["sharing"] = "sharing"
