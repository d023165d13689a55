"""Penstock: a continuous-query engine for Apache Spark.

Takes: streams and standing queries.
Gives: answers that stay up to date.
Never: a job per query.
"""

from penstock.engine import Engine, Receipt, Subscription
from penstock.spark import sources
from penstock.vocabulary.errors import PenstockError

__all__ = ["Engine", "PenstockError", "Receipt", "Subscription", "sources"]
__version__ = "0.1.0"
