"""What a desk may ask of a running pipeline; without one, the answer is that there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from penstock.engine.home import Home
from penstock.engine.tuple_explanation import Answer
from penstock.operators.shard import Shard
from penstock.vocabulary.figure_tables import FigureTable


class LiveRun(Protocol):
    """A pipeline, as the desk sees it."""

    @property
    def running(self) -> bool:
        """Whether more batches may come."""

    def raise_failure(self) -> None:
        """Raise what ended the run, if that was a failure."""

    def ask(self, question: Callable[[Shard], Answer]) -> Answer | None:
        """Ask the live shard between two batches; None if there is none in this process."""

    def ask_kept(self, question: Callable[[Shard], Answer]) -> Answer | None:
        """Ask the shard in this process, also if the pipeline has ended; None if there is none."""

    def met(self) -> FigureTable | None:
        """Give what groups met in this run; None before its first batch."""

    def facts(self, group: str) -> dict[str, Any]:
        """Say what a group was seen to do in this run."""

    def known_shards(self, home: Home) -> int | None:
        """Give the number of shards, if it is known before a start."""


class NoRun:
    """No pipeline: a home that is read and changed while nothing runs."""

    running = False

    def raise_failure(self) -> None:
        """Nothing ran."""

    def ask(self, _question: Callable[[Shard], Answer]) -> Answer | None:
        """Nobody is there to ask."""
        return None

    def ask_kept(self, _question: Callable[[Shard], Answer]) -> Answer | None:
        """Nobody is there to ask."""
        return None

    def met(self) -> None:
        """Nothing was met."""

    def facts(self, _group: str) -> dict[str, Any]:
        """Nothing was seen."""
        return {}

    def known_shards(self, home: Home) -> int | None:
        """Give the number of shards that the home was settled on."""
        return 1 if home.facts.get("host") == "embedded" else home.facts.get("shards")
