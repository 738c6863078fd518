"""Experiments: the machine, MPI libraries and their launchers, the plan, its launches in random order, their results.

What tools/launch loads, launch.py and below, needs no more than Python: it runs before all else.
"""
