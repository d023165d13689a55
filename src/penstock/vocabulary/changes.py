"""What the change column of a table says: the words of those who write changes, and their meaning.

One table of words serves everybody who reads a change. Words are compared without regard to case
and to blanks around them. What is not in the table, NULL included, has no meaning: such a change
is set aside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import IntEnum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.vocabulary.names import RESERVED


class Meaning(IntEnum):
    """What a change does; the sign says whether a row comes or goes.

    A row that `REPLACES` another says nothing of the other: without a key nobody knows which it
    is. `BEFORE` is how a row was before an update.
    """

    BEFORE = -2
    GOES = -1
    UNKNOWN = 0
    COMES = 1
    REPLACES = 2


WORDS: dict[str, Meaning] = {
    # Penstock's own; Flink's and Delta's are among them.
    "insert": Meaning.COMES,
    "delete": Meaning.GOES,
    "update_before": Meaning.BEFORE,
    "update_after": Meaning.COMES,
    "+": Meaning.COMES,
    "-": Meaning.GOES,
    # Delta's change data feed.
    "update_preimage": Meaning.BEFORE,
    "update_postimage": Meaning.COMES,
    # Flink's row kinds, in short.
    "+i": Meaning.COMES,
    "-u": Meaning.BEFORE,
    "+u": Meaning.COMES,
    "-d": Meaning.GOES,
    # Debezium: created, read in a snapshot, updated, deleted. Hudi: inserted, updated, deleted.
    "c": Meaning.COMES,
    "r": Meaning.COMES,
    "i": Meaning.COMES,
    "u": Meaning.REPLACES,
    "d": Meaning.GOES,
}
"""By word, in lower case."""

BLANKS = " \t\n\r\v\f\u0085\u00a0\u1680\u2007\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
"""What may stand around a word."""

POSITION: tuple[tuple[str, pa.DataType], ...] = (
    ("_penstock_file_time", pa.timestamp("us", "UTC")),
    ("_penstock_file", pa.string()),
    ("_penstock_block", pa.int64()),
)
"""Columns that say where in which file a change of a table stood, if its order is taken from that:
when the file was written, its path, and where in it the part begins that the row was read in."""

Meanings = npt.NDArray[np.int8]
Column: TypeAlias = pa.Array | pa.ChunkedArray

_KNOWN = pa.array(list(WORDS), pa.string())
_MEANT: Meanings = np.array([*WORDS.values(), Meaning.UNKNOWN], dtype=np.int8)


def meanings_of(changes: Column) -> Meanings:
    """Give the meaning of every change.

    >>> meanings_of(pa.array(["insert", " D ", "u", None, "soup"])).tolist()
    [1, -1, 2, 0, 0]
    """
    if isinstance(changes, pa.ChunkedArray):
        changes = changes.combine_chunks()
    if pa.types.is_dictionary(changes.type):
        changes = changes.dictionary_decode()
    if pa.types.is_null(changes.type):
        return np.zeros(len(changes), dtype=np.int8)
    said = pc.utf8_lower(pc.utf8_trim(changes.cast(pa.string()), characters=BLANKS))
    place = pc.fill_null(pc.index_in(said, value_set=_KNOWN), len(WORDS))
    meanings: Meanings = _MEANT[place.to_numpy(zero_copy_only=False)]
    return meanings


MADE_SIGN = "_sign"
"""The column in which rows that an operator made carry their sign."""
HIDDEN_SIGN = f"{RESERVED}sign"
"""The same, beside a column of users that is called so."""


def sign_beside(names: Iterable[str]) -> str:
    r"""Name the column of signs that made rows get beside columns of users.

    >>> sign_beside(["i0.k", "i0._sign"]), sign_beside(["k", "_Sign"])
    ('_sign', '\x01sign')
    """
    return HIDDEN_SIGN if any(name.lower() == MADE_SIGN for name in names) else MADE_SIGN


def sign_among(names: Collection[str]) -> str:
    r"""Say which of the columns of made rows has their signs.

    >>> sign_among(["k", "_sign"]), sign_among(["_sign", "\x01sign"])
    ('_sign', '\x01sign')
    """
    return HIDDEN_SIGN if HIDDEN_SIGN in names else MADE_SIGN


def signs_of(changes: Column) -> pa.Array:
    """Give the signs of changes: +1 where a row comes, -1 where one goes, 0 for what means nothing.

    >>> signs_of(pa.array(["insert", "DELETE", "+U", None])).to_pylist()
    [1, -1, 1, 0]
    """
    return pa.array(np.sign(meanings_of(changes)).astype(np.int8))
