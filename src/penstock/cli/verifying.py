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
from penstock.engine.home_verification import Outcome, State, verify_home
from penstock.engine.losses import loss_words
from penstock.engine.verification import verify
from penstock.kinds.protocol import Progress
from penstock.kinds.verdicts import Verdict
from penstock.vocabulary.errors import PenstockError

FINDINGS_SHOWN = 20


def verify_target(target: Path, home: Path | None, screen: Screen) -> State:
    """Verify a home, named itself or by its script; say how it went."""
    place = target if target.is_dir() and home is None else home_of(target, home)
    desk = Desk(existing_home(place))
    try:
        if not desk.home.facts.get("record"):
            raise PenstockError(
                "VER-001",
                f"{place} was not recorded, so its input cannot be asked again.",
                "Run the script with --record in a new home.",
            )
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
        for number in range(super().newest() + 1):
            batch = self.read(number)
            if batch is None or (self.rows and self.rows + batch.rows_in > rows_max):
                break
            self.rows += batch.rows_in
            self._last = number

    def newest(self) -> int:
        """Give the number of the last batch that belongs to the beginning."""
        return self._last


def verify_desk(desk: Desk, screen: Screen, log: ResultLog) -> list[Verdict]:
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
        **verdict_facts(outcome.verdicts),
        "equal": outcome.state == "equal",
        "state": outcome.state,
        "batches": outcome.batches,
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
    """Print what was checked, what was left out, and what is wrong; the verdict comes last."""

    def say(words: str) -> None:
        screen.out.print(words, markup=False, highlight=False, soft_wrap=True)

    for words in (*outcome.words(), *loss_words(outcome.losses)):
        say(words)
    for finding in outcome.findings[:FINDINGS_SHOWN]:
        say(str(finding))
    if len(outcome.findings) > FINDINGS_SHOWN:
        say(f"… and {len(outcome.findings) - FINDINGS_SHOWN:,} more; --json lists them all.")
    if outcome.verdicts or not outcome.findings:
        show_verdicts(outcome.verdicts, screen, whole=not outcome.findings)
    if outcome.findings:
        words = "files are not what was written, or not complete"
        screen.out.print(f"[bold red]Different[/]: {words}. Restore the home from a copy.")


def verdict_facts(verdicts: list[Verdict]) -> dict[str, Any]:
    """Give verdicts for machines."""
    return {
        "equal": all(verdict.equal for verdict in verdicts),
        "full": not any(verdict.is_shed for verdict in verdicts),
        "subscriptions": [
            {
                "name": verdict.subscription,
                "queries": verdict.queries,
                "expected": verdict.expected,
                "found": verdict.found,
                "missing": verdict.missing,
                "surplus": verdict.surplus,
                "net": verdict.net,
                "recall": verdict.recall if verdict.is_bounded else None,
                "recall_estimate": verdict.estimate,
                "late": verdict.late,
                "waiting": verdict.waiting,
                "outputs": verdict.outputs,
                "read": verdict.read,
                "misread": verdict.misread,
                "failures": [str(failure) for failure in verdict.failures],
                "full": verdict.full,
                "full_found": verdict.full_found if verdict.is_shed else None,
                "examples": verdict.examples,
            }
            for verdict in verdicts
        ],
    }


def show_verdicts(verdicts: list[Verdict], screen: Screen, whole: bool = True) -> None:
    """Print verdicts as a table, and examples of what differs.

    The last line says that all is well only if the log is `whole`.
    """
    table = Table(title="Penstock's matches against DuckDB's", title_justify="left")
    table.add_column("subscription", overflow="fold")
    for name in ("queries", "expected", "found", "missing", "surplus", "misread"):
        table.add_column(name, justify="right")
    table.add_column("")
    for verdict in verdicts:
        counts = (
            verdict.queries,
            verdict.expected,
            verdict.found,
            verdict.missing,
            verdict.surplus,
            verdict.misread,
        )
        entire = not verdict.missing and not verdict.is_shed
        mark = "[green]equal[/]" if entire else "[green]a part[/]"
        mark = "[bold red]not verified[/]" if verdict.failures else mark
        mark = "[bold red]different[/]" if verdict.differs else mark
        table.add_row(verdict.subscription, *(f"{count:,}" for count in counts), mark)
    screen.out.print(table)
    for verdict in verdicts:
        for example in verdict.examples if not verdict.equal else ():
            screen.out.print(f"{verdict.subscription}: {example}", markup=False)
        for failure in verdict.failures:
            screen.out.print(f"{verdict.subscription}: {failure}", markup=False, soft_wrap=True)
    for words in filter(None, map(part_words, verdicts)):
        screen.out.print(words, markup=False, soft_wrap=True)
    if any(verdict.net for verdict in verdicts):
        words = "Changes that cancel out within a micro-batch are not counted."
        screen.out.print(f"[dim]{words}[/]")
    _conclude(verdicts, screen, whole)


def _conclude(verdicts: list[Verdict], screen: Screen, whole: bool) -> None:
    expected = sum(verdict.expected for verdict in verdicts)
    if any(verdict.differs for verdict in verdicts):
        screen.out.print("[bold red]Different[/]: please report this with the home directory.")
    elif whole and any(verdict.failures for verdict in verdicts):
        screen.out.print("[bold red]Not verified[/]: nothing else differs.")
    elif whole and any(verdict.is_shed for verdict in verdicts):
        words = f"DuckDB finds the same {expected:,} matches in the rows that were not dropped."
        screen.out.print(f"[yellow]Not the full answer[/]: {words}")
    elif whole and any(verdict.missing for verdict in verdicts):
        found = sum(verdict.found for verdict in verdicts)
        words = f"DuckDB finds {expected:,} matches; the {found:,} here are among them, once each."
        screen.out.print(f"[green]Right[/]: {words}")
    elif whole:
        screen.out.print(
            f"[green]Equal[/]: DuckDB finds the same {expected:,} matches, no fewer, no more."
        )


def part_words(verdict: Verdict) -> str:
    """Say why matches may be missing, and how many are.

    >>> part_words(Verdict("pairs", expected=80, missing=20, is_bounded=True, estimate=0.74))
    'pairs: within its memory it kept 75.0 % of the results; it had estimated 74.0 %.'
    >>> part_words(Verdict("pairs", expected=80))
    ''
    >>> print(part_words(Verdict("pairs", found=91, full=100, full_found=52)))
    pairs: rows were dropped. It emitted 91 rows; the full answer has 100, and 52 of them (52.0 %) \
are among those.
    >>> part_words(Verdict("pairs", expected=80, late=3))
    'pairs: Without 3 rows that came too late.'
    """
    late = f" Without {verdict.late:,} rows that came too late." if verdict.late else ""
    if verdict.full is not None:
        share = 100 * verdict.full_found / verdict.full if verdict.full else 100.0
        return (
            f"{verdict.subscription}: rows were dropped. It emitted {verdict.found:,} rows; the "
            f"full answer has {verdict.full:,}, and {verdict.full_found:,} of them ({share:.1f} %) "
            f"are among those.{late}"
        )
    if verdict.waiting:
        rows = "1 row waits" if verdict.waiting == 1 else f"{verdict.waiting:,} rows wait"
        return f"{verdict.subscription}: {rows} for the database; nothing is lost."
    if not verdict.is_bounded or verdict.recall is None:
        return f"{verdict.subscription}:{late}" if late else ""
    estimate = verdict.estimate
    told = f"; it had estimated {100 * estimate:.1f} %" if estimate is not None else ""
    if told and verdict.shares_memory:
        told += " of all joins that share it"
    return (
        f"{verdict.subscription}: within its memory it kept {100 * verdict.recall:.1f} % of the "
        f"results{told}.{late}"
    )
