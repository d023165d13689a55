"""Experiments with range aggregates: what a server tells, in what time, and what a network carries.

Of the publication, tables are printed and figures described; steps of updates, depths of spikes,
bytes of messages and the overlay are not. Those here are stand-ins that were fitted to the printed
numbers: see `workload` and `overlay`.
"""
