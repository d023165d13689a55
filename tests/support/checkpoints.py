"""Spark's checkpoint, as Spark would have written it."""

from __future__ import annotations

from pathlib import Path


def plan(checkpoint: Path, batch: int, *offsets: str) -> None:
    """Plan a batch: what it holds is known by its number, or by the offsets of its sources."""
    directory = checkpoint / "offsets"
    directory.mkdir(parents=True, exist_ok=True)
    lines = ["v1", '{"conf":{}}', *(offsets or (f'{{"offset":{batch}}}',))]
    (directory / str(batch)).write_text("\n".join(lines))
