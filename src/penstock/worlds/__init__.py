"""Made-up worlds: rows to try things on, the same on every machine.

Takes: a world's stream by name, a seed, a range of offsets.
Gives: Arrow batches, each row a pure function of seed, stream and offset.
Never: Spark, files, clocks, chance that a seed does not decide.
"""
