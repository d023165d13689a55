"""Errors of scripts point at what they are about: an option, or a word of the query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.cli.scripts import read_script
from penstock.engine import Engine, relations
from penstock.registry.records import Declaration, Draft, Source
from penstock.spark import sources
from penstock.vocabulary.errors import PenstockError
from tests.support.joined import CATALOG

KEYED = "SELECT x.id\n  FROM a x JOIN b y ON x.id = y.id"
BOUNDED = "SELECT x.id FROM s x JOIN t y ON x.id = y.id MEMORY 5 ROWS"
MANY = "SELECT x.id FROM s x [ROWS 5], t y [ROWS 5] WHERE x.id = y.id"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path / "home") as engine:
        declared = [Declaration(relation=each, source=Source()) for each in CATALOG.values()]
        engine.desk.registry.publish(Draft(declarations=declared))
        yield engine


def pointed(engine: Engine, script: str) -> tuple[str, str]:
    """Carry out a script; give the refusal's code, and the rest of the line from its place on."""
    with pytest.raises(PenstockError) as refused:
        engine.sql(script)
    place = refused.value.place
    assert place is not None
    assert place.text == script
    return refused.value.code, script.splitlines()[place.line - 1][place.column - 1 :]


@pytest.mark.parametrize(
    ("query", "options", "code"),
    [
        (KEYED, "modus = 'full'", "SQL-070"),
        (KEYED, "strategy = 'magic'", "SQL-071"),
        (KEYED, "alpha = 7", "SQL-071"),
        (KEYED, "Inclusive = TRUE", "SQL-071"),
        ("SELECT id FROM a", "mode = 'full'", "SQL-070"),
        (MANY, "objectiv = 'cpu'", "SQL-070"),
        (MANY, "shape = 'round'", "SQL-071"),
        (MANY, "minimum_x = 2", "SQL-071"),
        (MANY, "Weight_q = 2", "SQL-070"),
        (MANY, "memory = 'much'", "SQL-071"),
        (MANY, "order = '(x'", "SQL-071"),
        (MANY, "order = '(x z)'", "SQL-071"),
        (MANY, "order = 'x'", "SQL-071"),
        (BOUNDED, "alpha = -1", "SQL-071"),
        (BOUNDED, "slices = 3", "SQL-070"),
        (BOUNDED, "alpha = 1, lifetime = 4", "SQL-071"),
    ],
)
@pytest.mark.parametrize("statement", ["SUBSCRIBE n TO", "EXPLAIN"])
def test_errors_point_at_options(engine, statement, query, options, code):
    script = f"-- a script\n{statement}\n  {query}\n  OPTIONS (\n    {options});"
    last = options.rpartition(", ")[2]
    assert pointed(engine, script) == (code, f"{last});")


def test_what_no_edge_can_ask_is_refused_as_a_script_is_read(tmp_path):
    """Before Spark starts: what a command names is read first."""
    begin = "SUBSCRIBE n TO\n SELECT x.id FROM a x JOIN b y ON x.id = y.id WHERE x.v > :lo\n"
    script = tmp_path / "joins.sql"
    for term in ("OR y.v < :hi", "AND (y.v < 3 OR y.v = :hi)", "AND NOT y.v < :hi"):
        script.write_text(f"{begin} {term} AS MESSAGES")
        with pytest.raises(PenstockError) as refused:
            read_script(script)
        assert refused.value.code == "SQL-068" and refused.value.place is not None
        assert refused.value.place.line == (2 if term.startswith("OR") else 3)
    for rest in ("OR y.v < :hi FOR EACH ROW OF each", "AND (y.v < 3 OR y.v = 7) AS MESSAGES"):
        script.write_text(f"{begin} {rest}")
        assert read_script(script)


def test_errors_point_at_adapt(engine):
    assert pointed(engine, f"SUBSCRIBE n TO {BOUNDED}\n  ADAPT;") == ("SQL-070", "ADAPT;")
    twice = f"SUBSCRIBE n TO {MANY}\n  ADAPT OPTIONS (adapt = TRUE)"
    assert pointed(engine, twice) == ("SQL-006", "ADAPT OPTIONS (adapt = TRUE)")


def test_errors_point_into_the_script_not_into_the_query(engine):
    script = "DROP SUBSCRIPTION IF EXISTS n;\nSUBSCRIBE n TO\n  SELECT id FROM a\n  WHERE idd > 3;"
    assert pointed(engine, script) == ("SQL-020", "idd > 3;")
    script = script.replace("SUBSCRIBE n TO", "\n\nEXPLAIN")
    assert pointed(engine, script) == ("SQL-020", "idd > 3;")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("lateness = 'soon'", "CAT-006"),
        ("event_time = 'never'", "CAT-002"),
        ("changes = 'ops'", "CAT-002"),
        ("rate = -1", "ENG-031"),
        ("distinct_id = 'few'", "ENG-031"),
        ("distinct_nothing = 4", "ENG-033"),
    ],
)
def test_errors_point_at_options_of_streams(engine, monkeypatch, options, code):
    monkeypatch.setattr(relations, "prepared", lambda spark: spark)
    monkeypatch.setattr(relations, "local_session", object)
    monkeypatch.setattr(relations, "open_source", lambda *_: SimpleNamespace(isStreaming=True))
    monkeypatch.setattr(relations, "arrow_schema", lambda _: CATALOG["a"].schema)
    script = f"CREATE STREAM new FROM 'rate' OPTIONS (\n  {options})"
    assert pointed(engine, script) == (code, f"{options})")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rowspersecond": "x"}, 'Spark failed: For input string: "x".'),
        ({"rowspersecond": "x"}, "Spark refuses an option: Invalid value 'x' for option 'y'."),
        ({"maxfiles": "0"}, "Spark refuses an option: Option 'maxFiles' must be positive."),
    ],
)
def test_what_spark_refuses_names_its_option(options, said):
    code = "RUN-001" if "failed" in said else "SRC-012"
    found = sources._about_option(PenstockError(code, said, "."), {"path": "/in", **options})
    assert (found.code, found.option) == ("SRC-012", next(iter(options)))
    other = PenstockError("RUN-001", "Spark failed: it did not say why.", ".")
    assert sources._about_option(other, options) is other


def test_options_from_python_have_no_place(engine):
    with pytest.raises(PenstockError) as refused:
        engine.subscribe(KEYED, options={"Alpha": 7})
    assert (refused.value.place, refused.value.option) == (None, "alpha")
