"""Crash tests share the worker's one Spark; those that kill drivers start their own."""

from __future__ import annotations

from tests.support.spark import spark

__all__ = ["spark"]
