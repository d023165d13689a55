"""Experiments with model streams: what is published of them, and flights that really flew."""
