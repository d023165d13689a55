"""Explaining: what a group of lookup joins looks like, and what a live one knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.algebra.lookups import LookupJoinStep
from penstock.operators.bounded.forecasts import lookup_facts
from penstock.operators.bounded.law_fits import Fitter
from penstock.operators.bounded.live_facts import CacheFacts
from penstock.operators.bounded.policies_named import policy_note
from penstock.operators.lookup.fetches import settings_of
from penstock.operators.lookup.live_facts import BrokenKey, LookupFacts
from penstock.operators.lookup.operator import LookupJoinOperator
from penstock.operators.lookup.sources import masked
from penstock.operators.protocol import Operator
from penstock.operators.shared.input_facts import input_facts
from penstock.vocabulary.shared_figures import ROWS_WAITING


def explain(step: LookupJoinStep, entries: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Describe the stream, the looked-up table, its cache and how its source is asked."""
    lookup, settings = step.lookup, settings_of(step.lookup)
    memory = lookup.memory
    (law,) = memory.laws
    facts = {
        "stream": step.relations[0],
        "looked_up": step.table.relation,
        "source": masked(lookup.source),
        "table": lookup.table,
        "key": f"{step.relations[0]}.{step.stream_key} = {lookup.key}",
        "cache_rows": memory.rows,
        "policy": memory.policy,
        "policy_from": policy_note(memory.policy, streams=1),
        "law": law.to_json() if memory.policy == "HEEB" else None,
        "timeout_s": settings.timeout_s,
        "retries": settings.retries,
        "backoff_s": settings.backoff_s,
        "cooldown_s": settings.cooldown_s,
        "batch": settings.batch,
        "waiting_max": settings.waiting,
        "max_age_us": settings.max_age_us,
        "shards": f"{step.relations[0]}.{step.stream_key}",
    }
    fit = Fitter(law, numeric=step.numeric).fit
    curve = lookup_facts(memory, None if fit is None else fit.law)
    told = {name: fact for name, fact in facts.items() if fact is not None}
    return {**input_facts(step, entries, "lookup join"), **told, "curve": curve}


def facts(operator: Operator) -> LookupFacts:
    """Say what a live group knows: how well its cache does, and how its source answers."""
    assert isinstance(operator, LookupJoinOperator)
    looking = operator.looking
    totals, fetching = looking.totals, looking.fetching
    return LookupFacts(
        source=masked(operator.step.lookup.source),
        policy=operator.step.lookup.memory.policy,
        hit_rate=totals["hits"] / totals["references"] if totals["references"] else None,
        **totals,
        broken_keys=tuple(BrokenKey(key=key, reason=reason) for key, reason in looking.reasons),
        cache=CacheFacts.from_json(looking.cache.facts()),
        breaker=fetching.breaker,
        failures=fetching.failures,
        last_failure=fetching.reason,
        waiting=operator.sizes()[ROWS_WAITING],
    )
