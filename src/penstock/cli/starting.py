"""Starting: what takes seconds before the first event, each with its spinner."""

from __future__ import annotations

from penstock.cli.screen import Screen
from penstock.engine import Engine
from penstock.operators.filter.warming import warm_up


def start_spark(engine: Engine, screen: Screen) -> None:
    """Start Spark, or find the one that runs."""
    with screen.busy("Starting Spark"):
        _ = engine.spark


def compile_kernels(screen: Screen) -> None:
    """Compile, or load from disk, what would otherwise be compiled while events wait."""
    with screen.busy("Compiling kernels (once; they are kept on disk)"):
        warm_up()
