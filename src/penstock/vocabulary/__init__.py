"""Words that every room may say.

Takes: nothing.
Gives: errors, column types, the shapes of batches, query changes and results, names
    and words of what is left out.
Never: behaviour, files, Spark.
"""
