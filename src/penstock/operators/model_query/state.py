"""The state of model queries: rows that wait, models of keys, what the plan holds and has said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.models.segments import Segments
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
NO_TEXTS = pa.array([], pa.string())


class SegmentRun(NamedTuple):
    """Segments of one source that go into the plan together."""

    source: int
    segments: Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRound:
    """What a batch changed: what another copy needs to follow.

    `texts` are new among keys, `waiting` the rows of every source that came and wait, `intakes`
    what else is kept of the rows of each, `sources` what changed in the models of each. `bears`
    says that queries were born with it. A group that reads a stream has none of that but its
    queries' births: the stream tells the rest. `begun` is how far the stream had come when such a
    group began, with the segments that stood.
    """

    texts: pa.Array
    waiting: Sequence[Arrived]
    intakes: Sequence[dict[str, int]]
    sources: Sequence[Arrays]
    runs: Sequence[SegmentRun]
    bears: bool
    begun: int | None = None

    @classmethod
    def of_reader(
        cls, runs: Sequence[SegmentRun] = (), *, bears: bool = False, begun: int | None = None
    ) -> SegmentRound:
        """Give the round of a group that reads a stream."""
        return cls(
            texts=NO_TEXTS, waiting=(), intakes=(), sources=(), runs=runs,
            bears=bears, begun=begun,
        )  # fmt: skip

    @property
    def is_plain(self) -> bool:
        """Whether it says nothing but that a stream was read."""
        return not self.intakes and not self.bears and self.begun is None

    def parts(self) -> list[Part]:
        """Give the round as tables."""
        return [
            (pa.table({TEXT: self.texts}), NOTHING),
            *(arrived_part(own) for own in self.waiting),
            *((arrays_table(dict(own)), NOTHING) for own in self.sources),
            *((arrays_table(segment_arrays(run.segments)), NOTHING) for run in self.runs),
        ]

    def facts(self) -> dict[str, Any]:
        """Give what is beside the tables."""
        told = {
            "intakes": list(self.intakes), "runs": [run.source for run in self.runs],
            "sources": len(self.sources), "bears": self.bears,
        }  # fmt: skip
        return told if self.begun is None else {**told, "begun": self.begun}


def rounds_to_bytes(rounds: Sequence[SegmentRound]) -> bytes:
    """Write rounds; equal ones give equal bytes."""
    parts = [part for own in rounds for part in own.parts()]
    return to_bytes(parts, {"rounds": [own.facts() for own in rounds]})


@cache
def followed_bytes() -> bytes:
    """Give what a group writes that read its stream, and did nothing else: always the same."""
    return rounds_to_bytes([SegmentRound.of_reader()])


def rounds_of(data: bytes) -> Iterator[SegmentRound]:
    """Give back the rounds that `rounds_to_bytes` wrote."""
    parts, facts = from_bytes(data)
    for told in facts["rounds"]:
        inputs, changed, sources = len(told["intakes"]), told["sources"], told["runs"]
        (texts, _), *rest = parts[: 1 + inputs + changed + len(sources)]
        parts = parts[1 + inputs + changed + len(sources) :]
        arrays = [arrays_of(table) for table, _ in rest[inputs:]]
        runs = [
            SegmentRun(source, segments_of(own))
            for source, own in zip(sources, arrays[changed:], strict=True)
        ]
        yield SegmentRound(
            texts=texts.column(TEXT).combine_chunks(),
            waiting=[arrived_of(part) for part in rest[:inputs]],
            intakes=told["intakes"],
            sources=arrays[:changed],
            runs=runs,
            bears=told["bears"],
            begun=told.get("begun"),
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


def segment_arrays(segments: Segments) -> Arrays:
    """Give segments by the names of their arrays."""
    return {each.name: getattr(segments, each.name) for each in fields(Segments)}


def segments_of(arrays: Arrays) -> Segments:
    """Give back what `segment_arrays` gave."""
    return Segments(*(arrays[each.name] for each in fields(Segments)))
