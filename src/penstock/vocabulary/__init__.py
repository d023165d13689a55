"""Words that every room may say.

Takes: nothing.
Gives: errors, column types, the shapes of batches, query changes and results.
Never: behaviour, files, Spark.
"""
