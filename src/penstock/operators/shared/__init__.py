"""What operators share: keys, codes, slots, chunks, intakes, births, entries, the state codec.

Takes: steps, columns, rows of parameters, batches.
Gives: the parts that operators are made of, each once.
Never: an operator; it imports none, and operators do not import each other.
"""
