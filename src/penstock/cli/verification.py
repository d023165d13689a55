"""`penstock verify`: the recorded input, asked again of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.table import Table

from penstock.cli.screen import Screen
from penstock.cli.scripts import existing_home, home_of
from penstock.delivery.log import ResultLog
from penstock.engine import Desk
from penstock.engine.home_verification import Outcome, State, refuse_unrecorded, verify_home
from penstock.engine.losses import loss_words
from penstock.engine.verification import verify
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.kinds.protocol import Progress
from penstock.vocabulary.counts import counted

FINDINGS_SHOWN = 20


def verify_target(target: Path, home: Path | None, screen: Screen) -> State:
    """Verify a home, named itself or by its script; say how it went."""
    place = target if target.is_dir() and home is None else home_of(target, home)
    desk = Desk(existing_home(place))
    try:
        refuse_unrecorded(desk)  # before it is said that anything is asked
        with _advancing(desk, screen) as advance:
            outcome = verify_home(desk, advance)
    finally:
        desk.close()
    if screen.as_json:
        screen.result({"home": str(place), **outcome_facts(outcome)})
    else:
        show_outcome(outcome, screen)
    return outcome.state


class Beginning(ResultLog):
    """The first batches of a log: a whole log on its own, as far as verification can tell."""

    def __init__(self, root: Path, rows_max: int) -> None:
        super().__init__(root)
        self.rows = 0
        self._last = -1
        for number in range(self.first(), super().newest() + 1):
            batch = self.read(number)
            if batch is None or (self.rows and self.rows + batch.rows_in > rows_max):
                break
            self.rows += batch.rows_in
            self._last = number

    def newest(self) -> int:
        """Give the number of the last batch that belongs to the beginning."""
        return self._last


def verify_desk(desk: Desk, screen: Screen, log: ResultLog) -> list[SubscriptionOutcome]:
    """Verify the part of an open home's log that is given, behind a progress bar."""
    with _advancing(desk, screen) as advance:
        return verify(desk.registry, log, advance)


@contextmanager
def _advancing(desk: Desk, screen: Screen) -> Iterator[Progress]:
    """Show a progress bar over the subscriptions of a home."""
    names = desk.registry.names()
    with screen.bar("Asking DuckDB the same questions") as bar:
        task = bar.add_task("Asking DuckDB", total=float(len(names) or 1))

        def advance(name: str, done: int, total: int) -> None:
            place = names.index(name) + done / total
            bar.update(task, completed=place, description=f"Asking DuckDB: {name}")

        yield advance


def outcome_facts(outcome: Outcome) -> dict[str, Any]:
    """Give an outcome for machines."""
    completeness = outcome.completeness
    return {
        **answer_facts(outcome.answers),
        "equal": outcome.state == "equal",
        "state": outcome.state,
        "batches": outcome.batches,
        "first_batch": outcome.first,
        "files": outcome.files,
        "rows": outcome.rows,
        "committed": completeness.committed,
        "input_rows_counted": completeness.counted,
        "input_rows_not_counted": completeness.uncounted,
        "findings": [
            {"code": each.code, "file": str(each.file), "fact": each.fact}
            for each in outcome.findings
        ],
        "losses": outcome.losses,
    }


def show_outcome(outcome: Outcome, screen: Screen) -> None:
    """Print what was checked, what was left out, and what is wrong; the outcome comes last."""

    def say(words: str) -> None:
        screen.out.print(words, markup=False, highlight=False, soft_wrap=True)

    for words in (*outcome.words(), *loss_words(outcome.losses)):
        say(words)
    for finding in outcome.findings[:FINDINGS_SHOWN]:
        say(str(finding))
    if len(outcome.findings) > FINDINGS_SHOWN:
        say(f"… and {len(outcome.findings) - FINDINGS_SHOWN:,} more; --json lists them all.")
    if outcome.answers or not outcome.findings:
        show_outcomes(outcome.answers, screen, whole=not outcome.findings)
    if outcome.findings:
        words = "files are not what was written, or not complete"
        screen.out.print(f"[bold red]Different[/]: {words}. Restore the home from a copy.")


def answer_facts(answers: list[SubscriptionOutcome]) -> dict[str, Any]:
    """Give outcomes for machines."""
    return {
        "equal": all(answer.equal for answer in answers),
        "full": not any(answer.is_shed for answer in answers),
        "subscriptions": [
            {
                "name": answer.subscription,
                "queries": answer.queries,
                "expected": answer.expected,
                "found": answer.found,
                "missing": answer.missing,
                "surplus": answer.surplus,
                "net": answer.net,
                "recall": answer.recall if answer.is_bounded else None,
                "recall_estimate": answer.estimate,
                "late": answer.late,
                "waiting": answer.waiting,
                "outputs": answer.outputs,
                "read": answer.read,
                "misread": answer.misread,
                "suspended": [list(gap) for gap in answer.suspended],
                "failures": [str(failure) for failure in answer.failures],
                "full": answer.full,
                "full_found": answer.full_found if answer.is_shed else None,
                "examples": answer.examples,
                "remarks": answer.remarks,
            }
            for answer in answers
        ],
    }


def show_outcomes(answers: list[SubscriptionOutcome], screen: Screen, whole: bool = True) -> None:
    """Print outcomes as a table, and examples of what differs.

    The last line says that all is well only if the log is `whole`.
    """
    table = Table(title="Penstock's matches against DuckDB's", title_justify="left")
    table.add_column("subscription", overflow="fold")
    for name in ("queries", "expected", "found", "missing", "surplus", "misread"):
        table.add_column(name, justify="right")
    table.add_column("")
    for answer in answers:
        counts = (
            answer.queries,
            answer.expected,
            answer.found,
            answer.missing,
            answer.surplus,
            answer.misread,
        )
        entire = not answer.missing and not answer.is_shed
        mark = "[green]equal[/]" if entire else "[green]a part[/]"
        mark = "[bold red]not verified[/]" if answer.failures else mark
        mark = "[bold red]different[/]" if answer.differs else mark
        table.add_row(answer.subscription, *(f"{count:,}" for count in counts), mark)
    screen.out.print(table)
    for answer in answers:
        for example in answer.examples if not answer.equal else ():
            screen.out.print(f"{answer.subscription}: {example}", markup=False)
        for first, last in answer.suspended:
            batches = counted(last - first, "batch", "batches")
            words = f"suspended from batch {first:,} on, and not asked in {batches}."
            screen.out.print(f"{answer.subscription}: {words}", markup=False, soft_wrap=True)
        for words in (*map(str, answer.failures), *answer.remarks):
            screen.out.print(f"{answer.subscription}: {words}", markup=False, soft_wrap=True)
    for words in filter(None, map(part_words, answers)):
        screen.out.print(words, markup=False, soft_wrap=True)
    if any(answer.net for answer in answers):
        words = "Changes that cancel out within a micro-batch are not counted."
        screen.out.print(f"[dim]{words}[/]")
    _conclude(answers, screen, whole)


def _conclude(answers: list[SubscriptionOutcome], screen: Screen, whole: bool) -> None:
    matches = counted(sum(answer.expected for answer in answers), "match", "matches")
    if any(answer.differs for answer in answers):
        screen.out.print("[bold red]Different[/]: please report this with the home directory.")
    elif whole and any(answer.failures for answer in answers):
        screen.out.print("[bold red]Not verified[/]: nothing else differs.")
    elif whole and any(answer.is_shed for answer in answers):
        words = f"DuckDB finds the same {matches} in the rows that were not dropped."
        screen.out.print(f"[yellow]Not the full answer[/]: {words}")
    elif whole and any(answer.missing for answer in answers):
        found = sum(answer.found for answer in answers)
        here = counted(found, "is here, and is", "are here, and are")
        words = f"DuckDB finds {matches}; {here} among them, once each."
        screen.out.print(f"[green]Right[/]: {words}")
    elif whole and any(answer.remarks for answer in answers):
        words = "DuckDB finds nothing beyond what queries allow; what was compared stands above."
        screen.out.print(f"[green]Right[/]: {words}")
    elif whole:
        screen.out.print(f"[green]Equal[/]: DuckDB finds the same {matches}, no fewer, no more.")


def part_words(answer: SubscriptionOutcome) -> str:
    """Say why matches may be missing, and how many are.

    >>> part = SubscriptionOutcome("pairs", expected=80, missing=20)
    >>> part.is_bounded, part.estimate = True, 0.74
    >>> part_words(part)
    'pairs: within its memory it kept 75.0 % of the results; it had estimated 74.0 %.'
    >>> part_words(SubscriptionOutcome("pairs", expected=80))
    ''
    >>> print(part_words(SubscriptionOutcome("pairs", found=91, full=100, full_found=52)))
    pairs: rows were dropped. It emitted 91 rows; the full answer has 100, and 52 of them (52.0 %) \
are among those.
    >>> part_words(SubscriptionOutcome("pairs", expected=80, late=3))
    'pairs: Without 3 rows that came too late.'
    """
    late = f" Without {counted(answer.late, 'row')} that came too late." if answer.late else ""
    if answer.full is not None:
        emitted = counted(answer.found, "row")
        share = 100 * answer.full_found / answer.full if answer.full else 100.0
        return (
            f"{answer.subscription}: rows were dropped. It emitted {emitted}; the "
            f"full answer has {answer.full:,}, and {answer.full_found:,} of them ({share:.1f} %) "
            f"are among those.{late}"
        )
    if answer.waiting:
        rows = counted(answer.waiting, "row waits", "rows wait")
        return f"{answer.subscription}: {rows} for the database; nothing is lost."
    if not answer.is_bounded or answer.recall is None:
        return f"{answer.subscription}:{late}" if late else ""
    estimate = answer.estimate
    told = f"; it had estimated {100 * estimate:.1f} %" if estimate is not None else ""
    return (
        f"{answer.subscription}: within its memory it kept {100 * answer.recall:.1f} % of the "
        f"results{told}.{late}"
    )
