"""Registration: from a user's text and rows to a draft that the registry publishes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.catalog import Catalog
from penstock.algebra.logical import Logical
from penstock.algebra.physical import ALONE, Step, signature
from penstock.engine.parameter_rows import Parameters, Refused
from penstock.engine.parameters import load_parameters
from penstock.kinds.binder import bind
from penstock.language.name_resolution import exact
from penstock.language.places import listing, suggestion
from penstock.operators.catalogue import OPERATORS
from penstock.registry.records import Block, Declaration, Draft, SubscriptionRecord
from penstock.registry.store import Registry
from penstock.vocabulary.batches import NO_QUERIES, Ints, QueryChanges, Registration
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.names import is_name
from penstock.vocabulary.types import ColumnKind, kind_of

DEFAULT_KEY = "id"

REFUSALS_SHOWN = 5

Options = Mapping[str, Any]
"""What stands in OPTIONS (…) beside a text, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of a registration.

    `refused` has the columns row, code, reason: a bad row is refused with its reason and harms no
    other. `silent` counts accepted queries that can never match (NULL or NaN among the constants).
    Of a multi-way join, `verdict` says whether it will keep up, and `notes` what that means.
    """

    version: int
    accepted: int
    silent: int
    refused: pa.Table
    verdict: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Request:
    """A subscription's text, bound and planned, with its rows of parameters."""

    name: str
    sql: str
    key: str | None
    logical: Logical
    step: Step
    parameters: Parameters
    options: Options

    @cached_property
    def record(self) -> SubscriptionRecord:
        """What the registry keeps of the text."""
        return SubscriptionRecord(
            name=self.name,
            sql=self.sql,
            relations=self.logical.relations,
            group=signature(self.step),
            key=self.key,
            options=self.options,
        )


def draft_declaration(declaration: Declaration) -> Draft:
    """Draft a new relation, for joins that come later too.

    From the start a table's rows are kept, and a stream's event time is followed.
    """
    relation = declaration.relation
    draft = Draft(declarations=[declaration])
    if (step := relation.attendant()) is not None:
        draft.steps[signature(step)] = step.to_json()
    return draft


def prepare(
    registry: Registry,
    name: str,
    sql: str,
    each: Any,  # whatever load_parameters takes
    key: str | None,
    options: Options | None = None,
) -> Request:
    """Bind and plan a text, and load its parameters; nothing is registered yet."""
    if not isinstance(options, Mapping | None):
        raise PenstockError(
            "SQL-007",
            f"The options are a {type(options).__name__}.",
            "Give names with values, such as {'snapshot': True}.",
        )
    options = dict(options or {})
    if each is None:
        parameters = load_parameters([{DEFAULT_KEY: name}])
        logical = bind(sql, registry.catalog, options=options)
    else:
        parameters = keyed(load_parameters(each, key or DEFAULT_KEY), key or DEFAULT_KEY)
        logical = bind(sql, registry.catalog, parameters.table.schema, options)
        if key is not None and key not in parameters.table.column_names:
            raise PenstockError(
                "REG-012",
                f"The parameters have no column {key!r}.",
                f"Choose one of: {', '.join(parameters.table.column_names)}.",
            )
        if key is None and DEFAULT_KEY in parameters.table.column_names:
            key = DEFAULT_KEY
    return Request(
        name=name,
        sql=sql,
        key=key,
        logical=logical,
        step=logical.step(),
        parameters=parameters,
        options=options,
    )


def keyed(parameters: Parameters, key: str) -> Parameters:
    """Call the column of the ids as it is asked for: names match without regard to case."""
    names = parameters.table.column_names
    own = exact(key, names)
    if own is not None:
        renamed = [key if name == own else name for name in names]
        parameters.table = parameters.table.rename_columns(renamed)
    return parameters


def refuse_new_lane(lanes: list[Any] | None, step: Step, catalog: Catalog) -> None:
    """Refuse a join that would divide rows in a way that a cluster home has not kept them in.

    `lanes` are the divisions that the home was fixed to at its first start, if it was.
    """
    kept = (catalog[name.lower()] for name in step.relations)
    division = (ALONE,) if any(own.keeps and not own.flows for own in kept) else step.division
    if lanes is None or division is None:
        return
    asked = [[relation, list(columns)] for relation, columns in division]
    if ALONE in division:
        lanes = [lane[:1] for lane in lanes]
    if asked not in lanes:
        keys = ", ".join(f"{name} by {', '.join(own) or 'nothing'}" for name, own in asked)
        raise PenstockError(
            "ENG-021",
            f"A query that divides {keys} cannot be added: this home has run on the cluster host, "
            "and its shards did not keep rows that way.",
            "Register one such query before the first start, or begin another home directory.",
        )


def registration_of(
    registry: Registry, request: Request, replaced: Ints
) -> tuple[Registration, pa.ChunkedArray | pa.Array]:
    """Make entries of a request's rows, and their ids; those that cannot be are refused in it."""
    first = registry.next_query
    ids = _refuse_ids(registry, request, _ids(request, first), replaced)
    parameters = request.parameters
    kind = OPERATORS[request.step.kind]
    registration = kind.register(request.logical, request.step, parameters.table, first)
    refusals = registration.refusals
    parameters.refused.row += parameters.rows[refusals.row].tolist()
    parameters.refused.code += refusals.code
    parameters.refused.reason += refusals.reason
    return registration, ids


def draft_adds(registry: Registry, request: Request, draft: Draft, replaced: Ints) -> Receipt:
    """Add a request's queries to a draft; call under the registry's lock.

    `replaced` are query numbers that the same draft drops: their ids may be used again.
    """
    parameters = request.parameters
    first = registry.next_query
    registration, ids = registration_of(registry, request, replaced)
    accepted = np.ones(parameters.table.num_rows, dtype=np.bool_)
    accepted[registration.refusals.row] = False
    group = request.record.group
    if group not in registry.steps:
        draft.steps[group] = request.step.to_json()
    named = parameters.table.select(list(request.logical.named_parameters))
    table = pa.table(
        {
            "query": pa.array(np.arange(first, first + len(accepted), dtype=np.int64)),
            "id": ids,
            "silent": pa.array(registration.silent),
        }
    )
    for field, column in zip(named.schema, named.columns, strict=True):
        table = table.append_column(field.with_name(f"p_{field.name}"), column)
    table = table.filter(pa.array(accepted))
    if table.num_rows:
        block = Block(record=request.record, version=registry.next_version, table=table)
        draft.blocks.append(block)
        before = draft.changes.get(group, QueryChanges())
        draft.changes[group] = QueryChanges(adds=registration.adds, drops=before.drops)
    return Receipt(
        version=registry.next_version,
        accepted=table.num_rows,
        silent=int((registration.silent & accepted).sum()),
        refused=parameters.refused.table(),
    )


def refuse_name(registry: Registry, name: str) -> None:
    """Refuse a name that a subscription cannot have, or that one has."""
    if not is_name(name):
        raise PenstockError(
            "REG-029",
            f"{name!r} cannot be the name of a subscription.",
            "Take a text that is not blank, without \\x00 and \\x01, or leave it out.",
        )
    if name in registry.subscriptions:
        raise PenstockError(
            "REG-002",
            f"A subscription {name!r} stands already.",
            "Drop it first, choose another name, or add rows with `add`.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRefusal:
    """A row of parameters that was refused: whose, which one, and why."""

    subscription: str
    row: int
    code: str
    reason: str


def first_refusals(subscription: str, receipt: Receipt) -> list[RowRefusal]:
    """Give the first few rows that were refused."""
    first = receipt.refused.slice(0, REFUSALS_SHOWN).to_pylist()
    return [RowRefusal(subscription=subscription, **row) for row in first]


def nothing_added(registry: Registry) -> Receipt:
    """Give the receipt of no rows at all."""
    return Receipt(version=registry.version, accepted=0, silent=0, refused=Refused().table())


def draft_drops(registry: Registry, draft: Draft, queries: Ints) -> None:
    """Add drops to a draft, each in the group that the query was registered in."""
    for block, own in registry.owners(np.sort(queries)):
        before = draft.changes.get(block.record.group, QueryChanges())
        drops = np.unique(np.concatenate([before.drops, own]))
        draft.changes[block.record.group] = QueryChanges(adds=before.adds, drops=drops)


def is_single(registry: Registry, name: str) -> bool:
    """Say whether a subscription is one query without parameters, registered by its text."""
    if registry.subscriptions[name].key is not None or registry.standing(name) != 1:
        return False
    standing = [b.table.filter(pa.array(b.alive)) for b in registry.blocks[name]]
    return [value for table in standing for value in table["id"].to_pylist()] == [name]


def standing_queries(registry: Registry, name: str, ids: pa.Array, whole: bool = False) -> Ints:
    """Find standing queries by id; with `whole` every one of the ids must stand."""
    found = [b.query[b.rows_of_ids(ids)] for b in registry.blocks[name]]
    queries = np.concatenate(found) if found else NO_QUERIES
    if not len(queries) or (whole and len(queries) < len(ids.unique()) - ids.null_count):
        raise PenstockError(
            "REG-017",
            f"{'Not all' if len(queries) else 'None'} of the ids stand in {name!r}.",
            "Name ids that were registered and not dropped.",
        )
    return queries


def raise_if_refused_alone(receipt: Receipt) -> None:
    """Raise if a single query is refused; among many, a refusal is a line of the receipt."""
    if not receipt.accepted and receipt.refused.num_rows == 1:
        fact = receipt.refused["reason"][0].as_py()
        raise PenstockError(receipt.refused["code"][0].as_py(), fact, "Nothing was registered.")


def as_ids(ids: Iterable[Any]) -> pa.Array:
    """Turn ids that a user names into an array.

    >>> as_ids(["a", "b"]).to_pylist()
    ['a', 'b']
    """
    if isinstance(ids, (pa.Array, pa.ChunkedArray)):
        return ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    if isinstance(ids, (str, bytes, int)):
        ids = [ids]
    try:
        return pa.array(ids)
    except (pa.ArrowException, TypeError, UnicodeError):
        raise PenstockError(
            "REG-020",
            "The ids are not of one type, integers or strings.",
            "Give the ids as they were registered.",
        ) from None


def _ids(request: Request, first: int) -> pa.ChunkedArray | pa.Array:
    """Give every row its id: the key column's value, or the query's number."""
    table = request.parameters.table
    name = request.key
    if name is None:
        if DEFAULT_KEY in table.column_names:
            return table[DEFAULT_KEY]
        return pa.array(np.arange(first, first + table.num_rows, dtype=np.int64))
    ids = table[name]
    if kind_of(ids.type) not in {ColumnKind.INTEGER, ColumnKind.STRING}:
        raise PenstockError(
            "REG-013",
            f"Ids must be integers or strings; column {name!r} is {ids.type}.",
            "Choose another key column, or convert it.",
        )
    return ids.cast(pa.int64() if kind_of(ids.type) is ColumnKind.INTEGER else pa.string())


def _refuse_ids(
    registry: Registry, request: Request, ids: pa.ChunkedArray | pa.Array, replaced: Ints
) -> pa.ChunkedArray | pa.Array:
    """Refuse rows whose id is NULL, or stands already, here or in the registry."""
    if len(ids) == 1 and ids[0].is_valid and not registry.blocks.get(request.name):
        return ids  # most often a single query
    missing = pc.is_null(ids).to_numpy(zero_copy_only=False)
    frame = ids.to_pandas()
    taken = frame.duplicated().to_numpy() & ~missing
    for block in registry.blocks.get(request.name, []):
        kept = block.alive & ~np.isin(block.query, replaced)
        standing = block.table["id"].filter(pa.array(kept))
        if len(standing) and standing.type != ids.type:
            raise PenstockError(
                "REG-014",
                f"The ids of {request.name!r} are {standing.type}, those given are {ids.type}.",
                "Give ids of the same type.",
            )
        taken |= pc.is_in(ids, value_set=standing).to_numpy(zero_copy_only=False)
    taken &= ~missing
    bad = np.flatnonzero(missing | taken)
    if not len(bad):
        return ids
    nulls, doubles = np.flatnonzero(missing), np.flatnonzero(taken)
    parameters = request.parameters
    parameters.refused.add(
        parameters.rows[nulls], "REG-015", ["The id is NULL. Give every row an id."] * len(nulls)
    )
    repeated = ids.take(pa.array(doubles)).to_pylist()
    parameters.refused.add(
        parameters.rows[doubles],
        "REG-003",
        [f"Id {value!r} stands already. Drop it first, or alter it." for value in repeated],
    )
    keep = np.ones(len(ids), dtype=np.bool_)
    keep[bad] = False
    parameters.table = parameters.table.filter(pa.array(keep))
    parameters.rows = parameters.rows[keep]
    return ids.filter(pa.array(keep))


def draft_alteration(
    registry: Registry, request: Request, record: SubscriptionRecord
) -> tuple[Draft, Receipt]:
    """Draft other parameters, or another text, for the ids that a request names, or refuse."""
    key = record.key or DEFAULT_KEY
    if key not in request.parameters.table.column_names:
        fact = f"The parameters have no column {key!r}, so it is not clear whom to alter."
        raise PenstockError("REG-012", fact, "Name the ids in that column.")
    ids = as_ids(request.parameters.table[key])
    replaced = standing_queries(registry, record.name, ids, whole=True)
    draft = Draft(subscriptions=[replace(request.record, sinks=record.sinks)])
    draft_drops(registry, draft, replaced)
    receipt = draft_adds(registry, request, draft, replaced)
    if receipt.refused.num_rows:
        reason = receipt.refused["reason"][0].as_py()
        raise PenstockError(receipt.refused["code"][0].as_py(), reason, "Nothing was altered.")
    return draft, receipt


def record_of(registry: Registry, name: str) -> SubscriptionRecord:
    """Give what the registry keeps of a subscription, or refuse."""
    registry.refresh()
    record, standing = registry.subscriptions.get(name), list(registry.subscriptions)
    if record is None:
        raise PenstockError(
            "REG-001",
            f"There is no subscription {name!r}.",
            suggestion(name, standing, f"Those that stand are: {listing(standing) or 'none'}."),
        )
    return record
