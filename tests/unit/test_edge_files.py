"""Files of an edge's subscribers: what stands in them is what FOR EACH would read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.brokers.message_format import MessageForm
from penstock.edges.subscribers import Subscribers, read_subscribers
from penstock.vocabulary.errors import PenstockError


def form_of(site: pa.DataType, attribute: pa.DataType) -> MessageForm:
    ends = [(name, attribute) for name in ("inner_l", "inner_r", "outer_l", "outer_r")]
    schema = pa.schema([("ordinal", pa.int32()), ("site", site), ("min", pa.float64()), *ends])
    return MessageForm(schema=schema, bounds=(), engine="e", subscription="s")


def test_texts_of_a_csv_file_are_texts(tmp_path: Path) -> None:
    """007 was the id 7; who is at 01 or NA was told nothing, since no message has 1 or NULL."""
    path = tmp_path / "s.csv"
    path.write_text('id,site,lo,hi\n007,01,1,2.5\n8,NA,-1e3,7\ntrue,x,3,\n"",,"",1\n')
    found = Subscribers(read_subscribers(path), form_of(pa.string(), pa.float64()))
    assert found.ids.to_pylist() == ["007", "8", "true", ""]
    assert found.partitions.take(pa.array(found.codes[:3])).to_pylist() == ["01", "NA", "x"]
    assert found.stands.tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("site", "attribute", "low", "high"),
    [
        (pa.int64(), pa.int32(), "1.5", "4"),
        (pa.bool_(), pa.decimal128(9, 2), "-0.25", "1e2"),
        (pa.date32(), pa.timestamp("us", "UTC"), "2026-01-02", "2026-01-02T03:04:05Z"),
        (pa.float64(), pa.date32(), "1969-12-31", "2026-01-02"),
    ],
)
def test_values_of_a_csv_file_are_read_as_the_messages_have_them(
    tmp_path: Path, site: pa.DataType, attribute: pa.DataType, low: str, high: str
) -> None:
    place = {pa.bool_(): "true", pa.date32(): "2026-01-02"}.get(site, "3")
    path = tmp_path / "s.csv"
    path.write_text(f"id,site,lo,hi\na,{place},{low},{high}\n")
    form = form_of(site, attribute)
    found = Subscribers(read_subscribers(path), form)
    assert found.stands.tolist() == [True] and found.x1s[0] <= found.x2s[0]
    assert found.partitions.to_pylist() == pa.array([place]).cast(site).cast("string").to_pylist()
    pq.write_table(read_subscribers(path), tmp_path / "s.parquet")
    again = Subscribers(read_subscribers(tmp_path / "s.parquet"), form)
    assert (again.x1s[0], again.x2s[0]) == (found.x1s[0], found.x2s[0])


def test_a_text_that_is_no_value_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("id,site,lo,hi\na,x,1,2\nb,x,one,2\n")
    with pytest.raises(PenstockError, match=r"\[EDG-003\].* 'one' in column 'lo'"):
        Subscribers(read_subscribers(tmp_path / "s.csv"), form_of(pa.string(), pa.int64()))
