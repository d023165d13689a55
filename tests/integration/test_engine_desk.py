"""The desk's smaller promises."""

from __future__ import annotations

from pathlib import Path

from penstock.delivery.changes import Change
from tests.support.desks import desk_with_events


class Takes:
    """A sink."""

    def __call__(self, change: Change) -> None:
        """Take one change."""


def test_every_sink_has_a_cursor_of_its_own(tmp_path: Path) -> None:
    """Also of one class, and under names that no file may have; the same in every run."""
    cursors = []
    for _ in range(2):
        desk = desk_with_events(tmp_path / "home")
        if not desk.subscriptions():
            for name in ("plain", "a/b: c?"):
                desk.subscribe("SELECT n FROM t WHERE x > 1", name=name)
        found = [
            desk.subscription(name).to(Takes()).cursor
            for name in ("plain", "plain", "a/b: c?", "plain")
        ]
        assert len(set(found)) == 4
        assert not any("/" in name for name in found)
        cursors.append(found)
        desk.close()
    assert cursors[0] == cursors[1]


def test_a_dropped_name_starts_afresh(tmp_path: Path) -> None:
    """What a reader looks for follows the registry, also when a name is used again."""
    desk = desk_with_events(tmp_path / "home")
    sub = desk.subscribe("SELECT n FROM t WHERE x > 1", name="s")
    first = desk.readers.claims.selections("s")
    assert desk.readers.claims.selections("s") is first, "nothing changed: nothing is bound again"
    sub.drop()
    assert desk.readers.claims.selections("s") == []
    desk.subscribe("SELECT n, k FROM t WHERE x > 1", name="s")
    (second,) = desk.readers.claims.selections("s")
    assert second.queries is not None
    assert first[0].queries is not None
    assert second.queries.tolist() != first[0].queries.tolist()
    assert [output.name for output in second.outputs] == ["n", "k"]
    desk.close()


def test_parameters_of_another_type_are_another_group_of_one_subscription(tmp_path: Path) -> None:
    desk = desk_with_events(tmp_path / "home")
    text = "SELECT n FROM t WHERE x + y > :least"
    sub = desk.subscribe(text, name="s", each=[{"id": 1, "least": 10}, {"id": 2, "least": 20}])
    sub.add([{"id": 3, "least": 1.5}])
    groups = [selection.group for selection in desk.readers.claims.selections("s")]
    sub.drop([2, 3])
    left = [desk.registry.entries(group) for group in dict.fromkeys(groups)]
    assert [{port: len(own) for port, own in each.items()} for each in left] == [
        {"branch0": 1}, {},
    ], "each drop reached the group that has the query; the one without any is let go"  # fmt: skip
    assert len(sub) == 1
    desk.close()
