"""The lab: experiments that prove the engine's claims, rerun by anyone.

Takes: the name of an experiment, a size and a seed.
Gives: a report: tables, checks of what is claimed, figures.
Never: a figure without the run behind it; work for the engine.
"""
