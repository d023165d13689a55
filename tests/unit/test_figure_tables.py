"""Figures keep their meaning on the way: through shards, manifests and versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.delivery.log import ResultLog
from penstock.delivery.parts import Part, part_from_bytes, part_to_bytes, write_part
from penstock.operators.bounded_join.figures import RECALL_ALL
from penstock.operators.catalogue import OPERATORS, figures_of
from penstock.vocabulary.figure_tables import FigureTable, merged, together, told_figures
from penstock.vocabulary.figures import Figure, Key, Tally
from penstock.vocabulary.losses import CORRUPT_ROWS, LATE_ROWS
from penstock.vocabulary.shared_figures import (
    ASKED,
    HELD,
    HURRIED_ROWS,
    LAW,
    QUERIES,
    ROWS,
    ROWS_BUDGET,
    ROWS_UNDER,
)

GROUP = "bounded_join-1a2b"
BEFORE = {
    "sizes": {
        "queries": 2, f"{GROUP}/queries": 2, f"{GROUP}/rows_0": 3, f"{GROUP}/rows_1": 5,
        f"{GROUP}/rows_budget": 8, f"{GROUP}/rows_under_MY_OWN": 8, f"{GROUP}/model_1": 4,
    },
    "counts": {
        "late_rows": 1, f"{GROUP}/late_rows": 1, f"{GROUP}/recall_all": 9,
        f"{GROUP}/asked_0_terms": 4, "trades/corrupt_rows": 2,
    },
}  # fmt: skip
"""What a part said of its figures in the version before."""


@st.composite
def tables(draw: st.DrawFn) -> FigureTable:
    """Draw figures of a group and of a kind."""
    found = {}
    for subject in (GROUP, "filter"):
        kind = OPERATORS["bounded_join" if subject == GROUP else "filter"]
        own = found[subject] = Tally()
        for figure in draw(st.lists(st.sampled_from(kind.figures), unique=True)):
            labels = draw(st.lists(st.tuples(*([st.text()] * len(figure.labels))), max_size=3))
            for each in labels:
                own[figure, *each] = draw(st.integers(-5, 1 << 40))
    return FigureTable(found)


@given(tables())
def test_a_table_survives_its_file(table: FigureTable) -> None:
    described = json.loads(json.dumps(table.to_json()))
    assert FigureTable.from_json(described, figures_of) == table
    part = Part(version=3, rows_in=0, told={"figures": described})
    assert part_from_bytes(part_to_bytes(part)) == part


@given(st.lists(tables(), max_size=4))
def test_shards_merge_by_declaration_and_counters_add_up(shards: list[FigureTable]) -> None:
    whole = merged(shards)
    assert whole.of_kind("counter") == together(each.of_kind("counter") for each in shards)
    for row in whole.of_kind("gauge"):
        key: Key = (row.figure, *row.labels.values())
        told = [each[row.group][key] for each in shards if key in each[row.group]]
        by = {"sum": sum(told), "max": max(told), "last": told[-1]}
        assert row.value == by[row.figure.merge]


@given(tables(), tables())
def test_of_a_run_counters_add_up_and_the_last_gauges_stand(
    before: FigureTable, after: FigureTable
) -> None:
    run = before.then(after)
    assert run.of_kind("gauge") == after.of_kind("gauge")
    both = together([before.of_kind("counter"), after.of_kind("counter")])
    assert run.of_kind("counter") == both


def test_what_the_version_before_wrote_is_read(tmp_path: Path) -> None:
    told = told_figures(BEFORE, figures_of)
    assert told["trades"] == Tally({CORRUPT_ROWS: 2})
    assert told[GROUP] == Tally(
        {
            QUERIES: 2, (ROWS, 0): 3, (ROWS, 1): 5, ROWS_BUDGET: 8, (ROWS_UNDER, "MY_OWN"): 8,
            (LAW, 1): 4, LATE_ROWS: 1, RECALL_ALL: 9, (ASKED, 0, "terms"): 4,
        }
    )  # fmt: skip
    assert told.total(QUERIES) == 2, "what all groups told together is in what each told"
    # Also as Spark's transcripts and manifests carry it.
    part = part_from_bytes(part_to_bytes(Part(version=1, rows_in=0, told=BEFORE)))
    log = ResultLog(tmp_path)
    log.commit(0, 1, [write_part(part, log.directory(0), log.part_name(0, 0))])
    assert log.figures(0, figures_of) == [(0, told)]


def test_figures_that_nobody_declares_any_more_are_gone() -> None:
    gone = {"figures": {GROUP: {"phlogiston": 3, "held": 1}}}
    assert told_figures(gone, figures_of)[GROUP] == Tally({HELD: 1})


def test_what_is_not_as_declared_is_refused() -> None:
    with pytest.raises(AssertionError, match="input"):
        Tally()[ROWS] += 1
    with pytest.raises(AssertionError, match="labels"):
        Tally()[ROWS, 0, 1] += 1
    with pytest.raises(AssertionError, match="batches add up"):
        Figure("hurried", HURRIED_ROWS.help, "rows", "counter", "max")
