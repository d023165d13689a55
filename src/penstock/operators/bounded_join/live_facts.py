"""What a live bounded join knows that numbers do not say."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.operators.bounded.live_facts import ContestFacts, LawFacts
from penstock.operators.protocol import LiveFacts
from penstock.vocabulary.codec import OMITTED


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedJoinFacts(LiveFacts):
    """The policy and the laws in force, and how rows fare.

    `policy` is what USING says, `in_force` the policy that goes by; by input there are the laws of
    the `streams`, the rows `held` and the windows in ticks. One in `recall_weight` keys is counted
    for the recall, in `recall_rows` rows.
    """

    SHOWN = ("contest", "misfits", "alpha", "mean_residence_ticks")

    policy: str
    streams: tuple[LawFacts, ...]
    alpha: float | None = field(default=None, metadata=OMITTED)
    contest: ContestFacts | None = field(default=None, metadata=OMITTED)
    misfits: tuple[str, ...] = field(default=(), metadata=OMITTED)
    mean_residence_ticks: float | None = field(default=None, metadata=OMITTED)
    in_force: str
    budget: int
    held: tuple[int, ...]
    residence_ticks: float
    window_ticks: tuple[float | None, ...]
    recall_weight: int
    recall_rows: int

    @property
    def laws(self) -> tuple[LawFacts, ...]:
        """The laws of its streams."""
        return self.streams
