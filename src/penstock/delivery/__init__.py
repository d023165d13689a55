"""Delivery: how results reach subscribers.

Takes: results of a micro-batch with the events that they speak of.
Gives: an append-only result log, changes read from it with resume tokens, sinks that follow it.
Never: deciding what is a result.
"""
