"""The experiments that the lab knows, by name."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from penstock.lab.draws import DEFAULT_SEED, seeded
from penstock.lab.papers import OWN, PAPERS
from penstock.lab.report import Report, Size


@dataclass(frozen=True, slots=True)
class Experiment:
    """A claim and how to test it."""

    name: str
    """What `penstock lab` calls it."""
    summary: str
    """What it shows, in one sentence."""
    reproduces: str
    """Whose figure or claim it runs again."""
    module: str
    """Where its `run(size)` is, which gives its findings one by one. It is imported when it is
    asked for: listing experiments must stay quick."""

    @property
    def cites(self) -> str:
        """The paper that the claim is from, or `own`."""
        return next((paper for paper, names in PAPERS.items() if self.name in names), OWN)

    def run(self, size: Size, seed: int = DEFAULT_SEED) -> Report:
        """Do it, all its draws coming from the seed, and report."""
        with seeded(seed):
            run = importlib.import_module(f"penstock.lab.{self.module}").run
            return Report.of(self.name, size, run(size))


_ALL = (
    Experiment(
        "filters",
        "What a batch costs as standing filters grow in number, beside peers.",
        "Group processing of standing filters: cost follows matches, not queries.",
        "filters",
    ),
    Experiment(
        "delivery",
        "What a batch costs its readers as subscriptions grow in number.",
        "Reading is shared: cost follows matches, not subscriptions times matches.",
        "delivery",
    ),
    Experiment(
        "edge-fanout",
        "Subscribers at edges over real brokers: bytes, latency, and what kills do.",
        "Two messages instead of one per affected subscriber, to the last of them.",
        "dissemination.edge_fanout",
    ),
    Experiment(
        "serve-fanout",
        "What a thousand event streams cost the server, beside a client that reads nothing.",
        "One reader for all: a client that reads nothing is cut off, and harms nobody.",
        "serving",
    ),
    Experiment(
        "correctness",
        "Drawn predicates, parameters and histories of joins: is every answer DuckDB's?",
        "Equal to batch: a stream's results are those of the same SQL over its rows.",
        "correctness",
    ),
    Experiment(
        "fuzz",
        "Hostile texts and parameters: is each answered, or refused with a code, in time?",
        "One bad text or value harms nothing else: it is refused with a reason.",
        "fuzz",
    ),
    Experiment(
        "crash-points",
        "A crash behind every write of a run of all kinds: is anything lost or doubled?",
        "Exactly once: what is told after a crash is what is told without one.",
        "crash_points",
    ),
    Experiment(
        "soak",
        "An engine for minutes and a home for a simulated year: does anything grow?",
        "A home that runs for months: memory, files and time of a batch stay flat.",
        "soak",
    ),
    Experiment(
        "joins-end-to-end",
        "100,000 select-joins through Spark, beside its kernels and three peers.",
        "Standing joins as a product: what Spark leaves of the kernels' rate.",
        "joins.pipeline",
    ),
    Experiment(
        "select-join-scaling",
        "What a tuple costs as select-joins grow in number, under every strategy.",
        "E2 (Fig. 7 i): stabbing groups keep their rate, all others lose it.",
        "joins.select_scaling",
    ),
    Experiment(
        "select-join-groups",
        "What a tuple costs as the same select-joins fall into more groups.",
        "E3 (Fig. 7 ii): cost follows the groups, until selection overtakes.",
        "joins.select_groups",
    ),
    Experiment(
        "select-join-rates",
        "What a tuple costs as more selections accept it, and as more rows join with it.",
        "E4 (Fig. 8): groups depend on neither rate.",
        "joins.select_rates",
    ),
    Experiment(
        "hotspot-coverage",
        "What a tuple costs as more of 500,000 select-joins lie in hotspots.",
        "E5 (Fig. 9): hotspots take the better of groups and selection.",
        "joins.hotspot_coverage",
    ),
    Experiment(
        "band-join-scaling",
        "What a tuple costs as band joins grow in number, under every strategy.",
        "E6 (Fig. 10 i): stabbing groups lead by orders of magnitude.",
        "joins.band_scaling",
    ),
    Experiment(
        "band-join-groups",
        "What a tuple costs as the same band joins fall into more groups.",
        "E7 (Fig. 10 ii): cost follows the groups, and still leads at 5,000.",
        "joins.band_groups",
    ),
    Experiment(
        "window-joins",
        "Skylines, probes and throughput of window joins under every strategy.",
        "Section on window joins: rows that probe are few, and fewer as rows grow.",
        "joins.windows",
    ),
    Experiment(
        "zipf-coverage",
        "How many queries the largest groups hold, if their sizes follow a power law.",
        "E1 (Fig. 2): the top 500 of 5,000 groups hold about 70 % and more.",
        "joins.coverage",
    ),
    Experiment(
        "maintenance",
        "What an update of a band join costs, under every strategy; moves of the tracker.",
        "E8 (Fig. 11): groups cost little more to maintain than one sorted list.",
        "joins.maintenance",
    ),
    Experiment(
        "interval-histograms",
        "Errors of histograms from stabbing groups, of equal widths, and of the best.",
        "E12 (Fig. 25): groups give histograms close to the best.",
        "joins.histograms",
    ),
    Experiment(
        "hotspots",
        "Standing ranges drawn as lines, coloured by their hotspot.",
        "Section on hotspots: a few stabbing points serve most queries.",
        "joins.hotspots",
    ),
    Experiment(
        "calibrate",
        "Profile joins on this machine, fit the router's and the planner's costs.",
        "Table II: every cost component has a coefficient and explains what it should.",
        "calibrate",
    ),
    Experiment(
        "routing",
        "The cheapest strategy per tuple against one strategy for all, as work grows.",
        "E9 (Figs. 12-14): the router is never behind, and often well ahead.",
        "joins.routing",
    ),
    Experiment(
        "routing-join-rate",
        "What the router chooses as tuples join with more and more rows.",
        "E10 (Figs. 15-17): joining first gives way to the others.",
        "joins.routing_join_rate",
    ),
    Experiment(
        "routing-selection-rate",
        "What the router chooses as more and more queries accept a tuple.",
        "E11 (Figs. 18-20): selection first gives way to the others.",
        "joins.routing_selection_rate",
    ),
    Experiment(
        "window-plans",
        "Plans of published window joins: what they take, and which the planner chooses.",
        "Example 1 and Fig. 4: processing picks plan a, memory plan b.",
        "planner.window_plans",
    ),
    Experiment(
        "shedding-throughput",
        "What plans keep when rows must be dropped, by the cost of a row.",
        "Fig. 7: the cheapest plan is not always the one to shed.",
        "planner.shedding_throughput",
    ),
    Experiment(
        "plan-search",
        "The search for a plan against trying every tree, and its time by streams.",
        "Search by sets of streams is exact: their rates do not depend on the tree.",
        "planner.plan_search",
    ),
    Experiment(
        "verdict",
        "What the planner says of random window joins, and what running all plans says.",
        "Cost law and Observation 1: rates, windows and processor time as predicted.",
        "planner.verdict",
    ),
    Experiment(
        "shedding-recall",
        "Results kept under overload: planned shedding, and dropping every source equally.",
        "Shedding at the sources: the backlog stays bounded, and more is kept.",
        "planner.shedding_recall",
    ),
    Experiment(
        "window-joins-end-to-end",
        "A join of three streams through Spark, feasible and not, beside Spark's own.",
        "Example 1 as a product: exact when it fits, an honest account when not.",
        "planner.pipeline",
    ),
    Experiment(
        "join-cache-compare",
        "Joins within ten rows: every policy on four pairs of streams.",
        "Figs. 8 and 3.9: HEEB leads what is online, and nearly reaches the optimum.",
        "caching.compare",
    ),
    Experiment(
        "join-cache-sweep",
        "Results of every policy as a join's budget grows from 1 to 50 rows.",
        "Figs. 9-12: HEEB needs the least memory for nearly all results.",
        "caching.sweep",
    ),
    Experiment(
        "join-cache-lifetimes",
        "Results of HEEB by the lifetime of rows that it expects.",
        "Choice of alpha: what is lost if the lifetime expected is not the best.",
        "caching.lifetimes",
    ),
    Experiment(
        "join-cache-speed",
        "What a row costs as a join's budget grows, beside scoring all candidates.",
        "Victims in logarithmic time, for trends and streams that do not move.",
        "caching.speed",
    ),
    Experiment(
        "look-ahead",
        "FlowExpect by how far it looks ahead; its exactness on small examples.",
        "Look-ahead: most of the gain comes with the first ticks.",
        "caching.look_ahead",
    ),
    Experiment(
        "histogram-policy",
        "A policy that learns what rows are worth, beside one that is told.",
        "Figs. 13-14: HIST comes close to HEEB.",
        "caching.histogram_policy",
    ),
    Experiment(
        "memory-allocation",
        "Which stream gets how much of a join's budget, as the streams become unlike.",
        "Figs. 16 and 3.15: streams that lag or vary more get less.",
        "caching.allocation",
    ),
    Experiment(
        "temperature-cache",
        "Hits of a lookup cache over temperatures, by policy and budget.",
        "Figs. 15 and 3.14: HEEB with an autoregression leads LRU and LFU.",
        "caching.temperature",
    ),
    Experiment(
        "cache-peers",
        "Lookup caches beside LRU, LFU, ARC, S3-FIFO, SIEVE and Belady of libcachesim.",
        "A cache with a law leads where one fits, and is level where none does.",
        "caching.cache_peers",
    ),
    Experiment(
        "h1-curves",
        "What a row is worth beside a walk, by distance and drift.",
        "Figs. 6 and 3.7: one peak without drift, bumps at its multiples with it.",
        "caching.h1_curves",
    ),
    Experiment(
        "benefit-curves",
        "Noise, what rows bring by category as time goes on, and the surface of AR(1).",
        "Figs. 2, 4, 5, 7, 3.16 and 3.17: closed forms, and 25 points for a surface.",
        "caching.benefit_curves",
    ),
    Experiment(
        "recall-estimate",
        "What a bounded join says of its own recall, beside the truth.",
        "Full state for a slice of the keys: what is lost is estimated without bias.",
        "caching.recall_estimate",
    ),
    Experiment(
        "memory-curve",
        "Recall against memory: what EXPLAIN forecasts from laws, and what runs have.",
        "How much memory a join needs can be said before it runs.",
        "caching.memory_curve",
    ),
    Experiment(
        "bounded-joins-end-to-end",
        "Joins with a budget of rows through Spark, beside their kernels fed by hand.",
        "The budget as a product: the kernels' rows, a true recall, never a row more.",
        "caching.pipeline",
    ),
    Experiment(
        "model-fitting",
        "Laws found while streams run, beside laws that are told; changes of nature.",
        "Parameters need not be known: HEEB with fitted laws keeps its results.",
        "caching.model_fitting",
    ),
    Experiment(
        "policy-contest",
        "Policies of bounded joins on streams that no law fits, real flights among them.",
        "A law that does not fit costs nothing: AUTO is level with the best policy.",
        "caching.policy_contest",
    ),
    Experiment(
        "maintenance-plans",
        "Schedules of a view's maintenance: policies beside the optimum, it beside every schedule.",
        "Asymmetric batch maintenance: flushing tables apart costs less than half.",
        "maintenance.plans",
    ),
    Experiment(
        "refresh-time",
        "What policies pay as refreshes come later, with published-like and measured curves.",
        "Fig. 2.6: ONLINE and SIMULATE stay near the optimum, NAIVE pays over twice as much.",
        "maintenance.refresh_time",
    ),
    Experiment(
        "unstable-streams",
        "The same policies where changes come unevenly and nothing is known of them.",
        "Fig. 2.7: policies that do not know what comes stay near the optimum.",
        "maintenance.streams",
    ),
    Experiment(
        "cost-curves",
        "What a batch of changes of each table costs a view, in DuckDB and in PostgreSQL.",
        "Fig. 2.4: one table's cost follows the changes, the other's is nearly flat.",
        "maintenance.cost_curves",
    ),
    Experiment(
        "fresh-view",
        "A view kept fresh in real stores under every policy, beside triggers and recomputation.",
        "Fig. 2.5: what was planned is what it takes; apart is cheaper than together or at once.",
        "maintenance.fresh_view",
    ),
    Experiment(
        "one-index",
        "A view of two tables in PostgreSQL, with an index on one side alone, under every policy.",
        "Fig. 2.1: the table whose changes scan waits, the other does not, at under half the cost.",
        "maintenance.one_index",
    ),
    Experiment(
        "range-min-messages",
        "What a server tells per update of range minima: rectangles, or every subscription.",
        "Tables 5.2 and 5.3: two messages per update, where unicast takes hundreds.",
        "dissemination.messages",
    ),
    Experiment(
        "range-min-server-time",
        "What an update of range minima costs a server, by tuples and by subscriptions.",
        "Figs. 5.6 and 5.7: nearly flat in tuples, flat in subscriptions.",
        "dissemination.server_time",
    ),
    Experiment(
        "network-traffic",
        "Bytes and the busiest node of an overlay of 1,000 brokers, under three ways to notify.",
        "Figs. 5.8 and 5.9: rectangles carry the least, however many are affected.",
        "dissemination.traffic",
    ),
    Experiment(
        "stock-trace",
        "Bytes and the busiest node for least price-earnings ratios over 60 days of stocks.",
        "Fig. 5.10: rectangles carry orders of magnitude less, whatever the subscriptions.",
        "dissemination.stock_trace",
    ),
    Experiment(
        "view-intake",
        "Changes of base tables a second that a view takes in through Spark, flushes included.",
        "Ours: 100,000 a second, embedded, on two cores.",
        "maintenance.intake",
    ),
)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
