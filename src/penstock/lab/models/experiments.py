"""The experiments with model queries, the kind `model_query`."""

from __future__ import annotations

from penstock.lab.experiment import Experiment

MODEL_EXPERIMENTS = (
    Experiment(
        "model-filter",
        "A filter over models beside one over tuples, by rows per segment.",
        "Fig. 2.4 of the thesis: from some fit on, models are cheaper than tuples.",
        "models.filtering",
    ),
    Experiment(
        "model-aggregate",
        "Minima over sliding windows of models and of tuples, by fit and by window.",
        "Figs. 2.5, 2.6 and 2.9: over tuples cost follows the window, over models it is flat.",
        "models.aggregation",
    ),
    Experiment(
        "model-join",
        "A join of two streams over models and tuples, by fit and by rate; beside peers.",
        "Figs. 2.7 and 2.8: over tuples cost is quadratic in the rate, over models it is not.",
        "models.joining",
    ),
    Experiment(
        "model-macd",
        "The difference of two moving averages over models and tuples, by bound; beside peers.",
        "Fig. 2.10: models sustain more, and stay within their bound.",
        "models.moving_averages",
    ),
    Experiment(
        "model-vessels",
        "Ships that follow each other over models, tuples, and by DuckDB, Spark and Flink.",
        "Fig. 2.11: models sustain several times what tuples do.",
        "models.following",
    ),
    Experiment(
        "model-precision",
        "Rows that break their bound as it grows tighter; is one ever beyond it unnoticed?",
        "Fig. 2.12: violations grow steeply as the bound shrinks.",
        "models.precision",
    ),
    Experiment(
        "model-latency",
        "How long answers are behind their rows at one rate, as the bound grows tighter.",
        "Fig. 2.12: flat and low down to some bound, then steep.",
        "models.latencies",
    ),
    Experiment(
        "model-fit",
        "Three ways to fit models to rows: how many segments, how fast, how far off.",
        "Segmentation by Keogh and others: every row within the error.",
        "models.fitting",
    ),
    Experiment(
        "model-solver",
        "When one model is below another: pairs a second by degree, beside numpy.roots.",
        "Ours: roots by signs of Bernstein coefficients, derivatives where those leave it open.",
        "models.solving",
    ),
    Experiment(
        "model-thresholds",
        "What a segment costs as thresholds of standing queries grow in number.",
        "Ours: a segment stabs thresholds, whoever asks; equations are solved for few.",
        "models.thresholds",
    ),
    Experiment(
        "model-airspace",
        "Real aircraft: who will come within five nautical miles of whom, and was it so?",
        "Ours: predictions of standing models, beside the last two points of every aircraft.",
        "models.airspace",
    ),
    Experiment(
        "model-sharing",
        "Standing model queries of up to 1,000 shapes over one stream: alone and sharing.",
        "Ours: rows are held against models once, and gates ask once what many ask first.",
        "models.stream_sharing",
    ),
    Experiment(
        "model-predictions",
        "Made-up ships: who will come within a kilometre of whom, and was it so?",
        "Ours: as model-airspace, where receivers err and courses hold.",
        "models.predictions",
    ),
    Experiment(
        "coefficient-histograms",
        "What bins of coefficients tell of a condition, beside samples: error and time.",
        "Figs. 3.4, 3.7 to 3.13 of the thesis: bins beside samples, on stocks and made lines.",
        "models.coefficient_histograms",
    ),
    Experiment(
        "selectivity-bounds",
        "Conjunctions, joins and extremes: estimates, their bounds, and what segments do.",
        "Section 3 of the thesis: bounds contain the estimate, joins and extremes come near.",
        "models.selectivity_bounds",
    ),
    Experiment(
        "models-end-to-end",
        "Reports of ships through Spark, alerts out, on both hosts, beside no queries.",
        "Ours: raw rows in, times of approaches and crossings out, the same on both hosts.",
        "models.pipeline",
    ),
)
