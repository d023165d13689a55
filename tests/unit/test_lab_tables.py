"""Tables of the lab: every column can be told from the others, by readers and by charts."""

from __future__ import annotations

import pytest

from penstock.lab.report import Table


def test_no_table_has_two_columns_of_one_name() -> None:
    with pytest.raises(AssertionError, match="two columns of one name"):
        Table("rates", ("queries", "groups", "queries"), [(1, 2, 3)])
