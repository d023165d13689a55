"""Edges: every subscriber has the value that brute force gives, and is told each change once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from copy import copy
from itertools import count

import numpy as np
import pyarrow as pa
import pytest

from penstock.brokers import in_process, mqtt_broker
from penstock.brokers.addresses import BrokerAddress, broker_at
from penstock.brokers.message_format import HEAD, StateHead
from penstock.delivery import message_publisher
from penstock.delivery.broker_sink import BrokerSink
from penstock.delivery.sink_kinds import SinkAddress
from penstock.edges.edge import Edge
from penstock.edges.notifications import Notifications
from penstock.edges.range_extremes import range_extremes
from penstock.lab.brokers import PROGRAMS, missing, running
from penstock.vocabulary.errors import PenstockError
from tests.support.offers import Offers
from tests.support.receivers import Receiver, changes_of, publisher, write

ROOTS = count()


@pytest.fixture
def url() -> str:
    return f"memory://edges/r{next(ROOTS)}"


@pytest.mark.parametrize("extreme", ["min", "max"])
@pytest.mark.parametrize("seed", range(6))
def test_edges_tell_what_brute_force_tells(
    seed: int, extreme: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change once, also with restarts of either side, and the same with all buckets."""
    monkeypatch.setattr(message_publisher, "FEW_ROWS", seed % 3)
    rng = np.random.default_rng(seed)
    offers = Offers(seed, extreme)
    place = f"{url}?buckets={rng.integers(1, 9)}"
    subscribers = offers.subscribers(60)
    sink = publisher(place)
    sink.write(offers.change(come=20, go=0), "0:1")
    receivers = [Receiver(url, subscribers), Receiver(url, subscribers, narrow=False)]
    expected: set[tuple[int, str, float | None]] = set()
    for receiver in receivers:
        receiver.catch_up(0)
    answers = offers.answers(subscribers)
    for batch in range(1, 30):
        table = offers.change(*rng.integers(0, 6, 2).tolist())
        if not len(table):
            continue
        if rng.random() < 0.2:
            (sink if rng.random() < 0.5 else sink.broker).close()
            sink = publisher(place)
        sink.write(table, f"{batch}:{len(table)}")
        if rng.random() < 0.2:
            sink.write(table, f"{batch}:{len(table)}")
        before, answers = answers, offers.answers(subscribers)
        expected |= changes_of(before, answers, batch)
        for receiver in receivers:
            receiver.catch_up(batch)
            assert receiver.values == answers
    late = Receiver(url, subscribers)
    late.catch_up(receivers[0].edge.batch)
    assert late.values == answers and not late.told
    for receiver in receivers:
        assert len(receiver.told) == len(set(receiver.told)) and set(receiver.told) == expected
        assert receiver.firsts == 1


def test_an_edge_reads_the_buckets_only_that_its_ranges_meet(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_publisher, "FEW_ROWS", 0)
    offers = Offers(1, span=100)
    given = offers.subscribers(50, low=40, high=60)
    sink = publisher(f"{url}?buckets=10")
    sink.write(offers.change(come=300, go=0), "0:1")
    narrow, wide = Receiver(url, given), Receiver(url, given, narrow=False)
    for batch in range(1, 20):
        table = offers.change(6, 6)
        sink.write(table, f"{batch}:{len(table)}")
    for receiver in (narrow, wide):
        receiver.catch_up(19)
    assert narrow.values == wide.values == offers.answers(given)
    assert len(narrow.edge._subjects) <= 6 < len(wide.edge._subjects)


def test_an_edge_that_missed_something_begins_anew_and_tells_what_differs(url: str) -> None:
    offers = Offers(2)
    given = offers.subscribers(40)
    sink = publisher(f"{url}?keep=40&buckets=1")
    sink.write(offers.change(come=20, go=0), "0:1")
    slow = Receiver(url, given)
    slow.catch_up(0)
    before = offers.answers(given)
    for batch in range(1, 300):
        table = offers.change(3, 3)
        sink.write(table, f"{batch}:{len(table)}")
    sink.close()
    slow.catch_up(299)
    answers = offers.answers(given)
    assert slow.values == answers and slow.edge.begins == 2 and slow.firsts == 1
    assert {(own, value) for _, own, value in slow.told} >= {
        (own, value) for _, own, value in changes_of(before, answers, 0)
    }


def test_subscribers_are_replaced_while_an_edge_runs(url: str) -> None:
    """Who is new is told, who stays hears of changes alone, who is gone of nothing."""
    offers = Offers(4)
    before = offers.subscribers(30)
    sink = publisher(url)
    sink.write(offers.change(come=25, go=0), "0:1")
    receiver = Receiver(url, before)
    receiver.catch_up(0)
    old = offers.answers(before)
    moved = before.slice(10, 10).set_column(2, "lo", pa.array(np.zeros(10, dtype=np.int64)))
    new = before.slice(20).set_column(0, "id", pa.array([f"n{at}" for at in range(10)]))
    after = pa.concat_tables([new, moved, before.slice(0, 10)])
    receiver.values.clear()
    receiver.edge.replace(after)
    receiver.edge.step(0.01)
    receiver.catch_up(0)
    answers = offers.answers(after)
    stays = {own: value for own, value in answers.items() if own in old and old[own] != value}
    assert stays and {(own, value) for _, own, value in receiver.told} == set(stays.items())
    assert receiver.values == {**stays, **offers.answers(new)} and receiver.firsts == 2
    receiver.told.clear()
    sink.write(offers.change(9, 9), "1:1")
    receiver.catch_up(1)
    expected = changes_of(answers, offers.answers(after), 1)
    assert expected and set(receiver.told) == expected
    receiver.edge.replace(after.drop_columns(["lo"]))
    sink.write(offers.change(9, 9), "2:1")
    receiver.catch_up(2)
    told = receiver.edge.values()
    assert told is not None
    assert dict(zip(told.ids.to_pylist(), told.values.to_pylist(), strict=True)) == (
        offers.answers(after)
    )


def test_an_edge_does_not_go_back_with_its_broker(url: str) -> None:
    """One that comes back with what it wrote last has less than was told, for a while."""
    offers = Offers(7)
    given = offers.subscribers(40)
    sink = publisher(url)
    shelf = broker_at(BrokerAddress.of(url))._shelf  # type: ignore[attr-defined]
    receiver = Receiver(url, given)
    tables, written = [], dict[str, object]()
    for batch in range(6):
        tables.append(offers.change(9, 3))
        sink.write(tables[-1], f"{batch}:1")
        receiver.catch_up(batch)
        if batch == 2:
            written = {name: copy(own) for name, own in vars(shelf).items() if name != "changed"}
    told, answers = list(receiver.told), offers.answers(given)
    vars(shelf).update(written)
    receiver.edge._reading = None
    for _ in range(3):
        receiver.edge.step(0.01)
    now = receiver.edge.values()
    assert now is not None and now.batch == 5 and receiver.told == told
    assert dict(zip(now.ids.to_pylist(), now.values.to_pylist(), strict=True)) == answers
    again = publisher(url)
    for batch in range(3, 6):
        again.write(tables[batch], f"{batch}:1")
        receiver.edge.step(0.01)
    assert receiver.told == told
    again.write(offers.change(9, 3), "6:1")
    receiver.catch_up(6)
    assert set(receiver.told) - set(told) == changes_of(answers, offers.answers(given), 6)


def test_an_edge_stands_behind_a_batch_when_all_of_it_is_told(url: str) -> None:
    """Who waits for a batch, in another thread, misses no notification of it."""
    offers = Offers(6)
    sink = publisher(url)
    sink.write(offers.change(come=20, go=0), "0:1")
    seen: list[tuple[int, int]] = []
    place = BrokerAddress.of(url)
    given = offers.subscribers(40)
    edge = Edge(broker_at(place), given, lambda told: seen.append((told.batch, edge.batch)))
    edge.step(0.01)
    sink.write(offers.change(9, 9), "1:1")
    edge.step(0.01)
    assert seen == [(0, -1), (1, 0)] and edge.batch == 1


def test_an_edge_waits_until_something_is_published(url: str) -> None:
    offers = Offers(3)
    given = offers.subscribers(5)
    receiver = Receiver(url, given)
    assert not receiver.edge.step(0.01) and receiver.edge.values() is None
    publisher(url).write(offers.change(come=9, go=0), "4:1")
    receiver.catch_up(4)
    asked = receiver.edge.values(["s3"])
    assert asked is not None and asked.values.to_pylist() == [offers.answers(given)["s3"]]


@pytest.fixture(params=PROGRAMS)
def scheme(request: pytest.FixtureRequest) -> Iterator[str]:
    if (reason := missing(request.param)) is not None:
        pytest.skip(reason)
    return request.param


@pytest.mark.crash
def test_nothing_is_lost_or_doubled_when_a_broker_or_an_edge_dies(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With messages in buckets; those of few rows go with the ends of batches elsewhere."""
    monkeypatch.setattr(message_publisher, "FEW_ROWS", 0)
    offers = Offers(5)
    given = offers.subscribers(40)
    with running(scheme) as server:
        url = f"{server.url}/offers.lows"
        sink = publisher(url + "?buckets=4")
        sink.write(offers.change(come=20, go=0), "0:1")
        steady, mortal = Receiver(url, given), Receiver(url, given)
        steady.catch_up(0)
        expected: set[tuple[int, str, float | None]] = set()
        answers = offers.answers(given)
        for batch in range(1, 25):
            table = offers.change()
            if batch in {5, 6, 15}:
                server.kill()
                with pytest.raises(ConnectionError):
                    sink.write(table, f"{batch}:1")
                server.start()
            if batch in {10, 20}:
                mortal = Receiver(url, given)
            write(sink, table, batch)
            before, answers = answers, offers.answers(given)
            expected |= changes_of(before, answers, batch)
            steady.catch_up(batch)
            if batch in {4, 12, 24}:
                mortal.catch_up(batch)
                assert mortal.values == answers
            assert steady.values == answers
        assert len(steady.told) == len(set(steady.told)) and set(steady.told) == expected
        server.kill()
        server.start()
        late = Receiver(url, given)
        late.catch_up(24)
        assert late.values == answers
        late.edge.close()
        sink.close()
        for receiver in (steady, mortal):
            receiver.edge.close()


def test_range_extremes_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(7)
    for size in (0, 1, 2, 3, 17, 64, 100):
        points = rng.integers(0, 3, size), rng.permutation(200)[:size], rng.integers(0, 9, size)
        ranges = rng.integers(0, 4, 300), rng.integers(0, 200, 300), rng.integers(0, 200, 300)
        for greatest in (False, True):
            found = range_extremes(points, ranges, greatest)
            for at, own in enumerate(found.tolist()):
                code, first, last = (int(column[at]) for column in ranges)
                inside = (points[0] == code) & (points[1] >= first) & (points[1] <= last)
                values = points[2][inside]
                extreme = None if not len(values) else (max if greatest else min)(values)
                assert (None if own < 0 else points[2][own]) == extreme
                assert own < 0 or inside[own]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"id": ["a"], "lo": [1], "hi": [2]}, "EDG-002"),
        ({"id": ["a"], "site": ["home"], "lo": ["x"], "hi": ["y"]}, "EDG-003"),
    ],
)
def test_bad_subscribers_are_refused(given: dict, code: str, url: str) -> None:
    publisher(url).write(Offers(3).change(come=9, go=0), "0:1")
    with pytest.raises(PenstockError) as refused:
        Receiver(url, pa.table(given)).edge.step(0.01)
    assert refused.value.code == code


def test_a_broker_that_lost_everything_is_told_of(url: str) -> None:
    """Edges would begin with what comes from now on, and be wrong."""
    offers = Offers(3)
    sink = publisher(url)
    sink.write(offers.change(come=9, go=0), "0:1")
    sink.broker = broker_at(BrokerAddress.of(f"memory://edges/r{next(ROOTS)}"))
    sink.broker.close()
    sink._release()
    resumed = SinkAddress(text=f"{url}-lost", engine="e", subscription="lows", resumes=True)
    for own in (sink, BrokerSink(resumed)):
        with pytest.raises(PenstockError) as refused:
            own.write(offers.change(), "1:1")
        assert refused.value.code == "BRK-006"


@pytest.mark.parametrize("scheme", ["memory", "mqtt"])
def test_publishers_that_end_early_again_and_again_leave_a_state_to_begin_with(
    scheme: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None runs for as long as states are apart; together they publish more than is kept."""
    if scheme != "memory" and (reason := missing(scheme)) is not None:
        pytest.skip(reason)
    monkeypatch.setattr(in_process, "ROUNDS", 8)
    monkeypatch.setattr(mqtt_broker, "ENDS_RING", 16)
    offers = Offers(4)
    given = offers.subscribers(30)
    with ExitStack() as stack:
        if scheme != "memory":
            url = f"{stack.enter_context(running(scheme)).url}/lows"
        for life in range(8):
            sink = publisher(f"{url}?keep=24" if scheme == "memory" else url)
            for batch in range(5 * life, 5 * life + 5):
                write(sink, offers.change(6, 3), batch)
            sink.broker.close()  # as a crash does: nothing more is written
            late = Receiver(url, given)
            stack.callback(late.edge.close)
            late.catch_up(5 * life + 4)
            assert late.values == offers.answers(given) and late.edge.begins == 1


def test_a_large_state_is_written_again_when_as_much_was_published(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_publisher, "ROUNDS", 8)
    monkeypatch.setattr(message_publisher, "ROUNDS_MAX", 60)
    behind = {}
    for rows in (3, 20_000):
        offers = Offers(6, span=100_000)
        sink, broker = publisher(f"{url}-{rows}"), broker_at(BrokerAddress.of(f"{url}-{rows}"))
        sink.write(offers.change(come=rows, go=0), "0:1")
        heads = []
        for batch in range(1, 70):
            sink.write(offers.change(1, 1), f"{batch}:1")
            heads.append(StateHead.of_bytes(broker.kept()[HEAD]).batch)
        behind[rows] = sorted(set(heads))
    assert behind[20_000] == [0, 60]
    assert len(behind[3]) > 2 and min(np.diff(behind[3])) >= 8


def test_a_broker_that_lost_what_follows_the_state_is_told_of(url: str) -> None:
    """The next state would lack it, and edges that begin with that would be wrong."""
    offers, place = Offers(5), f"{url}?keep=4"
    sink = publisher(place)
    for batch in range(9):
        sink.write(offers.change(6, 3), f"{batch}:1")
    sink.broker.close()
    with pytest.raises(PenstockError) as refused:
        publisher(place).write(offers.change(), "9:1")
    assert refused.value.code == "BRK-006"


def test_what_is_published_must_be_messages(url: str) -> None:
    publisher(url).write(pa.table({"_id": ["a"], "x": [1]}), "0:1")
    with pytest.raises(PenstockError) as refused:
        Receiver(url, Offers(3).subscribers(2)).edge.step(0.01)
    assert refused.value.code == "BRK-005"


def test_notifications_are_lines_of_json() -> None:
    ids = pa.array(['q"\\\n\x01é', "b", "c", "d"])
    values = pa.array([1e300, float("inf"), None, -0.5])
    lines = Notifications(batch=3, ids=ids, values=values, is_first=True).lines().splitlines()
    told = [json.loads(line) for line in lines]
    assert [each["id"] for each in told] == ids.to_pylist()
    assert [each["value"] for each in told] == [1e300, None, None, -0.5]
    assert all(each["batch"] == 3 and each["first"] for each in told)


def test_an_edge_runs_until_it_is_stopped(url: str) -> None:
    offers, stop = Offers(3), threading.Event()
    given = offers.subscribers(5)
    receiver = Receiver(url, given)
    running_ = threading.Thread(target=receiver.edge.run, args=(stop,))
    running_.start()
    publisher(url).write(offers.change(come=9, go=0), "0:1")
    while receiver.values != offers.answers(given):
        stop.wait(0.01)
    stop.set()
    running_.join(60)
    assert not running_.is_alive()
