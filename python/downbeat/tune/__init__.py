"""Tuning: measures the algorithms of an MPI library, chooses, writes the choice as rules, and proves that they hold."""
