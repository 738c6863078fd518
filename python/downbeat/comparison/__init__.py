"""Comparison of experiments, cell by cell, and what `downbeat compare` prints of it."""
