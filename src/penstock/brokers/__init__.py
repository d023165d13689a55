"""Brokers: what carries results to receivers that are not in this process.

Takes: payloads with a subject and a number.
Gives: each kept once by NATS, Redis, MQTT or this process, and read again from a position on.
Never: deciding who is affected.
"""
