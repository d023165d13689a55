"""The experiments that the lab knows, by name."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Protocol

from penstock.lab.draws import DEFAULT_SEED, seeded
from penstock.lab.report import Report, Size


class Run(Protocol):
    """How an experiment is run."""

    def __call__(self, size: Size, seed: int = DEFAULT_SEED) -> Report:
        """Draw all data from the seed; report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A claim and how to test it.

    Attributes
    ----------
    name
        What `penstock lab` calls it.
    summary
        What it shows, in one sentence.
    reproduces
        Whose figure or claim it runs again.
    run
        `run(size, seed)`: do it, all its draws coming from the seed, and report.
    """

    name: str
    summary: str
    reproduces: str
    run: Run


def _by_module(module: str) -> Run:
    """Run a module's `run`, imported when asked for: listing experiments must stay quick."""

    def run(size: Size, seed: int = DEFAULT_SEED) -> Report:
        with seeded(seed):
            report = importlib.import_module(module).run(size)
        assert isinstance(report, Report)
        return report

    return run


_ALL = (
    Experiment(
        name="filters",
        summary="What a batch costs as standing filters grow in number, beside peers.",
        reproduces="Group processing of standing filters: cost follows matches, not queries.",
        run=_by_module("penstock.lab.filters"),
    ),
    Experiment(
        name="delivery",
        summary="What a batch costs its readers as subscriptions grow in number.",
        reproduces="Reading is shared: cost follows matches, not subscriptions times matches.",
        run=_by_module("penstock.lab.delivery"),
    ),
    Experiment(
        name="correctness",
        summary="Drawn predicates, parameters and histories of joins: is every answer DuckDB's?",
        reproduces="Equal to batch: a stream's results are those of the same SQL over its rows.",
        run=_by_module("penstock.lab.correctness"),
    ),
    Experiment(
        name="joins-end-to-end",
        summary="100,000 select-joins through Spark, beside its kernels and three peers.",
        reproduces="Standing joins as a product: what Spark leaves of the kernels' rate.",
        run=_by_module("penstock.lab.joins.pipeline"),
    ),
    Experiment(
        name="select-join-scaling",
        summary="What a tuple costs as select-joins grow in number, under every strategy.",
        reproduces="E2 (Fig. 7 i): stabbing groups keep their rate, all others lose it.",
        run=_by_module("penstock.lab.joins.select_scaling"),
    ),
    Experiment(
        name="select-join-groups",
        summary="What a tuple costs as the same select-joins fall into more groups.",
        reproduces="E3 (Fig. 7 ii): cost follows the groups, until selection overtakes.",
        run=_by_module("penstock.lab.joins.select_groups"),
    ),
    Experiment(
        name="select-join-rates",
        summary="What a tuple costs as more selections accept it, and as more rows join with it.",
        reproduces="E4 (Fig. 8): groups depend on neither rate.",
        run=_by_module("penstock.lab.joins.select_rates"),
    ),
    Experiment(
        name="hotspot-coverage",
        summary="What a tuple costs as more of 500,000 select-joins lie in hotspots.",
        reproduces="E5 (Fig. 9): hotspots take the better of groups and selection.",
        run=_by_module("penstock.lab.joins.hotspot_coverage"),
    ),
    Experiment(
        name="band-join-scaling",
        summary="What a tuple costs as band joins grow in number, under every strategy.",
        reproduces="E6 (Fig. 10 i): stabbing groups lead by orders of magnitude.",
        run=_by_module("penstock.lab.joins.band_scaling"),
    ),
    Experiment(
        name="band-join-groups",
        summary="What a tuple costs as the same band joins fall into more groups.",
        reproduces="E7 (Fig. 10 ii): cost follows the groups, and still leads at 5,000.",
        run=_by_module("penstock.lab.joins.band_groups"),
    ),
    Experiment(
        name="window-joins",
        summary="Skylines, probes and throughput of window joins under every strategy.",
        reproduces="Section on window joins: rows that probe are few, and fewer as rows grow.",
        run=_by_module("penstock.lab.joins.windows"),
    ),
    Experiment(
        name="zipf-coverage",
        summary="How many queries the largest groups hold, if their sizes follow a power law.",
        reproduces="E1 (Fig. 2): the top 500 of 5,000 groups hold about 70 % and more.",
        run=_by_module("penstock.lab.joins.coverage"),
    ),
    Experiment(
        name="maintenance",
        summary="What an update of a band join costs, under every strategy; moves of the tracker.",
        reproduces="E8 (Fig. 11): groups cost little more to maintain than one sorted list.",
        run=_by_module("penstock.lab.joins.maintenance"),
    ),
    Experiment(
        name="interval-histograms",
        summary="Errors of histograms from stabbing groups, of equal widths, and of the best.",
        reproduces="E12 (Fig. 25): groups give histograms close to the best.",
        run=_by_module("penstock.lab.joins.histograms"),
    ),
    Experiment(
        name="hotspots",
        summary="Standing ranges drawn as lines, coloured by their hotspot.",
        reproduces="Section on hotspots: a few stabbing points serve most queries.",
        run=_by_module("penstock.lab.joins.hotspots"),
    ),
    Experiment(
        name="calibrate",
        summary="Profile joins on this machine, fit the router's and the planner's costs.",
        reproduces="Table II: every cost component has a coefficient and explains what it should.",
        run=_by_module("penstock.lab.calibrate"),
    ),
    Experiment(
        name="routing",
        summary="The cheapest strategy per tuple against one strategy for all, as work grows.",
        reproduces="E9 (Figs. 12-14): the router is never behind, and often well ahead.",
        run=_by_module("penstock.lab.joins.routing"),
    ),
    Experiment(
        name="routing-join-rate",
        summary="What the router chooses as tuples join with more and more rows.",
        reproduces="E10 (Figs. 15-17): joining first gives way to the others.",
        run=_by_module("penstock.lab.joins.routing_join_rate"),
    ),
    Experiment(
        name="routing-selection-rate",
        summary="What the router chooses as more and more queries accept a tuple.",
        reproduces="E11 (Figs. 18-20): selection first gives way to the others.",
        run=_by_module("penstock.lab.joins.routing_selection_rate"),
    ),
    Experiment(
        name="window-plans",
        summary="Plans of published window joins: what they take, and which the planner chooses.",
        reproduces="Example 1 and Fig. 4: processing picks plan a, memory plan b.",
        run=_by_module("penstock.lab.planner.window_plans"),
    ),
    Experiment(
        name="shedding-throughput",
        summary="What plans keep when rows must be dropped, by the cost of a row.",
        reproduces="Fig. 7: the cheapest plan is not always the one to shed.",
        run=_by_module("penstock.lab.planner.shedding_throughput"),
    ),
    Experiment(
        name="plan-search",
        summary="The search for a plan against trying every tree, and its time by streams.",
        reproduces="Search by sets of streams is exact: their rates do not depend on the tree.",
        run=_by_module("penstock.lab.planner.plan_search"),
    ),
    Experiment(
        name="verdict",
        summary="What the planner says of random window joins, and what running all plans says.",
        reproduces="Cost model and Observation 1: rates, windows and processor time as predicted.",
        run=_by_module("penstock.lab.planner.verdict"),
    ),
    Experiment(
        name="shedding-recall",
        summary="Results kept under overload: planned shedding, and dropping every source equally.",
        reproduces="Shedding at the sources: the backlog stays bounded, and more is kept.",
        run=_by_module("penstock.lab.planner.shedding_recall"),
    ),
    Experiment(
        name="window-joins-end-to-end",
        summary="A join of three streams through Spark, feasible and not, beside Spark's own.",
        reproduces="Example 1 as a product: exact when it fits, an honest account when not.",
        run=_by_module("penstock.lab.planner.pipeline"),
    ),
    Experiment(
        name="join-cache-compare",
        summary="Joins within ten rows: every policy on four pairs of streams.",
        reproduces="Figs. 8 and 3.9: HEEB leads what is online, and nearly reaches the optimum.",
        run=_by_module("penstock.lab.caching.compare"),
    ),
    Experiment(
        name="join-cache-sweep",
        summary="Results of every policy as a join's budget grows from 1 to 50 rows.",
        reproduces="Figs. 9-12: HEEB needs the least memory for nearly all results.",
        run=_by_module("penstock.lab.caching.sweep"),
    ),
    Experiment(
        name="join-cache-lifetimes",
        summary="Results of HEEB by the lifetime of rows that it expects.",
        reproduces="Choice of alpha: what is lost if the lifetime expected is not the best.",
        run=_by_module("penstock.lab.caching.lifetimes"),
    ),
    Experiment(
        name="join-cache-speed",
        summary="What a row costs as a join's budget grows, beside scoring all candidates.",
        reproduces="Victims in logarithmic time, for trends and streams that do not move.",
        run=_by_module("penstock.lab.caching.speed"),
    ),
    Experiment(
        name="look-ahead",
        summary="FlowExpect by how far it looks ahead; its exactness on small examples.",
        reproduces="Look-ahead: most of the gain comes with the first ticks.",
        run=_by_module("penstock.lab.caching.look_ahead"),
    ),
    Experiment(
        name="histogram-policy",
        summary="A policy that learns what rows are worth, beside one that is told.",
        reproduces="Figs. 13-14: HIST comes close to HEEB.",
        run=_by_module("penstock.lab.caching.histogram_policy"),
    ),
    Experiment(
        name="memory-allocation",
        summary="Which stream gets how much of a join's budget, as the streams become unlike.",
        reproduces="Figs. 16 and 3.15: streams that lag or vary more get less.",
        run=_by_module("penstock.lab.caching.allocation"),
    ),
    Experiment(
        name="temperature-cache",
        summary="Hits of a lookup cache over temperatures, by policy and budget.",
        reproduces="Figs. 15 and 3.14: HEEB with an autoregression leads LRU and LFU.",
        run=_by_module("penstock.lab.caching.temperature"),
    ),
    Experiment(
        name="cache-peers",
        summary="Lookup caches beside LRU, LFU, ARC, S3-FIFO, SIEVE and Belady of libcachesim.",
        reproduces="A cache with a model leads where one fits, and is level where none does.",
        run=_by_module("penstock.lab.caching.cache_peers"),
    ),
    Experiment(
        name="h1-curves",
        summary="What a row is worth beside a walk, by distance and drift.",
        reproduces="Figs. 6 and 3.7: one peak without drift, bumps at its multiples with it.",
        run=_by_module("penstock.lab.caching.h1_curves"),
    ),
    Experiment(
        name="recall-estimate",
        summary="What a bounded join says of its own recall, beside the truth.",
        reproduces="Full state for a slice of the keys: what is lost is estimated without bias.",
        run=_by_module("penstock.lab.caching.recall_estimate"),
    ),
    Experiment(
        name="memory-curve",
        summary="Recall against memory: what EXPLAIN forecasts from models, and what runs have.",
        reproduces="How much memory a join needs can be said before it runs.",
        run=_by_module("penstock.lab.caching.memory_curve"),
    ),
    Experiment(
        name="bounded-joins-end-to-end",
        summary="Joins with a budget of rows through Spark, beside their kernels fed by hand.",
        reproduces="The budget as a product: the kernels' rows, a true recall, never a row more.",
        run=_by_module("penstock.lab.caching.pipeline"),
    ),
    Experiment(
        name="model-fitting",
        summary="Models found while streams run, beside models that are told; changes of nature.",
        reproduces="Parameters need not be known: HEEB with fitted models keeps its results.",
        run=_by_module("penstock.lab.caching.model_fitting"),
    ),
    Experiment(
        name="policy-contest",
        summary="Policies of bounded joins on streams that no law fits, real flights among them.",
        reproduces="A model that does not fit costs nothing: AUTO is level with the best policy.",
        run=_by_module("penstock.lab.caching.policy_contest"),
    ),
)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
