"""Completeness: whether the log has what Spark committed, and every row that sources gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.registry.records import Declaration
from penstock.spark.checkpoints import (
    UncountableError,
    committed_batches,
    planned_batches,
    rows_read,
    source_offsets,
)
from penstock.vocabulary.findings import Finding

MISSING_BATCH, LOST_ROWS, LOST_CHECKPOINT = "VER-002", "VER-008", "VER-009"


@dataclass(slots=True)
class Completeness:
    """What was compared with Spark's checkpoint, and what could not be.

    `committed` is the newest batch that Spark committed, None if there is no checkpoint to ask.
    `counted` are relations whose rows were counted again at their source; `uncounted` says of the
    others why not.
    """

    committed: int | None = None
    counted: list[str] = field(default_factory=list)
    uncounted: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def words(self) -> list[str]:
        """Say what was checked.

        >>> Completeness(committed=3, counted=["t"], uncounted={"k": "rows of kafka ..."}).words()
        ['Spark committed batches 0 to 3; input rows counted for 1 of 2 relations.', \
'k: input rows not counted: rows of kafka ....']
        """
        if self.committed is None:
            return ["Completeness was not checked: there is no checkpoint of Spark to ask."]
        relations = len(self.counted) + len(self.uncounted)
        first = f"Spark committed batches 0 to {self.committed}"
        if self.committed < 0:
            first = "Spark committed no batch"
        return [
            f"{first}; input rows counted for {len(self.counted)} of {relations} relations.",
            *(f"{name}: input rows not counted: {why}." for name, why in self.uncounted.items()),
        ]


def check_completeness(
    home: Path,
    newest: int,
    declarations: Sequence[Declaration],
    recorded: Mapping[str, int],
) -> Completeness:
    """Compare a log that ends with batch `newest` with Spark's checkpoint.

    `recorded` counts the recorded rows by relation.
    """
    checkpoint, found = home / "checkpoint", Completeness()
    commits, plans = committed_batches(checkpoint), planned_batches(checkpoint)
    relations = [each for each in declarations if each.relation.flows]
    if not commits and not plans:
        found.uncounted = dict.fromkeys(
            (each.relation.name for each in relations), "there is no checkpoint"
        )
        return found
    found.committed = commits[-1] if commits else -1
    _check_batches(found, home, newest, commits, plans)
    try:
        offsets = source_offsets(checkpoint, newest)
        if len(offsets) != 1 + len(relations):
            raise UncountableError("Spark reads other sources than were declared")
    except UncountableError as error:
        found.uncounted = dict.fromkeys((each.relation.name for each in relations), str(error))
        return found
    for number, each in enumerate(relations, start=1):
        name, offset = each.relation.name, offsets[number]
        try:
            rows = (
                0
                if offset is None
                else rows_read(checkpoint, number, offset, each.source.name, each.source.options)
            )
        except UncountableError as error:
            found.uncounted[name] = str(error)
            continue
        found.counted.append(name)
        if rows != recorded.get(name, 0):
            fact = f"has {recorded.get(name, 0):,} rows of {name}, whose source gave {rows:,}"
            found.findings.append(Finding(LOST_ROWS, home / "results", fact))
    return found


def _check_batches(
    found: Completeness, home: Path, newest: int, commits: Sequence[int], plans: Sequence[int]
) -> None:
    """Every committed batch is logged; one more may be, which Spark did not come to commit."""
    committed = commits[-1] if commits else -1
    for batch in range(newest + 1, committed + 1):
        fact = f"has no batch {batch}, which Spark committed"
        found.findings.append(Finding(MISSING_BATCH, home / "results", fact))
    if newest > committed + 1:
        fact = f"has batches {committed + 1} to {newest}, which Spark did not commit"
        found.findings.append(Finding(MISSING_BATCH, home / "results", fact))
    for name, numbers in (("commits", commits), ("offsets", plans)):
        there = set(numbers)
        for batch in range(numbers[0], numbers[-1]) if numbers else ():
            if batch not in there:
                file = home / "checkpoint" / name / str(batch)
                found.findings.append(Finding(LOST_CHECKPOINT, file, "is missing"))
    if plans and commits and plans[-1] < committed:
        file = home / "checkpoint" / "offsets" / str(committed)
        found.findings.append(Finding(LOST_CHECKPOINT, file, "is missing"))
