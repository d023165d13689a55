"""What a plan was seen to do in a run, beside what was predicted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.planning.figures import figure, percent
from penstock.vocabulary.codec import OMITTED, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen(Node):
    """A figure that was predicted, and what was seen of it."""

    predicted: float
    observed: float

    def __str__(self) -> str:
        return f"predicted {figure(self.predicted)}, observed {figure(self.observed)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPlan(Node):
    """What the group of a plan did in the engine's present run.

    Attributes
    ----------
    rate
        Rows per second, by stream.
    made
        Rows per second that every join made, by the names of its inputs.
    drift
        A sentence, if joins are not as predicted.
    processors
        How many processors the group takes.
    expected_share_emitted, expected_share_found, measured_share_emitted
        Of a plan that drops rows: how many results there are by how many there would be, and the
        share of the full answer among them.
    hurried_rows
        Rows that did not wait for a silent stream.

    >>> seen = SeenPlan(rate={"a": 10.0}, made={"a, b": Foreseen(predicted=2.0, observed=2.5)})
    >>> list(seen.lines())
    [('rate(a)', '10'), ('made(a, b)', 'predicted 2, observed 2.5')]
    """

    rate: dict[str, float] = field(default_factory=dict)
    made: dict[str, Foreseen] = field(default_factory=dict)
    drift: str | None = field(default=None, metadata=OMITTED)
    processors: Foreseen | None = field(default=None, metadata=OMITTED)
    expected_share_emitted: float | None = field(default=None, metadata=OMITTED)
    expected_share_found: float | None = field(default=None, metadata=OMITTED)
    measured_share_emitted: float | None = field(default=None, metadata=OMITTED)
    hurried_rows: int | None = field(default=None, metadata=OMITTED)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Give labels and values for people."""
        yield from ((f"rate({name})", figure(rate)) for name, rate in self.rate.items())
        yield from ((f"made({names})", str(made)) for names, made in self.made.items())
        if self.drift is not None:
            yield "drift", self.drift
        if self.processors is not None:
            yield "processors", str(self.processors)
        for label, share in (
            ("expected share emitted", self.expected_share_emitted),
            ("expected share found", self.expected_share_found),
            ("measured share emitted", self.measured_share_emitted),
        ):
            if share is not None:
                yield label, percent(share)
        if self.hurried_rows is not None:
            yield "hurried rows", figure(self.hurried_rows)
