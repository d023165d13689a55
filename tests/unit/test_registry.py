"""The registry at its edges; its whole life is in tests/property/test_registry_life.py."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine import Desk
from penstock.engine.home_check import check_home
from penstock.engine.scripts import execute
from penstock.lab.correctness.runs import DeskRun
from penstock.registry import folds
from penstock.registry.store import Registry
from penstock.registry.versions import directory_name
from penstock.storage import disk
from penstock.vocabulary.errors import PenstockError
from tests.support.desks import desk_with_events

TEXT = "SELECT n FROM t WHERE x BETWEEN :low AND :high"


class Crash(BaseException):
    """The process dies here."""


def operators(run: DeskRun) -> Collection[str]:
    """Give the groups whose operators a batch touches."""
    assert run._shard is not None
    return run._shard._operators


def announced(home: Path) -> list[int]:
    return sorted(int(p.stem) for p in (home / "registry" / "announcements").glob("[0-9]*.txt"))


def test_a_version_that_was_written_but_not_announced_is_announced_at_the_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_with_events(tmp_path)

    def die(*_: object) -> None:
        raise Crash

    monkeypatch.setattr(Registry, "_announce", die)
    with pytest.raises(Crash):
        desk.subscribe("SELECT n FROM t WHERE x > 1", name="s")
    monkeypatch.undo()
    desk.close()
    assert announced(tmp_path) == [1]
    desk = Desk(tmp_path)
    assert announced(tmp_path)[-1] == 2
    assert [sub.name for sub in desk.subscriptions()] == ["s"]
    assert len(desk.subscription("s")) == 1
    desk.close()


def test_a_version_that_was_half_written_never_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_with_events(tmp_path)

    def die(*_: object) -> None:
        raise Crash

    monkeypatch.setattr(disk, "flush", die)
    with pytest.raises(Crash):
        desk.subscribe("SELECT n FROM t WHERE x > 1", name="s")
    monkeypatch.undo()
    desk.close()
    desk = Desk(tmp_path)
    assert desk.subscriptions() == []
    assert desk.registry.version == 1
    assert len(desk.subscribe("SELECT n FROM t WHERE x > 2", name="s")) == 1
    desk.close()


def test_a_home_that_never_ran_announces_only_its_newest_version(tmp_path: Path) -> None:
    desk = desk_with_events(tmp_path)
    for number in range(5):
        desk.subscribe(f"SELECT n FROM t WHERE x > {number}", name=f"s{number}")
    assert announced(tmp_path) == [6]
    desk.close()


def test_a_home_that_ran_keeps_its_announcements(tmp_path: Path) -> None:
    """A batch that a crash interrupted comes again, with the files that it named."""
    desk = desk_with_events(tmp_path)
    desk.close()
    (tmp_path / "checkpoint").mkdir()
    desk = Desk(tmp_path)
    desk.subscribe("SELECT n FROM t WHERE x > 1", name="one")
    desk.subscribe("SELECT n FROM t WHERE x > 2", name="two")
    assert announced(tmp_path) == [1, 2, 3]
    desk.close()


def test_threads_may_register_at_the_same_time(tmp_path: Path) -> None:
    desk = desk_with_events(tmp_path)

    def register(number: int) -> int:
        rows = [{"id": i, "low": float(i), "high": i + 1.0} for i in range(3)]
        sub = desk.subscribe(TEXT, name=f"s{number}", each=rows)
        sub.drop([0])
        assert sub.receipt is not None
        return sub.receipt.version

    with ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(register, range(24)))
    assert len(set(versions)) == 24
    assert desk.registry.version == 1 + 2 * 24
    group = desk.subscription("s0").group
    queries = desk.registry.queries_of_group(group)
    assert len(set(queries.tolist())) == len(queries) == 48
    desk.close()
    again = Desk(tmp_path)
    assert [len(sub) for sub in again.subscriptions()] == [2] * 24
    assert again.registry.queries_of_group(group).tolist() == queries.tolist()
    again.close()


def test_tidying_shrinks_what_is_read_at_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folds, "VERSIONS_PER_BASE_MAX", 10)
    desk = desk_with_events(tmp_path)
    sub = desk.subscribe(TEXT, name="s", each=[{"id": -1, "low": 0.0, "high": 1.0}])
    for number in range(40):
        sub.add([{"id": number, "low": 0.0, "high": 1.0}])
        if number % 2:
            sub.drop([number - 1])
        desk.registry.tidy(desk.registry.version - 1)
    versions = [path.name for path in (tmp_path / "registry" / "versions").iterdir()]
    assert len(versions) < 30
    assert directory_name(1) not in versions
    assert len(list((tmp_path / "registry" / "bases").iterdir())) == 2
    before = desk.registry.queries_of_group(sub.group).tolist()
    desk.close()
    desk = Desk(tmp_path)
    assert desk.registry.queries_of_group(sub.group).tolist() == before
    assert len(desk.subscription("s")) == 21
    desk.subscription("s").drop([39, -1])
    assert len(desk.subscription("s")) == 19
    desk.close()


def test_a_base_before_an_end_and_a_new_beginning_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A base knows the subscriptions and queries of then."""
    monkeypatch.setattr(folds, "VERSIONS_PER_BASE_MAX", 1)
    desk = desk_with_events(tmp_path)
    for name in ("b", "a"):
        desk.subscribe("SELECT n FROM t WHERE x > 1", name=name)
    settled = desk.registry.version
    for name in ("b", "a"):
        desk.drop(name)
    desk.subscribe("SELECT n FROM t WHERE x > 2", name="b")
    desk.registry.tidy(settled)
    before = desk.registry.queries_of_group(desk.subscription("b").group).tolist()
    desk.close()
    desk = Desk(tmp_path)
    assert [(sub.name, len(sub)) for sub in desk.subscriptions()] == [("b", 1)]
    assert desk.registry.queries_of_group(desk.subscription("b").group).tolist() == before
    desk.close()


def test_a_namesake_shows_only_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop `a`, fold, register another `a`; and the other way round."""
    monkeypatch.setattr(folds, "VERSIONS_PER_BASE_MAX", 1)
    stream = Relation(name="t", kind="stream", schema=pa.schema([("x", pa.int64())]))
    with DeskRun(tmp_path / "home", stream, record=False) as run:
        for number, is_folded_between in enumerate((True, False, True, False)):
            run.desk.subscribe("SELECT x FROM t WHERE x >= 0", name="a")
            run.batch(t=[{"x": number}])
            if number == 3:
                break
            run.desk.drop("a")
            if is_folded_between:
                run.desk.registry.tidy(run.desk.registry.version)
        run.desk.registry.tidy(run.desk.registry.version)
        assert run.desk.subscription("a").read()["x"].to_pylist() == [3]
    desk = Desk(tmp_path / "home")
    assert desk.subscription("a").read()["x"].to_pylist() == [3]
    desk.close()


def test_a_group_that_no_query_stands_in_is_let_go(tmp_path: Path) -> None:
    """What an idle batch costs follows the groups that stand, not those that ever stood."""
    stream = Relation(name="t", kind="stream", schema=pa.schema([("x", pa.int64())]))
    with DeskRun(tmp_path / "home", stream, record=False) as run:
        kept = run.desk.subscribe("SELECT x FROM t WHERE x >= 0", name="kept")
        names = [f"s{number}" for number in range(20)]
        with run.desk.registry.together():
            for number, name in enumerate(names):
                run.desk.subscribe(f"SELECT x FROM t WHERE x % {number + 2} = 1", name=name)
        gone = run.desk.subscription("s3").group
        run.batch(t=[{"x": 7}])
        assert len(operators(run)) == 1 + len({run.desk.subscription(name).group for name in names})
        for name in names[1:]:
            run.desk.drop(name)
        run.batch(t=[{"x": 9}])
        standing = {kept.group, run.desk.subscription("s0").group}
        assert set(run.desk.registry.steps) == standing
        assert set(operators(run)) == standing
        assert gone in run.desk.registry.let_go
        # The same shape again begins anew, also behind a restart.
        again = run.desk.subscribe("SELECT x FROM t WHERE x % 5 = 1", name="again")
        assert again.group == gone
        run.batch(t=[{"x": 11}, {"x": 12}])
        run.restart()
        run.batch(t=[{"x": 16}])
        assert again.read()["x"].to_pylist() == [11, 16]
    assert not check_home(tmp_path / "home").flaws


def test_large_versions_are_folded_before_they_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folds, "VERSION_BYTES_MAX", 20_000)
    desk = desk_with_events(tmp_path)
    for number in range(30):
        rows = [{"id": n, "low": 0.0, "high": 1.0} for n in range(100)]
        desk.subscribe(TEXT, name=f"s{number}", each=rows)
        if number % 3:
            desk.drop(f"s{number}")
        desk.registry.tidy(desk.registry.version)
    assert 0 < len(list((tmp_path / "registry" / "versions").iterdir())) < 30
    assert len(list((tmp_path / "registry" / "bases").iterdir())) == 2
    # Dropped queries of which no result speaks are forgotten.
    desk.drop("s0", range(50))
    monkeypatch.setattr(folds, "VERSIONS_PER_BASE_MAX", 0)
    desk.registry.tidy(desk.registry.version, expired=desk.registry.version)
    assert [len(block.query) for block in desk.registry.blocks["s0"]] == [50]
    desk.close()


def test_a_registry_with_history_keeps_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folds, "VERSIONS_PER_BASE_MAX", 2)
    desk = desk_with_events(tmp_path, record=True)
    for text in ("x > 1", "x > 2 AND y > 1", "k = 'IBM'"):
        desk.subscribe(f"SELECT n FROM t WHERE {text}", name="s")
        desk.drop("s")
        desk.registry.tidy(desk.registry.version)
    desk.close()
    desk = Desk(tmp_path)
    texts = [record.sql for record, _ in desk.registry.history("s")]
    assert [text.partition("WHERE ")[2] for text in texts] == [
        "x > 1",
        "x > 2 AND y > 1",
        "k = 'IBM'",
    ]
    assert desk.registry.names() == ["s"]
    desk.close()


SCRIPT = "".join(
    f"SUBSCRIBE s{number} TO SELECT n FROM t WHERE x > {number};\n" for number in range(9)
)


def test_subscriptions_that_follow_each_other_in_a_script_are_one_version(tmp_path: Path) -> None:
    """Thousands would else be thousands of directories; they stand as if they had come alone."""
    desk = desk_with_events(tmp_path)
    made = execute(desk, SCRIPT + "DROP SUBSCRIPTION s3;\n" + SCRIPT.replace("s", "other_"))
    assert [sub.name for sub in made.subscriptions][:3] == ["s0", "s1", "s2"]
    assert {sub.receipt.version for sub in made.subscriptions if sub.receipt} == {2, 4}
    assert desk.registry.version == 4
    names = [sub.name for sub in desk.subscriptions()]
    numbers = desk.registry.queries_of_group(desk.subscription("s1").group).tolist()
    desk.close()
    assert len(list((tmp_path / "registry/versions/000000000002").iterdir())) == 4
    desk = Desk(tmp_path)
    assert [sub.name for sub in desk.subscriptions()] == names
    assert desk.registry.queries_of_group(desk.subscription("s1").group).tolist() == numbers
    assert desk.registry.blocks["s8"][0].table["id"].to_pylist() == ["s8"]
    desk.close()


def test_what_comes_before_a_bad_statement_stands(tmp_path: Path) -> None:
    desk = desk_with_events(tmp_path)
    with pytest.raises(PenstockError) as error:
        execute(desk, SCRIPT + "SUBSCRIBE bad TO SELECT nothing FROM t;" + SCRIPT)
    assert error.value.place is not None and error.value.place.line == 10
    assert [sub.name for sub in desk.subscriptions()] == [f"s{number}" for number in range(9)]
    desk.close()


def test_a_script_that_the_disk_does_not_take_registers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_with_events(tmp_path)
    desk.subscribe("SELECT n FROM t WHERE x > 77", name="before")

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(disk, "flush", full)
    with pytest.raises(OSError, match="no space"):
        execute(desk, SCRIPT)
    monkeypatch.undo()
    assert [sub.name for sub in desk.subscriptions()] == ["before"]
    execute(desk, SCRIPT)
    assert desk.registry.version == 3
    assert len(desk.registry.queries_of_group(desk.subscription("before").group)) == 10
    desk.close()


def test_queries_have_the_first_number_of_what_they_were_registered_with(tmp_path: Path) -> None:
    """Readers tell by it whose a match is; a number that nobody has is nobody's."""
    with closing(desk_with_events(tmp_path / "home")) as desk:
        for name, ids in (("a", ["x", "y", "z"]), ("b", ["u", "v"])):
            each = pa.table({"id": ids, "low": [1.0] * len(ids)})
            desk.subscribe("SELECT * FROM t WHERE x > :low", each=each, name=name)
        claims = desk.readers.claims
        firsts = {name: int(desk.registry.blocks[name][0].query[0]) for name in ("a", "b")}
        asked = np.array([firsts["b"] + 1, firsts["a"] + 2, firsts["b"] + 2, -5, firsts["a"]])
        assert claims.keys(asked).tolist() == [firsts["b"], firsts["a"], -1, -1, firsts["a"]]
        assert [claims.owner(number) for number in asked.tolist()] == ["b", "a", None, None, "a"]
        assert claims.keys(np.empty(0, dtype=np.int64)).tolist() == []
