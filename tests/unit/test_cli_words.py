"""What the command line says and takes, as far as it needs no Spark."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from penstock import __version__
from penstock.algebra.catalog import Relation
from penstock.cli.homes import show_list, show_status
from penstock.cli.main import app
from penstock.cli.portfolio import ALERTS, RANGES, WISHES, Clients, shares
from penstock.cli.screen import Screen, draw, show_error
from penstock.cli.stories import predicate
from penstock.cli.verification import answer_facts, show_outcomes
from penstock.delivery.changes import Change
from penstock.delivery.sinks import ConsoleSink
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.lab.papers import OWN, PAPERS
from penstock.language.parser import parse
from penstock.vocabulary.errors import PenstockError, Place
from tests.support.desk_runs import DeskRun

COMMANDS = ("run", "explain", "advise", "verify", "sweep", "plot", "demo", "lab")


def test_the_version_is_told() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"penstock {__version__}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert f"penstock {command} " in re.sub(r"\x1b\[[\d;]*m", "", result.stdout)


def test_the_lab_lists_its_experiments() -> None:
    result = CliRunner().invoke(app, ["lab", "list"])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    papers = [n for n, line in enumerate(lines) if line.startswith("Ayad and Naughton 2004")]
    assert len(papers) == 1, "a paper is named once, above what cites it"
    assert any(line.startswith(" window-plans  ") for line in lines[papers[0] :])


def test_the_lab_names_the_paper_of_every_figure() -> None:
    """What runs a figure, a table, a section or an example again says whose; the rest is own."""
    listed = json.loads(CliRunner().invoke(app, ["lab", "list", "--json"]).stdout)["experiments"]
    cites = {each["name"]: each["cites"] for each in listed}
    for each in listed:
        if re.match(r"E\d|Figs?\. |Table |Section |Example ", each["reproduces"]):
            assert each["cites"] != OWN, each["name"]
    assert cites["filters"] == OWN
    assert "Ayad and Naughton" in cites["window-plans"]
    assert {name for names in PAPERS.values() for name in names} <= set(cites)


def test_an_error_shows_code_fact_remedy_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    place = Place(line=1, column=8, text="SELECT [x] FROM trades")
    show_error(PenstockError("SQL-001", "Bracket [x] is odd.", "Remove [x].", place))
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "SQL-001 Bracket [x] is odd. Remove [x]."
    assert said[1:] == ["  at line 1, column 8", "  SELECT [x] FROM trades", "         ^"]


def test_what_users_wrote_in_brackets_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rich takes `[a-z]` for a style, and `[/]` for the end of one that never began."""
    home = tmp_path / "[new]"
    stream = Relation(name="t", kind="stream", schema=pa.schema([("s", pa.string())]))
    run = DeskRun(home, stream)
    run.desk.subscribe("SELECT s FROM t WHERE regexp_matches(s, '[a-z][/]')", name="letters")
    run.desk.close()
    show_list(home, Screen())
    assert "[a-z][/]" in "".join(capsys.readouterr().out.split("│"))
    show_status(home, Screen())
    assert "[new]" in capsys.readouterr().out
    screen = Screen()
    with screen.busy("Carrying out [/]"):
        pass
    assert capsys.readouterr().err.startswith("Carrying out [/] …")


def test_a_change_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"text": "[/] " + "long " * 50}
    ConsoleSink("alerts", Screen().out)(Change("anna", row, 1, 0, 1, "0:1"))
    (line,) = capsys.readouterr().out.splitlines()
    assert line == f"+ alerts anna {json.dumps(row)}"


def test_progress_stays_off_stdout_when_that_is_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    with screen.busy("Counting"), screen.bar("Adding") as bar:
        bar.add_task("Adding", total=1.0)
    screen.out.print("42")
    said = capsys.readouterr()
    assert said.out == "42\n"
    assert "Counting" in said.err
    assert "Adding" in said.err


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(quiet=True)
    with screen.busy("Counting"):
        pass
    assert capsys.readouterr() == ("", "")


def test_json_is_all_of_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(as_json=True)
    screen.out.print("for people")
    screen.result({"answer": 42})
    said = capsys.readouterr()
    assert said.out == '{\n  "answer": 42\n}\n'
    assert "for people" in said.err


def test_a_display_can_be_drawn(tmp_path: Path) -> None:
    draw(tmp_path / "shown.svg", "title", ["[bold]hello[/]"])
    assert "hello" in (tmp_path / "shown.svg").read_text()


def test_the_shares_of_the_demo_add_up() -> None:
    assert sum(wish.share for wish in WISHES) == pytest.approx(1.0)
    assert sum(count for _, count in shares(12_345)) == 12_345


def test_clients_draw_what_the_texts_name_and_never_an_id_twice() -> None:
    clients = Clients(symbols=50)
    seen: set[int] = set()
    for wish in WISHES:
        drawn = clients.parameters(wish, 100)
        named = set(re.findall(r":(\w+)", wish.sql))
        assert set(drawn.column_names) == {"id", *named}
        ids = set(drawn["id"].to_pylist())
        assert len(ids) == 100
        assert not ids & seen
        seen |= ids
    ranges = clients.parameters(RANGES, 500)
    assert (ranges["low"].to_numpy() <= ranges["high"].to_numpy()).all()


def test_clients_draw_the_same_again() -> None:
    one, other = Clients(symbols=50), Clients(symbols=50)
    assert one.draw(200).equals(other.draw(200))
    assert one.choose(list(range(10)), 100) == other.choose(list(range(10)), 100)


def test_the_demos_alerts_are_statements() -> None:
    for sql in (*ALERTS.values(), *(wish.sql for wish in WISHES)):
        assert len(parse(sql)) == 1


def test_predicates_carry_their_constants() -> None:
    sql = "SELECT * FROM trades WHERE symbol = :symbol AND venue = :venue AND price <= :low"
    said = predicate(sql, {"symbol": "IBM", "venue": "XNYS", "low": 101.0})
    assert said == "venue = 'XNYS' AND price <= 101"


def test_what_verification_remarks_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """An answer that is right within a bound is not called the same."""
    answer = SubscriptionOutcome("near", expected=9, found=12)
    answer.remarks = ["The bound explains 3 false positives."]
    show_outcomes([answer], Screen())
    told = capsys.readouterr().out
    assert "near: The bound explains 3 false positives." in told
    assert "nothing beyond what queries allow" in " ".join(told.split())
    assert "no fewer, no more" not in told
    assert answer_facts([answer])["subscriptions"][0]["remarks"] == answer.remarks
