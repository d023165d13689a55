"""Check and repair of a home: all its files held against their seals, and what can be mended.

Nothing is changed by a check. A repair copies what it will change beside the home first, does only
what loses nothing, and says what it did and what it could not do.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from penstock.delivery.cursors import Cursors
from penstock.delivery.inspection import inspect_log
from penstock.engine.desk import Desk
from penstock.engine.home import in_use, user_of_home
from penstock.engine.home_verification import announcement_findings, standing_of
from penstock.engine.upkeep import SETTING
from penstock.kinds.table import KINDS
from penstock.registry.versions import directory_name, numbered, whole_manifest
from penstock.spark.checkpoints import committed_batches
from penstock.spark.provenance import Provenance
from penstock.spark.restoration import Flaw, examine_checkpoint
from penstock.spark.state_stores import examine_stores
from penstock.storage.disk import remove
from penstock.storage.editions import edition_finding, witness_of
from penstock.storage.files import read_json, write_file
from penstock.storage.seals import Seal, unsealed
from penstock.storage.state import OLDER, StateLog, read_older
from penstock.storage.suspensions import Suspensions
from penstock.storage.transcripts import Transcripts
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.findings import Finding

FROM_A_COPY = "Restore the home from a copy, or begin a new one."
STATISTICS = "statistics.json"
TOKENS = "server/tokens"
MENDED = ("checkpoint", "registry/announcements", STATISTICS, witness_of(Path(STATISTICS)).name)
"""What a repair may change."""


@dataclass(slots=True)
class HomeCheck:
    """What a check looked at, and what is wrong."""

    batches: int = 0
    files: int = 0
    flaws: list[Flaw] = field(default_factory=list)


@dataclass(slots=True)
class HomeRepair:
    """What a repair did, what it could not do, and where what it changed was copied to."""

    done: list[Flaw] = field(default_factory=list)
    left: list[Flaw] = field(default_factory=list)
    copy: Path | None = None


def check_home(path: Path) -> HomeCheck:
    """Check every file of a home that nobody runs."""
    found = HomeCheck()
    if (owner := user_of_home(path)) is not None:
        raise in_use(path, str(owner or "another process"))
    try:
        desk = Desk(path, read_only=True)
    except PenstockError as error:
        if error.code in {"ENG-007", "ENG-056", "ENG-057"}:
            raise
        # The error names the file; without a registry nobody can say what else is right.
        flaw = _refused(error, path)
        if error.code == "ENG-038":  # all that is in there is measured anew
            flaw = Flaw(flaw.finding, "is removed", lambda: _remove_statistics(path))
        found.flaws.append(flaw)
        return found
    try:
        return _checked(desk, found)
    finally:
        desk.close()


def _checked(desk: Desk, found: HomeCheck) -> HomeCheck:
    home = desk.home.path
    found.flaws += [*_announcements(desk), *_version_flaws(desk)]
    is_recorded = bool(desk.home.facts.get("record"))
    inspected = inspect_log(home / "results", standing_of(desk.registry, is_recorded))
    found.batches, found.files = inspected.batches, inspected.files
    found.flaws += [Flaw(finding, FROM_A_COPY) for finding in inspected.findings]
    for look in LOOKS:
        try:
            found.flaws += look(desk)
        except PenstockError as error:
            found.flaws.append(_refused(error, home))
    return found


def repair_home(path: Path) -> HomeRepair:
    """Mend what can be mended without losing anything, after a copy of what is changed."""
    found, done = check_home(path), HomeRepair()
    mendable = [flaw for flaw in found.flaws if flaw.mend is not None]
    done.left = [flaw for flaw in found.flaws if flaw.mend is None]
    if not mendable:
        return done
    names = (path.with_name(f"{path.name}.before-repair-{n}") for n in range(1, 1_000))
    done.copy = next(name for name in names if not name.exists())
    for place in MENDED:
        if (path / place).is_dir():
            shutil.copytree(path / place, done.copy / place)
        elif (path / place).exists():
            done.copy.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path / place, done.copy / place)
    for flaw in mendable:
        assert flaw.mend is not None
        flaw.mend()
        done.done.append(flaw)
    return done


def _refused(error: PenstockError, home: Path) -> Flaw:
    """Say of a whole home what an error says of one of its files."""
    fact = error.fact.removesuffix(".")
    return Flaw(Finding(error.code, home, f"is not whole: {fact}"), error.remedy)


def _version_flaws(desk: Desk) -> Iterator[Flaw]:
    """Read the versions that opening does not read: lagging shards may."""
    for place in ("versions", "bases"):
        root = desk.home.path / "registry" / place
        for version in numbered(root):
            try:
                whole_manifest(root / directory_name(version))
            except PenstockError as error:
                yield _refused(error, desk.home.path)


def _announcements(desk: Desk) -> Iterator[Flaw]:
    for finding in announcement_findings(desk.registry):
        file = finding.file

        def mend(file: Path = file) -> None:
            write_file(file, b"%d\n" % int(file.stem))

        ours = file.suffix == ".txt" and file.stem.isdecimal()
        ours = ours and int(file.stem) <= desk.registry.version
        remedy = "is written again" if ours else "Remove it: no version is called so."
        yield Flaw(finding, remedy, mend if ours else None)


def _state_flaws(desk: Desk) -> list[Flaw]:
    """Read the state from which an embedded engine would go on, and what it keeps in files."""
    newest: dict[str, bytes] = {}
    if desk.home.facts.get("host") == "embedded" and desk.log.newest() >= 0:

        def seal(batch: int) -> Seal | None:
            return (desk.log.noted(batch) or {}).get("state")

        for state in StateLog(desk.home.path / "state").read(desk.log.newest(), seal):
            newest |= state.groups
    return [
        Flaw(
            Finding("VIEW-012", file, fact),
            f"Restore the home from a copy, or drop the view {name} and create it anew.",
        )
        for name, (file, fact) in desk.kept.examine(desk.log, newest)
    ]


def _token_flaws(desk: Desk) -> list[Flaw]:
    """Read the files of access tokens."""
    flaws = []
    for file in sorted((desk.home.path / TOKENS).glob("*.json")):
        try:
            if unsealed(read_json(file)).get("id") == file.stem:
                continue
            fact = "is of another access token"
        except ValueError as error:
            fact = f"is not as it was written: {error}"
        remedy = "Revoke that token by removing the file, and make another."
        flaws.append(Flaw(Finding("SRV-017", file, fact), remedy))
    return flaws


def _kept_flaws(desk: Desk) -> list[Flaw]:
    """Read what kinds of queries keep beside what stands."""
    found = (each for kind in KINDS.values() for each in kind.inspect(desk.home.path))
    return [Flaw(finding, remedy) for finding, remedy in found]


def _transcript_flaws(desk: Desk) -> list[Flaw]:
    """Read what shards that ask a database left of their last batches."""
    home = desk.home.path
    if (home / OLDER).exists():
        read_older(home / OLDER)
    transcripts, flaws = Transcripts(home / "transcripts"), []
    for shard, batch, attempt in transcripts.all():
        manifest = desk.log.noted(batch)
        came = None if manifest is None else Provenance.from_manifest(manifest)
        try:
            offsets = None if came is None else came.told_sources
            transcripts.read(shard, batch, offsets, attempt)
        except PenstockError as error:
            flaws.append(_refused(error, home))
    return flaws


def _suspension_flaws(desk: Desk) -> list[Flaw]:
    """Hold which groups rest against those that rested in the newest batch."""
    files = Suspensions(desk.home.path / "registry")
    manifest = desk.log.noted(desk.log.newest()) or {}
    if "suspended" not in manifest:  # of a Penstock that did not note it
        files.all()
        return []
    batch = manifest["batch"]
    noted, found = set(manifest["suspended"]), set(files.at(batch, manifest["version"]))
    told = {
        **dict.fromkeys(noted - found, f"is missing or older: it rested in batch {batch:,}"),
        **dict.fromkeys(found - noted, f"is older: the group did not rest in batch {batch:,}"),
    }
    return [
        Flaw(Finding("REG-022", files.root / f"*-{group}.json", fact), FROM_A_COPY)
        for group, fact in sorted(told.items())
    ]


def _cursor_flaws(desk: Desk) -> list[Flaw]:
    """Read how far sinks have read, and whether that was the last word."""
    cursors = Cursors(desk.home.path / "sinks")
    cursors.tokens()
    found = edition_finding(cursors.path)
    if found is None and cursors.is_missing:
        found = cursors.path, "is missing, though sinks were fed"
    if found is None:
        return []
    remedy = "Restore it from a copy, or remove the directory: sinks are fed again from the "
    remedy += "beginning, with the tokens that they know."
    return [Flaw(Finding("DEL-007", *found), remedy)]


def _retention_flaws(desk: Desk) -> list[Flaw]:
    """Read what KEEP said last."""
    _ = desk.upkeep.limits
    found = edition_finding(desk.home.path / SETTING)
    remedy = "Say KEEP again."
    return [] if found is None else [Flaw(Finding("ENG-064", *found), remedy)]


def _statistics_flaws(desk: Desk) -> list[Flaw]:
    """Say whether what was measured is what was measured last."""
    home = desk.home.path
    found = edition_finding(home / STATISTICS)
    if found is None:
        return []
    remedy = "is removed: all is measured anew"
    return [Flaw(Finding("ENG-038", *found), remedy, lambda: _remove_statistics(home))]


def _remove_statistics(home: Path) -> None:
    remove(home / STATISTICS)
    remove(witness_of(home / STATISTICS))


def _checkpoint_flaws(desk: Desk) -> list[Flaw]:
    home = desk.home
    if home.facts.get("host") is None:
        return []
    flaws = examine_checkpoint(home.path / "checkpoint", desk.log)
    if home.facts["host"] == "cluster":
        # The state of a cluster's shards lies in the checkpoint, and nowhere else.
        flaws = [f if f.is_usual else Flaw(f.finding, FROM_A_COPY, None, False) for f in flaws]
        checkpoint = home.path / "checkpoint"
        for batch in committed_batches(checkpoint)[-1:]:
            found = examine_stores(checkpoint, batch, desk.log)
            flaws += [Flaw(finding, FROM_A_COPY, None, False) for finding in found]
    return flaws


LOOKS = (
    _state_flaws, _checkpoint_flaws, _transcript_flaws, _suspension_flaws, _cursor_flaws,
    _retention_flaws, _statistics_flaws, _token_flaws, _kept_flaws,
)  # fmt: skip
