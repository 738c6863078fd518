"""Experiments: what is to be measured, launches of it in random order, and what came of them."""
