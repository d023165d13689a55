"""Runs of a home without Spark, as the lab makes them."""

from __future__ import annotations

from penstock.lab.correctness.runs import DeskRun

__all__ = ["DeskRun"]
