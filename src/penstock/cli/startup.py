"""Starting: what takes seconds before the first event, each with its spinner."""

from __future__ import annotations

from penstock.cli.screen import Screen
from penstock.engine import Engine
from penstock.operators.catalogue import OPERATORS


def start_spark(engine: Engine, screen: Screen) -> None:
    """Start Spark, or find the one that runs."""
    with screen.busy("Starting Spark"):
        _ = engine.spark


def compile_kernels(engine: Engine, screen: Screen) -> None:
    """Compile, or load from disk, what the engine's groups need, before events wait for it."""
    with screen.busy("Compiling kernels (once; they are kept on disk)"):
        for described in engine.desk.registry.steps.values():
            kind = OPERATORS[described["kind"]]
            kind.warm_up(kind.step_from_json(described))
