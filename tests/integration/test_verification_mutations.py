"""Verification notices every falsification: each file of a home is damaged, what it says is forged.

These homes never saw Spark. Whether the newest batch is missing, only its checkpoint can tell: see
tests/e2e/test_verification_mutations.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.engine import Desk
from penstock.engine.home_verification import Outcome, inspect_home, verify_home
from penstock.vocabulary.errors import PenstockError
from tests.support.falsified import (
    BATCHES,
    NO_ANSWER,
    TEXTS,
    Forger,
    make_home,
    restored,
)

KINDS = ("ranges", "prices", "lowest", "deals", "near", "ways", "budget", "lookup")

Homes = Callable[..., Path]


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Homes:
    """Give a home with some of the subscriptions, made once."""
    made: dict[tuple[str, ...], Path] = {}

    def home(*names: str) -> Path:
        if names not in made:
            made[names] = make_home(tmp_path_factory.mktemp("falsified") / "home", *names)
        return made[names]

    return home


@pytest.fixture
def home(homes: Homes) -> Iterator[Path]:
    """Give a home with filters and a join; afterwards it is as it was."""
    with restored(homes("ranges", "likes", "deals")):
        yield homes("ranges", "likes", "deals")


def judged(home: Path) -> Outcome:
    desk = Desk(home)
    try:
        return verify_home(desk)
    finally:
        desk.close()


def said_of_files(home: Path) -> str:
    """Give what is said of the files of a home, without asking for answers."""
    try:
        desk = Desk(home)
    except PenstockError as error:
        return str(error)
    try:
        return "\n".join(map(str, inspect_home(desk)[0].findings))
    finally:
        desk.close()


def test_homes_that_nobody_touched_are_equal(homes: Homes) -> None:
    outcome = judged(homes(*KINDS, "likes"))
    assert outcome.state == "equal", outcome
    assert outcome.batches == BATCHES
    for answer in outcome.answers:
        assert answer.found and answer.read and answer.outputs, answer
    assert {answer.subscription for answer in outcome.answers} == {*TEXTS, "ranges", "lookup"}
    assert "Completeness was not checked" in " ".join(outcome.words())


def _flipped(data: bytes, place: int, bit: int) -> bytes:
    return data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "deleted": lambda _: None,
    "emptied": lambda _: b"",
    "cut": lambda data: data[: len(data) // 2],
    "cut at the end": lambda data: data[:-1],
    "flipped at the start": lambda data: _flipped(data, 0, 2),
    "flipped in the middle": lambda data: _flipped(data, len(data) // 2, 0),
    "flipped at three quarters": lambda data: _flipped(data, 3 * len(data) // 4, 4),
    "flipped at the end": lambda data: _flipped(data, len(data) - 2, 6),
    "longer": lambda data: data + b"0",
}
NEWEST = f"{BATCHES - 1:012d}"
TAKEN_ANEW = "announcements"
"""Opening a home announces what was not announced."""


@pytest.mark.parametrize("way", DAMAGES)
def test_damage_to_every_file_is_noticed_with_its_name(home: Path, way: str) -> None:
    files = [path for path in sorted(home.rglob("*")) if path.is_file()]
    answering = [p for p in files if p.relative_to(home).parts[0] not in NO_ANSWER]
    assert len(answering) > 40
    for path in answering:
        data = path.read_bytes()
        damaged = DAMAGES[way](data)
        if damaged is None:
            path.unlink()
        else:
            path.write_bytes(damaged)
        said = said_of_files(home)
        there = path.exists()
        path.write_bytes(data)
        if path.parent.name == TAKEN_ANEW and way == "deleted":
            assert there
        elif path.stem == NEWEST and way == "deleted":
            assert said == ""
        elif path.name == "penstock.json" and way == "deleted":
            assert "ENG-003" in said
        else:
            shown = path.parent.name if "REG-023" in said else path.name
            assert shown in said, (way, path, said)


def test_files_of_another_batch_or_version_are_noticed(home: Path) -> None:
    for path in sorted(home.glob("results/*/*1-0-*.parquet")):
        other = path.with_name(path.name.replace("1-0-", "0-0-", 1))
        mine, theirs = path.read_bytes(), other.read_bytes()
        if mine == theirs:
            continue
        path.write_bytes(theirs)
        assert path.name in said_of_files(home)
        path.write_bytes(mine)
    for old, new in (("results/000000000/{:012d}.json", 1), ("registry/versions/{:012d}/", 2)):
        one, other = (home / old.format(number) for number in (new, new + 1))
        one, other = (p / "manifest.json" if p.is_dir() else p for p in (one, other))
        mine, theirs = one.read_bytes(), other.read_bytes()
        one.write_bytes(theirs)
        other.write_bytes(mine)
        said = said_of_files(home)
        assert one.name in said
        one.write_bytes(mine)
        other.write_bytes(theirs)


def test_files_that_no_manifest_names_are_noticed(home: Path) -> None:
    directory = home / "results" / "000000000"
    for name in ("000000000001-0-9-events.parquet", "notes.json", "000000000001-7-0-x.parquet"):
        (directory / name).write_bytes(b"")
        assert name in said_of_files(home)
        (directory / name).unlink()
    # What a crash leaves behind is nobody's, and counts for nothing.
    for name in (".000000000001.json.1-2.tmp", "000000000009-0-0-events.parquet"):
        (directory / name).write_bytes(b"")
        assert said_of_files(home) == ""


def test_batches_that_are_missing_are_noticed(home: Path) -> None:
    for path in (home / "results" / "000000000").glob("000000000001*"):
        path.unlink()
    outcome = judged(home)
    assert outcome.state == "different"
    assert "VER-002" in {finding.code for finding in outcome.findings}
    assert outcome.answers == []


def test_what_is_damaged_is_not_read_and_the_rest_is_verified(home: Path) -> None:
    section = Forger(home).section(1, "wish")
    path = home / "results" / "000000000" / f"{section['stem']}-events.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    result = CliRunner().invoke(app, ["verify", str(home), "--json"])
    assert result.exit_code == 1, result.output
    told = json.loads(result.stdout)
    assert [each["file"] for each in told["findings"]] == [str(path)]
    failed = {each["name"] for each in told["subscriptions"] if each["failures"]}
    assert failed == {"deals"}
    shown = CliRunner().invoke(app, ["verify", str(home)])
    assert shown.exit_code == 1
    assert path.name in shown.output.replace("\n", "")
    assert "Equal" not in shown.output


# Forgeries: everything is sealed anew.


def _row(table: pa.Table, row: int, column: str, value: Any) -> pa.Table:
    values = table[column].to_pylist()
    values[row] = value
    place = table.schema.get_field_index(column)
    field = table.schema.field(column)
    return table.set_column(place, field, [pa.array(values, field.type)])


def _without_first(table: pa.Table) -> pa.Table:
    return table.slice(1)


def _first_twice(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table.slice(0, 1)])


def _other_event(table: pa.Table) -> pa.Table:
    taken = set(zip(table["query"].to_pylist(), table["event"].to_pylist(), strict=True))
    query = table["query"][0].as_py()
    free = next(n for n in range(99) if (query, n) not in taken)
    return _row(table, 0, "event", free)


PAIRS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "dropped": _without_first,
    "doubled": _first_twice,
    "another event": _other_event,
    "an event beyond all": lambda table: _row(table, 0, "event", 2**31 - 1),
    "an event before all": lambda table: _row(table, 0, "event", -1),
    "a query that is not there": lambda table: _row(table, 0, "query", 10**9),
}


def place_of(home: Path, subscription: str) -> tuple[str, str]:
    """Give the section in which a subscription's pairs are, and its group."""
    desk = Desk(home)
    group = desk.subscription(subscription).group
    desk.close()
    own = [s["relation"] for s in Forger(home).sections(1) if group in s["groups"]]
    return own[0], group


@pytest.mark.parametrize("subscription", KINDS)
def test_forged_pairs_are_noticed(homes: Homes, subscription: str) -> None:
    home = homes(subscription)
    relation, _ = place_of(home, subscription)
    for way, forge in PAIRS.items():
        with restored(home):
            Forger(home).change_rows(1, relation, "matches", forge)
            assert judged(home).state == "different", way


VALUES: dict[str, Any] = {"int64": 77, "double": 77.5, "string": "forged", "int8": -1}


@pytest.mark.parametrize("subscription", ["deals", "near", "ways", "lookup"])
def test_forged_rows_of_joins_are_noticed_in_every_column(homes: Homes, subscription: str) -> None:
    home = homes(subscription)
    relation, _ = place_of(home, subscription)
    forger = Forger(home)
    section = forger.section(1, relation)
    path = home / "results" / "000000000" / f"{section['stem']}-events.parquet"
    for field in pq.read_schema(path):
        with restored(home):
            value = VALUES.get(str(field.type))

            def forge(table: pa.Table, name: str = field.name, value: Any = value) -> pa.Table:
                return _row(table, 0, name, value)

            forger.change_rows(1, relation, "events", forge)
            answers = {v.subscription: v for v in judged(home).answers}
            assert answers[subscription].differs, field


EVENTS: dict[str, tuple[str, Callable[[pa.Table], pa.Table], str]] = {
    "a value that decides": ("a", lambda table: _row(table, 2, "x", None), "ranges"),
    "a value of a table": ("stock", lambda table: _row(table, 2, "price", 0.5), "prices"),
    "a change": ("stock", lambda table: _row(table, 2, "op", "delete"), "deals"),
    "a key": ("b", lambda table: _row(table, 2, "k", 55), "near"),
    "a time": ("c", lambda table: _row(table, 0, "ts", None), "ways"),
    "a row less": ("wish", _without_first, "deals"),
    "a row more": ("b", _first_twice, "near"),
}


@pytest.mark.parametrize("what", EVENTS)
def test_forged_input_is_noticed(homes: Homes, what: str) -> None:
    relation, change, subscription = EVENTS[what]
    home = homes(subscription)
    with restored(home):
        Forger(home).change_rows(1, relation, "events", change)
        (answer,) = judged(home).answers
        assert answer.differs


def _section(manifest: dict[str, Any], relation: str) -> dict[str, Any]:
    (found,) = [s for s in manifest["parts"][0]["sections"] if s["relation"] == relation]
    section: dict[str, Any] = found
    return section


def _slices_exchanged(manifest: dict[str, Any]) -> None:
    groups = _section(manifest, "a")["groups"]
    one, other = groups
    groups[one], groups[other] = groups[other], groups[one]


def _slice_moved(manifest: dict[str, Any]) -> None:
    groups = _section(manifest, "a")["groups"]
    (one, other) = sorted(groups, key=lambda group: groups[group])
    groups[one][1] -= 1
    groups[other][0] -= 1


def _slice_short(manifest: dict[str, Any]) -> None:
    groups = _section(manifest, "a")["groups"]
    groups[max(groups, key=lambda group: groups[group][1])][1] -= 1


def _group_gone(manifest: dict[str, Any]) -> None:
    groups = _section(manifest, "a")["groups"]
    del groups[max(groups, key=lambda group: groups[group][1])]


def _group_renamed(manifest: dict[str, Any]) -> None:
    groups = _section(manifest, "a")["groups"]
    groups["filter-nobody"] = groups.pop(next(iter(groups)))


def _section_emptied(manifest: dict[str, Any]) -> None:
    section = _section(manifest, "a")
    section.update(events=0, matches=0, groups={})


def _section_gone(manifest: dict[str, Any]) -> None:
    part = manifest["parts"][0]
    part["sections"] = [s for s in part["sections"] if s["relation"] != "a"]


def _other_files(manifest: dict[str, Any]) -> None:
    section = _section(manifest, "a")
    section["stem"] = section["stem"].replace("000000000001", "000000000000")


def _set(**values: Any) -> Callable[[dict[str, Any]], None]:
    def change(manifest: dict[str, Any]) -> None:
        for name, value in values.items():
            for place in (manifest, *manifest["parts"]):
                if name in place:
                    place[name] = value

    return change


MANIFESTS: dict[str, Callable[[dict[str, Any]], None]] = {
    "slices exchanged": _slices_exchanged,
    "slice moved": _slice_moved,
    "slice short": _slice_short,
    "group gone": _group_gone,
    "group renamed": _group_renamed,
    "section emptied": _section_emptied,
    "section gone": _section_gone,
    "section twice": lambda manifest: manifest["parts"][0]["sections"].append(
        _section(manifest, "a")
    ),
    "part twice": lambda manifest: manifest["parts"].append(manifest["parts"][0]),
    "parts gone": _set(parts=[]),
    "files of another batch": _other_files,
    "relation renamed": lambda manifest: _section(manifest, "a").update(relation="b"),
    "relation unknown": lambda manifest: _section(manifest, "a").update(relation="z"),
    "more rows in": _set(rows_in=99),
    "another batch": _set(batch=2),
    "a version to come": _set(version=999),
    "a version that goes back": _set(version=0),
    "no version": lambda manifest: manifest.pop("version"),
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_forged_manifests_are_noticed(home: Path, what: str) -> None:
    Forger(home).change_manifest(1, MANIFESTS[what])
    assert "000000000001" in said_of_files(home)


def test_a_version_that_its_pairs_contradict_is_noticed(home: Path) -> None:
    forger = Forger(home)
    before = json.loads(forger.manifest(1).read_bytes())["version"]
    forger.change_manifest(2, _set(version=before))
    assert "VER-007" in said_of_files(home)


def _changed(column: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    return lambda table: _row(table, 1, column, value)


@pytest.mark.parametrize(
    "change",
    [_changed("p_low", 1.25), _changed("p_high", -50.0), _without_first, _changed("dropped", 1)],
)
def test_forged_queries_are_noticed(homes: Homes, change: Callable[[pa.Table], pa.Table]) -> None:
    home = homes("ranges")
    with restored(home):
        Forger(home).change_block(6, change)
        assert judged(home).state == "different"


@pytest.mark.parametrize(
    ("before", "after"),
    [("x BETWEEN", "x + 1 BETWEEN"), ("x * 2", "x * 3"), (" AND :high", " AND :high + 1")],
)
def test_forged_texts_are_noticed(homes: Homes, before: str, after: str) -> None:
    home = homes("ranges")

    def change(manifest: dict[str, Any]) -> None:
        for place in (*manifest["texts"], *manifest["subscriptions"]):
            assert before in place["sql"]
            place["sql"] = place["sql"].replace(before, after)

    with restored(home):
        Forger(home).change_version(6, change)
        state = judged(home).state
    # An output has no other record than the text: what is read follows it.
    assert state == ("equal" if before == "x * 2" else "different")


def test_a_version_that_is_missing_is_noticed(home: Path) -> None:
    versions = sorted((home / "registry" / "versions").iterdir())
    for version in (versions[2], versions[-1]):
        with restored(home):
            for file in version.iterdir():
                file.unlink()
            version.rmdir()
            assert version.name in said_of_files(home)
