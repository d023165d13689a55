"""Policies by their names: found in files of their own, tried out, refused where they must be."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.algebra.catalog import Relation
from penstock.algebra.memories import JOIN_POLICIES, LOOKUP_POLICIES, OWN_POLICIES, Memory
from penstock.cli.main import penstock
from penstock.engine.budgets import Budgets, no_facts
from penstock.engine.declarations import declare_relation
from penstock.engine.verification import verify
from penstock.language.lookup_clauses import lookup_of, lookup_relation
from penstock.language.memory_checks import checked_policy, own_policies
from penstock.operators.bounded.policies_named import BUILT_IN, check_policy, policy_class
from penstock.operators.lookup import describe
from penstock.operators.lookup.figures import ROWS_CACHED
from penstock.registry.records import Source
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.shared_figures import HITS
from tests.support.bounded_streams import STREAM, Asking, Moving
from tests.support.desk_runs import DeskRun

HEAD = """
import numpy as np
from penstock.operators.bounded.policies import *
"""
OLDEST = f"""{HEAD}
class Oldest(ScoredPolicy):
    name = "OLDEST"
    def scores(self, candidates, now):
        return candidates.numbers
"""
FORGETFUL = f"""{HEAD}
class Forgetful(ScoredPolicy):
    name = "FORGETFUL"
    def __init__(self):
        self.seen = 0
    def see(self, streams, keys, now):
        self.seen += int(keys.sum())
    def scores(self, candidates, now):
        return (candidates.keys * 7 + self.seen) % 11
"""
TOSSING = f"""{HEAD}
chance = np.random.default_rng(1)
class Tossing(ScoredPolicy):
    name = "TOSSING"
    def scores(self, candidates, now):
        return chance.random(len(candidates))
"""
RULED = """
from penstock.operators.bounded import policies as p
class Ruled(p.CompiledPolicy):
    name = __name__.split(".")[-1].upper()
    def rule(self):
        return p.Rule(mode=p.{mode}, tables={tables})
"""
BROKEN: dict[str, tuple[str, str, str]] = {
    "typo": ("class Typo(:", "ENG-044", "SyntaxError"),
    "away": ("import nothing_of_the_kind", "ENG-044", "ModuleNotFoundError"),
    "other": (OLDEST, "ENG-044", "defines no policy OTHER"),
    "bare": (f"{HEAD}class Bare(Policy): name = 'BARE'", "ENG-044", "defines no policy BARE"),
    "forgetful": (FORGETFUL, "ENG-045", "after a restart"),
    "tossing": (TOSSING, "ENG-045", "two copies"),
    "nans": (
        OLDEST.replace("OLDEST", "NANS").replace(".numbers", ".numbers * np.nan"), "ENG-045", "NaN",
    ),
    "few": (
        OLDEST.replace("OLDEST", "FEW").replace(".numbers", ".numbers[1:]"), "ENG-045", "a score",
    ),
    "failing": (
        OLDEST.replace("OLDEST", "FAILING").replace(".numbers", ".nombres"), "ENG-045",
        "AttributeError",
    ),
    "lasting": (RULED.format(mode="LASTING", tables="()"), "ENG-045", "mode 5 and 0 tables"),
    "odd": (RULED.format(mode="__name__", tables="()"), "ENG-045", "cannot go by it"),
    "tabled": (RULED.format(mode="SCANNED", tables="(0, 0)"), "ENG-045", "mode 0 and 2 tables"),
}  # fmt: skip

Written = Callable[..., None]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    """Write files of policies into a directory of the Python path."""
    folder = tmp_path / "path" / OWN_POLICIES
    folder.mkdir(parents=True)
    known = set(sys.modules)
    monkeypatch.delitem(sys.modules, OWN_POLICIES, raising=False)
    monkeypatch.syspath_prepend(folder.parent)

    def write(**texts: str) -> None:
        for name, text in texts.items():
            (folder / f"{name}.py").write_text(text)

    yield write
    for name in set(sys.modules) - known:
        if name.startswith(OWN_POLICIES):
            del sys.modules[name]


def refusal(act: Callable[[], Any]) -> PenstockError:
    with pytest.raises(PenstockError) as caught:
        act()
    return caught.value


def test_what_is_built_in_is_known_by_name() -> None:
    assert {*BUILT_IN, "HEEB"} == set(JOIN_POLICIES)
    assert set(LOOKUP_POLICIES) <= set(JOIN_POLICIES)
    assert own_policies() == ()


def test_a_file_is_all_that_a_policy_needs(written: Written) -> None:
    assert own_policies() == ()
    written(oldest=OLDEST)
    assert own_policies() == ("OLDEST",)
    for known, what in ((JOIN_POLICIES, "join"), (LOOKUP_POLICIES, "lookup")):
        assert checked_policy("Oldest", known, what) == "OLDEST"
    for streams in (1, 2):
        check_policy(Memory(rows=5, policy="OLDEST"), streams)
    assert lookup_of("p", "duckdb:p", "id", 5, "oldest").memory.policy == "OLDEST"


def test_names_that_nobody_has_are_refused(written: Written) -> None:
    written(oldest=OLDEST)
    error = refusal(lambda: checked_policy("fancy", LOOKUP_POLICIES, "lookup"))
    assert (error.code, error.fact) == ("SQL-120", "'fancy' is no policy of a lookup.")
    assert error.remedy == (
        "Choose one of: HEEB, RAND, LRU, LFU, OLDEST; or define it in penstock_policies/fancy.py "
        "on the Python path."
    )
    near = refusal(lambda: checked_policy("OLDER", JOIN_POLICIES, "join"))
    assert near.remedy == "Did you mean 'OLDEST'?"
    odd = refusal(lambda: checked_policy("a.b", LOOKUP_POLICIES, "lookup"))
    assert odd.remedy == "Choose one of: HEEB, RAND, LRU, LFU, OLDEST."
    law = refusal(lambda: lookup_of("p", "duckdb:p", "id", 5, "oldest", "STATIONARY"))
    assert law.code == "SQL-121"


def test_names_that_are_taken_are_refused(written: Written) -> None:
    written(lru=OLDEST, prob=OLDEST)
    for word, known in (("LRU", JOIN_POLICIES), ("PROB", LOOKUP_POLICIES)):
        error = refusal(lambda word=word, known=known: checked_policy(word, known, "join"))  # type: ignore[misc]
        assert error.code == "SQL-120"
        assert "built in" in error.fact


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_files_that_do_not_work_are_refused(written: Written, name: str) -> None:
    text, code, word = BROKEN[name]
    written(**{name: text})
    error = refusal(lambda: check_policy(Memory(rows=5, policy=name.upper()), 1))
    assert error.code == code
    assert word in error.fact
    assert error.remedy


def test_what_is_not_there_is_refused() -> None:
    error = refusal(lambda: policy_class("NOWHERE"))
    assert error.code == "ENG-044"
    assert "penstock_policies/nowhere.py" in error.fact
    assert "PYTHONPATH" in error.remedy


def stream(name: str) -> Relation:
    return Relation(name=name, kind="stream", schema=STREAM, event_time="ts", lateness_us=0)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    made = DeskRun(tmp_path / "home", stream("r"), stream("s"), stream("asks"))
    yield made
    made.desk.close()


@pytest.mark.parametrize("restart", [False, True])
def test_joins_under_it_are_verified(
    written: Written, run: DeskRun, tmp_path: Path, seed: int, restart: bool
) -> None:
    written(oldest=OLDEST)
    streams = Moving(tmp_path / "in", seed, spread=5)
    streams.put(5)
    text = "SELECT r.n AS r, s.n AS s FROM r JOIN s ON r.k = s.k WITHIN 3 SECONDS MEMORY 10 ROWS"
    run.desk.subscribe(f"{text} USING oldest", name="tight")
    figures = FigureTable()
    for number in range(5):
        if restart:
            run.restart()
        run.batch(**{name: each.tables[number] for name, each in streams.feeders.items()})
        figures = figures.then(run.figures)
    (tight,) = verify(run.desk.registry, run.desk.log)
    assert tight.equal, tight
    assert 20 < tight.found < tight.expected
    assert tight.estimate == pytest.approx(tight.recall)
    told = Budgets(run.desk.registry).figures(figures, no_facts)["tight"]
    assert told.policy == "OLDEST"
    assert sum(told.held.values()) == 10
    shown = run.desk.explain(f"{text} USING oldest").text()
    assert "penstock_policies/oldest.py, in Python: slow, as every tick asks it" in shown


def test_lookups_under_it_are_verified(
    written: Written, run: DeskRun, tmp_path: Path, seed: int
) -> None:
    written(oldest=OLDEST)
    asking = Asking(tmp_path / "in", seed)
    asking.put(4)
    lookup = lookup_of("prices", f"duckdb:{asking.file}", "id", 8, "oldest")
    relation = lookup_relation("prices", describe(lookup), lookup)
    declare_relation(run.desk.registry, run.desk.home, relation, Source())
    text = "SELECT a.n, p.price FROM asks a JOIN prices p ON a.k = p.id"
    run.desk.subscribe(text, name="priced")
    hits = 0
    for table in asking.feeder.tables:
        run.restart()
        run.batch(asks=table)
        hits += run.figures.total(HITS)
        assert run.figures.total(ROWS_CACHED) <= 8
    (verdict,) = verify(run.desk.registry, run.desk.log)
    assert verdict.equal, verdict
    assert verdict.missing == 0
    assert hits > 10
    assert "every miss asks it about all rows held" in run.desk.explain(text).text()


def test_a_policy_that_does_not_work_lets_no_query_stand(written: Written, run: DeskRun) -> None:
    written(tossing=TOSSING)
    text = "SELECT r.n FROM r JOIN s ON r.k = s.k MEMORY 10 ROWS USING tossing"
    error = refusal(lambda: run.desk.subscribe(text, name="tossed"))
    assert error.code == "ENG-045"
    assert not run.desk.registry.subscriptions


def test_the_command_finds_policies_where_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / OWN_POLICIES / "newest.py"
    file.parent.mkdir()
    file.write_text("")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    assert "NEWEST" not in own_policies()
    penstock()
    assert "NEWEST" in own_policies()
