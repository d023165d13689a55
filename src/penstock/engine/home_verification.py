"""Verification of a whole home: its files, its completeness, its answers, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from penstock.delivery.inspection import Inspected, Standing, inspect_log
from penstock.engine.completeness import Completeness, check_completeness
from penstock.engine.desk import Desk
from penstock.engine.losses import Losses
from penstock.engine.verification import verify
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.kinds.protocol import Progress
from penstock.operators.catalogue import figures_of
from penstock.registry.store import Registry
from penstock.vocabulary.batches import added
from penstock.vocabulary.counts import counted
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.findings import Finding
from penstock.vocabulary.losses import FAILED_OUTPUTS

State = Literal["equal", "different", "unverified"]


@dataclass(slots=True)
class Outcome:
    """What verification of a home checked and found.

    `state` is `different` if anything is wrong, `unverified` if nothing is and something could not
    be verified. `losses` are what the run counted as left out, by subscription or relation, then by
    name.
    """

    answers: list[SubscriptionOutcome] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    batches: int = 0
    first: int = 0
    """The first batch that is kept: what came before it is not verified."""
    files: int = 0
    rows: int = 0
    completeness: Completeness = field(default_factory=Completeness)
    losses: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """Say how it went."""
        if self.findings or any(answer.differs for answer in self.answers):
            return "different"
        return "unverified" if any(answer.failures for answer in self.answers) else "equal"

    def words(self) -> list[str]:
        """Say what was checked beside the matches."""
        read = sum(answer.read for answer in self.answers)
        gone = f"Verified from batch {self.first:,} on: those before it are no longer kept."
        return [
            *([gone] if self.first else []),
            f"{counted(self.batches, 'batch', 'batches')} in {counted(self.files, 'file')} and "
            f"{counted(self.rows, 'recorded row')} were checked against their manifests, "
            f"{counted(read, 'change')} as subscribers read them against their SELECT lists.",
            *self.completeness.words(),
        ]


def verify_home(desk: Desk, progress: Progress = lambda _name, _done, _all: None) -> Outcome:
    """Verify all of a recorded home: its files and its completeness, then its answers.

    Answers are compared only where the files are those that were written: a damaged one is named
    and not read. Where manifests are missing nobody can say what the answers are.
    """
    refuse_unrecorded(desk)
    found, inspected = inspect_home(desk)
    if inspected.is_readable:
        found.answers = verify(desk.registry, desk.log, progress, inspected.damaged)
        found.losses = _losses(desk, found.answers, range(inspected.first, inspected.newest + 1))
    return found


def refuse_unrecorded(desk: Desk) -> None:
    """Say that nothing can be asked of a home whose input was not kept."""
    if not desk.home.facts.get("record"):
        raise PenstockError(
            "VER-001",
            f"{desk.home.path} was not recorded, so its input cannot be asked again.",
            "Begin a new home with record=True, or run the script with --record in one.",
        )


def inspect_home(desk: Desk) -> tuple[Outcome, Inspected]:
    """Check the files of a recorded home and their completeness, without asking for answers."""
    registry, home = desk.registry, desk.home.path
    inspected = inspect_log(home / "results", standing_of(registry))
    found = Outcome(batches=inspected.batches, files=inspected.files)
    found.rows, found.first = sum(inspected.recorded.values()), inspected.first
    recorded = added([inspected.recorded, inspected.expired])
    found.completeness = check_completeness(
        home, inspected.newest, list(registry.declarations.values()), recorded
    )
    found.findings = [
        *announcement_findings(registry),
        *inspected.findings,
        *found.completeness.findings,
    ]
    return found, inspected


def standing_of(registry: Registry, is_recorded: bool = True) -> Standing:
    """Tell a log's inspection what the registry knows."""
    return Standing(
        version=registry.version,
        relations={each.name for each in registry.catalog.values()},
        groups={*registry.steps, *registry.let_go},
        strangers=registry.placed.strangers,
        is_recorded=is_recorded,
    )


def _losses(
    desk: Desk, answers: list[SubscriptionOutcome], batches: range
) -> dict[str, dict[str, int]]:
    """Add up what the run, as its manifests tell, and readers left out."""
    losses = Losses(lambda *_: None)
    for batch in batches:
        for _, told in desk.log.figures(batch, figures_of):
            losses.take_figures(told, batch)
    for answer in answers:
        if answer.failed_outputs:
            losses.add(answer.subscription, FAILED_OUTPUTS, answer.failed_outputs, batches.stop)
    return losses.told(desk.registry)


def announcement_findings(registry: Registry) -> list[Finding]:
    """Check that announcements say what they are called: Spark reads them as they are."""
    return [
        Finding("VER-004", path, "is no announcement of a version")
        for path in sorted(registry.announcements.iterdir())
        if not path.name.startswith(".") and not _announces(path, registry.version)
    ]


def _announces(path: Path, newest: int) -> bool:
    try:
        version = int(path.stem)
        said = path.read_bytes()
    except (OSError, ValueError):
        return False
    return path.suffix == ".txt" and version <= newest and said == b"%d\n" % version
