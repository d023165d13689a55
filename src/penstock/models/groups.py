"""Groups: stages that say of each group of segments one function of time, and its changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from penstock.kernels.root_grids import root_room
from penstock.kernels.segment_instants import Layers, Solving
from penstock.kernels.segment_pieces import Parts, Zones, pieces_compare
from penstock.kernels.segment_stores import USED
from penstock.models.segments import WIDTH, Segments
from penstock.models.shapes import SegmentShape
from penstock.models.stores import Arrays, SegmentStore
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.errors import PenstockError

ROOM_MIN = 256
ROOM_MAX = 1 << 26
"""How many pieces may change at a time."""


class GroupStage(ABC):
    """A stage that keeps the segments of groups, and what it said of them.

    Where segments changed it makes the function anew, and says the difference.
    """

    def __init__(
        self, attribute: int, group: tuple[int, ...], given: SegmentShape, shape: SegmentShape
    ) -> None:
        self.shape = shape
        self._given = given
        self._attribute = attribute
        self._group = np.array(group, np.int64)
        self._own = np.arange(len(group), dtype=np.int64)
        self._active = SegmentStore(given.key, 1, group)
        self._said = SegmentStore(len(group), 1, self._own.tolist())
        self._room = ROOM_MIN

    @abstractmethod
    def _takes(self, segments: Segments) -> Segments:
        """Give the segments that count."""

    @abstractmethod
    def _asked(self, asked: Zones) -> Zones:
        """Give where the function may have changed, from where segments did."""

    @abstractmethod
    def _write(self, asked: Zones, pieces: Parts) -> int:
        """Write the function of groups; -1 without room."""

    def push(self, segments: Segments, quiet: Flags | None = None) -> Segments:
        """Take changes of segments; give the changes of their groups' functions.

        Those that are `quiet` are known to change no function.
        """
        own = segments.coefficients[:, self._attribute : self._attribute + 1]
        segments = replace(segments, coefficients=np.ascontiguousarray(own))
        if quiet is not None and quiet.any():
            self._active.apply(self._takes(segments.take(quiet)))
            segments = segments.take(~quiet)
        segments = self._takes(segments)
        if not len(segments):
            return Segments.none(self.shape.key, 1)
        asked = _changed(segments, segments.key[:, self._group])
        self._active.apply(segments)
        asked = self._asked(asked)
        pieces, count = self._made(asked)
        said = self._compared(asked, pieces, count)
        self._said.apply(said)
        return said

    def _made(self, asked: Zones) -> tuple[Parts, int]:
        while True:
            pieces = _pieces(self._room)
            count = self._write(asked, pieces)
            if count >= 0:
                return pieces, count
            self._widen()

    def _compared(self, asked: Zones, pieces: Parts, count: int) -> Segments:
        slots, starts = self._collected(self._said)
        while True:
            out, sign = _pieces(self._room), np.empty(self._room, np.int8)
            total = pieces_compare(
                self._said.stored, asked, self._own, pieces, count, slots, starts,
                np.empty(WIDTH + 2), out, sign,
            )  # fmt: skip
            if total >= 0:
                break
            self._widen()
        # What is taken back goes first: it must not meet what takes its place.
        order = np.argsort(sign[:total], kind="stable")
        group = out.group[order]
        return Segments(
            asked.key[group], out.reference[order], out.low[order], out.high[order],
            out.models[order][:, np.newaxis], sign[order], np.zeros(total, np.int64),
        )  # fmt: skip

    def _widen(self) -> None:
        if self._room >= ROOM_MAX:
            raise PenstockError(
                "MDL-055",
                f"More than {ROOM_MAX:,} pieces of an aggregate would change at a time.",
                "Push fewer segments at a time, or widen the error bound.",
            )
        self._room *= 4

    @property
    def said(self) -> SegmentStore:
        """What it has said of its groups, and not taken back."""
        return self._said

    @staticmethod
    def _collected(store: SegmentStore) -> tuple[Ints, npt.NDArray[np.float64]]:
        used = int(store.stored.sizes[USED])
        return np.empty(used, np.int64), np.empty(used)

    def _layers(self) -> Layers:
        slots, starts = self._collected(self._active)
        room = max(self._room * (WIDTH + 1), len(slots) + 1)
        return Layers(
            np.empty((2, room)), np.empty((2, room)), np.empty((2, room), np.int64), slots, starts
        )

    def arrays(self) -> Arrays:
        """Give the state."""
        return {
            **{f"active.{name}": array for name, array in self._active.arrays().items()},
            **{f"said.{name}": array for name, array in self._said.arrays().items()},
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Take up a state."""
        for name, store in (("active.", self._active), ("said.", self._said)):
            own = {k.removeprefix(name): a for k, a in arrays.items() if k.startswith(name)}
            store.restore(own)

    def __len__(self) -> int:
        return len(self._active) + len(self._said)


def solving() -> Solving:
    """Make what finding roots writes into."""
    wide = WIDTH + 3
    return Solving(
        np.empty(wide), np.empty(wide), np.empty(wide), np.empty(wide, np.int8),
        root_room(wide), np.empty(wide),
    )  # fmt: skip


def _pieces(room: int) -> Parts:
    return Parts(
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room),
        np.empty(room),
        np.empty((room, WIDTH)),
    )


def _changed(segments: Segments, keys: Ints) -> Zones:
    """Give the groups of segments and, for each, the range that holds all of them."""
    total = len(segments)
    order = np.lexsort(keys.T[::-1]) if keys.shape[1] else np.arange(total)
    sorted_keys = keys[order]
    differs = (sorted_keys[1:] != sorted_keys[:-1]).any(axis=1)
    firsts = np.concatenate(([0], np.flatnonzero(differs) + 1))
    base = np.minimum.reduceat(segments.reference[order], firsts)
    sizes = np.diff(np.append(firsts, total))
    later = (segments.reference[order] - np.repeat(base, sizes)) * 1e-6
    begin = np.minimum.reduceat(segments.low[order] + later, firsts)
    end = np.maximum.reduceat(segments.high[order] + later, firsts)
    return Zones(np.ascontiguousarray(sorted_keys[firsts]), base, begin, end)
