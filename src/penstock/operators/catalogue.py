"""Every kind of operator that the engine knows, by the kind of its step."""

from __future__ import annotations

from penstock.operators.filter import FILTER
from penstock.operators.protocol import OperatorKind

OPERATORS: dict[str, OperatorKind] = {"filter": FILTER}
