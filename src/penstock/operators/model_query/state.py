"""The state of model queries: rows that wait, models of keys, what the plan holds and has said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa

from penstock.models.segments import Segments
from penstock.operators.model_query.flow import SegmentRun
from penstock.operators.shared.codec import (
    Arrays,
    Part,
    arrays_of,
    arrays_table,
    from_bytes,
    to_bytes,
)
from penstock.operators.shared.input_state import arrived_of, arrived_part
from penstock.operators.shared.intake import Arrived

NOTHING = pa.table({})
TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRound:
    """What a batch changed: what another copy needs to follow.

    `texts` are new among keys, `waiting` the rows of every source that came and wait, `intakes`
    what else is kept of the rows of each, `sources` what changed in the models of each. `bears`
    says that queries were born with it.
    """

    texts: pa.Array
    waiting: Sequence[Arrived]
    intakes: Sequence[dict[str, int]]
    sources: Sequence[Arrays]
    runs: Sequence[SegmentRun]
    bears: bool

    def parts(self) -> list[Part]:
        """Give the round as tables."""
        return [
            (pa.table({TEXT: self.texts}), NOTHING),
            *(arrived_part(own) for own in self.waiting),
            *((arrays_table(dict(own)), NOTHING) for own in self.sources),
            *((arrays_table(_arrays(run.segments)), NOTHING) for run in self.runs),
        ]

    def facts(self) -> dict[str, Any]:
        """Give what is beside the tables."""
        return {
            "intakes": list(self.intakes), "runs": [run.source for run in self.runs],
            "sources": len(self.sources), "bears": self.bears,
        }  # fmt: skip


def rounds_to_bytes(rounds: Sequence[SegmentRound]) -> bytes:
    """Write rounds; equal ones give equal bytes."""
    parts = [part for own in rounds for part in own.parts()]
    return to_bytes(parts, {"rounds": [own.facts() for own in rounds]})


def rounds_of(data: bytes) -> Iterator[SegmentRound]:
    """Give back the rounds that `rounds_to_bytes` wrote."""
    parts, facts = from_bytes(data)
    for told in facts["rounds"]:
        inputs, changed, sources = len(told["intakes"]), told["sources"], told["runs"]
        (texts, _), *rest = parts[: 1 + inputs + changed + len(sources)]
        parts = parts[1 + inputs + changed + len(sources) :]
        arrays = [arrays_of(table) for table, _ in rest[inputs:]]
        runs = [
            SegmentRun(source, _segments(own))
            for source, own in zip(sources, arrays[changed:], strict=True)
        ]
        yield SegmentRound(
            texts=texts.column(TEXT).combine_chunks(),
            waiting=[arrived_of(part) for part in rest[:inputs]],
            intakes=told["intakes"],
            sources=arrays[:changed],
            runs=runs,
            bears=told["bears"],
        )


def state_to_bytes(
    texts: pa.Array, waiting: Sequence[Arrived], states: Sequence[Arrays], facts: dict[str, Any]
) -> bytes:
    """Write the whole state; equal ones give equal bytes."""
    parts: list[Part] = [
        (pa.table({TEXT: texts}), NOTHING),
        *(arrived_part(own) for own in waiting),
        *((arrays_table(own), NOTHING) for own in states),
    ]
    return to_bytes(parts, {**facts, "inputs": len(waiting)})


def state_of(data: bytes) -> tuple[pa.Array, list[Arrived], list[Arrays], dict[str, Any]]:
    """Give back the texts, the rows that wait, the arrays and the facts of a state."""
    ((texts, _), *parts), facts = from_bytes(data)
    inputs = facts["inputs"]
    waiting = [arrived_of(part) for part in parts[:inputs]]
    states = [arrays_of(table) for table, _ in parts[inputs:]]
    return texts.column(TEXT).combine_chunks(), waiting, states, facts


def _arrays(segments: Segments) -> Arrays:
    return {each.name: getattr(segments, each.name) for each in fields(Segments)}


def _segments(arrays: Arrays) -> Segments:
    return Segments(*(arrays[each.name] for each in fields(Segments)))
