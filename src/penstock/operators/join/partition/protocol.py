"""What everybody may ask of a partition of ranges into stabbing groups."""

from __future__ import annotations

from typing import Protocol

from penstock.vocabulary.batches import Ints, Rows


class Grouping(Protocol):
    """Standing queries, by slot, grouped such that all ranges of a group share a point.

    Two groupings that get the same calls in the same order are in the same state. The arrays are
    views of the present state: an update may replace them, so read them anew after each.

    Attributes
    ----------
    group_of
        Group id by slot; -1: in no group, that is not here, or scattered. At least as long as the
        largest slot that was ever given needs.
    points
        Stabbing point by group id: a key that lies in the range of every member.
    sizes
        Members by group id; 0: no such group now. Ids are reused.
    """

    @property
    def group_of(self) -> Rows: ...  # noqa: D102
    @property
    def points(self) -> Ints: ...  # noqa: D102
    @property
    def sizes(self) -> Rows: ...  # noqa: D102

    def insert(self, slots: Rows, lows: Ints, highs: Ints) -> None:
        """Add closed ranges, in the given order; the slots must not be here yet."""
        ...

    def delete(self, slots: Rows) -> None:
        """Remove ranges, in the given order; the slots must be here."""
        ...

    def live(self) -> Rows:
        """Give the ids of all groups, in ascending order of their points (ties: of their ids)."""
        ...

    def drain(self) -> Rows:
        """Give, ascending, the ids of groups whose members or point changed since the last drain.

        A group that went is among them; its size is 0 now.
        """
        ...

    def members(self, groups: Rows) -> tuple[Ints, Rows]:
        """Give members: (offsets, slots), slots[offsets[k] : offsets[k + 1]] of groups[k].

        A group that went has none. The order within a group says nothing.
        """
        ...
