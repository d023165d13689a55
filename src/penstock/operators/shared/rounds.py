"""Rounds: what came to a group's inputs, batch by batch, as another copy can repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.operators.shared.codec import Facts, Part, from_bytes, to_bytes
from penstock.operators.shared.input_state import facts_of, quiet_part
from penstock.operators.shared.inputs import Input

ToldRound = tuple[list[Part], list[Facts], bool]
"""A part per input, what each keeps beside its rows, and whether queries are born with it."""


class Rounds:
    """The rounds since the last delta."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        self._inputs = inputs
        self._fresh: list[tuple[list[Part], list[Facts]]] = []
        self._begun = 0
        """How many of the fresh rounds are not of a batch: they come before the first query."""

    def note(self, parts: Mapping[int, Part], begins: bool = False) -> None:
        """Remember what came, by the number of the input; `begins`: it was there before."""
        told = [parts.get(each.number) or quiet_part(each) for each in self._inputs]
        self._fresh.append((told, facts_of(self._inputs)))
        self._begun += begins

    def delta(self) -> bytes | None:
        """Give the rounds since the last call, or None if there were none."""
        fresh, self._fresh = self._fresh, []
        begun, self._begun = self._begun, 0
        if not fresh:
            return None
        facts = {"rounds": [own for _, own in fresh], "begun": begun}
        return to_bytes([part for parts, _ in fresh for part in parts], facts)

    def read(self, delta: bytes) -> Iterator[ToldRound]:
        """Give the rounds that another copy told."""
        parts, facts = from_bytes(delta)
        size = len(self._inputs)
        for turn, told in enumerate(facts["rounds"]):
            own = parts[turn * size : (turn + 1) * size]
            yield own, told, turn == facts["begun"]
