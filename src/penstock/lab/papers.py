"""The papers that experiments cite."""

from __future__ import annotations

OWN = "own"
PAPERS = {
    "Agarwal, Xie, Yang and Yu, Input-Sensitive Scalable Continuous Join Query Processing": {
        "select-join-scaling", "select-join-groups", "select-join-rates", "hotspot-coverage",
        "band-join-scaling", "band-join-groups", "window-joins", "zipf-coverage", "maintenance",
        "interval-histograms", "hotspots", "calibrate", "routing", "routing-join-rate",
        "routing-selection-rate",
    },
    "Ayad and Naughton 2004, Static Optimization of Conjunctive Queries with Sliding Windows over "
    "Unbounded Streaming Information Sources": {
        "window-plans", "shedding-throughput", "plan-search", "verdict", "shedding-recall",
        "window-joins-end-to-end",
    },
    "Xie, Yang and Chen 2005, On Joining and Caching Stochastic Streams; figures 3.x are of Xie's "
    "dissertation (Duke University)": {
        "join-cache-compare", "join-cache-sweep", "join-cache-lifetimes", "join-cache-speed",
        "look-ahead", "histogram-policy", "memory-allocation", "temperature-cache", "h1-curves",
        "benefit-curves", "model-fitting",
    },
    "Xie's dissertation (Duke University), chapter 5: reformulation in publish/subscribe": {
        "range-min-messages", "range-min-server-time", "network-traffic", "stock-trace",
    },
    "Xie's dissertation (Duke University), chapter 2: asymmetric batch maintenance": {
        "maintenance-plans", "refresh-time", "unstable-streams", "cost-curves", "fresh-view",
        "one-index",
    },
    "Ahmad 2009, Pulse: Database Support for Efficient Query Processing of Temporal Polynomial "
    "Models (Brown University), chapter 2": {
        "model-filter", "model-aggregate", "model-join", "model-macd", "model-vessels",
        "model-precision", "model-latency",
    },
    "Ahmad 2009, Pulse: Database Support for Efficient Query Processing of Temporal Polynomial "
    "Models (Brown University), chapter 3": {"coefficient-histograms", "selectivity-bounds"},
    "Ahmad 2009, Pulse: Database Support for Efficient Query Processing of Temporal Polynomial "
    "Models (Brown University), chapter 4": {"sharing-crossover", "sharing-risk"},
}  # fmt: skip
"""Whose claims experiments run again; those of no paper are our own."""
