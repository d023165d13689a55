"""Kernels: the loops that must run at the speed of the machine.

Takes: numpy arrays and scalars.
Gives: numpy arrays and scalars, or fills arrays it was given.
Never: Python objects, Arrow, self, allocation in an inner loop. Alone imports numba.
"""
