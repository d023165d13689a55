"""The state of a source: slots of keys that grow, are written whole, and as what has changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.kernels.hash_tables import EMPTY
from penstock.kernels.segment_slots import (
    CLEAN,
    EARLIEST,
    EXPIRES,
    FORGOTTEN,
    FREE,
    KEY,
    LATEST,
    META,
    NEWEST,
    SERIAL,
    TOUCHED,
    USED,
    SegmentSlots,
    slots_index,
    slots_take_changes,
)

Arrays = Mapping[str, npt.NDArray[Any]]
"""State, by names."""
ROOM_MIN = 64


class SourceState:
    """Slots for keys of so many columns, with carried codes and models, and what is kept of rows.

    `kept` are rows of a key that a slot has room for, and `extra` numbers: fits need them.
    """

    def __init__(
        self, key: int, carried: int, attributes: int, width: int, kept: int, extra: int
    ) -> None:
        self._key = key
        meta = np.zeros(META, np.int64)
        meta[EXPIRES] = LATEST
        meta[FORGOTTEN] = EARLIEST
        self.slots = SegmentSlots(
            meta, np.zeros((0, KEY + key + carried), np.int64),
            np.zeros((0, attributes, width + 1)), np.full(2, EMPTY, np.int32),
            np.zeros(0, np.uint8), np.zeros(0, np.int32),
        )  # fmt: skip
        self.kept_at = np.zeros((0, kept), np.int64)
        self.kept_values = np.zeros((0, kept, attributes))
        self.extra = np.zeros((0, extra))

    @property
    def room(self) -> int:
        """How many slots there are."""
        return len(self.slots.words)

    def grow(self, room: int) -> None:
        """Make room for so many slots."""
        room = max(room, self.room)
        old = self.slots
        words = _longer(old.words, room)
        words[len(old.words) :, SERIAL] = FREE
        self.slots = SegmentSlots(
            old.meta, words, _longer(old.models, room),
            np.empty(1 << max(4, (2 * room - 1).bit_length()), np.int32),
            _longer(old.marks, room), _longer(old.touched, room),
        )  # fmt: skip
        self.kept_at = _longer(self.kept_at, room)
        self.kept_values = _longer(self.kept_values, room)
        self.extra = _longer(self.extra, room)
        slots_index(self.slots, self._key)

    def double(self, room_max: int) -> None:
        """Make room for twice as many slots, up to a limit."""
        self.grow(min(max(2 * self.room, ROOM_MIN), room_max))

    def _parts(self) -> dict[str, npt.NDArray[Any]]:
        """Give the arrays that have a row for every slot."""
        return {
            "words": self.slots.words, "models": self.slots.models,
            "kept_at": self.kept_at, "kept_values": self.kept_values, "extra": self.extra,
        }  # fmt: skip

    def arrays(self) -> Arrays:
        """Give the whole state."""
        used = int(self.slots.meta[USED])
        meta = self.slots.meta.copy()
        meta[TOUCHED] = 0
        return {"meta": meta, **{name: part[:used].copy() for name, part in self._parts().items()}}

    def restore(self, arrays: Arrays) -> None:
        """Put a whole state in the place of what there is."""
        self.slots.meta[:] = arrays["meta"]
        self.slots.meta[USED] = 0  # Nothing that was there is found again.
        used = int(arrays["meta"][USED])
        self.grow(used)
        for name, part in self._parts().items():
            part[:used] = arrays[name]
        self._settle(arrays["meta"])

    def fresh(self) -> Arrays:
        """Give what has changed since this was last asked, or since the state was restored."""
        touched = int(self.slots.meta[TOUCHED])
        moved, changed = np.empty(touched, np.int32), np.empty(touched, np.int32)
        moves = slots_take_changes(self.slots, moved, changed)
        moved, changed = moved[:moves], changed[: touched - moves]
        parts = {name: part[changed] for name, part in self._parts().items()}
        newest = self.slots.words[moved, NEWEST]
        meta = self.slots.meta.copy()
        return {"meta": meta, "moved": moved, "newest": newest, "changed": changed, **parts}

    def merge(self, arrays: Arrays) -> None:
        """Put changes that `fresh` gave into the state that they were made of."""
        used = int(arrays["meta"][USED])
        if used > self.room:
            self.grow(max(used, 2 * self.room))
        for name, part in self._parts().items():
            part[arrays["changed"]] = arrays[name]
        self.slots.words[arrays["moved"], NEWEST] = arrays["newest"]
        self._settle(arrays["meta"])

    def _settle(self, meta: npt.NDArray[Any]) -> None:
        """Take over counters, and find keys again."""
        self.slots.meta[:] = meta
        self.slots.meta[TOUCHED] = 0
        self.slots.marks[:] = CLEAN
        slots_index(self.slots, self._key)


def _longer(array: npt.NDArray[Any], room: int) -> npt.NDArray[Any]:
    """Give a longer array with the same beginning and zeros behind it."""
    longer = np.zeros((room, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
