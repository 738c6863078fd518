"""Experiments: the machine, MPI libraries and their launchers, the plan, its launches in random order, their results.

launch.py and the modules that it imports need only Python's standard library: tools/launch runs before anything is
installed.
"""
