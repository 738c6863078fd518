"""Comparison of experiments, cell by cell, and the tables and summaries of experiments that it and others use."""
