"""Losses: counts of what was left out, set aside or guessed. Whoever counts one, it is told.

A count of an operator or a host that has one of these names stands in the run's summary, in
`engine.losses()`, on the display and in a notice, with no further code: add a line here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loss:
    """One cause: the name of its count, what happened to so many rows, and what to do.

    `one` and `many` follow the number: "1 row came too late", "3 rows came too late".
    """

    name: str
    one: str
    many: str
    remedy: str

    def words(self, count: int) -> str:
        """Say it of a number.

        >>> LOSSES["unknown_deletes"].words(2)
        '2 deletes name rows that are not there.'
        """
        return f"1 {self.one}" if count == 1 else f"{count:,} {self.many}"


FAILED_CONDITIONS = "failed_conditions"
FAILED_OUTPUTS = "failed_outputs"

LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss(
            "late_rows",
            "row came later than the lateness of its stream allows and was left out.",
            "rows came later than the lateness of their streams allows and were left out.",
            "Declare more: OPTIONS (lateness = '10 minutes').",
        ),
        Loss(
            "shed_rows",
            "row was dropped because the query cannot keep up.",
            "rows were dropped because the query cannot keep up.",
            "Give it more: OPTIONS (processors = n); or let it fall behind: shedding = 'off'.",
        ),
        Loss(
            "future_rows",
            "row has an event time more than a day ahead of now: rows behind it will be late.",
            "rows have event times more than a day ahead of now: rows behind them will be late.",
            "Repair the times where the rows are written.",
        ),
        Loss(
            "null_event_times",
            "row has no event time and can join nothing.",
            "rows have no event time and can join nothing.",
            "Look why the column is NULL, or declare another as event_time.",
        ),
        Loss(
            "unknown_changes",
            "change has a word that is not understood and was set aside.",
            "changes have words that are not understood and were set aside.",
            "Write insert, delete, update_before, update_after, or the words of Debezium, Delta, "
            "Flink or Hudi.",
        ),
        Loss(
            "updates_without_key",
            "update does not say which row it replaces and was set aside.",
            "updates do not say which rows they replace and were set aside.",
            "Declare the key of the table: OPTIONS (key = '<column>').",
        ),
        Loss(
            "keyless_changes",
            "change has NULL in its key or its sequence and was set aside.",
            "changes have NULL in their key or their sequence and were set aside.",
            "Write both with every change.",
        ),
        Loss(
            "unknown_deletes",
            "delete names a row that is not there.",
            "deletes name rows that are not there.",
            "They wait for their rows. Look whether the inserts were read.",
        ),
        Loss(
            "forgotten_deletes",
            "delete waited for a row, or kept older rows of its key out, and is forgotten.",
            "deletes waited for rows, or kept older rows of their keys out, and are forgotten.",
            "Look why so many deletes come before their rows; bring older files first.",
        ),
        Loss(
            "older_changes",
            "change is older than what stands for its key and was passed over.",
            "changes are older than what stands for their keys and were passed over.",
            "That is right if files may come late. If not, look at the sequence.",
        ),
        Loss(
            "tied_changes",
            "change has the key and the sequence of another; the one that came last stands.",
            "changes have the key and the sequence of others; those that came last stand.",
            "Declare columns that tell them apart: OPTIONS (sequence = 'lsn, position').",
        ),
        Loss(
            "guessed_order",
            "change of a key was put in order by a guess.",
            "changes of keys were put in order by a guess.",
            "Declare the column that says what came first: OPTIONS (sequence = '<column>').",
        ),
        Loss(
            "corrupt_rows",
            "line does not parse and was set aside.",
            "lines do not parse and were set aside.",
            "Read the lines in the column _corrupt.",
        ),
        Loss(
            FAILED_CONDITIONS,
            "candidate was no match because a condition failed on its values.",
            "candidates were no match because a condition failed on their values.",
            "Write TRY_CAST for CAST, or test the values before.",
        ),
        Loss(
            FAILED_OUTPUTS,
            "output is NULL because its expression failed on the values of its row.",
            "outputs are NULL because their expressions failed on the values of their rows.",
            "Write TRY_CAST for CAST, or test the values before.",
        ),
    )
}
"""By name, in the order in which they are told."""
