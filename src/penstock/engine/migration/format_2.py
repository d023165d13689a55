"""Format 2 becomes 3: seals in manifests, clocks of streams, resolved changes of tables.

- Manifests name the size and checksum of every file, and seal themselves.
- The event time of a stream is followed from its declaration on, by a step of its own.
- Steps say more of a shape, and a group is called by its shape: groups get their new names.
- What filters on a table matched is a section of its own, beside the changes as they were written.
- Operators keep other state: it is built again from what was recorded, or carried over.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.algebra.physical import PLAN_PORT, Step, signature
from penstock.delivery.log import ResultLog
from penstock.delivery.parts import net_section
from penstock.operators.catalogue import OPERATORS
from penstock.registry.records import Declaration
from penstock.registry.versions import RegistryReader
from penstock.spark.older_state import OLDER, begins_anew, carried, replayed
from penstock.storage.files import read_json, read_table, write_file, write_json, write_table
from penstock.storage.seals import seal_of_file, sealed
from penstock.storage.state import BatchState, StateLog
from penstock.vocabulary.broken import broken_column
from penstock.vocabulary.errors import PenstockError

Tell = Callable[[str], None]
TOLD_EVERY = 200
CORRUPT = "_corrupt"
LINES = ("csv", "json")
"""Sources whose lines may not parse; such a line is in the column `_corrupt`."""


def migrate(home: Path, tell: Tell) -> list[str]:
    """Bring a copy of a home from format 2 to 3; tell what begins anew."""
    facts = read_json(home / "penstock.json")
    registry = _Registry(home / "registry")
    registry.rewrite()
    tell(f"The registry: {len(registry.manifests):,} versions.")
    statistics = home / "statistics.json"
    if statistics.exists():
        statistics.write_bytes(registry.renamed(statistics.read_bytes()))
    _rewrite_results(home / "results", registry, tell)
    shutil.rmtree(home / "transcripts", ignore_errors=True)
    is_recorded = bool(facts.get("record"))
    newest = ResultLog(home / "results").newest()
    if facts.get("host") == "cluster" and newest >= 0:
        # The state lies in Spark's own store: shards bring theirs over in their next batch.
        write_json(home / OLDER, {"format": 2, "names": registry.names})
    elif newest >= 0:
        _rewrite_state(home, registry, is_recorded, newest, tell)
    return _lost(registry, is_recorded) if newest >= 0 else []


class _Registry:
    """The manifests of a registry of format 2, and what their groups are called from now on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.manifests = sorted(root.glob("[vb]*s/[0-9]*/manifest.json"))
        self.relations: dict[str, Declaration] = {}
        self.steps: dict[str, Step] = {}
        self.names: dict[str, str] = {}
        for path in self.manifests:
            manifest = read_json(path)
            for described in manifest["declarations"]:
                declared = Declaration.from_json(_declaration(described))
                self.relations[declared.relation.name] = declared
            for group, described in manifest["steps"].items():
                step = self._step(described)
                self.names[group] = signature(step)
                self.steps[self.names[group]] = step

    def _step(self, described: dict[str, Any]) -> Step:
        full = {"dropping": {}, **described} if described["kind"] == "multi_join" else described
        if described["kind"] == "filter":
            relation = self.relations[described["relation"]].relation
            broken = broken_column(relation.schema)
            asks = broken is not None and any(
                broken in _columns(branch) for branch in described["branches"]
            )
            full = {**described, "sees_broken": asks}
        return OPERATORS[described["kind"]].step_from_json(full)

    def renamed(self, data: bytes) -> bytes:
        """Give a file's text with the groups' new names."""
        for old, new in self.names.items():
            data = data.replace(old.encode(), new.encode())
        return data

    def rewrite(self) -> None:
        """Rewrite all manifests, with seals, clocks and new names."""
        for path in self.manifests:
            path.write_bytes(self.renamed(path.read_bytes()))
            manifest = read_json(path)
            declared = [_declaration(each) for each in manifest["declarations"]]
            relations = [Declaration.from_json(each).relation for each in declared]
            clocks = [each.attendant() for each in relations if each.kind == "stream"]
            manifest["declarations"] = declared
            manifest["steps"] = {
                **{signature(step): step.to_json() for step in clocks if step is not None},
                **{group: self.steps[group].to_json() for group in manifest["steps"]},
            }
            for file in path.parent.glob("*.arrow"):
                group, _, rest = file.name.partition(".")
                if group in self.names:
                    file.rename(file.with_name(f"{self.names[group]}.{rest}"))
            for file in path.parent.glob(f"multi_join-*.{PLAN_PORT}.arrow"):
                _complete_plans(file)
            files = sorted(file for file in path.parent.iterdir() if file != path)
            seals = {file.name: seal_of_file(file) for file in files}
            write_json(path, sealed({**manifest, "files": seals}))


def _complete_plans(file: Path) -> None:
    """Let plans say what share of the full answer is found: so far, all that was emitted."""
    table = read_table(file)
    told = (json.loads(text) for text in table["plan"].to_pylist())
    texts = pa.array([json.dumps({"found": plan["kept"], **plan}) for plan in told], pa.string())
    table = table.set_column(table.column_names.index("plan"), "plan", texts)
    write_file(file, lambda place: write_table(place, table))


def _columns(branch: dict[str, Any]) -> set[str]:
    terms = (*branch["equalities"], *branch["ranges"])
    return {name for name, _ in terms} | set(branch["residual_columns"])


def _declaration(described: dict[str, Any]) -> dict[str, Any]:
    """Say which column of a declared relation holds lines that do not parse."""
    source = (described["source"] or "").partition(":")[0].strip().lower()
    names = [name for name, _ in described["schema"]]
    broken = CORRUPT if source in LINES and CORRUPT in names else None
    return {"broken_column": broken, **described}


def _rewrite_results(root: Path, registry: _Registry, tell: Tell) -> None:
    paths = sorted(root.glob("[0-9]*/[0-9]*.json"))
    tables = {name for name, own in registry.relations.items() if own.relation.kind == "table"}
    for number, path in enumerate(paths):
        path.write_bytes(registry.renamed(path.read_bytes()))
        manifest = read_json(path)
        for part in manifest["parts"]:
            part["sections"] = [
                {**section, "seals": _seals(path.parent / section["stem"])}
                for section in list(_resolved(path.parent, part["sections"], tables))
            ]
        write_json(path, sealed(manifest))
        if (number + 1) % TOLD_EVERY == 0:
            tell(f"Results: {number + 1:,} of {len(paths):,} batches.")
    tell(f"Results: {len(paths):,} batches.")


def _resolved(
    directory: Path, sections: list[dict[str, Any]], tables: set[str]
) -> Iterator[dict[str, Any]]:
    """Give what matched of a table a section of its own, at the end."""
    apart = []
    for section in sections:
        if section["relation"] not in tables or not section["groups"]:
            yield section
            continue
        apart.append(section)
        yield {**section, "matches": 0, "groups": {}}
    stem = sections[0]["stem"].rpartition("-")[0] if sections else ""
    for number, section in enumerate(apart, start=len(sections)):
        old = directory / section["stem"]
        events, matches = (pq.read_table(_file(old, each)) for each in ("events", "matches"))
        shown, place = np.unique(matches["event"].to_numpy(), return_inverse=True)
        named = f"{stem}-{number}"
        found = pa.array(place.astype(np.int32))
        tables_ = (
            (directory / named, "events", events.take(pa.array(shown)).replace_schema_metadata()),
            (directory / named, "matches", matches.set_column(1, "event", found)),
            (old, "matches", matches.slice(0, 0)),
        )
        for place_, suffix, table in tables_:
            _file(place_, suffix).unlink(missing_ok=True)  # it may be a link to the old home's
            pq.write_table(table, _file(place_, suffix), compression="none", use_dictionary=False)
        yield {
            **section,
            "relation": net_section(section["relation"]),
            "stem": named,
            "events": len(shown),
        }


def _file(stem: Path, suffix: str) -> Path:
    return stem.with_name(f"{stem.name}-{suffix}.parquet")


def _seals(stem: Path) -> dict[str, list[int]]:
    return {suffix: seal_of_file(_file(stem, suffix)) for suffix in ("events", "matches")}


def _rewrite_state(
    home: Path, registry: _Registry, is_recorded: bool, newest: int, tell: Tell
) -> None:
    """Leave one state behind the newest batch, whole and in this format."""
    feed = RegistryReader(home / "registry")
    if is_recorded:
        schemas = {name: own.relation.recorded for name, own in registry.relations.items()}

        def said(done: int, batches: int) -> None:
            if done % TOLD_EVERY == 0 or done == batches:
                tell(f"State, from recorded events: {done:,} of {batches:,} batches.")

        shard = replayed(feed, ResultLog(home / "results"), schemas, newest + 1, tell=said)
    else:
        states = [
            BatchState(
                state.batch,
                state.version,
                {registry.names.get(group, group): data for group, data in state.groups.items()},
                state.whole,
            )
            for state in StateLog(home / "state").read(newest)
        ]
        shard = carried(feed, states)
        tell("State: carried over.")
    shutil.rmtree(home / "state", ignore_errors=True)
    StateLog(home / "state").write(BatchState(newest, shard.version, shard.snapshots(), whole=True))


def _lost(registry: _Registry, is_recorded: bool) -> list[str]:
    """Say of which groups the state begins anew."""
    groups = sorted(
        group for group, step in registry.steps.items() if begins_anew(step, is_recorded)
    )
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
