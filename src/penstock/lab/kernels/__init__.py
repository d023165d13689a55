"""Kernels of experiments: loops that the engine does not need.

Takes: arrays, as all kernels do.
Gives: what papers and peers do, at the speed of what they are compared with.
Never: a loop that an operator calls.
"""
