"""Verification: the recorded input, asked again of DuckDB with the same SQL, against the log.

DuckDB sees the events that the engine recorded (batch, part, row) and the parameters as the user
gave them, with the batches in which each standing query held. The pairs that it finds must be the
pairs in the log: none missing, none too many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from copy import deepcopy
from dataclasses import fields, replace

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.physical import Step
from penstock.delivery.changes import ChangeReader
from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.engine.asked import asked
from penstock.engine.output_verification import verify_outputs
from penstock.engine.selections import answer_of, selection_of_blocks
from penstock.engine.subscription_blocks import bind_blocks, by_text
from penstock.expressions.evaluation import is_of_a_row
from penstock.kinds.outcomes import Gap, SubscriptionOutcome, standing_parameters
from penstock.kinds.protocol import AnswerComparison, Progress
from penstock.kinds.recorded import RecordedShelf
from penstock.kinds.table import kind_of
from penstock.registry.records import Block, SubscriptionRecord
from penstock.registry.store import Registry
from penstock.vocabulary.errors import PenstockError

UNFORESEEN = (
    duckdb.Error,
    pa.ArrowException,
    OSError,
    LookupError,
    AttributeError,
    TypeError,
    RuntimeError,
    ValueError,
    ArithmeticError,
    AssertionError,
    MemoryError,
)
"""What may go wrong over one subscription's rows and must not end the verification of others."""


def verify(
    registry: Registry,
    log: ResultLog,
    progress: Progress = lambda _name, _done, _all: None,
    damaged: Collection[str] = (),
) -> list[SubscriptionOutcome]:
    """Compare the whole log with DuckDB, subscription by subscription.

    What cannot be verified is a failure of its own subscription, and ends no other. Nothing is read
    of relations and groups whose files are `damaged`.
    """
    batches = list(logged_batches(log))
    answers = []
    shelf = RecordedShelf()
    for name in registry.names():
        answer = SubscriptionOutcome(name)
        answers.append(answer)
        reader = ChangeReader(log, answer.note_failed_outputs)
        for blocks in by_text(block for _, block in registry.history(name)):
            try:
                _refuse_damaged(blocks[0].record, damaged)
                _verify_text(answer, registry, log, reader, blocks, batches, progress, shelf)
            except PenstockError as error:
                answer.failures.append(error)
            except UNFORESEEN as error:
                answer.failures.append(_failure(name, error))
                shelf.renew()
    shelf.close()
    return answers


def _verify_text(
    answer: SubscriptionOutcome,
    registry: Registry,
    log: ResultLog,
    reader: ChangeReader,
    blocks: list[Block],
    batches: list[LoggedBatch],
    progress: Progress,
    shelf: RecordedShelf,
) -> None:
    """Compare the answers of one text, then what its subscribers read.

    DuckDB is asked the user's own words first. Where a row fails, it is asked with `TRY` around
    each condition: one that fails is neither true nor false, as in the engine.
    """
    asked_of = comparison_of(answer, registry, log, blocks, batches, progress, shelf)
    logical = asked_of.logical
    step = logical.step()
    kind = kind_of(step)
    answer.queries += sum(len(block.query) for block in blocks)
    before = deepcopy(answer)
    try:
        kind.verify(asked_of)
    except duckdb.Error as error:
        if not is_of_a_row(error):
            raise
        for each in fields(SubscriptionOutcome):
            setattr(answer, each.name, getattr(before, each.name))
        kind.verify(replace(asked_of, logical=kind.trying(logical)))
    verify_outputs(
        answer,
        registry.catalog,
        reader,
        selection_of_blocks(blocks, answer_of(registry, blocks)),
        kind.select_list(blocks[0].record.sql, logical, registry.catalog),
        step.relations[0] if step.made is None else None,
        blocks,
        batches,
        shelf,
    )


def comparison_of(
    answer: SubscriptionOutcome,
    registry: Registry,
    log: ResultLog,
    blocks: list[Block],
    batches: list[LoggedBatch],
    progress: Progress,
    shelf: RecordedShelf,
) -> AnswerComparison:
    """Give one text's answers with all that was recorded of them."""
    logical = bind_blocks(registry.catalog, blocks)
    # A kind that nobody knows is named before it is asked what it keeps.
    kind_of(logical.step())
    _refuse_expired(registry, log, logical.step())
    versions = np.array([batch.version for batch in batches], dtype=np.int64)
    group = blocks[0].record.group
    gaps = _gaps(registry, group, batches)
    answer.suspended = sorted({*answer.suspended, *gaps})
    rested = _rested(registry, group)
    answer.suspended += _rests_of(blocks, rested, versions)
    standing = standing_parameters(blocks, versions, gaps, rested)
    return AnswerComparison(
        answer=answer,
        registry=registry,
        log=log,
        group=group,
        logical=logical,
        parameters=asked(standing, logical.parameters),
        batches=batches,
        versions=versions,
        progress=progress,
        shelf=shelf,
    )


def _gaps(registry: Registry, group: str, batches: list[LoggedBatch]) -> list[Gap]:
    """Find the batches in which a group was suspended."""
    every = registry.suspensions.all()
    own = [each for each in every if each.group == group and each.query is None]
    at_rest = [any(each.holds(batch.batch, batch.version) for each in own) for batch in batches]
    changes = np.flatnonzero(np.diff(np.array([False, *at_rest, False], dtype=np.int8)))
    return [(int(first), int(last)) for first, last in changes.reshape(-1, 2)]


def _rested(registry: Registry, group: str) -> dict[int, int]:
    """Give the batch from which on a single query of a group rested, by its number."""
    return {
        each.query: each.batch
        for each in registry.suspensions.all()
        if each.group == group and each.query is not None and each.batch is not None
    }


def _rests_of(blocks: list[Block], rested: dict[int, int], versions: np.ndarray) -> list[Gap]:
    """Give the batches in which single queries of some blocks rested."""
    return [
        (rested[query], int(np.searchsorted(versions, dropped)))
        for block in blocks
        for query, dropped in zip(block.query.tolist(), block.dropped.tolist(), strict=True)
        if query in rested
    ]


def _refuse_expired(registry: Registry, log: ResultLog, step: Step) -> None:
    """Refuse what depends on rows that are no longer kept: all but filters of streams."""
    is_of_rows = step.made is None and not any(
        registry.catalog[name.lower()].keeps for name in step.relations
    )
    if (first := log.first()) and not is_of_rows:
        raise PenstockError(
            "VER-012",
            f"Rows before batch {first:,} are no longer kept, and answers depend on them.",
            "Verify before results expire, or KEEP ALL in a home that is recorded.",
        )


def _refuse_damaged(record: SubscriptionRecord, damaged: Collection[str]) -> None:
    for name in (*record.relations, record.group):
        if name in damaged:
            fact = f"The recorded files of {name} are damaged, so nothing can be compared."
            raise PenstockError("VER-004", fact, "Restore the home directory from a copy.")


def _failure(name: str, error: BaseException) -> PenstockError:
    fact = f"{name} could not be verified: {error!r}."
    return PenstockError("VER-011", fact, "Restore the home from a copy, or report this.")


def logged_batches(log: ResultLog) -> Iterator[LoggedBatch]:
    """Give all batches of a log; those that are no longer kept are empty."""
    first = log.first()
    # What is no longer kept ran under no version, as it were: nothing stood, nothing was found.
    yield from (LoggedBatch(number, 0, 0, 0, ()) for number in range(first))
    for number in range(first, log.newest() + 1):
        batch = log.read(number)
        if batch is None:
            raise PenstockError(
                "VER-002",
                f"Batch {number} is missing in the result log.",
                "Restore the home directory from a copy.",
            )
        yield batch
