"""What model queries count and measure."""

from __future__ import annotations

from penstock.vocabulary.figures import Figure
from penstock.vocabulary.losses import (
    FAILED_CONDITIONS,
    FORGOTTEN_SEGMENTS,
    KEYS_WITHOUT_ROOM,
    LATE_ROWS,
    NULL_EVENT_TIMES,
)
from penstock.vocabulary.shared_figures import (
    ARRIVED,
    HELD,
    HURRIED_ROWS,
    NULL_VALUES,
    QUERIES,
    RESULTS,
)

MODEL_ROWS = Figure(
    "model_rows", "Rows that sources took in their turn.", "rows", labels=("input",), apart=True
)
VALIDATED = Figure(
    "model_validated", "Rows that were near their model, and dropped unseen.", "rows",
    labels=("input",), apart=True,
)  # fmt: skip
VIOLATIONS = Figure(
    "model_violations", "Rows that were too far from their model, which was made again.", "rows",
    labels=("input",), apart=True,
)  # fmt: skip
EXPIRIES = Figure(
    "model_expiries", "Rows that came behind the end of their model.", "rows", labels=("input",),
    apart=True,
)  # fmt: skip
SEGMENTS = Figure(
    "model_segments", "Segments that rows were made into.", "segments", labels=("input",),
    apart=True,
)  # fmt: skip
SLACK_SEGMENTS = Figure(
    "model_slack_segments", "Segments whose rows may be off by more, as no answer is near.",
    "segments", labels=("input",), apart=True,
)  # fmt: skip
RETRACTIONS = Figure(
    "model_retractions", "Segments of answers that were taken back.", "segments", apart=True
)
OUTPUT_SEGMENTS = Figure(
    "model_output_segments", "Segments that the plan gave.", "segments", apart=True
)
SOLUTIONS = Figure(
    "model_solved", "Pairs of a segment and a query that were solved.", "pairs", apart=True
)
CONFIRMED = Figure(
    "model_confirmed", "Predictions whose time came and that were not taken back.", "predictions",
    apart=True,
)  # fmt: skip
KEYS = Figure("model_keys", "Keys that have a model.", "keys", "gauge", labels=("input",),
              apart=True)  # fmt: skip
SEGMENTS_HELD = Figure(
    "model_segments_held", "Segments that a part of the plan holds.", "segments", "gauge",
    labels=("stage",), apart=True,
)  # fmt: skip
STANDING = Figure(
    "model_standing", "Segments of answers whose end has not come.", "segments", "gauge",
    apart=True,
)  # fmt: skip
LARGEST_BOUND = Figure(
    "model_bound_largest", "How far rows may be from the models in force, at most.", "billionths",
    "gauge", "max", labels=("input", "attribute"), apart=True,
)  # fmt: skip
TEXTS = Figure("model_texts", "Distinct texts among keys.", "texts", "gauge", "max", apart=True)
TAKEN = Figure(
    "model_taken", "Segments, and what took them back, that came into the plan.", "segments",
    apart=True,
)  # fmt: skip
PASSED_FIRST = Figure(
    "model_passed_first", "Parts of segments in which the plan's first conditions held.",
    "segments", apart=True,
)  # fmt: skip
SPARED = Figure(
    "model_spared", "Segments that a gate kept away: they were not asked about here.", "segments",
    apart=True,
)  # fmt: skip
MIGRATIONS = Figure(
    "model_stream_migrations", "Plans of a stream that came into force.", "plans", apart=True
)
GATE_TAKEN = Figure(
    "model_gate_taken", "Segments that a gate was asked about, once for all behind it.",
    "segments", labels=("gate",), apart=True,
)  # fmt: skip
GATE_PASSED = Figure(
    "model_gate_passed", "Segments that passed a gate.", "segments", labels=("gate",), apart=True
)
STREAM_GATES = Figure(
    "model_stream_gates", "Gates of a stream: conditions asked once for several groups.", "gates",
    "gauge", "max", apart=True,
)  # fmt: skip
STREAM_ROWS = Figure(
    "model_stream_rows", "Rows that a stream took once, for all groups that read its models.",
    "rows", apart=True,
)  # fmt: skip
STREAM_CHANGES = Figure(
    "model_stream_changes", "Segments that a stream told the groups that read it, or took back.",
    "segments", apart=True,
)  # fmt: skip
STREAM_STANDING = Figure(
    "model_stream_standing", "Segments of a stream whose end has not come.", "segments", "gauge",
    apart=True,
)  # fmt: skip
STREAM_BOXES = Figure(
    "model_stream_boxes", "Segments of lately whose coefficients lie in a box, by a sample.",
    "segments", "gauge", labels=("attribute", "box"), apart=True, is_exposed=False,
)  # fmt: skip
GATE_EXPECTED = Figure(
    "model_gate_expected", "The share of segments that was expected to pass a gate.", "millionths",
    "gauge", "max", labels=("gate",), apart=True,
)  # fmt: skip

PLANNED = Figure(
    "model_gates_planned", "How often the gates of a stream were planned in this run.", "times",
    apart=True,
)  # fmt: skip
PLANS_TRIED = Figure(
    "model_plans_tried", "Plans of gates that were looked at in this run.", "plans", apart=True
)
EXPECTED_FIRST = Figure(
    "model_first_expected", "The share of a stream's segments that the plan's first conditions are "
    "expected to let through, by histograms.", "millionths", "gauge", "max", apart=True,
)  # fmt: skip

STREAM_FIGURES = (
    STREAM_ROWS, STREAM_CHANGES, STREAM_STANDING, STREAM_GATES, GATE_TAKEN, GATE_PASSED,
    MIGRATIONS, STREAM_BOXES, GATE_EXPECTED, PLANNED, PLANS_TRIED,
)  # fmt: skip
FIGURES = (
    QUERIES, ARRIVED, HELD, HURRIED_ROWS, RESULTS, NULL_VALUES, MODEL_ROWS, VALIDATED, VIOLATIONS,
    EXPIRIES, SEGMENTS, SLACK_SEGMENTS, RETRACTIONS, OUTPUT_SEGMENTS, SOLUTIONS, CONFIRMED, KEYS,
    LARGEST_BOUND, SEGMENTS_HELD, STANDING, TEXTS, LATE_ROWS, NULL_EVENT_TIMES, FAILED_CONDITIONS,
    KEYS_WITHOUT_ROOM, FORGOTTEN_SEGMENTS, TAKEN, PASSED_FIRST, SPARED,
    EXPECTED_FIRST,
)  # fmt: skip
