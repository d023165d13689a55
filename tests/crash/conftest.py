"""Every test here runs on the worker's one Spark."""

from __future__ import annotations

from tests.support.spark import spark

__all__ = ["spark"]
