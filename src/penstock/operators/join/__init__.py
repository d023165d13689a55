"""Standing joins: select-joins, band joins and window joins, by the hundred thousand.

Takes: a JoinStep, rows of parameters, batches of changes to two relations.
Gives: entries, affected queries or joined rows with signs, facts for EXPLAIN.
Never: a cost that grows with the queries that a row does not meet, order among results.
"""
