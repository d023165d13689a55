"""Where Spark lives.

Takes: a plan of relations and lanes, streaming DataFrames.
Gives: a running Spark query, sessions, sources.
Never: the meaning of queries. Alone imports pyspark.
"""
