"""Named edges: what concerns none of them is not sent, and nobody misses anything by it."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.brokers import range_summaries
from penstock.brokers.addresses import BrokerAddress, broker_at
from penstock.brokers.message_format import BatchEnd, MessageForm
from penstock.brokers.protocol import END, Publication
from penstock.brokers.range_summaries import RangeSummary, announce, announced, partition_texts
from penstock.delivery import announced_edges, message_publisher
from penstock.edges.concerned import concerned_rectangles, index_of
from penstock.edges.subscribers import Subscribers
from penstock.lab.brokers import PROGRAMS, missing, running
from penstock.vocabulary.errors import PenstockError
from tests.support.offers import Offers
from tests.support.receivers import Receiver, changes_of, publisher, write

ROOTS = count()
NAMES = ("north", "south")
STEPS = 6
"""So many steps take an edge from a gap to what holds: a beginning, and what follows it."""
Told = set[tuple[int, str, float | None]]


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(announced_edges, "LOOK_S", 0.0)
    return f"memory://named/r{next(ROOTS)}"


def step(receiver: Receiver) -> None:
    for _ in range(STEPS):
        receiver.edge.step(0.0)


def ends(url: str) -> list[Publication]:
    reading = broker_at(BrokerAddress.of(url)).read([END])
    return reading.take(0.0)


@pytest.mark.parametrize("extreme", ["min", "max"])
@pytest.mark.parametrize("seed", range(8))
def test_named_edges_tell_what_brute_force_tells(
    seed: int, extreme: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change once, with restarts of either side, crashes within a batch, and new ranges."""
    monkeypatch.setattr(message_publisher, "FEW_BYTES", [65_536, 250][seed % 2])
    monkeypatch.setattr(message_publisher, "FEW_ROWS", seed % 3)
    rng = np.random.default_rng(seed)
    offers = Offers(seed, extreme)
    place = f"{url}?buckets=3&edges={','.join(NAMES)}"
    held = {name: offers.subscribers(4) for name in NAMES}
    sink = publisher(place)
    sink.write(offers.change(come=20, go=0), "0:1")
    receivers = {name: Receiver(url, held[name], name=name) for name in NAMES}
    expected: Told = set()
    for receiver in receivers.values():
        receiver.catch_up(0)
    answers = {name: offers.answers(held[name]) for name in NAMES}
    for batch in range(1, 40):
        table = offers.change(*rng.integers(0, 4, 2).tolist())
        if not len(table):
            continue
        if rng.random() < 0.2:  # other ranges at one of them, from now on
            held["north"] = offers.subscribers(4)
            receivers["north"].edge.replace(held["north"])
            step(receivers["north"])
        if rng.random() < 0.3:
            (sink if rng.random() < 0.5 else sink.broker).close()
            sink = publisher(place)
        if rng.random() < 0.2:  # all but the end of a batch is published, then it comes again
            _crash(sink, table, batch, monkeypatch)
            sink = publisher(place)
        sink.write(table, f"{batch}:{len(table)}")
        before = answers["south"]
        for name, receiver in receivers.items():
            step(receiver)
            answers[name] = offers.answers(held[name])
            assert receiver.values == answers[name]
        expected |= changes_of(before, answers["south"], batch)
    late = Receiver(url, held["north"], name="north")
    step(late)
    assert late.values == answers["north"] and not late.told
    told = receivers["south"].told
    assert len(told) == len(set(told)) and set(told) == expected


def _crash(sink, table: pa.Table, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = type(sink.broker).publish

    def broken(self, publications):
        publish(self, publications[:-1])
        raise ConnectionError("gone")

    with monkeypatch.context() as patched:
        patched.setattr(type(sink.broker), "publish", broken)
        with pytest.raises(ConnectionError):
            sink.write(table, f"{batch}:{len(table)}")


def test_what_concerns_no_edge_is_not_sent(url: str) -> None:
    offers = Offers(1, span=200)
    given = offers.subscribers(6, low=40, high=60)
    sink = publisher(f"{url}?edges=north")
    sink.write(offers.change(come=150, go=0), "0:1")
    receiver = Receiver(url, given, name="north")
    receiver.catch_up(0)
    answers, changed = offers.answers(given), 0
    for batch in range(1, 40):
        sink.write(offers.change(2, 2), f"{batch}:1")
        before, answers = answers, offers.answers(given)
        changed += before != answers
        step(receiver)
        assert receiver.values == answers
    told = [BatchEnd.of_bytes(own.payload) for own in ends(url)]
    assert [own.number for own in told] == list(range(1, len(told) + 1))
    assert changed < len(told) <= changed + 2 and all(own.rows for own in told)
    assert {own.heard for own in told} == {0, 1}


def test_until_all_have_told_everything_is_sent(url: str, caplog: pytest.LogCaptureFixture) -> None:
    offers = Offers(2)
    given = offers.subscribers(3)
    sink = publisher(f"{url}?edges=north,south")
    for batch in range(4):
        sink.write(offers.change(3, 2), f"{batch}:1")
    receiver = Receiver(url, given, name="north")
    receiver.catch_up(3)
    for batch in range(4, 8):
        sink.write(offers.change(3, 2), f"{batch}:1")
    receiver.catch_up(7)
    assert receiver.values == offers.answers(given) and len(ends(url)) == 8
    assert "No edge north or south has told" in caplog.text


def test_an_edge_that_is_not_named_is_refused(url: str) -> None:
    offers = Offers(3)
    given = offers.subscribers(3)
    publisher(f"{url}?edges=north").write(offers.change(come=5, go=0), "0:1")
    for name in (None, "west"):
        with pytest.raises(PenstockError) as refused:
            Receiver(url, given, name=name).edge.step(0.0)
        assert refused.value.code == "EDG-006"
    publisher(url).write(offers.change(), "1:1")  # the edges are not named any more
    receiver = Receiver(url, given)
    receiver.catch_up(1)
    assert receiver.values == offers.answers(given)


@pytest.mark.parametrize("edges", ["a,a", "a%20b", "a,"])
def test_names_of_edges_are_words(edges: str, url: str) -> None:
    with pytest.raises(PenstockError) as refused:
        publisher(f"{url}?edges={edges}")
    assert refused.value.code == "BRK-003"


def test_only_messages_have_edges(url: str) -> None:
    with pytest.raises(PenstockError) as refused:
        publisher(f"{url}?edges=north").write(pa.table({"_id": ["a"], "x": [1]}), "0:1")
    assert refused.value.code == "BRK-007"


FORM = MessageForm(
    schema=pa.schema(
        [("ordinal", pa.int32()), ("min", pa.int64())]
        + [(name, pa.int64()) for name in ("inner_l", "inner_r", "outer_l", "outer_r")]
    ),
    bounds=(), engine="e", subscription="s",
)  # fmt: skip
LARGE = 2**62
PLACES = st.one_of(st.integers(-4, 4), st.integers(LARGE - 3, LARGE + 3))


@settings(max_examples=200)
@given(
    st.lists(st.tuples(PLACES, PLACES), max_size=20),
    st.lists(
        st.tuples(PLACES, PLACES, st.none() | PLACES, st.none() | PLACES), min_size=1, max_size=6
    ),
)
def test_a_summary_never_denies_what_concerns_its_edge(
    ranges: list[tuple[int, int]], told: list[tuple[int, int, int | None, int | None]]
) -> None:
    """Also of numbers that floats cannot tell apart; of small ones it is exact."""
    ids = [str(at) for at in range(len(ranges))]
    ends = [pa.array([own[at] for own in ranges], pa.int64()) for at in range(2)]
    subscribers = Subscribers(pa.table({"id": ids, "lo": ends[0], "hi": ends[1]}), FORM)
    columns = [pa.array([own[at] for own in told], pa.int64()) for at in range(4)]
    numbers = pa.array(np.arange(len(told), dtype=np.int32))
    rows = pa.table([numbers, columns[0], *columns], schema=FORM.schema)
    broker = broker_at(BrokerAddress.of(f"memory://named/h{next(ROOTS)}"))
    announce(broker, subscribers.summary())
    digest = announce(broker, subscribers.summary())
    notices = broker.read([END]).take(0.0)
    assert len(notices) == 1 and digest.encode() in notices[0].payload
    summary = announced(broker.kept(), notices[0])
    assert summary is not None
    found = RangeSummary(summary).concerned(FORM, rows)
    for at, (inner_l, inner_r, outer_l, outer_r) in enumerate(told):
        concerns = any(
            (outer_l is None or outer_l < lo) and lo <= inner_l and inner_r <= hi
            and (outer_r is None or hi < outer_r)
            for lo, hi in ranges if lo <= hi
        )  # fmt: skip
        assert found[at] or not concerns
        if not concerns and all(abs(own or 0) <= 4 for own in told[at]):
            wide = any(
                (outer_l is None or outer_l <= lo) and lo <= inner_l and inner_r <= hi
                and (outer_r is None or hi <= outer_r)
                for lo, hi in ranges if lo <= hi
            )  # fmt: skip
            assert wide or not found[at]


def test_ends_lie_on_the_nearest_value_of_a_short_float() -> None:
    """0.1 is the float 0.10000000149 there: who asks up to 0.1 is sent it, and has it."""
    fields = [pa.field(own.name, pa.float32()) for own in FORM.schema][1:]
    near = float(np.float32(0.1))
    form = replace(FORM, schema=pa.schema([FORM.schema.field(0), *fields]), bounds=(near,))
    subscribers = Subscribers(pa.table({"id": ["a"], "lo": [0.0], "hi": [0.1]}), form)
    rows = pa.table([[0], [5.0], [near], [near], [None], [None]], names=form.schema.names)
    assert subscribers.buckets(form.bounds) == [0, 1] and near > 0.1
    summary = RangeSummary(subscribers.summary())
    assert summary.concerned(form, rows.cast(form.schema)).tolist() == [True]
    found = concerned_rectangles(subscribers, form, rows.cast(form.schema).to_batches()[0])
    assert index_of(subscribers).find(found)[1].tolist() == [0]


def test_zeros_of_either_sign_are_one_partition() -> None:
    form = replace(FORM, schema=FORM.schema.insert(1, pa.field("rate", pa.float64())))
    texts = partition_texts([pa.array([0.0, -0.0, None])], form)
    assert texts is not None and texts[0] == texts[1] and not texts[2].is_valid


BOXES = MessageForm(
    schema=pa.schema(
        [
            ("ordinal", pa.int32()), (":lo <= n <= :hi", pa.int64()), ("p = :p", pa.string()),
            (":first <= t < :last", pa.timestamp("us")), ("weight", pa.int64()),
        ]
    ),
    bounds=(), engine="e", subscription="s",
)  # fmt: skip


@pytest.mark.parametrize("most", [7, 65_536])
def test_a_summary_of_boxes_denies_nothing_and_little_else(
    most: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two ranges; with more boxes than there may be, those that contain several."""
    monkeypatch.setattr(range_summaries, "BOXES_MAX", most)
    rng = np.random.default_rng(seed)
    size = 300
    low, first = rng.integers(0, 900, (2, size))
    high, last = low + rng.integers(-2, 60, size), first + rng.integers(-2, 60, size)
    low[0], high[1], high[2] = -(2**63), 2**63 - 1, low[2]
    products = rng.choice([*"abc"], size)
    times = [pa.array(own, pa.timestamp("us")) for own in (first, last)]
    columns = [np.arange(size).astype(str), low, high, products, *times]
    names = ["id", "lo", "hi", "p", "first", "last"]
    subscribers = Subscribers(pa.table(columns, names), BOXES)
    summary = subscribers.summary()
    assert len(summary) <= (most + 3 if most < size else size)
    asked = (rng.integers(0, 900, 500), rng.choice([*"abcd"], 500), rng.integers(0, 900, 500))
    zeros, moments = np.zeros(500, np.int32), pa.array(asked[2], pa.timestamp("us"))
    rows = pa.table([zeros, asked[0], asked[1], moments, zeros], schema=BOXES.schema)
    found = RangeSummary(summary).concerned(BOXES, rows)
    x, p, t = (own[:, None] for own in asked)
    concerns = (low <= x) & (x <= high) & (products == p) & (first <= t) & (t < last)
    widely = (low <= x) & (x <= high) & (products == p) & (first <= t) & (t <= last)
    assert concerns.any() and not np.any(concerns.any(axis=1) & ~found)
    if most > size:
        assert not np.any(found & ~widely.any(axis=1))
    else:
        assert found.mean() < 0.95
    assert not RangeSummary(summary.slice(0, 0)).concerned(BOXES, rows).any()


@pytest.mark.crash
@pytest.mark.parametrize("scheme", PROGRAMS)
def test_named_edges_over_brokers_that_die(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if (reason := missing(scheme)) is not None:
        pytest.skip(reason)
    monkeypatch.setattr(announced_edges, "LOOK_S", 0.0)
    offers = Offers(5, span=200)
    given = offers.subscribers(20, low=40, high=90)
    with running(scheme) as server:
        url = f"{server.url}/offers.lows"
        sink = publisher(url + "?edges=north")
        sink.write(offers.change(come=100, go=0), "0:1")
        receiver = Receiver(url, given, name="north")
        receiver.catch_up(0)
        answers, newest = offers.answers(given), 0
        for batch in range(1, 30):
            table = offers.change(2, 2)
            if batch in {8, 20}:
                server.kill()
                server.start()
            if batch in {12, 24}:
                (sink if batch == 12 else sink.broker).close()
                sink = publisher(url + "?edges=north")
            if batch == 16:
                receiver.edge.close()
                receiver = Receiver(url, given, name="north")
            write(sink, table, batch)
            before, answers = answers, offers.answers(given)
            newest = batch if before != answers else newest
            receiver.catch_up(newest)
            assert receiver.values == answers
        reading = broker_at(BrokerAddress.of(url)).read([END])
        found = {own.number: own for _ in range(3) for own in reading.take(0.2)}
        assert 3 <= len(found) < 20
        reading.close()
        receiver.edge.close()
        sink.close()
