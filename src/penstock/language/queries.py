"""Queries on their way from a text to a logical node: what binders are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.algebra.catalog import Catalog
from penstock.language.memory_clauses import take_memory
from penstock.language.name_resolution import Names, is_multi_way, names_of
from penstock.language.parser import WORDS_MAX, parse_nodes
from penstock.language.places import ScriptSource
from penstock.language.refusals import check_functions, check_shape
from penstock.language.shared_memories import SharedStream, shared_streams
from penstock.language.statements import Select


@dataclass(kw_only=True)
class Query:
    """One SELECT, read and not bound yet.

    `tree` and `tokens` are what sqlglot reads, before anything is refused: a kind of query with
    words of its own looks there. `select` and `names` refuse what no standing query of Penstock's
    own kinds may say.
    """

    source: ScriptSource
    catalog: Catalog
    each: pa.Schema | None
    options: Mapping[str, Any]
    tree: exp.Expr
    tokens: list[Token]
    memory: exp.Expr | None
    """The clause MEMORY, which is taken out of tree and tokens."""

    @cached_property
    def select(self) -> exp.Select:
        """The query, of a shape that standing queries may have."""
        checked = check_shape(self.tree, self.source)
        check_functions(self.tokens, self.source)
        return checked

    @cached_property
    def names(self) -> Names:
        """What its names stand for."""
        names = names_of(
            self.select, self.source, self.catalog, self.each, bounded=self.memory is not None,
            shared=[stream.scope for stream in self.shared],
        )  # fmt: skip
        names.tokens = self.tokens
        for output in self.select.expressions:
            _refuse_parameters(output, self.source)
        return names

    @cached_property
    def shared(self) -> tuple[SharedStream, ...]:
        """The streams of its memory, if other joins share it."""
        return shared_streams(self.select, self.memory, self.source, self.catalog)

    @property
    def joins(self) -> list[exp.Join]:
        """What stands behind the first relation."""
        return self.select.args.get("joins") or []

    @property
    def is_multi_way(self) -> bool:
        """Whether it joins windows in brackets, or more than two relations."""
        return is_multi_way(self.select)


def read_query(
    select: Select | str,
    catalog: Catalog,
    each: pa.Schema | None = None,
    options: Mapping[str, Any] | None = None,
) -> Query:
    """Read one SELECT.

    >>> read_query("SELECT * FROM t MEMORY 5 ROWS", {}).memory is None
    False
    """
    source = select.source if isinstance(select, Select) else ScriptSource.whole(select)
    nodes, tokens = parse_nodes(source, words_max=WORDS_MAX)
    if len(nodes) != 1 or not isinstance(nodes[0], exp.Query):
        fact = "One SELECT is expected here." if nodes else "The text is empty."
        at = nodes[1] if len(nodes) > 1 else None
        raise source.error("SQL-002", fact, "Write one SELECT … FROM … WHERE ….", at=at)
    memory, tokens = take_memory(nodes[0], tokens)
    return Query(
        source=source,
        catalog=catalog,
        each=each,
        options=options or {},
        tree=nodes[0],
        tokens=tokens,
        memory=memory,
    )


def _refuse_parameters(output: exp.Expr, source: ScriptSource) -> None:
    parameter = output.find(exp.Placeholder)
    if parameter is not None:
        raise source.error(
            "SQL-043",
            f"The parameter :{parameter.name} stands among the outputs.",
            "Use parameters in WHERE only; results carry the standing query's id.",
            at=parameter,
        )
