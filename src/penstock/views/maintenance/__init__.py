"""Schedules of maintenance: when which base table's changes are brought into a view.

A view lags behind its tables; whoever asks must have it fresh within a bound. Tables are flushed
each at its own time: one whose batches have a large fixed cost waits as long as it can, one whose
cost follows the changes is flushed often. Knows curves, bounds and arrivals; knows no SQL, no store
and no Spark.
"""
