"""Following in process: everyone gets what reading the files alone would give, once, in order."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Any

import pytest

from penstock.delivery import courier as module
from penstock.delivery import handed_batches as handed_module
from penstock.delivery import shares as shares_module
from penstock.delivery.change_iterators import followed
from penstock.delivery.changes import Change
from penstock.delivery.courier import Follower, Progress
from penstock.delivery.handed_batches import HandedBatch
from penstock.delivery.log import LoggedBatch
from penstock.delivery.loop_news import LoopNews
from penstock.delivery.shares import Shares
from penstock.delivery.sheets import SheetSelection
from penstock.delivery.slots import SlotTable
from penstock.vocabulary.errors import PenstockError
from tests.support.followers import LogOfMatches, Reads, selection


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.01)


def drawn(seed: int, of: LogOfMatches, names: int, batches: int) -> list[list[tuple[int, int]]]:
    """Draw subscriptions of one to three queries, and batches of pairs; some have none."""
    random = Random(seed)
    first = 0
    for number in range(names):
        count = random.randint(1, 3)
        of.claims.give(f"s{number}", selection(range(first, first + count)))
        first += count
    return [
        [(random.randrange(first), event) for event in range(random.choice((0, 3, 40)))]
        for _ in range(batches)
    ]


def test_followers_get_what_the_files_say(tmp_path: Path, seed: int) -> None:
    """Of many, from tokens anywhere, two of each, while batches come."""
    of = LogOfMatches(tmp_path)
    drawing = drawn(seed, of, 8, 14)
    for pairs in drawing[:6]:
        of.commit(pairs)
    tokens = {}
    for number in range(8):
        so_far = of.read(f"s{number}")
        tokens[f"s{number}"] = so_far[len(so_far) // 2].token if so_far else None
    readers = [
        (name, since, Reads(of, name, since))
        for name, token in tokens.items()
        for since in (None, token)
    ]
    for pairs in drawing[6:]:
        of.commit(pairs)
    of.end()
    for name, since, reader in readers:
        assert reader.done() == of.read(name, since)
    assert sum(len(of.read(name)) for name in tokens) == sum(len(pairs) for pairs in drawing)
    assert not of.courier._followers and not of.courier._rounds, "nothing is left of them"
    assert of.courier._held_bytes == 0


def test_each_batch_is_read_once_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = LogOfMatches(tmp_path)
    for number in range(50):
        of.claims.give(f"s{number}", selection([number]))
    read: list[int] = []
    shares = of.reader.shares

    def counted(logged: LoggedBatch, *rest: Any) -> Shares:
        read.append(logged.batch)
        return shares(logged, *rest)

    monkeypatch.setattr(of.reader, "shares", counted)
    readers = [Reads(of, f"s{number}") for number in range(50)]
    wait_until(of, 50)
    for _ in range(3):
        of.commit([(number, number % 7) for number in range(50)])
    of.end()
    assert all(len(reader.done()) == 3 for reader in readers)
    assert read == [0, 1, 2]


def wait_until(of: LogOfMatches, abreast: int) -> None:
    """Wait until so many followers have nothing left to read."""
    for _ in range(120_000):
        followers = [each for own in list(of.courier._followers.values()) for each in own]
        if sum(of.courier.is_abreast(each) for each in followers) == abreast:
            return
        threading.Event().wait(0.005)
    pytest.fail("they never came abreast")


def test_only_those_with_a_share_are_woken(tmp_path: Path) -> None:
    of = LogOfMatches(tmp_path)
    woken: SimpleQueue[str] = SimpleQueue()

    def told(name: str, own: list[Follower]) -> None:
        assert [each.name for each in own] == [name]
        woken.put(name)

    for name, query in (("a", 1), ("b", 2), ("c", 3)):
        of.claims.give(name, selection([query]))
        follower = of.courier.follow(name, None, partial(told, name))
        assert of.courier.take(follower) is None
    of.commit([(2, 0)])
    of.commit([(2, 1)])
    of.commit([(3, 0)])
    assert [woken.get(timeout=600) for _ in range(3)] == ["b", "b", "c"]
    assert woken.empty()


def test_a_slow_reader_is_bounded_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it does not take is let go; it gets it from the files, behind a token too."""
    monkeypatch.setattr(module, "HELD_BYTES_MAX", 1_000)
    of = LogOfMatches(tmp_path)
    of.claims.give("slow", selection([1]))
    of.claims.give("quick", selection([2]))
    of.commit([(1, 0), (1, 1), (1, 2)])
    slow = followed(of.courier, "slow", "0:1")
    got = [next(slow)]
    quick = Reads(of, "quick")
    for _ in range(20):
        of.commit([(1, event) for event in range(30)] + [(2, 0)])
    wait_until(of, 1)
    while len(quick.changes) < 20:
        threading.Event().wait(0.005)
    assert len(of.courier._rounds) <= 1
    of.end()
    got += list(slow)
    assert got == of.read("slow", "0:1")
    assert quick.done() == of.read("quick")


def test_a_reader_ends_when_nothing_comes_for_it(tmp_path: Path) -> None:
    """Batches that have nothing for it are nothing; being behind is no reason to end."""
    of = LogOfMatches(tmp_path)
    of.claims.give("a", selection([1]))
    for _ in range(30):
        of.commit([(2, 0)])
    of.commit([(1, 0)])
    found = list(followed(of.courier, "a", None, timeout_s=0.0))
    assert [change.batch for change in found] == [30]


def test_a_name_that_is_dropped_and_used_again(tmp_path: Path) -> None:
    of = LogOfMatches(tmp_path)
    of.claims.give("a", selection([1]))
    reader = Reads(of, "a")
    of.commit([(1, 0)])
    while not reader.changes:
        threading.Event().wait(0.005)
    of.claims.give("a")
    of.commit([(1, 0)])
    wait_until(of, 1)
    of.claims.give("a", selection([5, 6]))
    of.commit([(1, 0), (5, 1), (6, 1)])
    of.end()
    found = [(change.id, change.batch) for change in reader.done()]
    assert found == [("q1", 0), ("q5", 2), ("q6", 2)]


def test_several_texts_of_one_name_keep_their_order(tmp_path: Path) -> None:
    """Selections come in their order within a section, whichever group they are of."""
    of = LogOfMatches(tmp_path)
    of.claims.give("a", selection([7], "h"), selection([3], "g"), selection([5], "h"))
    of.claims.give("b", selection([4], "g"))
    readers = {name: Reads(of, name) for name in ("a", "b")}
    of.commit([(3, 1), (5, 0), (7, 2), (4, 0)], groups=("g", "h"))
    of.end()
    for name, reader in readers.items():
        assert reader.done() == of.read(name)
    assert [change.id for change in readers["a"].changes] == ["q7", "q3", "q5"]


def test_what_cannot_be_read_is_told_to_its_readers_alone(tmp_path: Path) -> None:
    of = LogOfMatches(tmp_path)
    of.claims.give("a", selection([1], "g"))
    of.claims.give("b", selection([2], "h"))
    readers = {name: Reads(of, name) for name in ("a", "b")}
    wait_until(of, 2)
    of.commit([(1, 0)], groups=("g",), tell=False)
    for path in tmp_path.rglob("*-matches.parquet"):
        path.write_bytes(b"no parquet")
    of.courier.committed(0)
    of.commit([(2, 0)], groups=("h",))
    of.end()
    assert len(readers["b"].done()) == 1
    assert readers["a"].done() == []
    assert readers["a"].error is not None


def test_nobody_gets_a_part_of_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of whom something could not be read gets an error, and the whole when it asks again."""
    of = LogOfMatches(tmp_path)
    of.claims.give("a", selection([1]))
    news = threading.Event()
    follower = of.courier.follow("a", None, lambda _: news.set())
    assert of.courier.take(follower) is None
    shares, broken = of.reader.shares, [RuntimeError("broken")]

    def in_part(*args: Any) -> Shares:
        found = shares(*args)
        if broken:
            found.unread["a"] = broken.pop()
        return found

    monkeypatch.setattr(of.reader, "shares", in_part)
    of.commit([(1, 0)])
    assert news.wait(600)
    with pytest.raises(RuntimeError, match="broken"):
        of.courier.take(follower)
    news.clear()
    handed = of.courier.take(follower) or (news.wait(600) and of.courier.take(follower))
    assert isinstance(handed, HandedBatch)
    assert list(handed.changes("a")) == of.read("a")


def test_a_missing_batch_is_an_error(tmp_path: Path) -> None:
    of = LogOfMatches(tmp_path)
    of.claims.give("a", selection([1]))
    of.commit([(1, 0)])
    of.commit([(1, 0)])
    next(tmp_path.rglob("000000000000.json")).unlink()
    with pytest.raises(PenstockError, match=r"\[DEL-003\] The manifest of batch 0 is missing"):
        list(followed(of.courier, "a", None))


def test_what_no_error_was_foreseen_for_is_told_and_gone_on_from(tmp_path: Path) -> None:
    of = LogOfMatches(tmp_path)
    of.claims.give("a", selection([1]))
    of.commit([(1, 0)])
    manifest = next(tmp_path.rglob("000000000000.json"))
    whole = manifest.read_bytes()
    manifest.unlink()
    manifest.mkdir()
    with pytest.raises(PenstockError, match=r"\[DEL-015\].*batch 0 cannot be read: OSError"):
        list(followed(of.courier, "a", None))
    manifest.rmdir()
    manifest.write_bytes(whole)
    of.end()
    assert list(followed(of.courier, "a", None)) == of.read("a") != []


def test_a_reader_that_stops_leaves_nothing_behind(tmp_path: Path) -> None:
    of = LogOfMatches(tmp_path)
    of.claims.give("a", selection([1]))
    of.commit([(1, 0), (1, 1)])
    of.commit([(1, 0)])
    changes = followed(of.courier, "a", None)
    next(changes)
    del changes
    assert not of.courier._followers and not of.courier._rounds
    follower = of.courier.follow("a", "0:2", lambda _: None)
    of.courier.leave(follower)
    assert follower.place is Progress.ENDED
    assert of.courier.take(follower) == "ended"


def test_readers_of_one_subscription_share_no_values(tmp_path: Path) -> None:
    of = LogOfMatches(tmp_path)
    of.claims.give("a", selection([1]))
    readers = [Reads(of, "a") for _ in range(2)]
    of.commit([(1, 0)])
    of.end()
    first, second = (reader.done() for reader in readers)
    first[0].row["n"] = -1
    assert second[0].row["n"] == 0


def test_changes_are_made_by_the_page_and_taken_once(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of small pages and large pieces, in any order, also when pages are kept no more."""
    monkeypatch.setattr(shares_module, "PAGE_ROWS", 8)
    monkeypatch.setattr(shares_module, "LISTED_MAX", 12)
    monkeypatch.setattr(handed_module, "PAGES_KEPT", 2)
    of = LogOfMatches(tmp_path)
    of.claims.give("large", selection(range(1_000, 1_100)))
    of.claims.give("two texts", selection([2_000]), selection([2_001]))
    for number in range(40):
        of.claims.give(f"s{number}", selection([number]))
    random = Random(seed)
    queries = [random.randrange(40) for _ in range(100)] + [7] * 11 + [8] * 30
    queries += [*range(1_000, 1_070), 2_001, 2_000, 2_000]
    of.commit([(query, event) for event, query in enumerate(queries)])
    names = list(of.claims.owned)
    logged = of.log.read(0)
    assert logged is not None
    handed = HandedBatch(0, 1, of.reader.shares(logged, SlotTable(of.claims, names)))
    asked = [name for name in names if name in handed.shares.names] * 2
    random.shuffle(asked)
    given: list[Change] = []
    for name in asked:
        own = list(handed.changes(name))
        assert own == of.read(name)
        assert list(handed.changes(name, 2)) == own[2:]
        assert sum(map(bool, handed._pages.values())) <= 2, "others are kept no more"
        given += own
    assert len({id(change.row) for change in given}) == len(given), "nobody shares a row"


def test_very_many_read_in_one_event_loop(tmp_path: Path, seed: int) -> None:
    """From the first batch on, while others come: what the files say.

    Of those who have nothing left to read, a batch wakes all at once.
    """
    of = LogOfMatches(tmp_path)
    drawing = drawn(seed, of, 40, 16)
    for pairs in drawing[:4]:
        of.commit(pairs)
    names = [f"s{number}" for number in range(40)]
    calls: list[int] = []

    async def read(name: str) -> list[Change]:
        return [change async for change in followed(of.courier, name, None)]

    async def all_of_them() -> list[list[Change]]:
        loop = asyncio.get_running_loop()
        call = loop.call_soon_threadsafe

        def counted(*args: Any, **kwargs: Any) -> asyncio.Handle:
            calls.append(len(of.courier._followers))
            return call(*args, **kwargs)

        loop.call_soon_threadsafe = counted  # type: ignore[method-assign, assignment]
        reading = [asyncio.create_task(read(name)) for name in names]
        for pairs in drawing[4:8]:
            await asyncio.to_thread(of.commit, pairs)
        await asyncio.to_thread(wait_until, of, 40)
        calls.clear()
        for pairs in drawing[8:]:
            await asyncio.to_thread(of.commit, pairs)
        of.end()
        return await asyncio.gather(*reading)

    assert asyncio.run(all_of_them()) == [of.read(name) for name in names]
    # One for each batch at most, one for each thread that ended, and one at the end.
    assert 8 < len(calls) <= 8 + 8 + 1
    assert not of.courier._followers and of.courier._held_bytes == 0


def test_a_reader_in_a_loop_ends_raises_and_can_be_cancelled(tmp_path: Path) -> None:
    of = LogOfMatches(tmp_path)
    of.claims.give("a", selection([1]))
    of.commit([(1, 0)])

    async def first_then_none() -> list[Change]:
        return [change async for change in followed(of.courier, "a", None, timeout_s=0.0)]

    assert [change.batch for change in asyncio.run(first_then_none())] == [0]

    async def cancelled() -> None:
        async def first() -> Change:
            return await anext(aiter(followed(of.courier, "a", "1:0")))

        task = asyncio.create_task(first())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    of.log.manifest(0).unlink()
    with pytest.raises(PenstockError, match="DEL-003"):
        asyncio.run(first_then_none())
    of.end()


def test_nothing_is_made_for_a_share_before_it_is_taken(tmp_path: Path) -> None:
    """What is handed to very many at once must not be a load for Python's garbage collector."""
    of = LogOfMatches(tmp_path)
    names = [f"s{number}" for number in range(500)]
    for number, name in enumerate(names):
        of.claims.give(name, selection([number]))
    of.commit([(number, 0) for number in range(500)])
    logged = of.log.read(0)
    assert logged is not None
    slots = SlotTable(of.claims, names)
    of.reader.shares(logged, slots)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        shares = of.reader.shares(logged, slots)
        made = len(gc.get_objects()) - before
    finally:
        gc.enable()
    assert len(shares.names) == 500
    assert made < 250
    assert [len(piece) for piece in shares.pieces("s7")] == [1]


def test_who_could_not_be_asked_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be said of a subscription is an error of its readers, until it can be said."""
    of = LogOfMatches(tmp_path)
    of.claims.give("a", selection([1]))
    of.claims.give("b", selection([2]))
    of.commit([(1, 0), (2, 0)])
    logged, slots = of.log.read(0), SlotTable(of.claims, ("a", "b"))
    assert logged is not None
    known, broken = of.claims.selections, PenstockError("DEL-001", "It is not known.", "Wait.")

    def asked(name: str) -> list[SheetSelection]:
        if name == "a":
            raise broken
        return known(name)

    monkeypatch.setattr(of.claims, "selections", asked)
    shares = of.reader.shares(logged, slots)
    assert (list(shares.names), shares.unread) == (["b"], {"a": broken})
    monkeypatch.undo()
    shares = of.reader.shares(logged, slots)
    assert (sorted(shares.names), shares.unread) == (["a", "b"], {})


def test_news_is_awaited_again_and_again_within_a_time_and_cancelled() -> None:
    """Told at once, and in the reader's own context; who was cancelled first is not told."""
    who: ContextVar[str] = ContextVar("who")
    handed = HandedBatch(7, 1, Shares())
    heard: list[object] = []

    async def reads(news: LoopNews) -> None:
        who.set("reader")
        heard.append(await news)
        heard.append((await news.within(0.0), who.get()))
        try:
            await news
        except ValueError as error:
            heard.append(str(error))
        await news

    async def run() -> None:
        loop = asyncio.get_running_loop()
        news = LoopNews(loop)
        assert asyncio.isfuture(news)
        reading = asyncio.create_task(reads(news))
        await asyncio.sleep(0)
        loop.call_soon(news.tell, handed)
        while len(heard) < 2:
            await asyncio.sleep(0.001)
        loop.call_soon(news.tell, ValueError("no"))
        while len(heard) < 3:
            await asyncio.sleep(0.001)
        assert news.is_awaited and reading.cancel("enough")
        assert not news.is_awaited
        loop.call_soon(news.tell, handed)
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await reading
        assert not news.cancel()

    asyncio.run(run())
    assert heard == [handed, (None, "reader"), "no"]
