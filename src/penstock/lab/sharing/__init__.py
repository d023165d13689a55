"""Experiments with model queries that share stages: when, and at what risk."""
