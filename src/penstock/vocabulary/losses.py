"""Losses: figures of what was left out, set aside or guessed. Whoever counts one, it is told.

A loss that an operator or a host counts stands in the run's summary, in `engine.figures().losses`,
on the display and in a notice, with no further code: declare it here and in the operator's
figures.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.vocabulary.figures import Figure


@dataclass(frozen=True, slots=True, eq=False)
class Loss(Figure):
    """One cause: the figure that counts it, and what to do about it.

    `help`, and `one` of a single one, follow the number: "3 rows came too late", "1 row came too
    late". Every group and every relation tells its losses by itself.
    """

    apart: bool = True
    one: str = ""
    remedy: str = ""

    def words(self, count: int) -> str:
        """Say it of a number.

        >>> UNKNOWN_DELETES.words(2)
        '2 deletes name rows that are not there.'
        """
        return f"1 {self.one}" if count == 1 else f"{count:,} {self.help}"


LATE_ROWS = Loss(
    "late_rows",
    "rows came later than the lateness of their streams allows and were left out.",
    "rows",
    one="row came later than the lateness of its stream allows and was left out.",
    remedy="Declare more: OPTIONS (lateness = '10 minutes').",
)
SHED_ROWS = Loss(
    "shed_rows",
    "rows were dropped because the query cannot keep up.",
    "rows",
    one="row was dropped because the query cannot keep up.",
    remedy="Give it more: OPTIONS (processors = n); or let it fall behind: shedding = 'off'.",
)
FUTURE_ROWS = Loss(
    "future_rows",
    "rows have event times more than a day ahead of now: rows behind them will be late.",
    "rows",
    one="row has an event time more than a day ahead of now: rows behind it will be late.",
    remedy="Repair the times where the rows are written.",
)
NULL_EVENT_TIMES = Loss(
    "null_event_times",
    "rows have no event time and can join nothing.",
    "rows",
    one="row has no event time and can join nothing.",
    remedy="Look why the column is NULL, or declare another as event_time.",
)
UNKNOWN_CHANGES = Loss(
    "unknown_changes",
    "changes have words that are not understood and were set aside.",
    "changes",
    one="change has a word that is not understood and was set aside.",
    remedy=(
        "Write insert, delete, update_before, update_after, or the words of Debezium, Delta, "
        "Flink or Hudi."
    ),
)
UPDATES_WITHOUT_KEY = Loss(
    "updates_without_key",
    "updates do not say which rows they replace and were set aside.",
    "changes",
    one="update does not say which row it replaces and was set aside.",
    remedy="Declare the key of the table: OPTIONS (key = '<column>').",
)
KEYLESS_CHANGES = Loss(
    "keyless_changes",
    "changes have NULL in their key or their sequence and were set aside.",
    "changes",
    one="change has NULL in its key or its sequence and was set aside.",
    remedy="Write both with every change.",
)
UNKNOWN_DELETES = Loss(
    "unknown_deletes",
    "deletes name rows that are not there.",
    "changes",
    one="delete names a row that is not there.",
    remedy="They wait for their rows. Look whether the inserts were read.",
)
FORGOTTEN_DELETES = Loss(
    "forgotten_deletes",
    "deletes waited for rows, or kept older rows of their keys out, and are forgotten.",
    "changes",
    one="delete waited for a row, or kept older rows of its key out, and is forgotten.",
    remedy="Look why so many deletes come before their rows; bring older files first.",
)
OLDER_CHANGES = Loss(
    "older_changes",
    "changes are older than what stands for their keys and were passed over.",
    "changes",
    one="change is older than what stands for its key and was passed over.",
    remedy="That is right if files may come late. If not, look at the sequence.",
)
TIED_CHANGES = Loss(
    "tied_changes",
    "changes have the key and the sequence of others; those that came last stand.",
    "changes",
    one="change has the key and the sequence of another; the one that came last stands.",
    remedy="Declare columns that tell them apart: OPTIONS (sequence = 'lsn, position').",
)
GUESSED_ORDER = Loss(
    "guessed_order",
    "changes of keys were put in order by a guess.",
    "changes",
    one="change of a key was put in order by a guess.",
    remedy="Declare the column that says what came first: OPTIONS (sequence = '<column>').",
)
CORRUPT_ROWS = Loss(
    "corrupt_rows",
    "lines do not parse and were set aside.",
    "lines",
    one="line does not parse and was set aside.",
    remedy="Read the lines in the column _corrupt.",
)
FAILED_CONDITIONS = Loss(
    "failed_conditions",
    "candidates were no match because a condition failed on their values.",
    "candidates",
    one="candidate was no match because a condition failed on its values.",
    remedy="Write TRY_CAST for CAST, or test the values before.",
)
FAILED_OUTPUTS = Loss(
    "failed_outputs",
    "outputs are NULL because their expressions failed on the values of their rows.",
    "values",
    one="output is NULL because its expression failed on the values of its row.",
    remedy="Write TRY_CAST for CAST, or test the values before.",
)
KEYS_WITHOUT_ROOM = Loss(
    "keys_without_room",
    "rows have keys for which there is no room and were left out.",
    "rows",
    one="row has a key for which there is no room and was left out.",
    remedy="Let each query read fewer keys: choose rows in WHERE, or by a stream of its own.",
)
FORGOTTEN_SEGMENTS = Loss(
    "forgotten_segments",
    "segments of models were forgotten before their time because there is no room for more.",
    "segments",
    one="segment of a model was forgotten before its time because there is no room for more.",
    remedy="Ask for a shorter HORIZON or SIZE, or for fewer keys.",
)
UNANSWERED_ROWS = Loss(
    "unanswered_rows",
    "rows came while the query was suspended and were not answered.",
    "rows",
    one="row came while the query was suspended and was not answered.",
    remedy="Simplify the query and register it anew, or try again: RESUME <subscription>.",
)

LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        LATE_ROWS,
        SHED_ROWS,
        FUTURE_ROWS,
        NULL_EVENT_TIMES,
        UNKNOWN_CHANGES,
        UPDATES_WITHOUT_KEY,
        KEYLESS_CHANGES,
        UNKNOWN_DELETES,
        FORGOTTEN_DELETES,
        OLDER_CHANGES,
        TIED_CHANGES,
        GUESSED_ORDER,
        CORRUPT_ROWS,
        FAILED_CONDITIONS,
        FAILED_OUTPUTS,
        KEYS_WITHOUT_ROOM,
        FORGOTTEN_SEGMENTS,
        UNANSWERED_ROWS,
    )
}
"""By name, in the order in which they are told."""
