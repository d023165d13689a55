"""Change words: what writers of changes say, in any case; the rest means nothing."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation
from penstock.kinds.table_verification import meaning_sql
from penstock.language.parser import parse
from penstock.language.relations import relation_of
from penstock.language.statements import CreateRelation
from penstock.vocabulary.changes import BLANKS, WORDS, meanings_of, signs_of
from penstock.vocabulary.errors import PenstockError

SCHEMA = pa.schema(
    [("id", pa.int64()), ("Region", pa.string()), ("tags", pa.list_(pa.string())),
     ("lsn", pa.int64()), ("op", pa.string())]
)  # fmt: skip


def sign(word: str | None) -> int:
    found: int = signs_of(pa.array([word], pa.string()))[0].as_py()
    return found


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["insert", "INSERT", "+I", "I", "c", "r", "+", "update_after", "UPDATE_AFTER", "+U",
          "update_postimage", "u", "U", " Insert\t", "\u00a0insert\ufeff"], 1),
        (["delete", "DELETE", " delete", "-D", "D", "d", "-", "update_before", "UPDATE_BEFORE",
          "-U", "update_preimage", "-u"], -1),
        ([None, "", " ", "t", "T", "m", "truncate", "inser", "insertt", "in sert", "\u0131nsert",
          "\ud7ff", "+ I", "0", "delete;"], 0),
    ],
)  # fmt: skip
def test_words_have_signs(words: list[str | None], expected: int) -> None:
    assert {word: sign(word) for word in words} == dict.fromkeys(words, expected)


@given(
    words=st.lists(
        st.none()
        | st.text(max_size=6)
        | st.builds(
            lambda before, word, upper, behind: before + (word.upper() if upper else word) + behind,
            st.text(BLANKS, max_size=2), st.sampled_from(sorted(WORDS)), st.booleans(),
            st.text(BLANKS + "x", max_size=2),
        ),
        max_size=20,
    )
)  # fmt: skip
def test_verification_reads_words_as_the_engine_does(words: list[str | None]) -> None:
    words = [w if w is None else w.replace("\x00", "") for w in words]
    said = pa.table({"op": pa.array(words, pa.string())})
    with duckdb.connect(":memory:") as db:
        # Users' names begin with a dot in the tables of verification.
        db.register("said", said.rename_columns([f".{name}" for name in said.column_names]))
        rows = db.execute(f"SELECT {meaning_sql('op')} FROM said").fetchall()
    assert [row[0] for row in rows] == meanings_of(said["op"]).tolist()


def test_columns_of_other_forms() -> None:
    words = pa.array(["d", None, "c"])
    for column in (words.dictionary_encode(), words.cast(pa.large_string())):
        assert signs_of(column).to_pylist() == [-1, 0, 1]
    assert signs_of(pa.chunked_array([words, words[:0]])).to_pylist() == [-1, 0, 1]
    assert signs_of(pa.nulls(2)).to_pylist() == [0, 0]


def table(**options: object) -> Relation:
    return Relation(name="t", kind="table", schema=SCHEMA, **{"change_column": "op", **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"change_column": "id"}, "CAT-009"),
        ({"key": ("nothing",)}, "CAT-002"),
        ({"key": ("id",), "sequence": ("nothing",)}, "CAT-002"),
        ({"sequence": ("lsn",)}, "CAT-012"),
        ({"key": ("id",), "sequence": ("tags",)}, "CAT-012"),
        ({"key": ("op",)}, "CAT-012"),
    ],
)
def test_orders_that_order_nothing_are_refused(options: dict[str, object], code: str) -> None:
    with pytest.raises(PenstockError, match=rf"\[{code}\]"):
        table(**options)


def test_options_name_columns() -> None:
    text = (
        "CREATE TABLE t (id BIGINT, Region VARCHAR, lsn BIGINT, op VARCHAR) FROM 'parquet:/in' "
        "OPTIONS (changes = 'OP', key = 'ID, region', sequence = 'lsn')"
    )
    (statement,) = parse(text)
    assert isinstance(statement, CreateRelation)
    relation = relation_of(statement)
    assert (relation.change_column, relation.key) == ("op", ("id", "Region"))
    assert relation.sequence == ("lsn",)
