"""The engine: the one place that wires everything.

Takes: users' requests (relations, subscriptions, start, stop).
Gives: registrations, a running pipeline, subscriptions to read, explanations.
Never: algorithms.
"""

from penstock.engine.adaptation import Notice
from penstock.engine.desk import Desk, Subscription
from penstock.engine.engine import Engine
from penstock.engine.registration import Receipt

__all__ = ["Desk", "Engine", "Notice", "Receipt", "Subscription"]
