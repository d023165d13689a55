"""Spark's own types that users hand to the engine: the rooms above name them from here."""

from pyspark.sql import DataFrame, SparkSession

__all__ = ["DataFrame", "SparkSession"]
