"""The experiments with sharing between model queries."""

from __future__ import annotations

from penstock.lab.experiment import Experiment

SHARING_EXPERIMENTS = (
    Experiment(
        "sharing-crossover",
        "Filters of one stream behind a covering stage, or each alone, by number and selectivity.",
        "Figs. 4.4 and 4.5: covering pays while half or less passes, not where all does.",
        "sharing.crossover",
    ),
    Experiment(
        "sharing-risk",
        "Ten chains of two filters, covered, united and unshared, beside the published table.",
        "Fig. 4.6: which of three ways is cheapest, by what both filters let through.",
        "sharing.risk",
    ),
    Experiment(
        "adaptation",
        "Streams that drift: the optimiser's plan beside fixed ones, period by period.",
        "Ours: sharing that follows the stream, never much dearer than none.",
        "sharing.adaptation",
    ),
    Experiment(
        "sharing-migrations",
        "A stream forced from plan to plan through Spark, on both hosts, and killed in between.",
        "Ours: no result is lost or doubled when the plan of sharing changes.",
        "sharing.migrations",
    ),
)
