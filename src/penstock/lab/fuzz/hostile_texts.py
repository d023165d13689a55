"""Hostile texts: mutations of what is written about Penstock, and texts that are large."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import RELATION_KINDS, Relation
from penstock.engine import Desk
from penstock.engine.early_checks import check_early
from penstock.engine.scripts import execute
from penstock.lab.correctness.predicates import NUMBER_TEXTS, STRING_TEXTS, TIME_TEXTS, WORDS
from penstock.lab.correctness.runs import DeskRun, scratch
from penstock.lab.fuzzers import FuzzOutcome
from penstock.language.parser import parse
from penstock.language.statements import CreateLookup, CreateRelation, DropRelation, Statement

ROOT = Path(__file__).parents[4]
PLACES = (
    ("tests/golden/language", "*.sql"), ("examples", "*.sql"), ("docs", "*.md"), (".", "README.md"),
)  # fmt: skip
"""Where statements stand, in a checkout; elsewhere those below serve alone."""
OWN = (
    "SELECT ts, price FROM trades WHERE symbol = 'IBM' AND price BETWEEN 1 AND 2",
    "SELECT symbol, price * size AS notional FROM trades WHERE size >= 2000 OR symbol LIKE 'ZA%'",
    "SELECT t.price, q.ask FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN 10 SECONDS",
    "SELECT a.price FROM trades a [ROWS 10], quotes q [RANGE 1 SECOND] WHERE a.symbol = q.symbol",
    "SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 40 ROWS USING HEEB",
    "SELECT product FROM supply WHERE quantity > 5 AND NOT (price < 3 OR product IS NULL)",
    "SELECT s.product FROM supply s JOIN demand d ON s.product = d.product",
    "SELECT min(price) AS low, count(*) AS n FROM supply WHERE quantity BETWEEN 1 AND 5",
    "SUBSCRIBE lows TO SELECT min(price) FROM supply WHERE quantity BETWEEN :lo AND :hi "
    "AND product = :product AS MESSAGES",
    "SELECT symbol, starts, ends, price, status FROM trades MODEL price = price + size * t "
    "KEY symbol WHERE price > 10 OR price < 3 ERROR WITHIN 0.5 HORIZON 10 SECONDS",
    "SELECT a.symbol, at FROM trades a MODEL price KEY symbol JOIN quotes b MODEL bid KEY symbol "
    "ON a.symbol = b.symbol AND a.price < b.bid ERROR WITHIN 1 SAMPLE EVERY 1 SECOND",
    "SELECT symbol, avg(price) AS p FROM trades [SIZE 10 SECONDS ADVANCE 2 SECONDS] "
    "MODEL price KEY symbol GROUP BY symbol HAVING avg(price) > 3 ERROR WITHIN 1 %",
    "SELECT symbol, starts FROM trades MODEL price KEY symbol WHERE sqrt(price) > 3 OR price < 1 "
    "FIT price USING SWAB (0.5, 60) DEGREE 2 ERROR WITHIN price 1",
    "CREATE VIEW kept REFRESH WITHIN 1 SECOND AS SELECT product, count(*) AS n, max(price) AS most "
    "FROM supply GROUP BY product HAVING count(*) > 1 OPTIONS (policy = 'naive')",
    "SUBSCRIBE found TO SELECT product, n FROM kept WHERE n > 3 INTO 'found' AS files",
    "EXPLAIN VIEW kept WHAT IF (bound = '1 second', rate(supply) = 100/s)",
    "KEEP 7 DAYS, 10 GB UNTIL READ",
    "DROP SINK files OF found",
    "DROP VIEW kept",
)
TIMES = [("ts", pa.timestamp("us", "UTC"))]
TRADES = [("symbol", pa.string()), ("price", pa.float64()), ("size", pa.int64())]
QUOTES = [("symbol", pa.string()), ("bid", pa.float64()), ("ask", pa.float64())]
GOODS = [("product", pa.int64()), ("quantity", pa.int64()), ("price", pa.decimal128(10, 2))]
RELATIONS = (
    Relation(name="trades", kind="stream", schema=pa.schema(TIMES + TRADES), event_time="ts"),
    Relation(name="quotes", kind="stream", schema=pa.schema(TIMES + QUOTES), event_time="ts"),
    Relation(
        name="supply", kind="table", schema=pa.schema([*GOODS, ("op", pa.string())]),
        change_column="op",
    ),
    Relation(
        name="demand", kind="table", schema=pa.schema([*GOODS, ("op", pa.string())]),
        change_column="op",
    ),
)  # fmt: skip
ODD = (
    "\x00", "\ufeff", "\u202e", "\u200b", "ß", "İ", "K", "日本", "🦆", "\ud7ff", "\U0010ffff",
    "'", '"', "''", "$$", "/*", "*/", "--", ";", "(", ")", "[", "]", "{", "}", ":", "::", ":=",
    "?", "$1", "#1", "@",
    "\\", "`", "e'", "x'", "0x", "1e999", "->", "->>", "lambda x:", "ROWS", "WITHIN", "MEMORY",
    "SELECT", "FROM", "WHERE", "NOT", "NULL", "CASE", "WHEN", "END", "CAST(", "AS", "BETWEEN",
    "IN (", "OVER ()", "PIVOT", "ATTACH 'x'", "COPY", "PRAGMA", "SET", "CALL", "UNION",
    "WITH x AS (",
    "COLUMNS(*)", "*", "t.*", "getenv('HOME')", "read_csv('/etc/passwd')", "INTERVAL", "DATE ''",
    "ANY(", "EXISTS (", "OPTIONS (", "FOR EACH ROW OF", "USING", "MODEL", "EXCLUDE",
    "KEY", "FIT", "DEGREE", "ERROR WITHIN", "HORIZON", "ADAPTIVE (", "SAMPLE EVERY", "SPLIT",
    "AS MESSAGES", "WITH SNAPSHOT", "REFRESH WITHIN", "INTO", "KEEP", "UNTIL READ", "STORE", "t",
)  # fmt: skip
"""Words and characters that are put where they do not belong."""
CALLS = (
    "repeat('x', 1000000000)", "range(1000000000)",
    "list_reduce(range(99), lambda a, b: a || a, 'x')",
    "nullif({}, 1)", "coalesce({}, 0)", "lpad('x', 2000000000, 'y')", "printf('%999999999d', 1)",
    "2::HUGEINT ** 120", "factorial(1000)", "split_part({}::VARCHAR, ',', 1)", "greatest({}, 1)",
    "regexp_matches('a', '((a{{0,30}}){{0,30}}){{0,30}}')", "[x + 1 for x in range(5000)]",
    "CASE WHEN {} IS NULL THEN 1 ELSE 2 END", "list_sum(list_transform(range(999), lambda x: x))",
)  # fmt: skip
"""Calls that would be large, some of them around others."""


@lru_cache(maxsize=1)
def statements() -> tuple[str, ...]:
    """Give the texts that are mutated."""
    found = list(OWN)
    for place, pattern in PLACES:
        for path in sorted((ROOT / place).rglob(pattern) if place != "." else [ROOT / pattern]):
            if not path.is_file():
                continue
            text = path.read_text(encoding="utf-8")
            blocks = (
                re.findall(r"```sql\n(.*?)```", text, re.DOTALL) if path.suffix == ".md" else [text]
            )
            found += [own.strip() for block in blocks for own in block.split(";") if own.strip()]
    return tuple(found)


def drawn_text(chance: np.random.Generator) -> str:
    """Draw one text."""
    make = (_mutated, _mutated, _mutated, _crossed, _predicate, _predicate, _large)
    return make[int(chance.integers(len(make)))](chance)


def _pick(chance: np.random.Generator, things: tuple[str, ...] | list[str]) -> str:
    return things[int(chance.integers(len(things)))]


def _words(text: str) -> list[str]:
    return re.findall(r"\s+|\w+|[^\w\s]", text)


def _mutated(chance: np.random.Generator) -> str:
    """Delete, double, swap or replace some words of a statement."""
    words = _words(_pick(chance, statements()))
    for _ in range(int(chance.integers(1, 5))):
        if not words:
            break
        at, other = (int(chance.integers(len(words))) for _ in range(2))
        how = int(chance.integers(5))
        if how == 0:
            del words[at]
        elif how == 1:
            words.insert(at, words[other])
        elif how == 2:
            words[at], words[other] = words[other], words[at]
        elif how == 3:
            words[at] = _pick(chance, ODD)
        else:
            words.insert(at, f" {_pick(chance, ODD)} ")
    return "".join(words)


def _crossed(chance: np.random.Generator) -> str:
    """Put the beginning of one statement before the end of another."""
    one, other = _words(_pick(chance, statements())), _words(_pick(chance, statements()))
    return "".join(
        one[: int(chance.integers(len(one) + 1))] + other[int(chance.integers(len(other) + 1)) :]
    )


FRAMES = (
    "SELECT symbol FROM trades WHERE {}",
    "SELECT symbol, {call} AS o FROM trades WHERE {}",
    "SELECT symbol, starts, ends FROM trades MODEL price KEY symbol WHERE {} ERROR WITHIN 1",
    "SELECT symbol, price, at FROM trades MODEL price = price + {call} * t KEY symbol "
    "WHERE {} ERROR WITHIN 1 % HORIZON 5 SECONDS SAMPLE EVERY 1 SECOND",
    "SELECT symbol, starts FROM trades MODEL price, size KEY symbol WHERE {} ERROR WITHIN 1",
    "CREATE VIEW v REFRESH WITHIN 1 SECOND AS "
    "SELECT symbol, count(*) AS n, max({call}) AS m FROM trades WHERE {} GROUP BY symbol",
    "SELECT min(price) AS low, sum(quantity) AS s FROM supply "
    "WHERE quantity BETWEEN 1 AND 9 AND ({})",
)
"""Statements around a condition; some have a call beside it."""


def _framed(chance: np.random.Generator, condition: str) -> str:
    """Ask for a condition in a query of any kind."""
    frame = FRAMES[int(chance.integers(len(FRAMES)))]
    if " supply " in frame:
        condition = condition.replace("size", "quantity").replace("symbol", "product")
    call = _pick(chance, CALLS).format("price")
    return frame.replace("{call}", call).replace("{}", condition)


def _predicate(chance: np.random.Generator) -> str:
    """Join conditions of all types, which need not be typed well, and large calls."""
    columns = ["price", "size", "symbol", "ts"]
    parts = []
    for _ in range(int(chance.integers(1, 5))):
        column = _pick(chance, columns)
        values = (*NUMBER_TEXTS, *STRING_TEXTS, *TIME_TEXTS)
        call = _pick(chance, CALLS)
        parts.append(
            _pick(
                chance,
                [
                    f"{column} {_pick(chance, ['=', '<>', '<', '>=', 'LIKE', 'IN'])} "
                    f"{_pick(chance, values)}",
                    f"{call.format(column)} = {_pick(chance, values)}",
                    _pick(chance, WORDS),
                    f"{column} BETWEEN {_pick(chance, values)} AND {_pick(chance, values)}",
                ],
            )
        )
    joined = _pick(chance, [" AND ", " OR ", " AND NOT ", " OR NOT "]).join(parts)
    return _framed(chance, joined)


def _large(chance: np.random.Generator) -> str:
    """Make a text that is deep, long or wide."""
    depth = int(2 ** chance.uniform(1, 11))
    call = _pick(chance, [each for each in CALLS if "{}" in each])
    nested = "price"
    for _ in range(min(depth, 60)):
        nested = call.format(nested)
    conditions = [f"price > {i} AND size < {i}" for i in range(min(depth, 400))]
    made = [
        f"{'(' * depth}price{')' * depth} > 1",
        f"{'NOT ' * depth}(price > 1)",
        f"{'-' * depth}price > 1",
        f"price {'+ 1' * depth} > 1",
        f"{nested} IS NOT NULL",
        f"size IN ({', '.join(map(str, range(depth)))})",
        f"symbol IN ({', '.join(repr(str(i)) for i in range(depth))})",
        " OR ".join(f"({each})" for each in conditions),
        " AND ".join(f"(price > {i} OR size < {i})" for i in range(min(depth, 400))),
        f"{'CASE WHEN price > 1 THEN ' * depth}1{' END' * depth} = 1",
        f"symbol = '{_pick(chance, ODD) * depth}'",
        f"price > {'9' * depth}",
        f"[{', '.join(map(str, range(depth)))}][1] = size",
        f"symbol LIKE '{'%a' * depth}'",
        f"regexp_matches(symbol, '{'(a*)*' * depth}')",
        f"{'price * ' * depth}price > {depth}",
        " OR ".join(f"price * {i} > {i * i}" for i in range(min(depth, 400))),
        f"{'sqrt(' * depth}price{')' * depth} > 1",
    ]
    return _framed(chance, _pick(chance, made))


def try_texts(seed: int, first: int, cases: int) -> FuzzOutcome:
    """Carry texts out at a desk: queries are subscribed to, the rest are scripts."""
    outcome = FuzzOutcome("texts")
    with scratch() as home, DeskRun(Path(home), *RELATIONS) as run:
        for case in range(first, first + cases):
            text = drawn_text(np.random.default_rng((seed, 3, case)))
            is_query = text.lstrip()[:6].upper() == "SELECT"
            act = run.desk.subscribe if is_query else partial(_script, run.desk)
            outcome.attempt(seed, case, text, partial(act, text))
    return outcome


def _script(desk: Desk, text: str) -> None:
    """Carry a script out, or check one that declares relations, which only an engine does."""
    if any(_is_declaring(each) for each in parse(text)):
        check_early(desk, text)
    else:
        execute(desk, text)


def _is_declaring(statement: Statement) -> bool:
    if isinstance(statement, DropRelation):
        return RELATION_KINDS[statement.kind].flows
    return isinstance(statement, CreateRelation | CreateLookup)
