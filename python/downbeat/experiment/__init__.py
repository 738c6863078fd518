"""Experiments: the plan, its launches in random order, and their results."""
