"""What operators keep, brought over at the end of a migration: their bytes, or what can be had.

Operators of today read what they kept in format 3, under their groups' new names. What they kept
in format 2 they do not: it is built again from what was recorded, or carried over in part.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from penstock.algebra.physical import Step
from penstock.delivery.log import ResultLog
from penstock.engine.migration.formats import FORMAT, GroupNames, Tell, followed
from penstock.engine.migration.stored_names import TOLD_EVERY
from penstock.operators.catalogue import OPERATORS
from penstock.registry.store import Registry
from penstock.registry.versions import RegistryReader
from penstock.spark.older_state import begins_anew, carried, renamed, replayed
from penstock.storage.files import write_json
from penstock.storage.seals import sealed
from penstock.storage.state import OLDER, BatchState, StateLog, read_older
from penstock.vocabulary.errors import PenstockError

READ_FROM = 3
"""Operators read what they kept in this format and later."""
ERA_STEPS = 1 << 32
"""Steps of Spark's state store begin anew, so far apart, with every format."""


def bring_over(
    home: Path, facts: dict[str, Any], begun: int, names: GroupNames, tell: Tell
) -> list[str]:
    """Bring what operators keep from the format `begun` to this one; tell what begins anew."""
    newest = ResultLog(home / "results").newest()
    is_recorded = bool(facts.get("record"))
    if newest < 0:
        return []
    if facts.get("host") == "cluster":
        # The state lies in Spark's own store: shards bring theirs over in their next batch.
        _note_older(home / OLDER, begun, names)
    elif begun >= READ_FROM:
        _rename_state(home, newest, names)
        tell("State: carried over.")
    else:
        _rebuild_state(home, is_recorded, newest, names, tell)
    if begun >= READ_FROM:
        return []
    return _lost(Registry(home / "registry", read_only=True), is_recorded)


def _note_older(file: Path, begun: int, names: GroupNames) -> None:
    """Note what states are in Spark's store, and what their groups are called since."""
    known = read_older(file) if file.exists() else {"eras": []}
    eras = known.get("eras")
    if eras is None:  # of format 3: a home that was of format 2 before
        eras = [_era(known["format"], known["names"])]
    eras = [{**era, "names": followed(era["names"], names)} for era in eras]
    if all(era["below"] != _end(begun) for era in eras):
        eras.append(_era(begun, names))
    write_json(file, sealed({"begins": _end(FORMAT - 1), "eras": eras}))


def _era(format_: int, names: GroupNames) -> dict[str, Any]:
    return {"below": _end(format_), "read": format_ >= READ_FROM, "names": names}


def _end(format_: int) -> int:
    """Give the step below which the states of a format lie."""
    return (format_ - 1) * ERA_STEPS


def _rename_state(home: Path, newest: int, names: GroupNames) -> None:
    log, root = ResultLog(home / "results"), home / "state"
    states = StateLog(root)
    for batch in sorted(int(path.stem) for path in root.glob("[0-9]*.arrow")):
        if batch <= newest:
            seal = states.write(_renamed_state(states.load(batch), names))
            noted = log.noted(batch)
            if noted is not None and "state" in noted:
                write_json(log.manifest(batch), sealed({**noted, "state": seal}))


def _renamed_state(state: BatchState, names: GroupNames) -> BatchState:
    groups = {names.get(group, group): renamed(own, names) for group, own in state.groups.items()}
    return BatchState(state.batch, state.version, groups, state.whole)


def _rebuild_state(
    home: Path, is_recorded: bool, newest: int, names: GroupNames, tell: Tell
) -> None:
    """Leave one state behind the newest batch, whole and in this format."""
    feed = RegistryReader(home / "registry")
    if is_recorded:
        catalog = Registry(home / "registry", read_only=True).catalog
        schemas = {each.name: each.recorded for each in catalog.values()}

        def said(done: int, batches: int) -> None:
            if done % TOLD_EVERY == 0 or done == batches:
                tell(f"State, from recorded events: {done:,} of {batches:,} batches.")

        shard = replayed(feed, ResultLog(home / "results"), schemas, newest + 1, tell=said)
    else:
        states = [_renamed_state(each, names) for each in StateLog(home / "state").read(newest)]
        shard = carried(feed, states)
        tell("State: carried over.")
    shutil.rmtree(home / "state", ignore_errors=True)
    StateLog(home / "state").write(BatchState(newest, shard.version, shard.snapshots(), whole=True))


def _lost(registry: Registry, is_recorded: bool) -> list[str]:
    """Say of which groups the state begins anew."""
    steps: dict[str, Step] = {
        group: OPERATORS[described["kind"]].step_from_json(described)
        for group, described in registry.steps.items()
    }
    groups = sorted(group for group, step in steps.items() if begins_anew(step, is_recorded))
    if not groups:
        return []
    what = (
        "their caches are empty, and rows that waited for a database are gone"
        if is_recorded
        else "their windows are empty, and rows from before are not joined with new ones"
    )
    fact = f"What {', '.join(groups)} kept could not be brought over: {what}."
    remedy = "Nothing need be done; if you need those rows, let their sources send them again."
    return [str(PenstockError("ENG-053", fact, remedy))]
