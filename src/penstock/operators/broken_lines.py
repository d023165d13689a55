"""Lines that do not parse: left out of batches for those who do not ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.vocabulary.batches import Results, Rows
from penstock.vocabulary.broken import sound_rows


def sound_batch(batch: Mapping[str, pa.Table]) -> tuple[dict[str, pa.Table], dict[str, Rows]]:
    """Leave out lines that do not parse; give the places of what stays, where something went."""
    sound, places = dict(batch), {}
    for name, table in batch.items():
        kept = sound_rows(table)
        if kept is not None:
            sound[name] = table.filter(kept)
            places[name] = np.flatnonzero(kept.to_numpy(zero_copy_only=False)).astype(np.int32)
    return sound, places


def with_broken(changes: pa.Table, written: pa.Table | None) -> pa.Table:
    """Put the lines that do not parse behind the changes of a table."""
    sound = None if written is None else sound_rows(written)
    if sound is None or written is None:
        return changes
    broken = written.filter(pc.invert(sound)).select(changes.column_names)
    return pa.concat_tables([changes, broken])


def placed(results: Results, places: Mapping[str, Rows]) -> Results:
    """Let results speak of the places that rows have in the whole batch."""
    if results.rows is not None or results.relation not in places:
        return results
    return replace(results, event=places[results.relation][results.event])
